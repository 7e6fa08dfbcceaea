"""Kernels over posterior draws, row by row: moments of the log-likelihood, and smoothed importance weights.

WAIC, DIC and the cumulants are made of the moments

    log E[p],    E[log p],    E[(log p - E[log p])^k] for k = 2 to 4,

as means over draws. WAIC needs the first three, which take one pass over the numbers.

Leave-one-out losses are made of the ratios ``r_s = 1 / p(x_i | w_s)``, which may have a heavy tail. The largest M =
min(S / 5, 3 sqrt(S / r_eff)) of them, above the cut-off u, follow a generalised Pareto distribution with shape k and
scale sigma; they are replaced by its quantiles. k is estimated as the posterior mean of Zhang and Stephens over a grid
of b = k / sigma,

    l(b) = M (log(-b / k(b)) - k(b) - 1),    k(b) = mean_s log(1 - b (r_s - u)),

and drawn a little towards 1/2 for small M. With k above 0.7 the mean is not reliable.

Both need exponentials of many numbers at once, in plain arithmetic that compilers turn into vector instructions:
``exp(x) = 2^n exp(r)`` with ``n = round(x / log 2)`` and ``r = x - n log 2``, of which the Taylor series has a relative
error below 1e-17 after 13 terms. Adding 1.5 x 2^52 leaves n in the lowest bits of a number; shifted, they are the
exponent of 2^n.

Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed importance sampling. JMLR 25 (72).
Zhang, J. and Stephens, M. A. (2009). A new and efficient estimation method for the generalized Pareto distribution.
Technometrics 51, 316-325.
"""

from dataclasses import dataclass
from math import ceil, exp, expm1, inf, isfinite, log, log1p, sqrt

import numpy as np
from numba import njit

from fewer._kernels._arrays import in_threads, read_only
from fewer.evaluate.criteria._log_lik import Draws

BLOCK = 256
"""Rows that kernels work on side by side."""

_MAGIC = 6755399441055744.0
_INVERSE = 1.4426950408889634
_HIGH, _LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_SMALLEST = -700.0


@njit(cache=True, nogil=True, fastmath={"contract"})  # products and sums in one instruction
def exp_into(target, x, shifts, size):
    """exp of the first ``size`` numbers, none above 0; those below -700 count as -700. ``shifts`` is overwritten."""
    for i in range(size):
        value = max(x[i], _SMALLEST)
        shifted = value * _INVERSE + _MAGIC
        n = shifted - _MAGIC
        r = value - n * _HIGH
        r -= n * _LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        target[i] = p * r + 1.0
        shifts[i] = shifted
    bits = shifts.view(np.int64)
    for i in range(size):
        bits[i] = (bits[i] << 52) + (1023 << 52)
    for i in range(size):
        target[i] *= shifts[i]


@njit(cache=True, nogil=True)
def exp_sum(x, buffers):
    """Sum of exp of numbers, none above 0; ``buffers`` is (2, at least 4)."""
    width = buffers.shape[1]
    target, shifts = buffers[0], buffers[1]
    total = 0.0
    for start in range(0, x.size, width):
        size = min(width, x.size - start)
        exp_into(target, x[start : start + size], shifts, size)
        a = b = c = d = 0.0
        whole = size - size % 4
        for i in range(0, whole, 4):
            a += target[i]
            b += target[i + 1]
            c += target[i + 2]
            d += target[i + 3]
        for i in range(whole, size):
            a += target[i]
        total += (a + b) + (c + d)
    return total


_FAR = 300.0


@njit(cache=True, nogil=True)
def _row_moments(start, stop, indptr, log_lik, weights, higher, train, means, moments):
    """log E[p], E[log p] and central moments 2 (to 4) of log p of blocks of rows; ``log_lik`` is (draws, rows).

    Inner loops run over the rows of a block, which lie side by side, so that processors do several at once.
    """
    n_rows = log_lik.shape[1]
    for block in range(start, stop):
        first, last = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        if higher or not _in_one_pass(first, last, log_lik, weights, train, means, moments):
            _in_two_passes(first, last, log_lik, weights, higher, train, means, moments)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _in_one_pass(first, last, log_lik, weights, train, means, moments):
    """The same without moments 3 and 4, reading every number once; False where a draw is too far from the first one.

    Sums are about the first draw of each row: it is as good as the largest unless another one is ``_FAR`` above it, and
    as good as the mean unless it is many standard deviations away.
    """
    width, n_draws = last - first, len(log_lik)
    scaled, shifts, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    reference = np.zeros(width)
    started = False
    highest = np.zeros(width)
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            if not started:
                reference[:] = line
                started = True
            for i in range(width):
                away = line[i] - reference[i]
                scaled[i] = away
                highest[i] = max(highest[i], away)
                away *= weight
                mean[i] += away
                square[i] += away * scaled[i]
            exp_into(powers, scaled, shifts, width)
            for i in range(width):
                total[i] += weight * powers[i]
    for i in range(width):
        variance = square[i] - mean[i] * mean[i]
        if highest[i] > _FAR or mean[i] * mean[i] > _FAR * variance:
            return False
        train[first + i] = np.log(total[i]) + reference[i]
        means[first + i] = mean[i] + reference[i]
        moments[first + i, 0], moments[first + i, 1], moments[first + i, 2] = variance, 0.0, 0.0
    return True


