"""The pair of directions along which two tables vary together most: the leading singular vectors of ``S = X'Y``."""

from collections.abc import Callable

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller

_LARGEST_EIGENPROBLEM = 500


def leading_pair(S: np.ndarray, max_iter: int = 500, tol: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Leading left and right singular vectors; the largest entry of the left one is positive.

    They come from the eigenproblem of the shorter side. Only where both sides are long does the loop of NIPALS take its
    place, of at most ``max_iter`` rounds, until the vector changes by less than ``tol`` of its length.
    """
    if S.shape[1] == 1:
        left, right = S[:, 0], np.ones(1)
    elif min(S.shape) > _LARGEST_EIGENPROBLEM:
        longest = S[:, np.einsum("pm,pm->m", S, S).argmax()]
        right = _by_rounds(lambda v: S.T @ (S @ v), S.T @ longest, max_iter, tol)
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
    """Eigenvector of the largest eigenvalue of a positive semi-definite matrix; by rounds where the matrix is large."""
    last = len(M) - 1
    if last < _LARGEST_EIGENPROBLEM:
        return linalg.eigh(M, subset_by_index=(last, last), check_finite=False)[1][:, 0]
    return _by_rounds(lambda v: M @ v, M[:, np.diag(M).argmax()], max_iter, tol)


def _by_rounds(step: Callable[[np.ndarray], np.ndarray], start: np.ndarray, max_iter: int, tol: float) -> np.ndarray:
    vector, change = start / np.linalg.norm(start), np.inf
    for _ in range(max_iter):
        before, vector = vector, step(vector)
        vector /= np.linalg.norm(vector)
        change = float(np.linalg.norm(vector - before))
        if change < tol:
            return vector
    warn_caller(
        f"The weights of a component still change by {change:.1e} of their length after {max_iter} rounds, above "
        f"tol={tol:g}; raise max_iter or tol.",
        ConvergenceWarning,
    )
    return vector
