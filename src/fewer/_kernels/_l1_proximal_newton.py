"""Proximal Newton steps on working sets, for ``sum_i c_i loss(y_i, z_i) + sum_j penalty_j |w_j|`` with ``z = X w``.

Outer rounds look at all columns, and take those that are in the model or violate optimality most. On these, each step
minimises the quadratic model of the loss plus the penalty, and a line search makes it safe. The quadratic is minimised
either column by column on the rows (cheap when few passes do), or through its matrix once as much work went into passes
as the matrix costs: so that correlated columns cost at most about twice the better of the two.
"""

import numpy as np
from numba import njit

from fewer._kernels._kept_gram import N_HELD, SPENT, forget, kept_gram, sampled
from fewer._kernels._l1_quadratic import minimise_quadratic, optimality_gap
from fewer._kernels._l1_rows import minimise_on_rows
from fewer._kernels._margin_losses import loss_and_derivatives_along, slopes, slopes_and_curvatures
from fewer._kernels._table_columns import combination, n_stored, picked, products
from fewer._kernels._weighted_gram import n_blocks_for

_SUFFICIENT = 0.01
_SMALLEST_CURVATURE = 1e-12
# What the product of two entries in a matrix costs, beside an entry that a pass over columns visits. A matrix of sparse
# columns pays only on a path, so it is bought late.
_DENSE_PRICE, _SPARSE_PRICE = 0.3, 3.0
# A step with an old matrix should leave at most this share of the violations.
_SLOW = 0.25
_INNER = 0.1
_FEW = 16


@njit(cache=True, nogil=True)
def _stored(X, columns):
    stored = 0
    for at in range(columns.size):
        stored += n_stored(X, columns[at])
    return stored


@njit(cache=True, nogil=True)
def _minimise_by_matrix(kept, X, columns, second, n_blocks, slopes_at, before, coefficients, strengths, tol):
    """Minimise the model through its matrix, from where the coefficients are."""
    Q = kept_gram(kept, X, columns, second, n_blocks)
    slopes_now = slopes_at.copy()
    for a in range(columns.size):
        Q[a, a] = max(Q[a, a], _SMALLEST_CURVATURE)
    for a in range(columns.size):
        moved = coefficients[a] - before[a]
        if moved != 0.0:
            slopes_now += moved * Q[a]
    minimise_quadratic(Q, slopes_now, coefficients, strengths, tol, 1000)


