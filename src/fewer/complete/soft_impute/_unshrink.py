"""Undo the shrinkage of a low-rank fit: its singular vectors stay, their weights are fitted to the observed entries.

    argmin over M of ||P_O(X - U M V')||_F^2,   M diagonal or any matrix.

Least squares. The normal equations come from Gram matrices of V over each row's observed columns; the rank-one pieces
are not orthogonal on the observed entries.
"""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

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
