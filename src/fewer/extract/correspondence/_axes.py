"""Leading singular vectors of a matrix, all at once or one after the other.

The second way is reciprocal averaging: scores of rows are averages of those of their columns, and the other way round,
until nothing changes. With scores multiplied by the roots of the totals, one round is ``v <- M'(M v)``, rescaled; axes
that were found are taken away in every round.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, svds

_MANY = 200  # from this many rows and columns on, a few axes are found without forming all of them
_FEW = 0.1


class Axis(NamedTuple):
    """Singular value, vectors over rows and columns, rounds that it took, and the last change of the vectors."""

    size: float
    left: np.ndarray
    right: np.ndarray
    n_iter: int = 1
    change: float = 0.0


def axes_by_svd(M: Any, n_axes: int) -> Iterator[Axis]:
    """The leading axes, by a singular value decomposition or, for few axes of a large matrix, by Lanczos steps."""
    smaller = min(M.shape)
    if smaller > _MANY and n_axes <= _FEW * smaller:
        left, sizes, right = svds(M, n_axes, v0=_start(smaller), return_singular_vectors=True)
        order = np.argsort(-sizes)
        left, sizes, right = left[:, order], sizes[order], right[order]
    elif isinstance(M, LinearOperator):
        left, sizes, right = _small_side_svd(M)
    else:
        left, sizes, right = linalg.svd(M, full_matrices=False, check_finite=False)
    for number in range(n_axes):
        yield Axis(float(sizes[number]), left[:, number], right[number])


def axes_by_averaging(M: Any, n_axes: int, tol: float, max_iter: int) -> Iterator[Axis]:
    """The leading axes by reciprocal averaging, until a round changes the scores by less than ``tol``."""
    found = np.empty((M.shape[1], 0))
    for _ in range(n_axes):
        scores = _unit(_freed(_start(M.shape[1]), found))
        for n_iter in range(1, max_iter + 1):  # noqa: B007  # told in the end
            moved = _freed(M.T @ (M @ scores), found)
            if np.linalg.norm(moved) < np.finfo(float).tiny:
                return
            moved = _unit(moved)
            change = float(np.linalg.norm(moved - scores))
            scores = moved
            if change < tol:
                break
        across = M @ scores
        size = float(np.linalg.norm(across))
        yield Axis(size, across / size, scores, n_iter, change)
        found = np.column_stack([found, scores])


def _small_side_svd(M: LinearOperator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By the products of the smaller side, which is the only matrix that is formed."""
    if M.shape[0] < M.shape[1]:
        left, sizes, right = _small_side_svd(M.H)
        return right.T, sizes, left.T
    products = M.H @ (M @ np.eye(M.shape[1]))
    eigenvalues, vectors = linalg.eigh((products + products.T) / 2, check_finite=False)
    sizes, vectors = np.sqrt(np.maximum(eigenvalues[::-1], 0)), vectors[:, ::-1]
    across = M @ vectors
    return np.divide(across, sizes, out=np.zeros_like(across), where=sizes > 0), sizes, vectors.T


def _start(size: int) -> np.ndarray:
    """Any vector that has a part along every axis does; always the same one, so that fits can be repeated."""
    return np.random.RandomState(0).standard_normal(size)


def _freed(scores: np.ndarray, found: np.ndarray) -> np.ndarray:
    return scores - found @ (found.T @ scores)


def _unit(scores: np.ndarray) -> np.ndarray:
    return scores / np.linalg.norm(scores)
