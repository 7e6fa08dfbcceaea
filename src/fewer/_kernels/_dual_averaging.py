"""Passes of dual averaging over rows, at a cost of the entries that a row stores.

A weight is a function of the sum of its gradients ``s`` and the number of steps ``t`` alone,

    ``w = -sgn(s) max(gain_t |s| - cut_t, 0)``,

so what does not occur in a row need not be touched: its weight is worked out when it is next asked for. The same goes
for the sum of its weights over the steps, of which the average is made: while ``s`` stands still, it is a difference of
``sum 1/sqrt(t)``, ``sum sqrt(t)`` or ``sum 1/t``, up to the step at which the weight reaches zero and stays there.

Rows are a dense array in C order, or ``(data, indices, indptr)`` of a CSR matrix. A free intercept is the last weight.
"""

from math import copysign, exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

LOG, HINGE, SQUARED = 0, 1, 2


class Rule(NamedTuple):
    """What turns sums of gradients into weights.

    ``growing`` is for ``beta_t = gamma sqrt(t)``; else ``beta_t = 0``, and ``curvature`` (sigma) holds the weights.
    ``price`` is the threshold of the average gradient (lambda), ``extra`` is rho.
    """

    growing: bool
    price: float
    extra: float
    curvature: float


@njit(cache=True, nogil=True)
def row_loss(loss, y, z):
    """``ln(1 + exp(-y z))``, ``max(1 - y z, 0)`` or ``(y - z)^2``."""
    if loss == LOG:
        margin = y * z
        return log1p(exp(-margin)) if margin > 0 else log1p(exp(margin)) - margin
    if loss == HINGE:
        return max(1.0 - y * z, 0.0)
    return (y - z) * (y - z)


@njit(cache=True, nogil=True)
def row_slope(loss, y, z):
    """Derivative of the loss in ``z``; zero at the kink of the hinge."""
    if loss == LOG:
        return -y / (1.0 + exp(min(y * z, 700.0)))
    if loss == HINGE:
        return -y if y * z < 1.0 else 0.0
    return 2.0 * (z - y)


@njit(cache=True, nogil=True)
def row_losses(loss, y, z):
    """Losses of several rows."""
    losses = np.empty(z.size)
    for i in range(z.size):
        losses[i] = row_loss(loss, y[i], z[i])
    return losses


@njit(cache=True, nogil=True)
def row_slopes(loss, y, z):
    """Derivatives of the losses of several rows."""
    slopes = np.empty(z.size)
    for i in range(z.size):
        slopes[i] = row_slope(loss, y[i], z[i])
    return slopes


@njit(cache=True, nogil=True)
def safe_gamma(loss, squared_length):
    """The gamma that a row of this squared length asks for.

    For slopes of at most 1 the length itself, which bounds the gradient. Gradients of the squared loss have no bound;
    there it is half of the curvature along the row, below which a row met again and again could push the weights ever
    further.
    """
    return squared_length if loss == SQUARED else sqrt(squared_length)


@njit(cache=True, nogil=True)
def gain_and_cut(rule, gamma, t):
    """The two numbers of step ``t``; before the first step all weights are zero."""
    if t == 0:
        return 0.0, 0.0
    if rule.growing:
        root = sqrt(t)
        return (1.0 / (gamma * root), rule.price * root / gamma + rule.extra) if gamma > 0.0 else (0.0, 0.0)
    return 1.0 / (rule.curvature * t), rule.price / rule.curvature


@njit(cache=True, nogil=True)
def free_gain(gamma, t):
    """The gain of the intercept, which nothing but ``beta_t`` holds, whatever the rule is."""
    return 1.0 / (gamma * sqrt(t)) if t > 0 and gamma > 0.0 else 0.0


@njit(cache=True, nogil=True)
def weight_of(total, gain, cut):
    """The weight whose gradients sum to ``total``."""
    return -copysign(max(gain * abs(total) - cut, 0.0), total)


@njit(cache=True, nogil=True)
def weights_of(sums, rule, gamma, t, fit_intercept):
    """All weights after ``t`` steps."""
    gain, cut = gain_and_cut(rule, gamma, t)
    weights = np.empty(sums.size)
    for j in range(sums.size):
        weights[j] = weight_of(sums[j], gain, cut) + 0.0  # not -0.0
    if fit_intercept:
        weights[-1] = -free_gain(gamma, t) * sums[-1]
    return weights


