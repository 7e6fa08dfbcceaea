"""Proximal Newton steps on working sets, for ``sum_i c_i loss(y_i, z_i) + sum_j penalty_j |w_j|`` with ``z = X w``.

Outer rounds look at all columns, and take those that are in the model or violate optimality most. On these, each step
minimises the quadratic model of the loss plus the penalty, and a line search makes it safe. The quadratic is minimised
either column by column on the rows (cheap when few passes do), or through its matrix once as much work went into passes
as the matrix costs: so that correlated columns cost at most about twice the better of the two.
"""

import numpy as np
from numba import njit

from fewer._kernels._l1_quadratic import minimise_quadratic, optimality_gap, shrunk_step
from fewer._kernels._margin_losses import slopes, slopes_and_curvatures, total_loss_along
from fewer._kernels._table_columns import (
    add_weighted,
    combination,
    dot,
    n_stored,
    products,
    weighted_square,
)
from fewer._kernels._weighted_gram import n_blocks_for, weighted_gram

_SUFFICIENT = 0.01
_SMALLEST_CURVATURE = 1e-12
_MATRIX_AT_MOST = 4000


@njit(cache=True, nogil=True)
def _dense_like(X, columns, n_rows):
    stored = 0
    for at in range(columns.size):
        stored += n_stored(X, columns[at])
    return stored, stored == n_rows * columns.size


@njit(cache=True, nogil=True)
def _by_matrix(X, columns, w, penalties, slopes_at, second, n_blocks, tol, steps):
    """Steps that minimise the model through its matrix."""
    Q = np.empty((columns.size, columns.size))
    weighted_gram(X, columns, 0, second, n_blocks, Q)
    coefficients = np.empty(columns.size)
    strengths = np.empty(columns.size)
    for at in range(columns.size):
        Q[at, at] = max(Q[at, at], _SMALLEST_CURVATURE)
        coefficients[at] = w[columns[at]]
        strengths[at] = penalties[columns[at]]
    minimise_quadratic(Q, slopes_at.copy(), coefficients, strengths, tol, 1000)
    for at in range(columns.size):
        steps[at] = coefficients[at] - w[columns[at]]


@njit(cache=True, nogil=True)
def _by_rows(X, columns, w, penalties, first, second, tol, with_matrix, steps):
    """Steps that minimise the model column by column, until ``tol``.

    With ``with_matrix``, what is left when passes have cost as much as the matrix of the columns that still move is
    done through that.
    """
    residual = first.copy()
    curvatures = np.zeros(columns.size)
    steps[:] = 0.0
    order = np.empty(columns.size, dtype=np.int64)
    moving = np.arange(columns.size)
    gaps = np.zeros(columns.size)
    spent = 0.0
    everything = True
    for _ in range(10000):
        total = 0.0
        for a in range(moving.size):
            at = moving[a]
            j = columns[at]
            if curvatures[at] == 0.0:
                curvatures[at] = max(weighted_square(X, j, second), _SMALLEST_CURVATURE)
            slope = dot(X, j, residual)
            coefficient = w[j] + steps[at]
            gaps[at] = optimality_gap(slope, coefficient, penalties[j])
            total += gaps[at]
            step = shrunk_step(slope, curvatures[at], coefficient, penalties[j])
            spent += n_stored(X, j)
            if step != 0.0:
                steps[at] += step
                add_weighted(X, j, step, second, residual)
                spent += n_stored(X, j)
        if everything and total <= tol:
            return
        if not everything and total <= 0.3 * tol:
            moving, everything = np.arange(columns.size), True
            continue
        n_moving = 0
        for at in range(columns.size):
            if w[columns[at]] + steps[at] != 0.0 or (everything and gaps[at] > 0.0):
                order[n_moving] = at
                n_moving += 1
        moving = order[:n_moving].copy()
        everything = n_moving == columns.size
        if moving.size == 0:
            return
        stored, dense = _dense_like(X, columns[moving], first.size)
        cost = stored * moving.size * (0.1 if dense else 1.0)
        if with_matrix and spent > 5.0 * stored + cost and moving.size <= _MATRIX_AT_MOST:
            chosen = columns[moving]
            Q = np.empty((chosen.size, chosen.size))
            weighted_gram(X, chosen, 0, second, n_blocks_for(first.size), Q)
            slopes_at = np.empty(chosen.size)
            products(X, chosen, residual, slopes_at)
            coefficients = np.empty(chosen.size)
            strengths = np.empty(chosen.size)
            for a in range(chosen.size):
                Q[a, a] = max(Q[a, a], _SMALLEST_CURVATURE)
                coefficients[a] = w[chosen[a]] + steps[moving[a]]
                strengths[a] = penalties[chosen[a]]
            minimise_quadratic(Q, slopes_at, coefficients, strengths, 0.3 * tol, 1000)
            for a in range(chosen.size):
                moved = coefficients[a] - w[chosen[a]] - steps[moving[a]]
                if moved != 0.0:
                    steps[moving[a]] += moved
                    add_weighted(X, chosen[a], moved, second, residual)
            moving, everything = np.arange(columns.size), True
            spent = 0.0


