"""Minimise ``g'd + d'X'HXd/2 + sum_j c_j |w_j + d_j|`` without its matrix: on the rows of a dense or sparse table.

Coordinates are minimised one by one, which finds out which coefficients are not zero. Then the equations of these, with
their signs held, are solved together by conjugate gradients: a pass over their columns for each step, and few steps
where coordinates one by one would take hundreds of passes.
"""

import numpy as np
from numba import njit
from numba.extending import overload

from fewer._kernels._l1_quadratic import optimality_gap, shrunk_step
from fewer._kernels._table_columns import (
    SUMS,
    _is_dense,
    combination,
    dot,
    n_stored,
    products,
    weighted_square,
)

_SMALLEST_CURVATURE = 1e-12
_PASSES_BETWEEN = 5
_SLOW = 0.6
_TOGETHER_AT_MOST = 40


def weighted_entries(X, h): ...


@overload(weighted_entries, jit_options={"nogil": True})
def _weighted_entries(X, h):
    """What a step of a column adds to the rows' slopes: its stored entries times ``h``; ``h`` alone if it is dense."""
    if _is_dense(X):
        return lambda X, h: h

    def sparse(X, h):
        data, indices = X[0], X[1]
        weighted = np.empty(data.size)
        for at in range(data.size):
            weighted[at] = data[at] * h[np.uint32(indices[at])]
        return weighted

    return sparse


def _pass(X, places, weighted, moving, coefficients, strengths, curvatures, residual, gaps): ...


@overload(_pass, jit_options={"nogil": True, "fastmath": SUMS})
def _pass_over_columns(X, places, weighted, moving, coefficients, strengths, curvatures, residual, gaps):
    """Minimise each of the ``moving`` coordinates in turn; the sum of gaps met, and the entries visited."""
    if _is_dense(X):

        def dense(X, places, weighted, moving, coefficients, strengths, curvatures, residual, gaps):
            total, visited = 0.0, 0
            for turn in range(moving.size):
                at = moving[turn]
                j = places[at]
                slope = dot(X, j, residual)
                gaps[at] = optimality_gap(slope, coefficients[at], strengths[at])
                total += gaps[at]
                visited += residual.size
                step = shrunk_step(slope, curvatures[at], coefficients[at], strengths[at])
                if step != 0.0:
                    coefficients[at] += step
                    visited += residual.size
                    if j < X.shape[1]:
                        column = X[:, j]
                        for i in range(residual.size):
                            residual[i] += step * weighted[i] * column[i]
                    else:
                        for i in range(residual.size):
                            residual[i] += step * weighted[i]
            return total, visited

        return dense

    def sparse(X, places, weighted, moving, coefficients, strengths, curvatures, residual, gaps):
        data, indices, indptr, _ = X
        total, visited = 0.0, 0
        for turn in range(moving.size):
            at = moving[turn]
            start, stop = indptr[places[at]], indptr[places[at] + 1]
            slope, other, place = 0.0, 0.0, start
            while place + 1 < stop:
                slope += data[place] * residual[np.uint32(indices[place])]
                other += data[place + 1] * residual[np.uint32(indices[place + 1])]
                place += 2
            if place < stop:
                slope += data[place] * residual[np.uint32(indices[place])]
            slope += other
            gaps[at] = optimality_gap(slope, coefficients[at], strengths[at])
            total += gaps[at]
            visited += stop - start
            step = shrunk_step(slope, curvatures[at], coefficients[at], strengths[at])
            if step != 0.0:
                coefficients[at] += step
                visited += stop - start
                for place in range(start, stop):
                    residual[np.uint32(indices[place])] += step * weighted[place]
        return total, visited

    return sparse


@njit(cache=True, nogil=True)
def _steps_within_signs(used, steps, coefficients, strengths):
    """How far the steps can be followed until the first coefficient comes to zero."""
    share = 1.0
    for a in range(used.size):
        at = used[a]
        if strengths[at] > 0.0 and (coefficients[at] + steps[a]) * coefficients[at] < 0.0:
            share = min(share, -coefficients[at] / steps[a])
    return share


@njit(cache=True, nogil=True)
def _model_change(used, steps, slopes, coefficients, strengths, image, second):
    """Change of what is minimised by the steps, whose image on the rows is given."""
    change = 0.0
    for i in range(image.size):
        change += 0.5 * second[i] * image[i] * image[i]
    for a in range(used.size):
        at = used[a]
        change += slopes[a] * steps[a]
        change += strengths[at] * (abs(coefficients[at] + steps[a]) - abs(coefficients[at]))
    return change


