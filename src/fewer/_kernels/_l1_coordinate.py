"""Passes over the columns that minimise ``sum_i c_i loss(y_i, z_i) + sum_j penalty_j (|w_j| + ridge w_j^2 / 2)``.

``newton_pass`` takes a one-dimensional Newton step with a line search (CDN); ``bounded_pass`` a step on a quadratic
bound that holds within a trust region of the column (BBR). The first and second derivatives of every row's loss are
kept up to date, so that a column costs its stored entries alone.
"""

from math import exp

import numpy as np
from numba import njit

from fewer._kernels._l1_quadratic import optimality_gap, shrunk_step
from fewer._kernels._margin_losses import LOG, SQUARED_HINGE, loss_at
from fewer._kernels._table_columns import dot, entry, n_stored, weighted_square

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
