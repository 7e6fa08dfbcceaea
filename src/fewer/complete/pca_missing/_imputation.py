"""PCA of a table with holes by filling them in: decompose the filled table, fill anew, and so on.

    repeat: m = column means of the filled table; W X' = its best approximation of rank c; holes <- W x_j + m.

It is the EM algorithm with the holes as what is hidden, and each round lowers the least-squares cost over what is
observed. A round takes O(n p min(n, p)), so it is for tables that are not large.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg


class Imputation(NamedTuple):
    """Loadings (scores have unit variance) and mean reached, the costs on the way, and whether they had settled."""

    loadings: np.ndarray
    mean: np.ndarray
    costs: np.ndarray
    converged: bool


def truncated_svd(X: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """``X v`` for the leading right singular vectors v, and these as columns."""
    if X.shape[0] < X.shape[1]:
        size = X.shape[0]
        squares, left = linalg.eigh(X @ X.T, subset_by_index=[size - rank, size - 1], check_finite=False)
        lengths = np.sqrt(np.maximum(squares, 1e-300))
        return left * lengths, X.T @ (left / lengths)
    size = X.shape[1]
    _, right = linalg.eigh(X.T @ X, subset_by_index=[size - rank, size - 1], check_finite=False)
    return X @ right, right


def impute_by_svd(
    X: np.ndarray,
    rank: int,
    *,
    center: bool,
    max_iter: int,
    settled: Callable[[list[float], list[float]], bool],
    on_round: Callable[[np.ndarray, np.ndarray], bool],
) -> Imputation:
    """Rounds of filling in; X has NaN in its holes and column means of about zero."""
    holes = np.isnan(X)
    filled = np.where(holes, 0.0, X)
    n_observed = X.size - np.count_nonzero(holes)
    mean = np.zeros(X.shape[1])
    costs: list[float] = []
    errors: list[float] = []
    converged = False
    for _ in range(max_iter):
        if center:
            mean = filled.mean(axis=0)
        projected, axes = truncated_svd(filled - mean, rank)
        model = projected @ axes.T + mean
        residuals = np.where(holes, 0.0, filled - model)
        costs.append(float(np.sum(residuals**2)))
        errors.append(np.sqrt(costs[-1] / n_observed))
        filled = np.where(holes, model, filled)
        loadings = axes * np.sqrt(np.mean(projected**2, axis=0))
        converged = settled(errors, costs) or not holes.any()  # without holes, one round is the whole answer
        if on_round(loadings, mean) or converged:
            break
    return Imputation(loadings[:, ::-1], mean, np.array(costs), converged)
