"""The graphical lasso by Newton steps on the entries that may move, block by block.

    min over Omega > 0 of  -log det Omega + tr(S Omega) + sum_{i != j} alpha_ij |Omega_ij|

Columns that no chain of ``|S_ij| > alpha_ij`` connects are independent in the solution (Witten, Friedman and Simon
2011; Mazumder and Hastie 2012), so each connected part is solved by itself, and a part without cycles has a closed
form that starts every other one (Fattahi and Sojoudi 2019).

A Newton step minimises the quadratic model of the log-determinant, with ``W = Omega^-1``,

    tr((S - W) D) + tr(W D W D) / 2 + sum alpha_ij |Omega_ij + D_ij|,

over the free entries: those that are not zero, or whose slope ``|S_ij - W_ij|`` exceeds ``alpha_ij`` (Hsieh, Sustik,
Dhillon and Ravikumar 2014). The model is minimised one row at a time: with ``r = D w_i`` the slopes of row i are
``W r``, and the free entries of the row are a small quadratic program of their own.

The dual is ``max log det W + p  over  |W_ij - S_ij| <= alpha_ij, W_ii = S_ii``. ``Omega^-1``, clipped into these
bounds, is feasible near the solution, and gives the duality gap.

A small penalty is approached from larger ones. If W solves the dual at ``4 alpha``, ``S + (W - S) / 4`` is feasible at
alpha and positive definite, even where S is singular; its inverse starts the next solution of a small part.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import blas, lapack

# A step is taken when the objective falls by this share of what its slope promises.
_ARMIJO = 1e-3
_SMALLEST_STEP = 1e-10
_MOST_PASSES = 50
# Share of the largest covariance below which a penalty is approached from larger ones, each this many times the next.
SMALL_PENALTY = 0.06
_RATIO = 4
# Columns up to which a start without zeros pays, and conjugate gradients of a joint step at most.
_FEW_COLUMNS = 100
_MOST_GRADIENTS = 100


class PrecisionSolution(NamedTuple):
    """Solution of the graphical lasso and its certificate; made by :func:`sparse_precision`.

    Attributes
    ----------
    precision, covariance : ndarray of shape (n_features, n_features)
        The sparse precision matrix and its inverse.
    alpha : float
        The penalty; the largest one where entries have penalties of their own.
    objective : float
        ``-log det Omega + tr(S Omega) + sum alpha |Omega|``.
    gap : float
        The objective is above its minimum by this at most.
    n_iter : int
        Newton steps of the part that took most.
    n_parts : int
        Connected parts of the graph that were solved separately.
    """

    precision: np.ndarray
    covariance: np.ndarray
    alpha: float
    objective: float
    gap: float
    n_iter: int
    n_parts: int


class Part(NamedTuple):
    """Solution for the columns of one connected part."""

    precision: np.ndarray
    covariance: np.ndarray
    objective: float
    gap: float
    n_iter: int
    stopped: bool = False


@njit(cache=True, nogil=True)
def free_entries(precision, S, W, penalty):
    """The free entries by rows, the diagonal among them: row starts, columns, and where the mirrored entry stands.

    Entries below the diagonal decide for their mirror images too, whose values may differ by rounding.
    """
    size, constant = len(S), penalty.shape[0] == 1
    bound = penalty[0, 0]
    n_free = np.ones(size + 1, dtype=np.int64)
    n_free[0] = 0
    found = np.empty(size, dtype=np.int32)
    below = np.empty(4 * size, dtype=np.int32)  # columns of free entries below the diagonal, row after row
    ends = np.zeros(size + 1, dtype=np.int64)
    for i in range(size):
        first, second, third = precision[i], S[i], W[i]
        n_found = 0
        for j in range(i):
            if not constant:
                bound = penalty[i, j]
            found[n_found] = j  # kept only if it is free: without a branch that is hard to predict
            n_found += (first[j] != 0) | (abs(second[j] - third[j]) > bound)
        ends[i + 1] = ends[i] + n_found
        if ends[i + 1] > len(below):
            grown = np.empty(2 * ends[i + 1], dtype=np.int32)
            grown[: ends[i]] = below[: ends[i]]
            below = grown
        for t in range(n_found):
            below[ends[i] + t] = found[t]
            n_free[found[t] + 1] += 1
        n_free[i + 1] += n_found
    starts = np.cumsum(n_free)
    columns = np.empty(starts[-1], dtype=np.int32)
    mirror = np.empty(starts[-1], dtype=np.int64)
    filled = starts[:-1].copy()
    for i in range(size):
        # Rows come in order, so that those of a column are in order as well.
        for t in range(ends[i], ends[i + 1]):
            j = below[t]
            here, there = filled[i], filled[j]
            columns[here], mirror[here] = j, there
            columns[there], mirror[there] = i, here
            filled[i] += 1
            filled[j] += 1
        columns[filled[i]], mirror[filled[i]] = i, filled[i]
        filled[i] += 1
    return starts, columns, mirror


@njit(cache=True, nogil=True)
def gathered(matrix, starts, columns):
    """Entries of a matrix at the free places."""
    values = np.empty(len(columns), dtype=matrix.dtype)
    constant = matrix.shape[0] == 1
    for i in range(len(starts) - 1):
        for t in range(starts[i], starts[i + 1]):
            values[t] = matrix[0, 0] if constant else matrix[i, columns[t]]
    return values


@njit(cache=True, nogil=True, fastmath=True)
def _product(first, second):
    total = first[0] * 0
    for k in range(len(first)):
        total += first[k] * second[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def products_of_step(W, first_row, starts, columns, step, block, products):
    """``D w_i`` for eight rows i from ``first_row`` on: one row of ``products`` each.

    The entries of D are read once for all eight, whose columns of W stand side by side in ``block``.
    """
    size = len(W)
    for b in range(8):
        row = W[min(first_row + b, size - 1)]
        for k in range(size):
            block[k, b] = row[k]
    for k in range(size):
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = block[0, 0] * 0
        for t in range(starts[k], starts[k + 1]):
            d, w = step[t], block[columns[t]]
            a0 += d * w[0]
            a1 += d * w[1]
            a2 += d * w[2]
            a3 += d * w[3]
            a4 += d * w[4]
            a5 += d * w[5]
            a6 += d * w[6]
            a7 += d * w[7]
        products[0, k], products[1, k], products[2, k], products[3, k] = a0, a1, a2, a3
        products[4, k], products[5, k], products[6, k], products[7, k] = a4, a5, a6, a7


@njit(cache=True, nogil=True, fastmath=True)
def row_minimum(i, W, first, last, columns, mirror, entries, penalties, slopes, within, step):
    """Minimise the model over the free entries of row i by coordinate descent; ``slopes`` are those of the row."""
    n_free = last - first
    w = W[i]
    for a in range(n_free):
        row = W[columns[first + a]]
        for b in range(n_free):
            within[a, b] = row[columns[first + b]]
    moved = 0.0
    for _ in range(4):
        changed = 0.0
        for a in range(n_free):
            t = first + a
            j = columns[t]
            curvature = w[i] * w[i] if j == i else w[j] * w[j] + w[i] * within[a, a]
            at = entries[t] + step[t]
            target = at - slopes[a] / curvature
            limit = penalties[t] / curvature
            if target > limit:
                new = target - limit
            elif target < -limit:
                new = target + limit
            else:
                new = at * 0
            change = new - at
            if change == 0:
                continue
            step[t] = step[mirror[t]] = new - entries[t]  # exactly -entry where an entry becomes zero
            if j == i:
                for b in range(n_free):
                    slopes[b] += change * w[i] * w[columns[first + b]]
            else:
                for b in range(n_free):
                    slopes[b] += change * (w[i] * within[a, b] + w[j] * w[columns[first + b]])
            changed += curvature * change * change
        moved += changed
        if changed <= 1e-3 * moved:
            break
    return moved


@njit(cache=True, nogil=True, fastmath=True)
def model_pass(W, starts, columns, mirror, entries, slopes, penalties, step):
    """One pass over the rows of the quadratic model; ``step`` is D. Returns how far D moved, in the model's metric."""
    size = len(W)
    largest = 0
    for i in range(size):
        largest = max(largest, starts[i + 1] - starts[i])
    within = np.empty((largest, largest), dtype=W.dtype)
    row_slopes, before = np.empty(largest, dtype=W.dtype), np.empty(largest, dtype=W.dtype)
    block, products = np.empty((size, 8), dtype=W.dtype), np.empty((8, size), dtype=W.dtype)
    moved = 0.0
    for i in range(size):
        if i % 8 == 0:
            products_of_step(W, i, starts, columns, step, block, products)
        first, last = starts[i], starts[i + 1]
        for a in range(last - first):
            row_slopes[a] = slopes[first + a] + _product(W[columns[first + a]], products[i % 8])
            before[a] = step[first + a]
        moved += row_minimum(i, W, first, last, columns, mirror, entries, penalties, row_slopes, within, step)
        for later in range(i + 1, min(i + 8 - i % 8, size)):  # the rest of the eight sees what has changed
            for a in range(last - first):
                j = columns[first + a]
                change = step[first + a] - before[a]
                products[later % 8, i] += change * W[later, j]
                if j != i:
                    products[later % 8, j] += change * W[later, i]
    return moved