_SHORT = 64
_STEPS = np.arange(1.0, _SHORT)
_INVERSE_ROOTS = np.concatenate((np.zeros(1), np.cumsum(1 / np.sqrt(_STEPS))))
_ROOTS = np.concatenate((np.zeros(1), np.cumsum(np.sqrt(_STEPS))))
_INVERSES = np.concatenate((np.zeros(1), np.cumsum(1 / _STEPS)))


@njit(cache=True, nogil=True)
def sum_of_inverse_roots(t):
    """``sum_{k=1..t} 1/sqrt(k)``, by the Euler-Maclaurin formula."""
    if t < _SHORT:
        return _INVERSE_ROOTS[t]
    root, inverse = sqrt(t), 1.0 / t
    return 2.0 * root - 1.4603545088095868 + (0.5 - inverse * (1 / 24 - inverse * inverse / 384)) / root


@njit(cache=True, nogil=True)
def sum_of_roots(t):
    """``sum_{k=1..t} sqrt(k)``."""
    if t < _SHORT:
        return _ROOTS[t]
    root, inverse = sqrt(t), 1.0 / t
    return root * (2 * t / 3 + 0.5 + inverse * (1 / 24 - inverse * inverse / 1920)) - 0.20788622497735457


@njit(cache=True, nogil=True)
def sum_of_inverses(t):
    """``sum_{k=1..t} 1/k``."""
    if t < _SHORT:
        return _INVERSES[t]
    inverse = 1.0 / t
    square = inverse * inverse
    return log(t) + 0.5772156649015329 + 0.5 * inverse - square * (1 / 12 - square / 120)


@njit(cache=True, nogil=True)
def last_positive_step(size, rule, gamma):
    """The step after which the weight of a sum of this size is zero."""
    if rule.growing:
        lift = gamma * rule.extra
        root = 2.0 * size / (lift + sqrt(lift * lift + 4.0 * rule.price * size))
        return root * root
    return size / rule.price


@njit(cache=True, nogil=True)
def sum_of_weights(total, first, last, rule, gamma):
    """The weights of steps ``first`` to ``last`` added up, while the gradients sum to ``total``."""
    first = max(first, 1)
    if total == 0.0 or last < first or (rule.growing and gamma == 0.0):
        return 0.0
    size = abs(total)
    gain, cut = gain_and_cut(rule, gamma, last)
    if gain * size <= cut:
        last = min(last, int(last_positive_step(size, rule, gamma)))
        if last < first:
            return 0.0
    elif first == last:
        return -copysign(gain * size - cut, total)
    if rule.growing:
        grown = size * (sum_of_inverse_roots(last) - sum_of_inverse_roots(first - 1))
        shrunk = rule.price * (sum_of_roots(last) - sum_of_roots(first - 1))
        added = (grown - shrunk) / gamma - rule.extra * (last - first + 1)
    else:
        grown = size * (sum_of_inverses(last) - sum_of_inverses(first - 1))
        added = (grown - rule.price * (last - first + 1)) / rule.curvature
    return -copysign(max(added, 0.0), total)


@njit(cache=True, nogil=True)
def _settle(sums, weight_sums, counted_to, last, rule, gamma, fit_intercept):
    """Bring the sums of all weights up to step ``last``; ``counted_to`` is the first step not yet in them."""
    free = Rule(True, 0.0, 0.0, 0.0)
    for j in range(sums.size):
        if counted_to[j] <= last:
            its_rule = free if fit_intercept and j == sums.size - 1 else rule
            weight_sums[j] += sum_of_weights(sums[j], counted_to[j], last, its_rule, gamma)
            counted_to[j] = last + 1


@njit(cache=True, nogil=True)
def average_weights(sums, weight_sums, counted_to, t, rule, gamma, fit_intercept):
    """Mean of the weights with which the rows of steps 1 to ``t`` were met; nothing is changed."""
    added = weight_sums.copy()
    _settle(sums, added, counted_to.copy(), t - 1, rule, gamma, fit_intercept)
    return added / max(t, 1)