@njit(cache=True, nogil=True)
def _in_two_passes(first, last, log_lik, weights, higher, train, means, moments):
    """Largest value and mean first, and then exponentials and powers of the distances from them."""
    width, n_draws = last - first, len(log_lik)
    scaled, shifts, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    top, mean, total = np.full(width, -np.inf), np.zeros(width), np.zeros(width)
    second, third, fourth = np.zeros(width), np.zeros(width), np.zeros(width)
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            for i in range(width):
                top[i] = max(top[i], line[i])
                mean[i] += weight * line[i]
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            for i in range(width):
                centred = line[i] - mean[i]
                second[i] += weight * centred * centred
                scaled[i] = line[i] - top[i]
            if higher:
                for i in range(width):
                    centred = line[i] - mean[i]
                    cube = weight * centred * centred * centred
                    third[i] += cube
                    fourth[i] += cube * centred
            exp_into(powers, scaled, shifts, width)
            for i in range(width):
                total[i] += weight * powers[i]
    for i in range(width):
        train[first + i] = np.log(total[i]) + top[i]
        means[first + i] = mean[i]
        moments[first + i, 0], moments[first + i, 1], moments[first + i, 2] = second[i], third[i], fourth[i]


@dataclass(frozen=True, eq=False)
class Moments:
    """For each row: log E[p], E[log p], and the central moments 2 to 4 of log p over draws."""

    log_mean: np.ndarray
    mean_log: np.ndarray
    central: np.ndarray