@njit(cache=True, nogil=True)
def scattered(starts, columns, values, out):
    """Values at the free places of a matrix, zeros elsewhere."""
    out[:] = 0
    for i in range(len(starts) - 1):
        for t in range(starts[i], starts[i + 1]):
            out[i, columns[t]] = values[t]


@njit(cache=True, nogil=True)
def _mirror_upper(matrix):
    """Copy the upper triangle to the lower one."""
    for i in range(len(matrix)):
        for j in range(i):
            matrix[i, j] = matrix[j, i]


@njit(cache=True, nogil=True)
def clipped(W, S, penalty):
    """The dual point nearest to W: within the penalty of S, and with its diagonal."""
    size = len(S)
    constant = penalty.shape[0] == 1
    out = np.empty_like(S)
    for i in range(size):
        for j in range(size):
            bound = penalty[0, 0] if constant else penalty[i, j]
            away = W[i, j] - S[i, j]
            out[i, j] = S[i, j] if i == j else S[i, j] + min(max(away, -bound), bound)
    return out


def _factor(matrix: np.ndarray) -> np.ndarray | None:
    """Cholesky factor, of which only the triangle of LAPACK is read; None unless positive definite."""
    potrf = lapack.spotrf if matrix.dtype == np.float32 else lapack.dpotrf
    # The transposed matrix is in Fortran order without a copy, and symmetric.
    factor, info = potrf(matrix.T, lower=1, clean=0, overwrite_a=0)
    return factor if info == 0 else None