def n_entries(rows, i): ...


@overload(n_entries, jit_options={"nogil": True})
def _n_entries(rows, i):
    """How many entries row ``i`` stores."""
    if isinstance(rows, types.Array):
        return lambda rows, i: rows.shape[1]
    return lambda rows, i: rows[2][i + 1] - rows[2][i]


def entry(rows, i, at): ...


@overload(entry, jit_options={"nogil": True})
def _entry(rows, i, at):
    """Column and value of the entry of row ``i`` at place ``at``; unsigned, which spares a test for negative ones."""
    if isinstance(rows, types.Array):
        return lambda rows, i, at: (np.uint64(at), np.float64(rows[i, at]))

    def sparse(rows, i, at):
        place = np.uint64(rows[2][i] + at)
        return np.uint64(rows[1][place]), np.float64(rows[0][place])

    return sparse


@njit(cache=True, nogil=True)
def _squared_length(rows, i):
    total = 0.0
    for at in range(n_entries(rows, i)):
        total += entry(rows, i, at)[1] ** 2
    return total


@njit(cache=True, nogil=True)
def _prediction(rows, i, sums, gain, cut):
    total = 0.0
    for at in range(n_entries(rows, i)):
        j, value = entry(rows, i, at)
        total += weight_of(sums[j], gain, cut) * value
    return total


@njit(cache=True, nogil=True)
def _count_weights(rows, i, sums, weight_sums, counted_to, t, rule, gamma):
    """Bring the sums of the weights of this row's columns up to step ``t``."""
    for at in range(n_entries(rows, i)):
        j, _ = entry(rows, i, at)
        if counted_to[j] <= t:
            weight_sums[j] += sum_of_weights(sums[j], counted_to[j], t, rule, gamma)
            counted_to[j] = t + 1


@njit(cache=True, nogil=True)
def _add_gradient(rows, i, slope, sums):
    for at in range(n_entries(rows, i)):
        j, value = entry(rows, i, at)
        sums[j] += slope * value


@njit(cache=True, nogil=True)
def lazy_pass(
    rows, order, y, batch_size, loss, rule, fit_intercept, sums, weight_sums, counted_to, t, gamma, n_to_measure,
    share, judged,
):  # fmt: skip
    """Meet the rows in this order; sums are changed in place. Returns the steps made so far, gamma, and what was lost.

    ``gamma`` grows to ``share`` of what the first ``n_to_measure`` rows ask for; none if it is fixed. ``weight_sums``
    and ``counted_to`` are empty where no average is wanted. Lost is, if ``judged``, the sum over the rows of
    ``t`` times the loss with which they were met: early ones tell of the first jumps, and count for little.
    """
    lost = 0.0
    slopes = np.empty(min(batch_size, order.size))
    averaging = counted_to.size > 0
    n_columns = sums.size - fit_intercept
    for start in range(0, order.size, batch_size):
        batch = order[start : start + batch_size]
        gain, cut = gain_and_cut(rule, gamma, t)
        bias = -free_gain(gamma, t) * sums[n_columns] if fit_intercept else 0.0
        asked = gamma
        for b in range(batch.size):
            i = batch[b]
            z = bias + _prediction(rows, i, sums, gain, cut)
            slopes[b] = row_slope(loss, y[i], z) / batch.size
            if judged:
                lost += (t + 1) * row_loss(loss, y[i], z)
            if start + b < n_to_measure:
                length = _squared_length(rows, i) + (1.0 if fit_intercept else 0.0)
                asked = max(asked, share * safe_gamma(loss, length))
        for b in range(batch.size):
            if averaging:
                _count_weights(rows, batch[b], sums, weight_sums, counted_to, t, rule, gamma)
            _add_gradient(rows, batch[b], slopes[b], sums)
        if fit_intercept:
            if averaging:
                weight_sums[n_columns] += bias
                counted_to[n_columns] = t + 1
            for b in range(batch.size):
                sums[n_columns] += slopes[b]
        if asked != gamma:
            if averaging:  # other weights are worked out from now on, so those up to here are counted first
                _settle(sums, weight_sums, counted_to, t, rule, gamma, fit_intercept)
            gamma = asked
        t += 1
    return t, gamma, lost