def row_moments(draws: Draws, *, higher: bool = False) -> Moments:
    """What WAIC and the cumulants are made of; moments 3 and 4 are 0 unless ``higher``."""
    n = draws.n_rows
    train, means, moments = np.empty(n), np.empty(n), np.empty((n, 3))
    blocks = np.arange(-(-n // BLOCK) + 1) * BLOCK * draws.n_draws
    table = np.ascontiguousarray(draws.values.reshape(draws.n_draws, n), dtype=np.float64)
    in_threads(_row_moments, blocks, read_only(table), read_only(draws.weights), higher, train, means, moments, cost=8)
    return Moments(train, means, moments)


_TINY = float(np.finfo(float).tiny)
_SMALLEST_TAIL = 5
_MOST = 700.0  # whose exponential is finite


@njit(cache=True, nogil=True)
def smoothed_log_means(start, stop, indptr, log_lik, beta, log_weights, r_eff, smooth, losses, shapes, train):
    """Leave-one-out losses ``log E[p^-beta] - log E[p^(1 - beta)]`` of rows, the shapes k, and ``log E[p]``.

    ``log_lik`` has a line for each row. The smoothed weights are used for both means; without ``smooth``, raw ones.
    ``log_weights`` is empty for draws of equal weight.
    """
    n_draws = log_lik.shape[1]
    plain = log_weights.size == 0
    ratios, rest = np.empty(n_draws), np.empty(n_draws)
    buffers = np.empty((2, 512))
    for row in range(start, stop):
        line = log_lik[row]
        largest, top = -inf, -inf
        for s in range(n_draws):
            weighted = line[s] if plain else line[s] + log_weights[s]
            ratio = -beta * line[s] if plain else log_weights[s] - beta * line[s]
            rest[s], ratios[s] = weighted, ratio
            largest, top = max(largest, ratio), max(top, weighted)
        for s in range(n_draws):
            rest[s] -= top
            ratios[s] -= largest
        train[row] = log(exp_sum(rest, buffers)) + top - (log(n_draws) if plain else 0.0)
        shapes[row], tail = inf, np.empty(0, dtype=np.int64)
        if smooth:
            shapes[row], tail = _smoothed(ratios, r_eff[row])
        total = log(exp_sum(ratios, buffers))
        # E[p^(1 - beta)] / E[p^-beta] = E[p r] / E[r] with r = p^-beta.
        if plain and beta == 1.0:  # p r is 1 where r was not changed
            losses[row] = total + largest - log(_sum_of_changes(ratios, line, largest, tail))
            continue
        top = -inf
        for s in range(n_draws):
            rest[s] = ratios[s] + line[s]
            top = max(top, rest[s])
        for s in range(n_draws):
            rest[s] -= top
        losses[row] = total - log(exp_sum(rest, buffers)) - top


@njit(cache=True, nogil=True)
def _sum_of_changes(ratios, line, largest, tail):
    """Sum over draws of the smoothed ratio over the raw one, which is 1 but in the tail."""
    changes = float(ratios.size - tail.size)
    for s in tail:
        changes += exp(min(ratios[s] + largest + line[s], _MOST))
    return changes


@njit(cache=True, nogil=True)
def smooth_tail(log_ratios, r_eff):
    """Replace the largest log ratios (at most 0) by quantiles of a Pareto tail, in place; gives its shape k."""
    return _smoothed(log_ratios, r_eff)[0]


@njit(cache=True, nogil=True)
def _smoothed(log_ratios, r_eff):
    """The shape k, and the places that were replaced."""
    n = log_ratios.size
    nothing = np.empty(0, dtype=np.int64)
    n_tail = ceil(min(n / 5.0, 3.0 * sqrt(n / r_eff)))
    if n_tail < _SMALLEST_TAIL or n_tail >= n:
        return inf, nothing
    cut = max(_largest(log_ratios, n_tail + 1), log(_TINY))
    places = np.flatnonzero(log_ratios > cut)
    if places.size < _SMALLEST_TAIL:  # equal weights, as of a model without parameters, have no tail
        return -inf if log_ratios.min() == log_ratios.max() else inf, nothing
    places = places[np.argsort(log_ratios[places])]
    base = exp(cut)
    tail = np.empty(places.size)
    for s in range(places.size):
        tail[s] = exp(log_ratios[places[s]]) - base
    shape, scale = pareto_fit(tail)
    if isfinite(shape):
        for s in range(places.size):
            share = -log1p(-(s + 0.5) / places.size)
            quantile = scale * (expm1(shape * share) / shape if shape != 0.0 else share)
            log_ratios[places[s]] = min(log(quantile + base), 0.0)
    return shape, places


@njit(cache=True, nogil=True)
def _largest(values, rank):
    """The value of a rank from above, looked for among those beyond a quantile of a few values."""
    n = values.size
    some = np.sort(values[:: max(1, n // 200)])
    guess = some[max(0, some.size - 1 - int(1.5 * rank * some.size / n) - 3)]
    beyond = 0
    for value in values:
        beyond += value >= guess
    if beyond < rank:
        return np.partition(values, n - rank)[n - rank]
    kept = np.empty(beyond)
    place = 0
    for value in values:
        if value >= guess:
            kept[place] = value
            place += 1
    return np.partition(kept, beyond - rank)[beyond - rank]


@njit(cache=True, nogil=True)
def pareto_fit(tail):
    """Shape k and scale sigma of a generalised Pareto distribution, for sorted values above 0."""
    n = tail.size
    n_grid = 30 + int(sqrt(n))
    quartile = tail[int(n / 4 + 0.5) - 1]
    if not quartile > 0.0:
        return inf, inf
    grid, likelihood = np.empty(n_grid), np.empty(n_grid)
    for g in range(n_grid):
        grid[g] = (1.0 - sqrt(n_grid / (g + 0.5))) / (3.0 * quartile) + 1.0 / tail[n - 1]
        shape = _mean_log(tail, grid[g])
        likelihood[g] = n * (log(-grid[g] / shape) - shape - 1.0)
    top = likelihood.max()
    weights = mean = 0.0
    for g in range(n_grid):
        weight = exp(likelihood[g] - top)
        weights += weight
        mean += weight * grid[g]
    mean /= weights
    shape = _mean_log(tail, mean)
    scale = -shape / mean
    return (n * shape + 5.0) / (n + 10.0), scale


@njit(cache=True, nogil=True)
def _mean_log(tail, b):
    """Mean of log(1 - b x): logarithms of products, while these stay in range; two at a time, as each waits."""
    total, product, other = 0.0, 1.0, 1.0
    whole = tail.size - tail.size % 2
    for s in range(0, whole, 2):
        product *= 1.0 - b * tail[s]
        other *= 1.0 - b * tail[s + 1]
        if product > 1e100 or product < 1e-100 or other > 1e100 or other < 1e-100:
            total += log(product) + log(other)
            product = other = 1.0
    if whole < tail.size:
        product *= 1.0 - b * tail[whole]
    return (total + log(product) + log(other)) / tail.size
