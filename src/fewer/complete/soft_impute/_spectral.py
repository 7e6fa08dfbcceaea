"""Completion under a penalty on singular values, never holding more than a few of them.

    minimise ||P_O(X - Z)||_F^2 / 2 + sum of penalty(d_i(Z)),

where ``P_O`` keeps the observed entries. For a complete matrix each singular value s is replaced by its threshold
``argmin over d >= 0 of (s - d)^2 / 2 + penalty(d)``. A step imputes missing entries by the present Z and applies the
threshold to what results [1]_: ``Z <- S(P_O(X) + P_O^perp(Z))``. The completed matrix is the sum of a sparse one and a
low-rank one,

    W = P_O(X - Z) + Z,

so a product with it costs as much as there are observed entries. The SVD is not computed from the beginning in each
step: one step keeps Z's column space (with some more directions) and takes the best Z within it, the next step does so
with its row space. Both contain the present Z, so the objective never rises; the spaces turn to the leading singular
ones while Z converges. Steps may be taken from a point ahead of Z (momentum), and are taken again without if the
objective rose.

For the nuclear norm the distance from the minimum has a bound: ``G = P_O(X - Z)``, scaled until its largest singular
value is at most alpha, is feasible in the dual problem, and the gap between both objectives bounds the error.

.. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
   incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fewer._estimators import checked_array
from fewer._kernels._scipy_solvers import svds
from fewer.complete._entries import leading_triplets


class Threshold(NamedTuple):
    """How singular values (in decreasing order) are shrunk, and what the shrunk ones cost.

    ``floor`` is the largest value that is set to zero, 0 where that is not known; ``cost`` is None where it is not
    known.
    """

    shrink: Callable[[np.ndarray], np.ndarray]
    cost: Callable[[np.ndarray], float] | None
    floor: float = 0.0


def soft(alpha: float) -> Threshold:
    """Every value less ``alpha``, at least 0: the nuclear norm, ``alpha * sum of d``."""
    return Threshold(lambda s: np.maximum(s - alpha, 0), lambda d: alpha * float(d.sum()), alpha)


def hard(alpha: float) -> Threshold:
    """Values with ``s^2 / 2 > alpha`` as they are, others 0: the rank, ``alpha * number of d above 0``."""
    floor = float(np.sqrt(2 * alpha))
    return Threshold(lambda s: np.where(s > floor, s, 0), lambda d: alpha * int((d > 0).sum()), floor)


def top(rank: int) -> Threshold:
    """The ``rank`` largest values as they are, others 0: a matrix of no higher rank."""
    return Threshold(lambda s: np.where(np.arange(len(s)) < rank, s, 0), lambda d: 0.0)


def mc_plus(alpha: float, mu: float) -> Threshold:
    """From soft (``mu`` large) to hard (``mu`` near 1): small values shrink, those above ``mu * alpha`` do not."""

    def shrink(s: np.ndarray) -> np.ndarray:
        return np.where(s > mu * alpha, s, np.maximum(s - alpha, 0) / (1 - 1 / mu))

    def cost(d: np.ndarray) -> float:
        return float(np.where(d > mu * alpha, mu * alpha**2 / 2, alpha * d - d**2 / (2 * mu)).sum())

    return Threshold(shrink, cost, alpha)


def soft_threshold_svd(W: Any, alpha: float, max_rank: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix nearest to W under a nuclear-norm penalty: its singular values less ``alpha``, as far as they exceed it.

    ``argmin over Z of ||W - Z||_F^2 / 2 + alpha * ||Z||_*``

    Parameters
    ----------
    W : {array-like, sparse matrix} or LinearOperator of shape (n_samples, n_features)
        A complete matrix.
    alpha : float
        What is taken from each singular value.
    max_rank : int, default=None
        Number of leading singular values to compute. By default all of an array, and of others as many as exceed
        ``alpha``.

    Returns
    -------
    U : ndarray of shape (n_samples, rank)
        Left singular vectors.
    d : ndarray of shape (rank,)
        Shrunk singular values, all above 0, in decreasing order.
    V : ndarray of shape (n_features, rank)
        Right singular vectors; the matrix is ``U * d @ V.T``.

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import soft_threshold_svd
    >>> soft_threshold_svd(np.diag([3.0, 2.0, 0.5]), alpha=1.0)[1]
    array([2., 1.])
    """
    if alpha < 0:
        raise ValueError(f"alpha must be at least 0; it is {alpha:g}.")
    if not isinstance(W, LinearOperator):
        W = checked_array(W, "soft_threshold_svd", accept_sparse=True, dtype=[np.float64, np.float32])
    smaller = min(W.shape)
    if isinstance(W, np.ndarray) and max_rank is None:
        max_rank = smaller
    wanted = min(max_rank or 8, smaller)
    U, s, V = _triplets(W, wanted)
    while max_rank is None and wanted < smaller and s[-1] > alpha:
        wanted = min(2 * wanted, smaller)
        U, s, V = _triplets(W, wanted)
    kept = s > alpha
    return U[:, kept], s[kept] - alpha, V[:, kept]


