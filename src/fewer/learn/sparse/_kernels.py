"""Numba kernels of sparse linear models: losses, single columns, coordinate passes, and quadratics.

Losses of a prediction ``z`` of a target ``y``, with their first and second derivatives in ``z``; rows have weights, and
what is returned is multiplied by them:

=============  =========================  ===========
LOG            ``ln(1 + exp(-y z))``      y is -1, +1
SQUARED_HINGE  ``max(1 - y z, 0)^2``      y is -1, +1
SQUARED        ``(y - z)^2 / 2``          y is real
=============  =========================  ===========

``minimise_quadratic`` minimises ``g'd + d'Qd/2 + sum_j c_j |w_j + d_j|``, with the matrix Q given. Coordinates are
minimised one by one; now and then the equations of the coefficients that are not zero, with their signs held, are
solved at once, which is what makes strongly correlated columns no harder than others. Along that step the first
coefficient to reach zero ends it there.

Passes over the columns minimise ``sum_i c_i loss(y_i, z_i) + sum_j penalty_j (|w_j| + ridge w_j^2 / 2)``:
``newton_pass`` takes a one-dimensional Newton step with a line search (CDN); ``bounded_pass`` a step on a quadratic
bound that holds within a trust region of the column (BBR). The first and second derivatives of every row's loss are
kept up to date, so that a column costs its stored entries alone. A dense table is an array in Fortran order; a sparse
one is ``(data, indices, indptr, n_rows)`` of its CSC form. Column ``p``, one past the last, is the constant 1: the
place of an intercept. Numba picks the form when it compiles, so a pass is written once. Row numbers are read as
unsigned, which spares the loops a test for negative ones.
"""

from math import exp, log, log1p
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

SUMS = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True)
def optimality_gap(slope, coefficient, penalty):
    """The smallest sub-gradient, in absolute value: zero where the coordinate is optimal."""
    if coefficient > 0.0:
        return abs(slope + penalty)
    if coefficient < 0.0:
        return abs(slope - penalty)
    return max(abs(slope) - penalty, 0.0)


@njit(cache=True, nogil=True)
def optimality_gaps(slopes, coefficients, penalties, gaps):
    """Fill in the gap of every coordinate; returns their sum, and the largest."""
    total, largest = 0.0, 0.0
    for j in range(slopes.size):
        gaps[j] = optimality_gap(slopes[j], coefficients[j], penalties[j])
        total += gaps[j]
        largest = max(largest, gaps[j])
    return total, largest


@njit(cache=True, nogil=True)
def shrunk_step(slope, curvature, coefficient, penalty):
    """The ``d`` which minimises ``slope d + curvature d^2 / 2 + penalty |coefficient + d|``."""
    if slope + penalty <= curvature * coefficient:
        return -(slope + penalty) / curvature
    if slope - penalty >= curvature * coefficient:
        return -(slope - penalty) / curvature
    return -coefficient


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_row(row, step, slopes):
    for at in range(slopes.size):
        slopes[at] += step * row[at]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _factorise(lower):
    """Cholesky factor in place, row by row; a column that depends on earlier ones gets an infinite pivot: no step."""
    for a in range(lower.shape[0]):
        row = lower[a]
        smallest = 1e-11 * row[a]
        for b in range(a + 1):
            total = row[b]
            other = lower[b]
            for c in range(b):
                total -= row[c] * other[c]
            if b < a:
                row[b] = total / other[b]
            else:
                row[a] = np.sqrt(total) if total > smallest else np.inf


@njit(cache=True, nogil=True, fastmath=SUMS)
def _solve_factorised(lower, right):
    """Solve ``L L' x = right`` in place."""
    size = right.size
    for a in range(size):
        total = right[a]
        for b in range(a):
            total -= lower[a, b] * right[b]
        right[a] = total / lower[a, a]
    for a in range(size - 1, -1, -1):
        right[a] /= lower[a, a]
        for b in range(a):
            right[b] -= lower[a, b] * right[a]


