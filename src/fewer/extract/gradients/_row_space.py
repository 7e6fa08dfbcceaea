"""The span of the rows: where all differences between rows live, and all gradients with them.

With the singular value decomposition ``X - mean = U S V'`` of rank r, every difference of two rows is V times one of
two rows of ``U S``. A table with very many columns is thus worked on in r coordinates, and no matrix of columns x
columns is needed.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.sparsefuncs import mean_variance_axis


class RowSpace(NamedTuple):
    """Mean of the columns, orthonormal axes (columns, r) of the span, and the centred rows along them (rows, r)."""

    mean: np.ndarray
    axes: np.ndarray
    rows: np.ndarray

    def along(self, X: Any) -> np.ndarray:
        """Rows of a table along the axes."""
        return np.asarray(X @ self.axes, dtype=float) - self.mean @ self.axes


def row_space(X: Any) -> RowSpace:
    """Span of the centred rows; rank 0 if all rows are equal. A sparse table stays sparse."""
    if sparse.issparse(X):
        return _row_space_of_sparse(X.astype(float))
    mean = X.mean(axis=0, dtype=float)
    U, sizes, Vt = linalg.svd(X - mean, full_matrices=False, check_finite=False)
    kept = sizes > np.finfo(X.dtype).eps * max(X.shape) * max(sizes[0], np.abs(mean).max())
    return RowSpace(mean, Vt[kept].T, U[:, kept] * sizes[kept])


def _row_space_of_sparse(X: Any) -> RowSpace:
    """The same from the smaller one of the two matrices of products, whose eigenvalues are squared sizes."""
    n_rows, n_columns = X.shape
    mean = mean_variance_axis(X.tocsr(), axis=0)[0]
    if n_columns <= n_rows:
        squares, axes = _leading(np.asarray((X.T @ X).toarray()) - n_rows * np.outer(mean, mean), X.shape)
        return RowSpace(mean, axes, np.asarray(X @ axes) - mean @ axes)
    products = np.asarray((X @ X.T).toarray())
    means = products.mean(axis=0)
    squares, U = _leading(products - means - means[:, None] + means.mean(), X.shape)
    # The columns of U add up to 0, so that the rows need no centring.
    return RowSpace(mean, np.asarray(X.T @ (U / np.sqrt(squares))), U * np.sqrt(squares))


def _leading(products: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are more than rounding, from the largest on, and their eigenvectors."""
    squares, vectors = linalg.eigh(products, check_finite=False)
    kept = np.flatnonzero(squares > np.finfo(float).eps * max(shape) * max(squares[-1], 0))[::-1]
    return squares[kept], vectors[:, kept]


def median_distance(squared_distances: np.ndarray) -> float:
    """Median distance between two rows; of those that differ, if most are equal."""
    pairs = np.concatenate([row[place + 1 :] for place, row in enumerate(squared_distances)])
    median = np.median(pairs)
    if median <= 0:
        pairs = pairs[pairs > 0]
        median = np.median(pairs) if pairs.size else 1.0
    return float(np.sqrt(median))