@njit(cache=True, nogil=True)
def _newton_on(loss, X, y, weights, penalties, w, z, columns, tol, max_steps, value, with_matrix):
    """Newton steps on the columns named, until their violations sum to at most ``tol``; the objective's new value."""
    n_rows = z.size
    first, second, direction = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    slopes_at, steps = np.empty(columns.size), np.zeros(columns.size)
    _, dense = _dense_like(X, columns, n_rows)
    # Rows enough for a matrix that is right to about a tenth; the exact one where the model is the problem itself.
    n_blocks = n_blocks_for(min(n_rows, max(100 * columns.size, 2000)))
    rows_used = min(n_rows, n_blocks * 512)
    matrix_pays = with_matrix and ((dense and rows_used * columns.size <= 40 * n_rows) or columns.size <= 16)
    for _ in range(max_steps):
        slopes_and_curvatures(loss, y, weights, z, first, second)
        products(X, columns, first, slopes_at)
        total = 0.0
        for at in range(columns.size):
            total += optimality_gap(slopes_at[at], w[columns[at]], penalties[columns[at]])
        if total <= tol:
            break
        if matrix_pays:
            _by_matrix(X, columns, w, penalties, slopes_at, second, n_blocks, 0.01 * total, steps)
        else:
            _by_rows(X, columns, w, penalties, first, second, max(0.1 * total, 0.3 * tol), with_matrix, steps)
        decrease = 0.0
        for at in range(columns.size):
            j = columns[at]
            decrease += slopes_at[at] * steps[at] + penalties[j] * (abs(w[j] + steps[at]) - abs(w[j]))
        if decrease >= 0.0:
            break
        combination(X, columns, steps, direction)
        elsewhere = 0.0
        for j in range(w.size):
            elsewhere += penalties[j] * abs(w[j])
        for at in range(columns.size):
            elsewhere -= penalties[columns[at]] * abs(w[columns[at]])
        share, taken = 1.0, False
        for _ in range(40):
            new = elsewhere + total_loss_along(loss, y, weights, z, share, direction)
            for at in range(columns.size):
                new += penalties[columns[at]] * abs(w[columns[at]] + share * steps[at])
            if new - value <= _SUFFICIENT * share * decrease + 1e-14 * abs(value):
                taken = True
                break
            share *= 0.5
        if not taken:
            break
        for at in range(columns.size):
            w[columns[at]] += share * steps[at]
        for i in range(n_rows):
            z[i] += share * direction[i]
        value = new
    return value