def _inverse(factor: np.ndarray) -> np.ndarray:
    potri = lapack.spotri if factor.dtype == np.float32 else lapack.dpotri
    inverse, _ = potri(factor, lower=1, overwrite_c=1)
    inverse = inverse.T  # in C order again, with its upper triangle filled
    _mirror_upper(inverse)
    return inverse


def _dot(first: np.ndarray, second: np.ndarray) -> float:
    """Scalar product without NumPy's BLAS, whose threads would keep those of SciPy's from factorising."""
    return float(np.einsum("i,i->", first, second))


def _sandwiched(middle: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """``outer @ middle @ outer``, by SciPy's BLAS for the same reason."""
    gemm = blas.sgemm if middle.dtype == np.float32 else blas.dgemm
    # Transposed, they are in Fortran order without a copy.
    return gemm(1.0, outer.T, gemm(1.0, middle.T, outer.T)).T


def _log_det(factor: np.ndarray) -> float:
    return 2 * float(np.log(np.diag(factor).astype(float)).sum())


@njit(cache=True, nogil=True)
def forest_start(S, penalty):
    """The solution if the graph of ``|S_ij| > alpha_ij`` has no cycle; otherwise a start near it.

    The diagonal where two columns are perfectly correlated.
    """
    size = len(S)
    constant = penalty.shape[0] == 1
    start = np.zeros_like(S)
    for i in range(size):
        start[i, i] = 1 / S[i, i]
    for i in range(size):
        for j in range(i):
            bound = penalty[0, 0] if constant else penalty[i, j]
            if abs(S[i, j]) > bound:
                shrunk = S[i, j] - np.sign(S[i, j]) * bound
                apart = S[i, i] * S[j, j] - shrunk * shrunk
                if apart <= 0:
                    return np.diag(1 / np.diag(S))
                start[i, j] = start[j, i] = -shrunk / apart
                start[i, i] += shrunk * shrunk / (apart * S[i, i])
                start[j, j] += shrunk * shrunk / (apart * S[j, j])
    return start


@njit(cache=True, nogil=True)
def connected_parts(S, penalty):
    """For each column the first one that a chain of ``|S_ij| > alpha_ij`` connects it with."""
    size = len(S)
    constant = penalty.shape[0] == 1
    first = np.arange(size)
    for i in range(size):
        for j in range(i):
            bound = penalty[0, 0] if constant else penalty[i, j]
            if abs(S[i, j]) > bound:
                a, b = i, j
                while first[a] != a:
                    first[a] = first[first[a]]
                    a = first[a]
                while first[b] != b:
                    first[b] = first[first[b]]
                    b = first[b]
                if a < b:
                    first[b] = a
                else:
                    first[a] = b
    for i in range(size):
        first[i] = first[first[i]]
    return first


def solve_in_parts(
    S: np.ndarray,
    penalty: np.ndarray,
    tol: float,
    max_iter: int,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    after_step: Callable[[np.ndarray, np.ndarray], bool] | None = None,
) -> PrecisionSolution:
    """The graphical lasso, each connected part by itself; the gap is at most ``tol`` for each column.

    ``start`` is a solution at a larger penalty. ``after_step`` gets the matrices as they are, and stops if it says so.
    """
    part_of = connected_parts(S, penalty)
    order = np.argsort(part_of, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(part_of[order])) + 1)
    if len(parts) == 1:
        whole = solve_part(S, penalty, tol * len(S), max_iter, start, after_step)
        return PrecisionSolution(
            whole.precision, whole.covariance, _largest(penalty), whole.objective, whole.gap, whole.n_iter, 1
        )
    variances = np.diag(S)
    precision, covariance = np.diag(1 / variances), np.diag(variances.copy())
    single = np.array([columns[0] for columns in parts if len(columns) == 1], dtype=int)
    objective, gap, n_iter, stopped = float((np.log(variances[single].astype(float)) + 1).sum()), 0.0, 0, False
    for columns in parts:
        if len(columns) == 1:
            continue
        block = np.ix_(columns, columns)

        def watched(omega: np.ndarray, W: np.ndarray, block=block) -> bool:
            precision[block], covariance[block] = omega, W
            return after_step is not None and after_step(precision, covariance)

        part = solve_part(
            np.ascontiguousarray(S[block]),
            penalty if penalty.shape == (1, 1) else np.ascontiguousarray(penalty[block]),
            tol * len(columns),
            0 if stopped else max_iter,
            None if start is None else (start[0][block], start[1][block]),
            watched if after_step is not None and not stopped else None,
        )
        precision[block], covariance[block] = part.precision, part.covariance
        objective, gap = objective + part.objective, gap + part.gap
        n_iter, stopped = max(n_iter, part.n_iter), stopped or part.stopped
    return PrecisionSolution(precision, covariance, _largest(penalty), objective, gap, n_iter, len(parts))


