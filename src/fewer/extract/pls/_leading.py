"""The pair of directions along which two tables vary together most: the leading singular vectors of ``S = X'Y``."""

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

_LARGEST_EIGENPROBLEM = 500


def leading_pair(S: np.ndarray, max_iter: int = 500, tol: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Leading left and right singular vectors; the largest entry of the left one is positive.

    They come from the eigenproblem of the shorter side; where both sides are long, by Lanczos' method with at most
    ``max_iter`` restarts, until the residual is below ``tol`` of the eigenvalue, which the loop of NIPALS would take
    many more products to reach.
    """
    if S.shape[1] == 1:
        left, right = S[:, 0], np.ones(1)
    elif min(S.shape) > _LARGEST_EIGENPROBLEM:
        longest = S[:, np.einsum("pm,pm->m", S, S).argmax()]
        found = _lanczos(lambda v: S.T @ (S @ v), S.T @ longest, max_iter, tol)
        right = _by_eigenproblem(S.T @ S) if found is None else found
        left = S @ right
    elif S.shape[1] <= S.shape[0]:
        right = leading_vector(S.T @ S)
        left = S @ right
    else:
        left = leading_vector(S @ S.T)
        right = S.T @ left
        right /= np.linalg.norm(right)
    left = left / np.linalg.norm(left)
    sign = largest_signs(left[:, None])[0]
    return sign * left, sign * right


def largest_signs(columns: np.ndarray) -> np.ndarray:
    """1 for each column whose largest entry is positive, -1 for the others."""
    return np.where(columns.max(axis=0) < -columns.min(axis=0), -1.0, 1.0)


def leading_vector(M: np.ndarray, max_iter: int = 500, tol: float = 1e-10) -> np.ndarray:
    """Eigenvector of the largest eigenvalue of a positive semi-definite matrix; Lanczos' where the matrix is large."""
    found = None
    if len(M) > _LARGEST_EIGENPROBLEM:
        found = _lanczos(lambda v: M @ v, M[:, np.diag(M).argmax()], max_iter, tol)
    return _by_eigenproblem(M) if found is None else found


def _by_eigenproblem(M: np.ndarray) -> np.ndarray:
    last = len(M) - 1
    return linalg.eigh(M, subset_by_index=(last, last), check_finite=False)[1][:, 0]


def _lanczos(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, max_iter: int, tol: float
) -> np.ndarray | None:
    """The leading eigenvector of a matrix of which products are known; None where restarts were too few."""
    size = len(start)
    try:
        return eigsh(
            LinearOperator((size, size), matvec=product, dtype=np.float64), k=1, v0=start, maxiter=max_iter, tol=tol
        )[1][:, 0]
    except ArpackNoConvergence:
        return None
