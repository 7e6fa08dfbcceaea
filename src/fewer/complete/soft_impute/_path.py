"""The nuclear norm's solutions over a falling penalty, each started from the one before.

Either by thresholds of singular values (``_spectral.py``), or by two factors, each in turn by a ridge regression for
every row or column:

    minimise ||P_O(X - A B')||_F^2 / 2 + alpha / 2 (||A||_F^2 + ||B||_F^2)

With factors at least as wide as the rank of the nuclear norm's solution Z, the minimum is the same matrix: ``||Z||_*``
is the least of ``(||A||^2 + ||B||^2) / 2`` over ``A B' = Z``. Then the duality gap of the nuclear norm bounds how far
the factors are from that minimum; narrower factors are a method of their own, maximum-margin matrix factorisation
[1]_.

The shrinkage of a solution can be undone: its singular vectors stay, and their weights are fitted to the observed
entries by least squares,

    argmin over M of ||P_O(X - U M V')||_F^2,   M diagonal or any matrix.

The normal equations come from Gram matrices of V over each row's observed columns; the rank-one pieces are not
orthogonal on the observed entries.

.. [1] Srebro, N., Rennie, J. and Jaakkola, T. (2005). Maximum-margin matrix factorization. Advances in Neural
   Information Processing Systems 17, 1329-1336.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from fewer.complete._entries import SparseEntries, leading_triplets
from fewer.complete.soft_impute._spectral import (
    Buffers,
    Completion,
    LowRank,
    Rules,
    completed,
    continued,
    duality_gap,
    inner,
    soft,
    step,
    zero_completion,
)

_PAIRS_AT_ONCE = 64
_LARGEST_SYSTEM = 12
"""Up to this rank the system for a whole M, with rank^2 unknowns, is formed; beyond, it is solved by products alone."""
_LARGEST_DIAGONAL = 40
"""The same for a diagonal M, with as many unknowns as the rank."""
_RIDGE = 1e-12
"""Of the system's mean diagonal: keeps it solvable where vectors coincide on what is observed."""


