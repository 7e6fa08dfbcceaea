"""Coordinates in which a table has no correlations and unit variances, and the moments of groups of rows in them.

With the total covariance S of the table (divisor n), new coordinates are ``z = T'(x - mean)`` where ``T' S T = I``. A
table with more columns than rows has at most n - 1 of them, found from the n x n matrix of products of rows; p x p is
never formed. In any coordinates

    S = sum_k pi_k S_k + sum_k pi_k m_k m_k'

for groups with shares pi_k, means m_k and covariances S_k (divisor n_k), so that total and groups agree exactly.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewer._estimators import warn_caller


class Coordinates(NamedTuple):
    """``(x - mean) @ to`` for a row x."""

    mean: np.ndarray
    to: np.ndarray


class Moments(NamedTuple):
    """Shares, means and covariances of groups of rows, from centred coordinates."""

    priors: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @property
    def within(self) -> np.ndarray:
        return np.einsum("k,kij->ij", self.priors, self.covariances)

    @property
    def between(self) -> np.ndarray:
        return (self.means.T * self.priors) @ self.means

    @property
    def total(self) -> np.ndarray:
        return self.within + self.between

    def along(self, directions: np.ndarray) -> "Moments":
        """The moments of ``z @ directions``."""
        return Moments(self.priors, self.means @ directions, directions.T @ self.covariances @ directions)


def rank_tolerance(X: Any) -> float:
    """Share of the largest variance below which a direction counts as having none."""
    return max(1e-10, float(np.finfo(X.dtype).eps) * max(X.shape))


def uncorrelated(X: Any, *, unit_variance: bool = True) -> Coordinates:
    """Coordinates without correlations, by decreasing variance; all of unit variance, or all as long as in the table.

    For unit variance the columns are brought to it first, so that their units make no difference. Directions without
    variance are left out.
    """
    n_rows, n_columns = X.shape
    mean, scales = _mean_and_scale(X)
    if not scales.any():
        raise ValueError("All columns are constant, so there are no directions to find; check the table.")
    weights = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    if not unit_variance:
        weights = (scales > 0).astype(float)
    in_rows = n_columns > n_rows
    products = _products_of_rows(X, mean, weights) if in_rows else _products_of_columns(X, mean, weights)
    variances, vectors = linalg.eigh(products / n_rows, check_finite=False)
    kept = variances > rank_tolerance(X) * variances[-1]
    variances, vectors = variances[kept][::-1], vectors[:, kept][:, ::-1]
    if in_rows:
        vectors = _combined_rows(X, mean, weights, vectors) / np.sqrt(n_rows * variances)
    return Coordinates(mean, vectors * weights[:, None] / (np.sqrt(variances) if unit_variance else 1))


def rows_along(X: Any, coordinates: Coordinates) -> np.ndarray:
    """The rows in the coordinates."""
    to = coordinates.to.astype(X.dtype)
    return X @ to - coordinates.mean.astype(X.dtype) @ to


def group_means(X: Any, codes: np.ndarray, coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Share and mean of each group in the coordinates."""
    counts = np.bincount(codes)
    member = sparse.csr_array((np.ones(len(codes), dtype=X.dtype), (codes, np.arange(len(codes)))))
    sums = member @ X
    means = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64) / counts[:, None]
    return counts / len(codes), (means - coordinates.mean) @ coordinates.to


def group_moments(X: Any, codes: np.ndarray, coordinates: Coordinates) -> Moments:
    """Share, mean and covariance of each group in the coordinates."""
    counts = np.bincount(codes)
    means, covariances = [], []
    for group in range(len(counts)):
        rows = rows_along(X[np.flatnonzero(codes == group)], coordinates)
        mean = rows.mean(axis=0, dtype=np.float64)
        centred = rows - mean.astype(rows.dtype)
        means.append(mean)
        covariances.append((centred.T @ centred).astype(np.float64) / len(rows))
    return Moments(counts / len(codes), np.array(means), np.array(covariances))


def warn_of_few_rows(X: Any, n_coordinates: int) -> None:
    """Warn where the rows can be told apart in any way at all."""
    if n_coordinates >= X.shape[0] - 1:
        warn_caller(
            f"{X.shape[0]} rows span {n_coordinates} dimensions, so that some direction tells any groups of them "
            "apart: what is found here fits these rows, not the next. Have more rows, or fewer columns (PCA as the "
            "step before)."
        )


def _mean_and_scale(X: Any) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X):
        mean, variances = (each.astype(np.float64) for each in mean_variance_axis(X, axis=0))
    else:
        mean, variances = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    scales = np.sqrt(variances)
    # What rounding leaves of a constant column is not worth scaling up.
    scales[scales <= np.finfo(X.dtype).eps * np.sqrt(X.shape[0]) * np.abs(mean)] = 0
    return mean, scales


def _products_of_columns(X: Any, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if sparse.issparse(X):
        products = (X.T @ X).toarray().astype(np.float64) - X.shape[0] * np.outer(mean, mean)
    else:
        centred = X - mean.astype(X.dtype)
        products = (centred.T @ centred).astype(np.float64)
    return products * np.outer(weights, weights)


def _products_of_rows(X: Any, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if sparse.issparse(X):
        weighted = X @ sparse.diags_array(weights.astype(X.dtype))
        products = (weighted @ weighted.T).toarray().astype(np.float64)
        shift = X @ (mean * weights**2)
        return products - shift[:, None] - shift + np.sum((mean * weights) ** 2)
    centred = (X - mean.astype(X.dtype)) * weights.astype(X.dtype)
    return (centred @ centred.T).astype(np.float64)


def _combined_rows(X: Any, mean: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Weighted, centred columns times vectors over the rows."""
    return (X.T @ vectors - np.outer(mean, vectors.sum(axis=0))) * weights[:, None]
