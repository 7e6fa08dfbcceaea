"""The penalised likelihood of an autoregressive model, through its dual.

    min over X >= 0 of  -log det X_00 + tr(C X) + gamma h(D(X))

    h_inf(Y) = sum_{i<j} max_k max(|Y_k,ij|, |Y_k,ji|),    h_a(Y) = sum_{i<j} (sum_k |Y_k,ij|^a + |Y_k,ji|^a)^(1/a)

The dual maximises ``log det W + n`` for ``V = C + T(Z)`` and its Schur complement ``W = V_00 - V_01 V_11^-1 V_10``,
over ``Z`` with zero diagonals whose entries of each pair, ``z_ij = (Z_k,ij, Z_k,ji)_k``, lie in the ball of radius
gamma of the dual norm. Every dual point gives a primal one, ``X = F W^-1 F'`` with ``F = [I; -V_11^-1 V_10]``, and with
it the gap ``gamma h(D(X)) - <Z, D(X)>``.

Steps go along the gradient ``D(X)`` and back into the balls, with a length by Barzilai and Borwein that is halved until
the objective falls as it must. The same steps with other projections solve the likelihood with given zeros. Songsiri
and Vandenberghe (2010), JMLR 11, 2671-2705.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._numpy_lapack import inverse_of_lower, solve_cholesky
from fewer.graph.series._spectra import block_sums, block_toeplitz

# Radius of the balls for a penalty of 1, so that order 0 is the graphical lasso at the same alpha: pairs count twice.
RADIUS = {"inf": 2.0, "2": np.sqrt(2.0), "1": 1.0}
_CODES = {"inf": 0, "2": 1, "1": 2}
_SMALLEST_STEP = 1e-14


class SingularSeriesError(ValueError):
    """Covariances that no penalty makes regular: the likelihood has no maximum."""


class DualPoint(NamedTuple):
    """A point of the dual and the model that belongs to it."""

    Z: np.ndarray
    noise_cov: np.ndarray
    coef: np.ndarray
    spectrum: np.ndarray
    value: float


def _factor(matrix: np.ndarray, whole: np.ndarray) -> np.ndarray | None:
    """Cholesky factor; None for a matrix that is singular to the rounding of the whole one."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return factor if np.diag(factor).min() ** 2 > 1e-13 * np.diag(whole).max() else None


def dual_point(C: np.ndarray, Z: np.ndarray) -> DualPoint | None:
    """``W``, the coefficients, ``D(X)`` and ``phi = -log det W - n`` at Z; None outside of the domain."""
    size = Z.shape[1]
    V = C + block_toeplitz(Z)
    past = V[size:, size:]
    coef = np.zeros((len(past), size))
    if len(past):
        factor = _factor(past, V)
        if factor is None:
            return None
        coef = solve_cholesky(factor, V[size:, :size])
    W = V[:size, :size] - V[:size, size:] @ coef
    factor = _factor((W + W.T) / 2, V)
    if factor is None:
        return None
    value = -2 * np.log(np.diag(factor)).sum() - size
    stacked = np.vstack([np.eye(size), -coef]) @ inverse_of_lower(factor).T
    return DualPoint(Z, (W + W.T) / 2, coef.T, block_sums(stacked @ stacked.T, size), float(value))


@njit(cache=True, nogil=True)
def _into_ball(v, radius, code):
    """Project a vector into a ball: of the 1-norm, the 2-norm or the largest entry."""
    if code == 2:
        for k in range(len(v)):
            v[k] = min(max(v[k], -radius), radius)
    elif code == 1:
        length = np.sqrt((v * v).sum())
        if length > radius:
            v *= radius / length
    elif np.abs(v).sum() > radius:
        sizes = np.sort(np.abs(v))[::-1]
        total, limit = 0.0, 0.0
        for k in range(len(v)):
            total += sizes[k]
            if sizes[k] > (total - radius) / (k + 1):
                limit = (total - radius) / (k + 1)
        for k in range(len(v)):
            v[k] = np.sign(v[k]) * max(abs(v[k]) - limit, 0.0)


@njit(cache=True, nogil=True)
def projected(Z, radius, code):
    """``Z`` with zero diagonals and the entries of each pair in the ball; entries of ``Z_0`` count twice."""
    n_blocks, size = Z.shape[0], Z.shape[1]
    out = np.zeros_like(Z)
    v = np.empty(2 * n_blocks)
    for i in range(size):
        for j in range(i + 1, size):
            for k in range(n_blocks):
                v[2 * k], v[2 * k + 1] = Z[k, i, j], Z[k, j, i]
            _into_ball(v, radius, code)
            for k in range(n_blocks):
                out[k, i, j], out[k, j, i] = v[2 * k], v[2 * k + 1]
    return out


