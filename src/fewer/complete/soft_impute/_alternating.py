"""Two factors, each in turn by a ridge regression for every row or column.

    minimise ||P_O(X - A B')||_F^2 / 2 + lam / 2 (||A||_F^2 + ||B||_F^2)

With factors at least as wide as the rank of the nuclear norm's solution Z, the minimum is the same matrix: ``||Z||_*``
is the least of ``(||A||^2 + ||B||^2) / 2`` over ``A B' = Z``. Then the duality gap of the nuclear norm tells how far
the factors are from that minimum; narrower factors are a baseline of their own, maximum-margin matrix factorisation
[1]_.

.. [1] Srebro, N., Rennie, J. and Jaakkola, T. (2005). Maximum-margin matrix factorization. Advances in Neural
Information
   Processing Systems 17, 1329-1336.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fewer.complete._entries import leading_triplets
from fewer.complete.soft_impute._spectral import Completion, LowRank, duality_gap, inner

_GAP_EVERY = 5


def starting_factors(entries: Any, rank: int, lam: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Leading directions of the observed entries; no column is zero, for ridge regression never leaves zero."""
    U, d, V = leading_triplets(entries, entries.values, rank, seed=seed, tol=1e-2)
    sizes = np.sqrt(np.maximum(d - lam, 1e-3 * max(float(d[0]), np.finfo(d.dtype).tiny))).astype(d.dtype)
    return U * sizes, V * sizes


def factorised(
    entries: Any,
    lam: float,
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
    penalties = np.full(left.shape[1], lam)
    state = Completion(balanced(left, right), entries.residual(left, right), basis=None, by_columns=False)
    state.objective = _objective(state.residual, left, right, lam)
    while state.n_iter < max_iter:
        right = entries.ridge_columns(left, penalties)
        left = entries.ridge_rows(right, penalties)
        residual = entries.residual(left, right)
        objective = _objective(residual, left, right, lam)
        Z = balanced(left, right)
        # The evenly split factors of the same matrix cost less, and the next sweep starts from them.
        left, right = Z.U * np.sqrt(Z.d), Z.V * np.sqrt(Z.d)
        found = Completion(Z, residual, None, False, n_iter=state.n_iter + 1)
        found.objective = _objective(residual, left, right, lam)
        found.objectives = [*state.objectives, found.objective]
        fallen = state.objective - found.objective
        state = found
        state.converged = fallen <= tol * objective
        if certified and not state.converged and state.n_iter % _GAP_EVERY == 0:
            state.gap = duality_gap(entries, state, lam, seed, tol)[0]
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


def _objective(residual: np.ndarray, left: np.ndarray, right: np.ndarray, lam: float) -> float:
    return _squares(residual) / 2 + lam * (_squares(left) + _squares(right)) / 2


def _squares(values: np.ndarray) -> float:
    return inner(values, values)
