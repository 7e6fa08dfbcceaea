"""Support vector machines from the products of the rows alone, starting from any earlier solution.

Minimise ``beta' K beta / 2 - s' beta`` over ``sum beta = 0`` and ``0 <= s_i beta_i <= C``, for classes ``s_i = +-1``
and products K of the rows: the dual of the linear machine ``w = X' beta`` with hinge loss and a free intercept. Each
step moves the pair of entries that promises most (Fan, Chen & Lin, 2005), until no pair breaks the conditions of the
optimum by more than ``tol``. Entries that sit firmly at a bound are set aside, and looked at again in the end.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# Share of the largest product: rows that are equal (or no columns at all) leave no curvature; a step then goes as far
# as it may.
_FLAT = 1e-12
_STEPS_BETWEEN_SIEVES = 1000
# Gradients are sums of products times beta; below so many units of rounding, a violation means nothing.
_ROUNDING = 256 * 2.2e-16
_MOST_STEPS = 20_000_000
# A cost of more than this over the largest product is beyond what rounding lets the steps resolve: they find the
# margins of classes that can be told without error, and get lost among others.
_LARGEST_COST = 1e10
_STEPS_AT_LARGEST_COST = 100_000
# A cost of less than this over the sum of the products cannot bring any decision value to 1 / 100 of a margin.
_SMALLEST_COST = 1e-2


class Effort(NamedTuple):
    """The cost to train with, the steps to make at most, and what is wrong with the unit of the columns, if it is."""

    cost: float
    max_steps: int
    complaint: str


def effort_for(squares, cost):
    """How to train machines on rows with these squared distances from their mean."""
    mean, largest = max(float(np.mean(squares)), 0.0), float(np.max(squares))
    cures = f"bring the columns to one scale (StandardScaler), or take a C of about {1 / mean if mean else 1:.1g}"
    where = f"C={cost:g} with rows that are {np.sqrt(mean):.2g} from their mean"
    if 0 < cost * mean * len(squares) < _SMALLEST_COST:
        said = f"{where} leaves nothing but the intercepts: all rows fall to one class. The unit of the columns is too "
        return Effort(cost, _MOST_STEPS, f"{said}large for this C: {cures}.")
    if cost * largest > _LARGEST_COST:
        usable = _LARGEST_COST / largest
        said = (
            f"{where} is more than double precision resolves: C={usable:.2g} is used. The unit of the columns is too "
        )
        return Effort(usable, _STEPS_AT_LARGEST_COST, f"{said}small for this C: {cures}.")
    return Effort(cost, _MOST_STEPS, "")


@njit(cache=True, nogil=True)
def hinge_dual(products, signs, cost, tol, max_steps, beta):
    """Solve in place from ``beta``, which must be feasible; returns the intercept and the violation that is left.

    A violation of no more than rounding counts as none.
    """
    n = signs.size
    low, high = np.minimum(signs * cost, 0.0), np.maximum(signs * cost, 0.0)
    gradient, rows, scale = np.empty(n), np.arange(n), 0.0
    for i in range(n):
        scale = max(scale, products[i, i])
    flat = _FLAT * (scale if scale > 0.0 else 1.0)
    largest_beta = np.abs(beta).max()
    _set_gradient(products, signs, beta, rows, gradient)
    active = n
    violation = np.inf
    until_sieve = min(n, _STEPS_BETWEEN_SIEVES)
    for _ in range(max_steps):
        up, down, largest, smallest = _steepest_pair(products, beta, low, high, gradient, rows, active, flat)
        violation = largest - smallest
        if violation < max(tol, _ROUNDING * largest_beta * scale) or down < 0:
            if active == n:
                return _intercept(beta, gradient, low, high), 0.0
            _set_gradient(products, signs, beta, rows[active:], gradient)
            active = n
            continue
        until_sieve -= 1
        if until_sieve == 0:
            active = _sieve(beta, low, high, gradient, rows, active, largest, smallest)
            until_sieve = min(n, _STEPS_BETWEEN_SIEVES)
        curvature = max(products[up, up] + products[down, down] - 2.0 * products[up, down], flat)
        room_up, room_down = high[up] - beta[up], beta[down] - low[down]
        step = min((gradient[up] - gradient[down]) / curvature, min(room_up, room_down))
        # At a bound exactly, so that rounding never leaves a row with a sliver of room.
        beta[up] = high[up] if step == room_up else beta[up] + step
        beta[down] = low[down] if step == room_down else beta[down] - step
        largest_beta = max(largest_beta, abs(beta[up]), abs(beta[down]))
        risen, fallen = products[up], products[down]
        for place in range(active):
            i = rows[place]
            gradient[i] -= step * (risen[i] - fallen[i])
    _set_gradient(products, signs, beta, rows, gradient)
    return _intercept(beta, gradient, low, high), violation


@njit(cache=True, nogil=True)
def _set_gradient(products, signs, beta, rows, gradient):
    """``s_i - sum_j K_ij beta_j`` for the given rows."""
    support = np.flatnonzero(beta)
    for i in rows:
        total = signs[i]
        for j in support:
            total -= products[i, j] * beta[j]
        gradient[i] = total


@njit(cache=True, nogil=True)
def _steepest_pair(products, beta, low, high, gradient, rows, active, flat):
    """The entry to raise and the one to lower, with the largest gradient to rise and the smallest to fall."""
    up, largest = -1, -np.inf
    for place in range(active):
        i = rows[place]
        if gradient[i] > largest and beta[i] < high[i]:
            up, largest = i, gradient[i]
    down, smallest, best = -1, np.inf, 0.0
    if up < 0:
        return up, down, largest, smallest
    risen, own = products[up], products[up, up]
    for place in range(active):
        i = rows[place]
        if beta[i] > low[i]:
            smallest = min(smallest, gradient[i])
            gap = largest - gradient[i]
            if gap > 0.0:
                promise = gap * gap / max(own + products[i, i] - 2.0 * risen[i], flat)
                if promise > best:
                    down, best = i, promise
    return up, down, largest, smallest


@njit(cache=True, nogil=True)
def _sieve(beta, low, high, gradient, rows, active, largest, smallest):
    """Set aside the entries at a bound that no pair would move; returns how many are left, first in ``rows``."""
    place = 0
    while place < active:
        i = rows[place]
        firm = (beta[i] == high[i] and gradient[i] > largest) or (beta[i] == low[i] and gradient[i] < smallest)
        if firm:
            active -= 1
            rows[place], rows[active] = rows[active], i
        else:
            place += 1
    return active


@njit(cache=True, nogil=True)
def _intercept(beta, gradient, low, high):
    """Mean over the rows on the margin; without any, the middle of what the others allow."""
    total, count = 0.0, 0
    largest, smallest = -np.inf, np.inf
    for i in range(beta.size):
        if low[i] < beta[i] < high[i]:
            total += gradient[i]
            count += 1
        if beta[i] < high[i]:
            largest = max(largest, gradient[i])
        if beta[i] > low[i]:
            smallest = min(smallest, gradient[i])
    return total / count if count > 0 else (largest + smallest) / 2.0


@njit(cache=True, nogil=True)
def committee_dual(products, codes, n_machines, cost, tol, max_steps, betas, intercepts):
    """Machine k tells class k from all others; solved in place, returns the largest violation left."""
    worst = 0.0
    for k in range(n_machines):
        signs = np.where(codes == k, 1.0, -1.0)
        intercepts[k], violation = hinge_dual(products, signs, cost, tol, max_steps, betas[k])
        worst = max(worst, violation)
    return worst