@njit(cache=True, nogil=True)
def _solve_for_signs(Q, slopes, coefficients, penalties):
    """Go towards the solution of the non-zero coefficients with their signs held, as far as these hold."""
    n_held = 0
    held = np.empty(coefficients.size, dtype=np.int64)
    for j in range(coefficients.size):
        if coefficients[j] != 0.0:
            held[n_held] = j
            n_held += 1
    lower = np.empty((n_held, n_held))
    step = np.empty(n_held)
    for a in range(n_held):
        j = held[a]
        for b in range(a + 1):
            lower[a, b] = Q[j, held[b]]
        step[a] = -(slopes[j] + (penalties[j] if coefficients[j] > 0.0 else -penalties[j]))
    _factorise(lower)
    _solve_factorised(lower, step)
    share, first = 1.0, -1
    for a in range(n_held):
        j = held[a]
        if penalties[j] > 0.0 and step[a] * coefficients[j] < 0.0:
            crossing = -coefficients[j] / step[a]
            if crossing < share:
                share, first = crossing, j
    for a in range(n_held):
        moved = share * step[a]
        coefficients[held[a]] += moved
        _add_row(Q[held[a]], moved, slopes)
    if first >= 0:
        _add_row(Q[first], -coefficients[first], slopes)
        coefficients[first] = 0.0