def _triplets(W: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    smaller = min(W.shape)
    if k >= smaller - 1 or (isinstance(W, np.ndarray) and (k > smaller // 4 or smaller <= 300)):
        whole = W if isinstance(W, np.ndarray) else W @ np.eye(W.shape[1])
        U, s, Vt = np.linalg.svd(whole, full_matrices=False)
        return U[:, :k], s[:k], Vt[:k].T
    operator = W if isinstance(W, LinearOperator) else W.astype(np.result_type(W.dtype, np.float32))
    U, s, Vt = svds(operator, k=k, v0=np.random.default_rng(0).normal(size=smaller))
    order = np.argsort(-s)
    return U[:, order], s[order], Vt[order].T


_SPARE = 5
"""Directions carried along beyond the rank, so that those that matter next are near when they are wanted."""
_WHOLE = 64
"""Up to this many rows or columns the whole SVD is taken."""
_CHECK_EVERY = 5
_AT_A_CHECK = 16
"""Directions in which the objective may still fall, looked for at each check."""
_SQUARES_SUFFICE = 1e-7


class LowRank(NamedTuple):
    """``U * d @ V'``, with d in decreasing order; ``filled`` are the singular values of W that became d."""

    U: np.ndarray
    d: np.ndarray
    V: np.ndarray
    filled: np.ndarray

    @property
    def rank(self) -> int:
        return len(self.d)


@dataclass
class Completion:
    """Where a minimisation stands: the matrix, the space that the next step searches, and what was reached."""

    Z: LowRank
    residual: np.ndarray  # what Z leaves of the observed entries
    basis: np.ndarray | None  # orthonormal, of columns if by_columns, else of rows; None: the whole space
    by_columns: bool
    objective: float = np.inf
    gap: float = np.inf
    n_iter: int = 0
    converged: bool = False
    stopped: bool = False
    objectives: list[float] = field(default_factory=list)
    step_lengths: list[float] = field(default_factory=list)


class Buffers:
    """Arrays as large as the table's values, used again and again: asking the system for new ones costs more time than
    the arithmetic in them."""

    def __init__(self, entries: Any) -> None:
        self._values = entries.values
        self._free: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """An array with anything in it."""
        return self._free.pop() if self._free else np.empty_like(self._values)

    def give_back(self, array: np.ndarray) -> None:
        """Nobody reads this array any more; the table's own values are not for writing."""
        if array is not self._values:
            self._free.append(array)


class Rules(NamedTuple):
    """When a minimisation ends, and how it goes about it. ``alpha`` is the nuclear norm's, for its duality gap."""

    tol: float
    max_iter: int
    max_rank: int
    alpha: float | None = None
    momentum: bool = True
    whole: bool = False
    seed: int = 0


def zero_completion(entries: Any, rules: Rules) -> Completion:
    """The matrix 0, and where to search first."""
    n_rows, n_columns = entries.shape
    dtype = entries.dtype
    Z = LowRank(np.zeros((n_rows, 0), dtype), np.zeros(0, dtype), np.zeros((n_columns, 0), dtype), np.zeros(0, dtype))
    size = _SPARE if rules.alpha is not None else rules.max_rank + _SPARE
    state = Completion(Z, entries.values, None, by_columns=n_rows < n_columns)
    if rules.whole or 2 * size > min(entries.shape) or min(entries.shape) <= _WHOLE:
        return state
    leading = leading_triplets(entries, entries.values, size, seed=rules.seed, tol=1e-2)
    state.basis, state.by_columns = leading[2], False
    return state


def continued(entries: Any, Z: LowRank, rules: Rules) -> Completion:
    """The given matrix, and the space around its rows to search first."""
    Z = LowRank(*(part.astype(entries.dtype, copy=False) for part in Z))
    state = Completion(Z, entries.residual(Z.U * Z.d, Z.V), None, by_columns=False)
    size = min(Z.rank, rules.max_rank) + _SPARE
    if not (rules.whole or 2 * size > min(entries.shape) or min(entries.shape) <= _WHOLE):
        more = np.random.default_rng(rules.seed).normal(size=(len(Z.V), size - Z.rank))
        state.basis = np.linalg.qr(np.hstack([Z.V, more.astype(Z.V.dtype)]))[0]
    return state


def completed(
    entries: Any,
    threshold: Threshold,
    start: Completion,
    rules: Rules,
    on_step: Callable[[Completion], bool] = lambda state: False,
    buffers: Buffers | None = None,
) -> Completion:
    """Minimise from ``start`` until ``tol``: of the duality gap as a share of the objective, or of Z's squared change.

    Where ``buffers`` are given, what ``start`` holds is overwritten.
    """
    buffers = Buffers(entries) if buffers is None else buffers
    state = Completion(start.Z, start.residual, start.basis, start.by_columns)
    if state.basis is not None:
        # Leading directions come first; those that once seemed worth a try need not be carried along for ever.
        state.basis = state.basis[:, : state.Z.rank + _AT_A_CHECK]
    state.objective = _objective(state.residual, state.Z.d, threshold)
    before, pace, next_check = state, 1.0, 1
    rng = np.random.default_rng(rules.seed)
    while state.n_iter < rules.max_iter:
        next_pace = (1 + sqrt(1 + 4 * pace**2)) / 2
        ahead = (pace - 1) / next_pace if rules.momentum and threshold.cost is not None else 0.0
        found = step(entries, threshold, state, before, ahead, rules.max_rank, buffers)
        if ahead and found.objective > state.objective:
            buffers.give_back(found.residual)
            buffers.give_back(before.residual)
            before, pace = state, 1.0
            continue
        length = _squared_distance(found.Z, state.Z)
        slow = state.objective - found.objective <= rules.tol * found.objective
        found.objectives = [*state.objectives, found.objective]
        found.step_lengths = [*state.step_lengths, np.sqrt(length)]
        if before is not state:
            buffers.give_back(before.residual)
        before, state, pace = state, found, next_pace
        _enlarge(state, min(entries.shape), rules, rng)
        settled = length <= rules.tol * max(float(state.Z.d @ state.Z.d), np.finfo(float).tiny)
        if rules.alpha is not None:
            # A certificate costs as much as some steps, and is not to be had before the objective falls slowly.
            if (slow and state.n_iter >= next_check) or state.n_iter == rules.max_iter:
                state.gap, U, norms, V = duality_gap(entries, state, rules.alpha, rules.seed, rules.tol, _AT_A_CHECK)
                # Where the rank is held down, no gap closes: then it has settled when Z has.
                held_down = settled and state.Z.rank == rules.max_rank < min(entries.shape)
                state.converged = state.gap <= rules.tol * state.objective or held_down
                # A step takes away something like half of the gap.
                excess = state.gap / max(rules.tol * state.objective, np.finfo(float).tiny)
                next_check = state.n_iter + int(np.clip(np.log2(max(excess, 1)), 1, _CHECK_EVERY))
                # Directions in which the objective would still fall join the space.
                falling = norms > rules.alpha
                if not state.converged and falling.any() and state.Z.rank < rules.max_rank:
                    _widen(state, min(entries.shape), (U if state.by_columns else V)[:, falling])
        else:
            state.converged = settled
        if on_step(state):
            state.stopped = True
            break
        if state.converged:
            break
    if before is not state:
        buffers.give_back(before.residual)
    return state


def step(
    entries: Any,
    threshold: Threshold,
    state: Completion,
    before: Completion,
    ahead: float,
    max_rank: int,
    buffers: Buffers,
) -> Completion:
    """Best Z within the present space for the table filled at the point ahead."""
    Z, last = state.Z, before.Z
    if ahead:
        residual = np.subtract(state.residual, before.residual, out=buffers.take())
        residual *= ahead
        residual += state.residual
        left = np.hstack([Z.U * ((1 + ahead) * Z.d), last.U * (-ahead * last.d)])
        right = np.hstack([Z.V, last.V])
    else:
        residual = state.residual
        left, right = Z.U * Z.d, Z.V
    basis = state.basis
    if basis is None:
        U, s, V = _triplets_above(_whole_table(entries, residual) + left @ right.T, threshold.floor)
        next_basis, by_columns = None, state.by_columns
    elif state.by_columns:
        V, s, Pt = np.linalg.svd(entries.transposed_times(residual, basis) + right @ (left.T @ basis), False)
        U, next_basis, by_columns = basis @ Pt.T, V, False
    else:
        U, s, Pt = np.linalg.svd(entries.times(residual, basis) + left @ (right.T @ basis), False)
        V, next_basis, by_columns = basis @ Pt.T, U, True
    d = threshold.shrink(s).astype(s.dtype)
    kept = (d > 0) & (np.arange(len(d)) < max_rank)
    found = LowRank(U[:, kept], d[kept], V[:, kept], s[kept])
    if ahead:
        buffers.give_back(residual)
    residual = entries.residual(found.U * found.d, found.V, out=buffers.take())
    objective = _objective(residual, found.d, threshold)
    return Completion(found, residual, next_basis, by_columns, objective, n_iter=state.n_iter + 1)


def _triplets_above(W: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular triplets of W, at least those above ``floor``."""
    n_rows, n_columns = W.shape
    if max(n_rows, n_columns) >= 2 * min(n_rows, n_columns) > 2 * _WHOLE:
        tall = (W if n_rows >= n_columns else W.T).astype(np.float64, copy=False)
        squares, vectors = np.linalg.eigh(tall.T @ tall)
        # Squares lose half of the digits: good enough unless tiny singular values are wanted.
        if floor**2 > _SQUARES_SUFFICE * squares[-1]:
            above = np.flatnonzero(squares > floor**2)[::-1]
            s, inner_side = np.sqrt(squares[above]), vectors[:, above]
            outer_side = (tall @ (inner_side / s)).astype(W.dtype, copy=False)
            s, inner_side = s.astype(W.dtype, copy=False), inner_side.astype(W.dtype, copy=False)
            return (outer_side, s, inner_side) if n_rows >= n_columns else (inner_side, s, outer_side)
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    return U, s, Vt.T


def _enlarge(state: Completion, smaller: int, rules: Rules, rng: np.random.Generator) -> None:
    """Widen the space when the rank has nearly filled it; all of it when that is not much more."""
    if state.basis is None:
        return
    size = state.basis.shape[1]
    wanted = min(state.Z.rank + _SPARE, rules.max_rank + _SPARE)
    if size >= wanted:
        return
    size = min(max(wanted, size + size // 2), rules.max_rank + _SPARE)
    _widen(state, smaller, rng.normal(size=(len(state.basis), size - state.basis.shape[1])))


def _widen(state: Completion, smaller: int, directions: np.ndarray) -> None:
    if state.basis is None:
        return
    size = state.basis.shape[1] + directions.shape[1]
    if 2 * size > smaller:
        state.basis = None
        return
    state.basis = np.linalg.qr(np.hstack([state.basis, directions.astype(state.basis.dtype)]))[0]


def duality_gap(
    entries: Any, state: Completion, alpha: float, seed: int, tol: float, k: int = 1
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """How far the nuclear norm's objective can be above its minimum, and the residual's ``k`` leading triplets."""
    residual = state.residual
    U, norms, V = leading_triplets(entries, residual, k, seed=seed, tol=max(1e-3, tol))
    norm = float(norms[0])
    share = min(1.0, alpha / norm) if norm > 0 else 1.0
    dual = share * inner(residual, entries.values) - share**2 * inner(residual, residual) / 2
    return state.objective - dual, U, norms, V


def _objective(residual: np.ndarray, d: np.ndarray, threshold: Threshold) -> float:
    return inner(residual, residual) / 2 + (threshold.cost(d) if threshold.cost is not None else 0.0)


def inner(first: np.ndarray, second: np.ndarray) -> float:
    """Sum of the products of two arrays' entries, added up in float64."""
    return float(np.einsum("i,i->", first.ravel(), second.ravel(), dtype=np.float64))


def _squared_distance(first: LowRank, second: LowRank) -> float:
    """``||Z1 - Z2||_F^2`` without either matrix."""
    cross = float(((first.U.T @ second.U) * (first.V.T @ second.V) * np.outer(first.d, second.d)).sum())
    return max(float(first.d @ first.d + second.d @ second.d) - 2 * cross, 0.0)


def _whole_table(entries: Any, values: np.ndarray) -> np.ndarray:
    matrix = entries.matrix(values)
    return matrix if isinstance(matrix, np.ndarray) else matrix @ np.eye(entries.shape[1], dtype=entries.dtype)