@njit(cache=True, nogil=True)
def _level_of_largest(values, n_wanted):
    """A level which about ``n_wanted`` of the values exceed."""
    low, high = 0.0, 0.0
    for value in values:
        high = max(high, value)
    for _ in range(40):
        level = 0.5 * (low + high)
        above = 0
        for value in values:
            above += value > level
        if above > n_wanted:
            low = level
        else:
            high = level
            if above >= 0.9 * n_wanted:
                break
    return high


@njit(cache=True, nogil=True)
def _working_set(w, penalties, candidates, gaps, size):
    """Columns in the model, and of the others those that violate most, about ``size`` together."""
    outside = gaps.copy()
    n_inside, n_outside = 0, 0
    for at in range(candidates.size):
        if w[candidates[at]] != 0.0 or penalties[candidates[at]] == 0.0:
            n_inside += 1
            outside[at] = 0.0
        n_outside += outside[at] > 0.0
    n_wanted = max(size - n_inside, size // 2)
    level = _level_of_largest(outside, n_wanted) if n_outside > n_wanted else 0.0
    columns = np.empty(n_inside + n_outside, dtype=candidates.dtype)
    n_columns = 0
    for at in range(candidates.size):
        if outside[at] > level or w[candidates[at]] != 0.0 or penalties[candidates[at]] == 0.0:
            columns[n_columns] = candidates[at]
            n_columns += 1
    return columns[:n_columns]


@njit(cache=True, nogil=True)
def violations(loss, X, y, weights, penalties, w, z, candidates, slopes_at, gaps):
    """Fill in the slopes of the candidate columns and how far each is from optimal; returns the sum of the latter."""
    first = np.empty(z.size)
    slopes(loss, y, weights, z, first)
    products(X, candidates, first, slopes_at)
    total = 0.0
    for at in range(candidates.size):
        gaps[at] = optimality_gap(slopes_at[at], w[candidates[at]], penalties[candidates[at]])
        total += gaps[at]
    return total


@njit(cache=True, nogil=True)
def working_set_round(
    loss,
    X,
    y,
    weights,
    penalties,
    w,
    z,
    candidates,
    slopes_at,
    gaps,
    total,
    value,
    size,
    tol,
    max_steps,
    share,
    with_matrix,
):
    """One round, in place on ``w``, ``z = X w``, slopes and gaps of the candidate columns.

    ``total`` and ``value`` are the sum of gaps and the objective before; at least ``share`` of the violating columns
    are taken, and at least ``size`` columns in all where there are as many. Returns the new total, value and size, and
    whether nothing more can be gained in this arithmetic.
    """
    n_violating = 0
    for at in range(candidates.size):
        n_violating += gaps[at] > 0.0
    size = max(size, int(n_violating * share))
    columns = _working_set(w, penalties, candidates, gaps, size)
    before = value
    value = _newton_on(
        loss, X, y, weights, penalties, w, z, columns, max(0.1 * total, 0.3 * tol), max_steps, value, with_matrix
    )
    total = violations(loss, X, y, weights, penalties, w, z, candidates, slopes_at, gaps)
    stuck = before - value <= 1e-15 * abs(value) and columns.size >= min(size, n_violating)
    return total, value, max(size, 2 * columns.size), stuck


@njit(cache=True, nogil=True)
def working_set_rounds(
    loss,
    X,
    y,
    weights,
    penalties,
    w,
    z,
    candidates,
    slopes_at,
    gaps,
    total,
    value,
    tol,
    max_rounds,
    max_steps,
    share,
    with_matrix,
):
    """Rounds until the gaps sum to ``tol``; arguments as for one round. Returns total, value and rounds."""
    size = 64
    for j in range(w.size):
        size += 2 * (w[j] != 0.0)
    n_rounds = 0
    stuck = False
    while total > tol and n_rounds < max_rounds and not stuck:
        total, value, size, stuck = working_set_round(
            loss, X, y, weights, penalties, w, z, candidates, slopes_at, gaps, total, value, size, tol, max_steps,
            share, with_matrix,
        )  # fmt: skip
        n_rounds += 1
    return total, value, n_rounds