def _largest(penalty: np.ndarray) -> float:
    return float(np.max(penalty, where=np.isfinite(penalty), initial=0.0))


def solve_part(
    S: np.ndarray,
    penalty: np.ndarray,
    tol: float,
    max_iter: int,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    after_step: Callable[[np.ndarray, np.ndarray], bool] | None = None,
) -> Part:
    """The graphical lasso for one connected part.

    ``penalty`` is a matrix, or one number as a matrix of shape (1, 1); ``start`` a precision matrix and its inverse.
    The gap is at most ``tol`` at the end.
    """
    size = len(S)
    n_iter = 0
    if start is None and penalty.shape == (1, 1) and 0 < penalty[0, 0] < SMALL_PENALTY * np.abs(np.triu(S, 1)).max():
        # Far from the solution steps are short: a larger penalty is solved roughly first.
        larger = S.dtype.type(_RATIO) * penalty
        rough = solve_part(S, larger, 1e-2 * size, max_iter, None, after_step)
        start, n_iter = _scaled_start(S, larger, rough), rough.n_iter
        max_iter = n_iter if rough.stopped else max_iter
    precision, W, log_det = _started(S, penalty, start)
    trial = np.empty_like(precision)
    gap = np.inf
    rounding = 10 * np.finfo(S.dtype).eps
    stopped = after_step is not None and after_step(precision, W)
    while True:
        starts, columns, mirror = free_entries(precision, S, W, penalty)
        entries, covariances = gathered(precision, starts, columns), gathered(S, starts, columns)
        penalties = gathered(penalty, starts, columns)
        penalties[np.repeat(np.arange(size), np.diff(starts)) == columns] = 0
        trace, norm = _dot(covariances, entries), _dot(penalties, np.abs(entries))
        value = trace + norm - log_det
        # This is the gap if W is feasible; the factorisation that makes sure of it takes a third of a step.
        last = n_iter >= max_iter or stopped
        if abs(trace + norm - size) <= 4 * tol or last:
            gap = _duality_gap(value, W, S, penalty, certain=last)
        if gap <= tol or last:
            break
        slopes = covariances - gathered(W, starts, columns)
        step = _model_minimum(precision, W, starts, columns, mirror, entries, slopes, penalties)
        promised = _dot(slopes, step) + _dot(penalties, np.abs(entries + step)) - norm
        share, factor = 1.0, None
        while share > _SMALLEST_STEP:
            at = entries + S.dtype.type(share) * step
            scattered(starts, columns, at, trial)
            factor = _factor(trial)
            if factor is not None:
                new = _dot(covariances, at) + _dot(penalties, np.abs(at)) - _log_det(factor)
                if new <= value + _ARMIJO * share * promised + rounding * max(abs(value), size):
                    break
            share /= 2
        else:
            gap = _duality_gap(value, W, S, penalty, certain=True)
            break
        n_iter += 1
        precision, trial = trial, precision
        log_det, W = _log_det(factor), _inverse(factor)
        stopped = after_step is not None and after_step(precision, W)
    return Part(precision, W, value, gap, n_iter, stopped)