def best_weights(entries: Any, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The diagonal M, as a vector; weights may be negative."""
    rank = U.shape[1]
    if rank > _LARGEST_DIAGONAL:
        return _weights_by_products(entries, U, V)
    normal = np.zeros((rank, rank))
    for first, second in _blocks_of_pairs(rank):
        grams = entries.times(entries.ones, V[:, first] * V[:, second])
        totals = np.einsum("ij,ij->j", U[:, first] * U[:, second], grams, dtype=np.float64)
        normal[first, second] = totals
        normal[second, first] = totals
    right = np.einsum("ij,ij->j", U, entries.times(entries.values, V), dtype=np.float64)
    return _solved(normal, right).astype(U.dtype)


def best_core(entries: Any, U: np.ndarray, V: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """The whole M, of shape (rank, rank)."""
    rank = U.shape[1]
    right = U.T @ entries.times(entries.values, V)
    if rank > _LARGEST_SYSTEM:
        return _core_by_products(entries, U, V, right, start)
    normal = np.zeros((rank, rank, rank, rank))
    upper, lower = np.triu_indices(rank)
    left_pairs = U[:, upper] * U[:, lower]
    for first, second in _blocks_of_pairs(rank):
        sums = left_pairs.T @ entries.times(entries.ones, V[:, first] * V[:, second])
        for a, b in ((upper, lower), (lower, upper)):
            for c, d in ((first, second), (second, first)):
                normal[a[:, None], c, b[:, None], d] = sums
    return _solved(normal.reshape(rank**2, rank**2), right.ravel()).reshape(rank, rank).astype(U.dtype)


def _weights_by_products(entries: Any, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    def projected(values: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->j", U, entries.times(values, V), dtype=np.float64)

    def applied(weights: np.ndarray) -> np.ndarray:
        return projected(entries.low_rank_values(U * weights.ravel().astype(U.dtype), V))

    operator = LinearOperator((U.shape[1], U.shape[1]), matvec=applied, dtype=np.float64)
    return cg(operator, projected(entries.values), rtol=1e-8, maxiter=200)[0].astype(U.dtype)


def _core_by_products(
    entries: Any, U: np.ndarray, V: np.ndarray, right: np.ndarray, start: np.ndarray | None
) -> np.ndarray:
    rank = U.shape[1]

    def applied(core: np.ndarray) -> np.ndarray:
        fitted = entries.low_rank_values(U @ core.reshape(rank, rank).astype(U.dtype), V)
        return (U.T @ entries.times(fitted, V)).ravel()

    operator = LinearOperator((rank**2, rank**2), matvec=applied, dtype=np.float64)
    first = None if start is None else start.astype(np.float64).ravel()
    core, _ = cg(operator, right.astype(np.float64).ravel(), x0=first, rtol=1e-8, maxiter=200)
    return core.reshape(rank, rank).astype(U.dtype)


def _blocks_of_pairs(rank: int):
    """Pairs of columns ``(k, l)`` with ``k <= l``, some at a time."""
    upper, lower = np.triu_indices(rank)
    for start in range(0, len(upper), _PAIRS_AT_ONCE):
        yield upper[start : start + _PAIRS_AT_ONCE], lower[start : start + _PAIRS_AT_ONCE]


def _solved(normal: np.ndarray, right: np.ndarray) -> np.ndarray:
    if not len(right):
        return right.copy()
    ridge = _RIDGE * max(float(np.trace(normal)) / len(right), np.finfo(float).tiny)
    return np.linalg.solve(normal + ridge * np.eye(len(right)), right)


_GAP_EVERY = 5


def starting_factors(entries: Any, rank: int, alpha: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Leading directions of the observed entries; no column is zero, for ridge regression never leaves zero."""
    U, d, V = leading_triplets(entries, entries.values, rank, seed=seed, tol=1e-2)
    sizes = np.sqrt(np.maximum(d - alpha, 1e-3 * max(float(d[0]), np.finfo(d.dtype).tiny))).astype(d.dtype)
    return U * sizes, V * sizes


def factorised(
    entries: Any,
    alpha: float,
    left: np.ndarray,
    right: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    seed: int = 0,
    certified: bool = True,
    on_step: Callable[[Completion], bool] = lambda state: False,
) -> Completion:
    """Alternate until a sweep lowers the objective by ``tol`` of it at most or, if certified, the gap is no more."""
    penalties = np.full(left.shape[1], alpha)
    state = Completion(balanced(left, right), entries.residual(left, right), basis=None, by_columns=False)
    state.objective = _objective(state.residual, left, right, alpha)
    while state.n_iter < max_iter:
        right = entries.ridge_columns(left, penalties)
        left = entries.ridge_rows(right, penalties)
        residual = entries.residual(left, right)
        objective = _objective(residual, left, right, alpha)
        Z = balanced(left, right)
        # The evenly split factors of the same matrix cost less, and the next sweep starts from them.
        left, right = Z.U * np.sqrt(Z.d), Z.V * np.sqrt(Z.d)
        found = Completion(Z, residual, None, False, n_iter=state.n_iter + 1)
        found.objective = _objective(residual, left, right, alpha)
        found.objectives = [*state.objectives, found.objective]
        fallen = state.objective - found.objective
        state = found
        state.converged = fallen <= tol * objective
        if certified and not state.converged and state.n_iter % _GAP_EVERY == 0:
            state.gap = duality_gap(entries, state, alpha, seed, tol)[0]
            state.converged = state.gap <= tol * state.objective
        if on_step(state):
            state.stopped = True
            break
        if state.converged:
            break
    return state


def balanced(left: np.ndarray, right: np.ndarray) -> LowRank:
    """SVD of ``left @ right'``, as wide as the factors."""
    left_basis, left_core = np.linalg.qr(left)
    right_basis, right_core = np.linalg.qr(right)
    U, d, Vt = np.linalg.svd(left_core @ right_core.T)
    return LowRank(left_basis @ U, d, right_basis @ Vt.T, d)


def _objective(residual: np.ndarray, left: np.ndarray, right: np.ndarray, alpha: float) -> float:
    return _squares(residual) / 2 + alpha * (_squares(left) + _squares(right)) / 2


def _squares(values: np.ndarray) -> float:
    return inner(values, values)


_FIRST_RANK = 8
_NEGLIGIBLE = 1e-6
"""Of alpha: singular values of alternating factors up to this are fading away, and no more directions are wanted."""
_FINEST = 1e-15


class PathOptions(NamedTuple):
    """How each point is solved; the names are those of ``SoftImpute``."""

    tol: float
    max_iter: int
    max_rank: int
    warm_start: bool = True
    solver: str = "auto"
    momentum: bool = True
    seed: int = 0


def grid(alpha_0: float, ratio: float, n: int) -> np.ndarray:
    """From the smallest penalty with the solution 0 down to a share of it, in equal ratios."""
    return np.geomspace(alpha_0, ratio * alpha_0, n) if alpha_0 > 0 else np.zeros(1)


def solutions(
    entries: Any,
    alphas: np.ndarray,
    options: PathOptions,
    on_step: Callable[[Completion], bool] = lambda state: False,
    start: LowRank | None = None,
) -> Iterator[Completion]:
    """One solution for each penalty, the first found from ``start``; ends early when ``on_step`` says stop."""
    rules = Rules(
        options.tol,
        options.max_iter,
        options.max_rank,
        alpha=float(alphas[0]),
        momentum=options.momentum,
        whole=options.solver == "dense",
        seed=options.seed,
    )
    state = None if start is None else continued(entries, start, rules)
    zero, buffers = None, Buffers(entries)
    # With few entries observed, a step of shrinking moves little; a ridge regression takes each row where it belongs.
    by_alternating = options.solver == "als" or (options.solver == "auto" and isinstance(entries, SparseEntries))
    for alpha in alphas.tolist():
        if by_alternating:
            state = _by_alternating(entries, alpha, state if options.warm_start else None, rules, on_step)
        else:
            first = state if options.warm_start else None
            if first is None:
                first = zero = zero or zero_completion(entries, rules)
            state = completed(entries, soft(alpha), first, rules._replace(alpha=alpha), on_step, buffers)
        yield state
        if state.stopped:
            return


def refitted_core(entries: Any, Z: LowRank, post: str) -> np.ndarray | None:
    """Weights of the singular vectors fitted to the observed entries without shrinkage; None where nothing is asked."""
    if post == "none" or not Z.rank:
        return None
    if post == "unshrink":
        return np.diag(best_weights(entries, Z.U, Z.V))
    return best_core(entries, Z.U, Z.V, start=np.diag(Z.d))


def _by_alternating(
    entries: Any, alpha: float, start: Completion | None, rules: Rules, on_step: Callable[[Completion], bool]
) -> Completion:
    """Alternating ridge regressions, with wider factors until the duality gap closes."""
    widest = min(rules.max_rank, *entries.shape)
    if start is None or not start.Z.rank:
        left, right = starting_factors(entries, min(_FIRST_RANK, widest), alpha, rules.seed)
    else:
        left, right = start.Z.U * np.sqrt(start.Z.d), start.Z.V * np.sqrt(start.Z.d)
    n_iter, objectives = 0, []
    tol = rules.tol
    while True:
        state = factorised(
            entries, alpha, left, right, tol=tol, max_iter=rules.max_iter - n_iter, seed=rules.seed, on_step=on_step
        )
        n_iter += state.n_iter
        objectives += state.objectives
        state.gap, _, norms, _ = duality_gap(entries, state, alpha, rules.seed, rules.tol)
        full = norms[0] > alpha * (1 + rules.tol) and state.Z.d[-1] > _NEGLIGIBLE * alpha
        # Where the rank is held down, no gap closes: then it has settled when sweeps no longer lower the objective.
        if state.gap <= rules.tol * state.objective or (full and left.shape[1] == rules.max_rank):
            state.converged = state.converged or state.gap <= rules.tol * state.objective
            break
        if state.stopped or n_iter >= rules.max_iter or tol < _FINEST:
            state.converged = False
            break
        left, right = state.Z.U * np.sqrt(state.Z.d), state.Z.V * np.sqrt(state.Z.d)
        if full and left.shape[1] < widest:
            left, right = _wider(entries, state, left, right, widest, alpha, rules.seed)
        else:
            tol /= 10
    found = _without_dead_directions(entries, alpha, state, rules)
    found.gap, found.converged, found.stopped = state.gap, state.converged, state.stopped
    found.n_iter, found.objectives = n_iter, [*objectives, found.objective]
    return found


def _without_dead_directions(entries: Any, alpha: float, state: Completion, rules: Rules) -> Completion:
    """One shrinking step: directions that ridge regressions only let fade away become zero, and the objective falls."""
    state.basis, state.by_columns = state.Z.V, False
    return step(entries, soft(alpha), state, state, 0.0, rules.max_rank, Buffers(entries))


def _wider(
    entries: Any, state: Completion, left: np.ndarray, right: np.ndarray, widest: int, alpha: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The factors with the residual's leading directions added, in the size of a step along them."""
    more = min(max(4, left.shape[1] // 2), widest - left.shape[1])
    U, d, V = leading_triplets(entries, state.residual, more, seed=seed, tol=1e-2)
    sizes = np.sqrt(np.maximum(d - alpha, _NEGLIGIBLE * alpha)).astype(d.dtype)
    return np.hstack([left, U * sizes]), np.hstack([right, V * sizes])