@njit(cache=True, nogil=True)
def _newton_on(loss, X, y, weights, penalties, w, z, columns, slopes_at, tol, max_steps, value, with_matrix, kept):
    """Newton steps on the columns named, until their violations sum to at most ``tol``; the objective's new value.

    ``slopes_at`` are their slopes, which change with the steps. The model is minimised on the rows until that has cost
    as much as its matrix; from then on by the matrix, which is made anew when steps with an old one gain too little.
    """
    n_rows, size = z.size, columns.size
    first, second, direction = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    new_first, new_second = np.empty(n_rows), np.empty(n_rows)
    strengths, before = penalties[columns], w[columns]
    stored = _stored(X, columns)
    dense = stored == n_rows * size
    # Rows enough for a matrix that is right to about a tenth.
    n_blocks = n_blocks_for(min(n_rows, max(100 * size, 2000))) if dense else n_blocks_for(n_rows)
    rows_used = min(n_rows, n_blocks * 512)
    price = size * (_DENSE_PRICE * rows_used * size if dense else _SPARSE_PRICE * stored)
    pays = with_matrix and size * size <= stored and size <= kept.held.size
    table, places = picked(X, columns)
    slopes_and_curvatures(loss, y, weights, z, first, second)
    elsewhere = 0.0
    for j in range(w.size):
        elsewhere += penalties[j] * abs(w[j])
    for at in range(size):
        elsewhere -= strengths[at] * abs(before[at])
    last, by_matrix, fresh = np.inf, False, True
    for step in range(max_steps):
        if step:
            products(table, places, first, slopes_at)
        total = 0.0
        for at in range(size):
            total += optimality_gap(slopes_at[at], before[at], strengths[at])
        if total <= tol:
            break
        if by_matrix and total > _SLOW * last:
            if fresh:
                n_blocks = min(4 * n_blocks, n_blocks_for(n_rows))
            if not fresh or sampled(kept, n_rows):
                forget(kept)
        last, fresh = total, kept.facts[N_HELD] == 0
        coefficients = before.copy()
        if size <= _FEW:
            forget(kept)  # an exact matrix costs no more than a few passes
        by_matrix = pays and (size <= _FEW or kept.facts[N_HELD] > 0 or kept.facts[SPENT] > price)
        if not by_matrix:
            budget = price - kept.facts[SPENT] if pays else 10.0 * price + 100.0 * stored
            spent, done = minimise_on_rows(
                table, places, first, second, coefficients, strengths, max(_INNER * total, 0.3 * tol), budget
            )
            kept.facts[SPENT] += spent
            by_matrix = not done and with_matrix and size <= kept.held.size
        if by_matrix:
            _minimise_by_matrix(
                kept, X, columns, second, n_blocks, slopes_at, before, coefficients, strengths, 0.01 * total
            )
        steps = coefficients - before
        decrease = 0.0
        for at in range(size):
            decrease += slopes_at[at] * steps[at] + strengths[at] * (abs(coefficients[at]) - abs(before[at]))
        if decrease >= 0.0:
            break
        combination(table, places, steps, direction)
        share, taken = 1.0, False
        for _ in range(40):
            new = elsewhere + loss_and_derivatives_along(loss, y, weights, z, share, direction, new_first, new_second)
            for at in range(size):
                new += strengths[at] * abs(before[at] + share * steps[at])
            if new - value <= _SUFFICIENT * share * decrease + 1e-14 * abs(value):
                taken = True
                break
            share *= 0.5
        if not taken:
            break
        for at in range(size):
            before[at] = coefficients[at] if share == 1.0 else before[at] + share * steps[at]
            w[columns[at]] = before[at]
        for i in range(n_rows):
            z[i] += share * direction[i]
        first, new_first = new_first, first
        second, new_second = new_second, second
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
    """Where columns in the model are among the candidates, and of the others those that violate most.

    Together they are about ``size``.
    """
    outside = gaps.copy()
    n_inside, n_outside = 0, 0
    for at in range(candidates.size):
        if w[candidates[at]] != 0.0 or penalties[candidates[at]] == 0.0:
            n_inside += 1
            outside[at] = 0.0
        n_outside += outside[at] > 0.0
    n_wanted = max(size - n_inside, size // 2)
    level = _level_of_largest(outside, n_wanted) if n_outside > n_wanted else 0.0
    chosen = np.empty(n_inside + n_outside, dtype=np.int64)
    n_chosen = 0
    for at in range(candidates.size):
        if outside[at] > level or w[candidates[at]] != 0.0 or penalties[candidates[at]] == 0.0:
            chosen[n_chosen] = at
            n_chosen += 1
    return chosen[:n_chosen]


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
    kept,
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
    chosen = _working_set(w, penalties, candidates, gaps, size)
    before, value_before = total, value
    value = _newton_on(
        loss, X, y, weights, penalties, w, z, candidates[chosen], slopes_at[chosen], max(0.1 * total, 0.3 * tol),
        max_steps, value, with_matrix, kept,
    )  # fmt: skip
    total = violations(loss, X, y, weights, penalties, w, z, candidates, slopes_at, gaps)
    # Where the objective shows no more difference, the violations still may.
    stuck = (
        value_before - value <= 1e-15 * abs(value) and total > 0.7 * before and chosen.size >= min(size, n_violating)
    )
    return total, value, max(size, 2 * chosen.size), stuck


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
    kept,
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
            share, with_matrix, kept,
        )  # fmt: skip
        n_rounds += 1
    return total, value, n_rounds