@njit(cache=True, nogil=True)
def _conjugate_steps(X, columns, second, curvatures, downhill, share, at_most):
    """Steps that solve ``X'HX steps = downhill`` to a share of its size, their image on the rows, and their number."""
    size, n_rows = columns.size, second.size
    steps, image = np.zeros(size), np.zeros(n_rows)
    along, back = np.empty(n_rows), np.empty(size)
    rest = downhill.copy()
    direction = rest / curvatures
    goal = share * np.abs(rest).sum()
    product = (rest * direction).sum()
    for turn in range(at_most):
        combination(X, columns, direction, along)
        bend = 0.0
        for i in range(n_rows):
            bend += second[i] * along[i] * along[i]
        if not bend > 1e-14 * product:
            return steps, image, turn
        length = product / bend
        for i in range(n_rows):
            image[i] += length * along[i]
            along[i] *= second[i]
        products(X, columns, along, back)
        left, before, product = 0.0, product, 0.0
        for a in range(size):
            steps[a] += length * direction[a]
            rest[a] -= length * back[a]
            left += abs(rest[a])
            product += rest[a] * rest[a] / curvatures[a]
        if left <= goal:
            return steps, image, turn + 1
        for a in range(size):
            direction[a] = rest[a] / curvatures[a] + (product / before) * direction[a]
    return steps, image, at_most


@njit(cache=True, nogil=True)
def _solve_in_use(X, places, second, curvatures, coefficients, strengths, residual, share):
    """Go towards the joint solution of the coefficients in use with their signs held; the entries visited.

    Those that would change sign go to zero if that is better than before; if not, all go as far as the first of them.
    Returns whether signs let it go far, too.
    """
    used = np.flatnonzero((coefficients != 0.0) | (strengths == 0.0))
    columns = places[used]
    slopes, downhill = np.empty(used.size), np.empty(used.size)
    products(X, columns, residual, slopes)
    for a in range(used.size):
        downhill[a] = -slopes[a] - strengths[used[a]] * np.sign(coefficients[used[a]])
    steps, image, n_turns = _conjugate_steps(
        X, columns, second, curvatures[used], downhill, share, min(_TOGETHER_AT_MOST, 2 * used.size)
    )
    first_zero = _steps_within_signs(used, steps, coefficients, strengths)
    far = True
    if first_zero < 1.0:
        bounded, beyond = steps.copy(), np.zeros(used.size)
        for a in range(used.size):
            at = used[a]
            if strengths[at] > 0.0 and (coefficients[at] + steps[a]) * coefficients[at] < 0.0:
                beyond[a] = coefficients[at] + steps[a]
                bounded[a] = -coefficients[at]
        excess = np.empty(image.size)
        combination(X, columns, beyond, excess)
        bounded_image = image - excess
        whole = _model_change(used, bounded, slopes, coefficients, strengths, bounded_image, second)
        short = _model_change(used, first_zero * steps, slopes, coefficients, strengths, first_zero * image, second)
        if whole <= short:
            steps, image = bounded, bounded_image
        else:
            steps, image, far = first_zero * steps, first_zero * image, first_zero > 0.5
    for i in range(residual.size):
        residual[i] += second[i] * image[i]
    for a in range(used.size):
        coefficients[used[a]] += steps[a]
        if abs(coefficients[used[a]]) <= 1e-15 * abs(steps[a]) and strengths[used[a]] > 0.0:
            coefficients[used[a]] = 0.0
    stored = 0
    for a in range(used.size):
        stored += n_stored(X, columns[a])
    return (2 * n_turns + 2) * stored, far


@njit(cache=True, nogil=True)
def minimise_on_rows(X, places, first, second, coefficients, strengths, tol, budget):
    """Minimise in place, until the gaps of a pass over all columns sum to ``tol``, or ``budget`` entries are visited.

    Columns ``places`` of the table have these coefficients; slopes and curvatures of the rows are those where the model
    was made. Returns the entries visited, and whether the tolerance was reached.
    """
    size = places.size
    weighted = weighted_entries(X, second)
    curvatures, gaps = np.empty(size), np.zeros(size)
    for at in range(size):
        curvatures[at] = max(weighted_square(X, places[at], second), _SMALLEST_CURVATURE)
    residual = first.copy()
    moving, everything = np.arange(size), True
    spent, n_passes, patience, before = 0, 0, _PASSES_BETWEEN, np.inf
    while True:
        total, visited = _pass(X, places, weighted, moving, coefficients, strengths, curvatures, residual, gaps)
        spent += visited
        if everything and total <= tol:
            return spent, True
        if spent > budget:
            return spent, False
        if not everything and total <= 0.3 * tol:
            moving, everything = np.arange(size), True
            continue
        if everything:
            moving = np.flatnonzero((coefficients != 0.0) | (gaps > 0.0))
        else:
            moving = np.flatnonzero(coefficients != 0.0)
        everything = moving.size == size
        if moving.size == 0:
            moving, everything = np.arange(size), True
        n_passes += 1
        if n_passes < patience:
            continue
        if total > _SLOW * before:
            visited, far = _solve_in_use(
                X, places, second, curvatures, coefficients, strengths, residual, min(0.1, 0.3 * tol / total)
            )
            spent += visited
            patience = _PASSES_BETWEEN if far else 2 * patience
        n_passes, before = 0, total
