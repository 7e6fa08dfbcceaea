"""Minimise a quadratic plus weighted absolute values: ``g'd + d'Qd/2 + sum_j c_j |w_j + d_j|``.

The quadratic comes as its matrix. Coordinates are minimised one by one; now and then the equations of the coefficients
that are not zero, with their signs held, are solved at once, which is what makes strongly correlated columns no harder
than others. Along that step the first coefficient to reach zero ends it there.
"""

import numpy as np
from numba import njit

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