@njit(cache=True, nogil=True)
def pair_norms(Y, code):
    """The norm of each pair's entries that the penalty sums up, as a symmetric matrix."""
    n_blocks, size = Y.shape[0], Y.shape[1]
    norms = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            total = 0.0
            for k in range(n_blocks):
                a, b = abs(Y[k, i, j]), abs(Y[k, j, i])
                if code == 0:
                    total = max(total, a, b)
                elif code == 1:
                    total += a * a + b * b
                else:
                    total += a + b
            norms[i, j] = norms[j, i] = np.sqrt(total) if code == 1 else total
    return norms


class ARSolution(NamedTuple):
    """Where the steps ended."""

    point: DualPoint
    gap: float
    n_iter: int
    stopped: bool


def ascend(
    C: np.ndarray,
    project: Callable[[np.ndarray], np.ndarray],
    gap_of: Callable[[DualPoint], float],
    tol: float,
    max_iter: int,
    starts: list[np.ndarray],
    after_step: Callable[[DualPoint], bool] | None = None,
) -> ARSolution:
    """Projected steps from the first start in the domain until ``gap_of`` is at most ``tol``; ``phi`` never rises."""
    point = next((found for Z in starts if (found := dual_point(C, project(Z))) is not None), None)
    if point is None:
        raise SingularSeriesError(
            "The covariances of the series with their past are singular: there are too few rows, or series that others "
            "predict exactly. Increase alpha, lower order, or leave series out."
        )
    length, n_iter, gap = 1.0, 0, gap_of(point)
    stopped = after_step is not None and after_step(point)
    while gap > tol and n_iter < max_iter and not stopped:
        gradient = point.spectrum
        trial = length
        while True:
            Z = project(point.Z + trial * gradient)
            move = Z - point.Z
            new = dual_point(C, Z)
            bound = point.value - float((gradient * move).sum()) + float((move * move).sum()) / (2 * trial)
            if new is not None and new.value <= bound + 1e-14 * abs(point.value):
                break
            trial /= 2
            if trial < _SMALLEST_STEP:
                return ARSolution(point, gap, n_iter, stopped)
        change = point.spectrum - new.spectrum
        curvature = float((move * change).sum())
        length = min(float((move * move).sum()) / curvature, 1e6) if curvature > 0 else 2 * trial
        length = max(length, 1e-8)
        point, n_iter = new, n_iter + 1
        gap = gap_of(point)
        stopped = after_step is not None and after_step(point)
    return ARSolution(point, gap, n_iter, stopped)


def penalised(
    C: np.ndarray,
    size: int,
    alpha: float,
    penalty: str,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
    after_step: Callable[[DualPoint], bool] | None = None,
) -> ARSolution:
    """The penalised likelihood at one penalty; the gap is at most ``tol``."""
    radius, code = alpha * RADIUS[penalty], _CODES[penalty]

    def gap_of(point: DualPoint) -> float:
        return alpha * penalty_norm(point, penalty) - float((point.Z * point.spectrum).sum())

    share = min(alpha / (largest_alpha(C, size, penalty) or 1.0), 1.0)
    starts = [] if start is None else [start]
    starts += [np.zeros((len(C) // size, size, size)), -share * first_blocks(C, size)]
    return ascend(C, lambda Z: projected(Z, radius, code), gap_of, tol, max_iter, starts, after_step)


def penalty_norm(point: DualPoint, penalty: str) -> float:
    """What ``alpha`` multiplies: the sum over pairs, in the scale of the graphical lasso."""
    return RADIUS[penalty] * float(np.triu(pair_norms(point.spectrum, _CODES[penalty])).sum())


def with_zeros(
    C: np.ndarray,
    adjacency: np.ndarray,
    tol: float,
    max_iter: int,
    after_step: Callable[[DualPoint], bool] | None = None,
) -> ARSolution:
    """The likelihood of a model whose inverse spectrum is zero off the graph, to ``tol`` of its entries."""
    size = len(adjacency)
    missing = ~(adjacency | np.eye(size, dtype=bool))

    def gap_of(point: DualPoint) -> float:
        return float(np.abs(point.spectrum * missing).max(initial=0.0))

    starts = [-share * first_blocks(C, size) for share in (0.0, 0.5, 1.0)]
    return ascend(C, lambda Z: Z * missing, gap_of, tol, max_iter, starts, after_step)


def first_blocks(C: np.ndarray, size: int) -> np.ndarray:
    """The first block row of C.

    Taking a share of it away off the diagonal moves C towards independent series, whose covariances are regular.
    """
    return np.ascontiguousarray(C[:size].reshape(size, -1, size).transpose(1, 0, 2))


def largest_alpha(C: np.ndarray, size: int, penalty: str) -> float:
    """From here on the graph is empty, for a block-Toeplitz C."""
    dual = {"inf": "1", "2": "2", "1": "inf"}[penalty]
    return float(pair_norms(first_blocks(C, size), _CODES[dual]).max(initial=0.0)) / RADIUS[penalty]