@njit(cache=True, nogil=True)
def minimise_quadratic(Q, slopes, coefficients, penalties, tol, max_passes):
    """Minimise in place; ``slopes`` are kept at ``g + Q d``. Returns the passes made.

    It ends when the sum of :func:`optimality_gap` over a pass is at most ``tol``.
    """
    size = slopes.size
    between = max(5, size // 20)  # a joint solution costs about as much as this many passes
    for n_passes in range(1, max_passes + 1):
        total = 0.0
        for j in range(size):
            total += optimality_gap(slopes[j], coefficients[j], penalties[j])
            step = shrunk_step(slopes[j], Q[j, j], coefficients[j], penalties[j])
            if step != 0.0:
                coefficients[j] += step
                _add_row(Q[j], step, slopes)
        if total <= tol:
            return n_passes
        if n_passes % between == 0:
            _solve_for_signs(Q, slopes, coefficients, penalties)
    return max_passes


LOG, SQUARED_HINGE, SQUARED = 0, 1, 2
# An upper bound of the second derivative, which methods with fixed curvature use.
CURVATURE_BOUNDS = (0.25, 2.0, 1.0)


@njit(cache=True, nogil=True)
def loss_at(loss, y, z):
    """The loss of one prediction."""
    if loss == LOG:
        margin = y * z
        return log1p(exp(-margin)) if margin > 0 else log1p(exp(margin)) - margin
    if loss == SQUARED_HINGE:
        short = 1.0 - y * z
        return short * short if short > 0 else 0.0
    return 0.5 * (y - z) * (y - z)


@njit(cache=True, nogil=True)
def total_loss(loss, y, weights, z):
    """``sum_i weights_i loss(y_i, z_i)``."""
    total = 0.0
    for i in range(z.size):
        total += weights[i] * loss_at(loss, y[i], z[i])
    return total


@njit(cache=True, nogil=True)
def loss_and_derivatives(loss, y, weights, z, first, second):
    """:func:`total_loss`, with first and second derivatives of the rows' losses (generalised for the squared hinge)."""
    total = 0.0
    if loss == LOG:
        # One exponential serves all three; and the logarithm of a product is the sum of logarithms, as long as the
        # weight stays the same.
        product, shared = 1.0, weights[0]
        for i in range(z.size):
            margin = y[i] * z[i]
            small = exp(-abs(margin))
            share = 1.0 / (1.0 + small)
            wrong = (small if margin > 0.0 else 1.0) * share
            first[i] = -weights[i] * y[i] * wrong
            second[i] = weights[i] * small * share * share
            if weights[i] != shared or product > 1e300:
                total += shared * log(product)
                product, shared = 1.0, weights[i]
            product *= 1.0 + small
            total += weights[i] * max(-margin, 0.0)
        return total + shared * log(product)
    for i in range(z.size):
        if loss == SQUARED_HINGE:
            short = max(1.0 - y[i] * z[i], 0.0)
            total += weights[i] * short * short
            first[i] = -2.0 * weights[i] * y[i] * short
            second[i] = 2.0 * weights[i] if short > 0.0 else 0.0
        else:
            off = z[i] - y[i]
            total += 0.5 * weights[i] * off * off
            first[i] = weights[i] * off
            second[i] = weights[i]
    return total


_OPTIONS: Any = {"fastmath": SUMS, "nogil": True}


def _is_dense(X) -> bool:
    return isinstance(X, types.Array)


def n_stored(X, j): ...


@overload(n_stored)
def _n_stored(X, j):
    """Entries that a loop over column j visits."""
    if _is_dense(X):
        return lambda X, j: X.shape[0]
    return lambda X, j: X[2][j + 1] - X[2][j] if j < X[2].size - 1 else X[3]


def entry(X, j, at): ...


@overload(entry, jit_options={"nogil": True})
def _entry(X, j, at):
    """Row and value of the entry of column j that a loop visits at turn ``at``."""
    if _is_dense(X):
        return lambda X, j, at: (np.int64(at), np.float64(X[at, j]) if j < X.shape[1] else 1.0)

    def sparse(X, j, at):
        data, indices, indptr, _ = X
        if j < indptr.size - 1:
            place = indptr[j] + at
            return (np.int64(indices[place]), np.float64(data[place]))
        return (np.int64(at), 1.0)

    return sparse


def dot(X, j, v): ...


@overload(dot, jit_options=_OPTIONS)
def _dot(X, j, v):
    """``sum_i x_ij v_i``."""
    if _is_dense(X):

        def dense(X, j, v):
            total = 0.0
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(v.size):
                    total += column[i] * v[i]
            else:
                for i in range(v.size):
                    total += v[i]
            return total

        return dense

    def sparse(X, j, v):
        data, indices, indptr, n_rows = X
        total = 0.0
        if j < indptr.size - 1:
            # Two sums: one alone would wait for itself.
            at, stop, other = np.int64(indptr[j]), np.int64(indptr[j + 1]), 0.0
            while at + 1 < stop:
                total += data[at] * v[np.uint32(indices[at])]
                other += data[at + 1] * v[np.uint32(indices[at + 1])]
                at += 2
            if at < stop:
                total += data[at] * v[np.uint32(indices[at])]
            total += other
        else:
            for i in range(n_rows):
                total += v[i]
        return total

    return sparse


def weighted_square(X, j, h): ...


@overload(weighted_square, jit_options=_OPTIONS)
def _weighted_square(X, j, h):
    """``sum_i h_i x_ij^2``."""
    if _is_dense(X):

        def dense(X, j, h):
            total = 0.0
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(h.size):
                    total += h[i] * column[i] * column[i]
            else:
                for i in range(h.size):
                    total += h[i]
            return total

        return dense

    def sparse(X, j, h):
        data, indices, indptr, n_rows = X
        total = 0.0
        if j < indptr.size - 1:
            for at in range(indptr[j], indptr[j + 1]):
                total += h[np.uint32(indices[at])] * data[at] * data[at]
        else:
            for i in range(n_rows):
                total += h[i]
        return total

    return sparse


_SUFFICIENT = 0.01
_SMALLEST_CURVATURE = 1e-12
# Of the size of what is added up. Near the minimum a step gains less than that; refused, it would never come.
_ROUNDING = 4e-16


@njit(cache=True, nogil=True)
def _loss_change(loss, X, j, step, y, weights, z):
    """Change of the total loss when coefficient j moves by ``step``, and how much of that may be rounding."""
    change, size = 0.0, 0.0
    for at in range(n_stored(X, j)):
        i, x = entry(X, j, at)
        after, before = loss_at(loss, y[i], z[i] + step * x), loss_at(loss, y[i], z[i])
        change += weights[i] * (after - before)
        size += weights[i] * (after + before)
    return change, _ROUNDING * size


@njit(cache=True, nogil=True)
def _move(loss, X, j, step, y, weights, z, first, second):
    """Move coefficient j: predictions and derivatives of the rows that it touches."""
    for at in range(n_stored(X, j)):
        i, x = entry(X, j, at)
        z[i] += step * x
        margin = y[i] * z[i]
        if loss == LOG:
            wrong = 1.0 / (1.0 + exp(min(margin, 700.0)))
            first[i] = -weights[i] * y[i] * wrong
            second[i] = weights[i] * wrong * (1.0 - wrong)
        elif loss == SQUARED_HINGE:
            first[i] = -2.0 * weights[i] * y[i] * max(1.0 - margin, 0.0)
            second[i] = 2.0 * weights[i] if margin < 1.0 else 0.0
        else:
            first[i] = weights[i] * (z[i] - y[i])


@njit(cache=True, nogil=True)
def newton_pass(loss, X, y, weights, penalties, ridge, w, z, first, second, order, n_active, level):
    """One pass over ``order[:n_active]``; columns at zero well inside ``level`` of their bounds leave the active ones.

    Returns the sum and the maximum of the violations met, and how many columns stay active (first in ``order``).
    """
    total, largest = 0.0, 0.0
    turn = 0
    while turn < n_active:
        j = order[turn]
        penalty = penalties[j]
        bend = ridge * penalty
        slope = dot(X, j, first) + bend * w[j]
        if w[j] == 0.0 and penalty > 0.0 and -penalty + level < slope < penalty - level:
            n_active -= 1
            order[turn], order[n_active] = order[n_active], j
            continue
        turn += 1
        gap = optimality_gap(slope, w[j], penalty)
        total += gap
        largest = max(largest, gap)
        curvature = max(weighted_square(X, j, second), _SMALLEST_CURVATURE) + bend
        step = shrunk_step(slope, curvature, w[j], penalty)
        if abs(step) < 1e-16:
            continue
        expected = slope * step + penalty * (abs(w[j] + step) - abs(w[j]))
        share = 1.0
        for _ in range(30):
            moved = share * step
            change, rounding = _loss_change(loss, X, j, moved, y, weights, z)
            change += penalty * (abs(w[j] + moved) - abs(w[j])) + bend * moved * (w[j] + 0.5 * moved)
            if change <= _SUFFICIENT * share * expected + rounding:
                w[j] += moved
                _move(loss, X, j, moved, y, weights, z, first, second)
                break
            share *= 0.5
    return total, largest, n_active


@njit(cache=True, nogil=True)
def _curvature_within(loss, X, j, radius, y, weights, z):
    """A bound of the loss's second derivative along coefficient j, while it moves by at most ``radius``."""
    total = 0.0
    for at in range(n_stored(X, j)):
        i, x = entry(X, j, at)
        if loss == LOG:
            reach, margin = radius * abs(x), abs(z[i])
            bound = 0.25 if margin <= reach else 1.0 / (2.0 + exp(min(margin - reach, 700.0)) + exp(reach - margin))
        elif loss == SQUARED_HINGE:
            bound = 2.0 if y[i] * z[i] - radius * abs(x) < 1.0 else 0.0
        else:
            bound = 1.0
        total += weights[i] * x * x * bound
    return max(total, _SMALLEST_CURVATURE)


@njit(cache=True, nogil=True)
def bounded_pass(loss, X, y, weights, penalties, ridge, w, z, first, second, order, radii):
    """One pass of steps on the bound of the loss within each column's radius; no step crosses zero."""
    total, largest = 0.0, 0.0
    for turn in range(order.size):
        j = order[turn]
        bend = ridge * penalties[j]
        slope = dot(X, j, first) + bend * w[j]
        gap = optimality_gap(slope, w[j], penalties[j])
        total += gap
        largest = max(largest, gap)
        curvature = _curvature_within(loss, X, j, radii[j], y, weights, z) + bend
        sign = np.sign(w[j]) if w[j] != 0.0 else -np.sign(slope)
        step = -(slope + penalties[j] * sign) / curvature if gap > 0.0 else 0.0
        step = min(max(step, -radii[j]), radii[j])
        if penalties[j] > 0.0 and w[j] != 0.0 and (w[j] + step) * w[j] < 0.0:
            step = -w[j]
        if step != 0.0:
            w[j] += step
            _move(loss, X, j, step, y, weights, z, first, second)
        radii[j] = max(2.0 * abs(step), radii[j] / 2.0)
    return total, largest
