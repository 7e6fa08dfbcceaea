"""Shares, means and covariances of groups of rows, in coordinates in which a table has no correlations.

In any coordinates the total covariance is

    S = sum_k pi_k S_k + sum_k pi_k m_k m_k'

for groups with shares pi_k, means m_k and covariances S_k (divisor n_k), so that total and groups agree exactly.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._estimators import warn_caller
from fewer.extract._uncorrelated import Coordinates, rows_along


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