def _duality_gap(value: float, W: np.ndarray, S: np.ndarray, penalty: np.ndarray, *, certain: bool) -> float:
    """How far ``value`` is above the minimum at most; infinity if no dual point is at hand.

    Far from the solution the clipped W may have negative eigenvalues. Where the answer must be ``certain``, it is then
    moved towards S with smaller entries off the diagonal, which is feasible too, and positive definite.
    """
    dual = clipped(W, S, penalty)
    factor = _factor(dual)
    if factor is None and certain:
        off = np.abs(S) * ~np.eye(len(S), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(off > 0, np.broadcast_to(penalty, S.shape) / off, 1.0)
        smaller = S.dtype.type(min(shares.min(), 1.0))
        safe = (1 - smaller) * S + smaller * np.diag(np.diag(S))
        points = (dual + S.dtype.type(share) * (safe - dual) for share in (1e-2, 1e-1, 0.5, 1))
        factor = next((found for found in map(_factor, points) if found is not None), None)
    return np.inf if factor is None else max(value - _log_det(factor) - len(S), 0.0)


def _scaled_start(S: np.ndarray, larger: np.ndarray, rough: Part) -> tuple[np.ndarray, np.ndarray]:
    """A start at a penalty from the solution at ``_RATIO`` times that: the better one of it and of its scaled dual."""
    plain = rough.precision, rough.covariance
    if len(S) > _FEW_COLUMNS:
        return plain
    W = S + (clipped(rough.covariance, S, larger) - S) / S.dtype.type(_RATIO)
    factor = _factor(W)
    if factor is None:
        return plain
    scaled = _inverse(factor)
    starts = (plain, (scaled, W))
    return min(starts, key=lambda each: _objective(each[0], S, float(larger[0, 0]) / _RATIO))


def _objective(precision: np.ndarray, S: np.ndarray, alpha: float) -> float:
    factor = _factor(precision)
    if factor is None:
        return np.inf
    norm = float(np.abs(precision).sum() - np.abs(np.diag(precision)).sum())
    return float((S * precision).sum()) + alpha * norm - _log_det(factor)


def _started(
    S: np.ndarray, penalty: np.ndarray, start: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """A precision matrix to start from, its inverse and its log-determinant."""
    candidates = [np.ascontiguousarray(start[0])] if start is not None else [forest_start(S, penalty)]
    for precision in [*candidates, np.diag(1 / np.diag(S))]:
        factor = _factor(precision)
        if factor is not None:
            log_det = _log_det(factor)  # the inverse takes the place of the factor
            return precision, _inverse(factor) if start is None else np.ascontiguousarray(start[1]), log_det
    raise FloatingPointError("variances underflow")  # a positive diagonal has a factor


def _model_minimum(precision, W, starts, columns, mirror, entries, slopes, penalties) -> np.ndarray:
    """The step to the minimum of the quadratic model, to about a hundredth of its length."""
    step = np.zeros_like(entries)
    largest = 0.0
    for n_pass in range(_MOST_PASSES):
        moved = model_pass(W, starts, columns, mirror, entries, slopes, penalties, step)
        largest = max(largest, moved)
        if moved <= 1e-2 * largest:
            break
        if n_pass >= 4 and n_pass % 2 == 0:  # rows depend on one another too much to be minimised one after the other
            step = _joint_minimum(precision, W, starts, columns, mirror, entries, slopes, penalties, step)
    return step


def _joint_minimum(precision, W, starts, columns, mirror, entries, slopes, penalties, step) -> np.ndarray:
    """All entries that are not zero at once, with their signs kept, by conjugate gradients.

    The inverse of the whole Hessian, ``R -> Omega R Omega``, is a good preconditioner where many entries are free.
    """
    at = entries + step
    inside = at != 0
    whole = np.zeros_like(W)

    def curved(flat: np.ndarray, left: np.ndarray) -> np.ndarray:
        scattered(starts, columns, flat, whole)
        return np.where(inside, gathered(_sandwiched(whole, left), starts, columns), 0)

    def model(flat: np.ndarray) -> float:
        return float(slopes @ flat + flat @ curved_all(flat) / 2 + penalties @ np.abs(entries + flat))

    def curved_all(flat: np.ndarray) -> np.ndarray:
        scattered(starts, columns, flat, whole)
        return gathered(_sandwiched(whole, W), starts, columns)

    residual = np.where(inside, -(slopes + curved_all(step) + penalties * np.sign(at)), 0)
    scaled = curved(residual, precision)
    direction, product = scaled.copy(), float(residual @ scaled)
    first, found = product, step.copy()
    for _ in range(_MOST_GRADIENTS):
        if product <= 1e-6 * first or product <= 0:
            break
        image = curved(direction, W)
        length = product / float(direction @ image)
        found += length * direction
        residual -= length * image
        scaled = curved(residual, precision)
        product, before = float(residual @ scaled), product
        direction = scaled + product / before * direction
    found = (found + found[mirror]) / 2  # rounding must not make the precision matrix asymmetric
    # Entries that would change their sign become zero.
    whole_way = np.where(inside & ((entries + found) * at <= 0), -entries, found)
    way = found - step
    slope, bend = float((slopes + curved_all(step)) @ way), float(way @ curved_all(way))
    part = _lowest_along(at, way, slope, bend, penalties)
    part_way = step + part * way
    # The entry whose change of sign ends the way becomes zero, up to rounding.
    part_way = np.where(inside & (np.abs(entries + part_way) <= 1e-12 * np.abs(at)), -entries, part_way)
    return min((step, whole_way, part_way), key=model)


def _lowest_along(at: np.ndarray, way: np.ndarray, slope: float, bend: float, penalties: np.ndarray) -> float:
    """Where ``slope t + bend t^2 / 2 + sum penalties |at + t way|`` is lowest for 0 <= t <= 1.

    Where columns are nearly collinear, entries change their sign on the way; the slope rises at each of these places.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.where(way != 0, -at / way, np.inf)
    crossed = np.flatnonzero((places > 0) & (places < 1))
    crossed = crossed[np.argsort(places[crossed], kind="stable")]
    slope += float(penalties @ (np.sign(at) * way))
    rises = np.concatenate([[0.0], np.cumsum(2 * penalties[crossed] * np.abs(way[crossed]))])
    # On the stretch that begins at a change of sign the derivative is slope + rise + bend t.
    ends = np.append(places[crossed], 1.0)
    beyond = slope + rises + bend * ends >= 0
    stretch = int(beyond.argmax()) if beyond.any() else len(crossed)
    start = 0.0 if stretch == 0 else float(ends[stretch - 1])
    lowest = -(slope + rises[stretch]) / bend if bend > 0 else 1.0
    return float(min(max(lowest, start), ends[stretch]))
