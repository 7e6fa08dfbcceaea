"""Products, uncorrelated coordinates and the row space of a centred table, without a centred copy.

- Products: dense tables go block by block, sparse ones stay sparse. Sums are in double precision throughout, because
  products square the condition number.
- Uncorrelated coordinates: with the covariance S of the table over weighted rows, ``z = T'(x - mean)`` where ``T' S T``
  is the identity, or diagonal. A table with more columns than rows has at most n - 1 of them, found from the n x n
  matrix of products of rows; p x p is never formed.
- Row space: with the singular value decomposition ``X - mean = U S V'`` of rank r, every difference of two rows is V
  times a difference of two rows of ``U S``. A table with very many columns is worked on in these r coordinates.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewer._kernels._one_thread import scipy_on_one_thread

_CELLS = 1_000_000
_FEWEST = 256
"""Cells of a block, and lines of it at least: narrow blocks would make slow matrix products."""


def column_means(X: Any) -> np.ndarray:
    """Mean of each column, in double precision."""
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def scatter(X: Any, mean: np.ndarray) -> np.ndarray:
    """``(X - mean)'(X - mean)``, of columns by columns."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        sums = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
        products = _dense(X.T @ X) - np.outer(sums, mean) - np.outer(mean, sums)
        return products + n_rows * np.outer(mean, mean)
    total = np.zeros((n_columns, n_columns))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(n_rows, n_columns):
            block = X[rows] - mean
            total += block.T @ block
    return _within_range(total)


def centred_gram(X: Any, mean: np.ndarray) -> np.ndarray:
    """``(X - mean)(X - mean)'``, of rows by rows."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        along = np.asarray(X @ mean, dtype=np.float64)
        return _dense(X @ X.T) - along[:, None] - along + mean @ mean
    total = np.zeros((n_rows, n_rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for columns in _blocks(n_columns, n_rows):
            block = X[:, columns] - mean[columns]
            total += block @ block.T
    return _within_range(total)


def centred_columns_times(X: Any, weights: np.ndarray) -> np.ndarray:
    """``X'H weights`` of (columns, weights): the weights are centred instead of the table."""
    # A float32 table is multiplied as it is: turning it into float64 would be a copy of all of it.
    return np.asarray(X.T @ (weights - weights.mean(axis=0)).astype(X.dtype), dtype=np.float64)


def centred_kernel(K: np.ndarray) -> np.ndarray:
    """``H K H``."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def thin_svd(centred: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``U, d, V'`` with only those singular values that are more than rounding."""
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > np.finfo(centred.dtype).eps * max(centred.shape) * sizes[0]
    return left[:, kept], sizes[kept], right[kept]


def positive_eigenpairs(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a positive semi-definite matrix, decreasing, and their vectors; without those from rounding."""
    values, vectors = np.linalg.eigh(S)
    kept = values > np.finfo(S.dtype).eps * len(S) * values[-1]
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def pivoted_factor(S: np.ndarray, relative_cut: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """F of (rows, rank) with ``S = F F'`` for a positive semi-definite S, and the rows that are lower triangular in it.

    A Cholesky factor, which costs a small part of what eigenvectors do: the row comes next that is furthest from the
    span of those before, until all are in it, to within a share of the trace.
    """
    cut = np.finfo(S.dtype).eps if relative_cut is None else relative_cut
    with scipy_on_one_thread():  # products are by NumPy
        factor, order, rank, _ = linalg.lapack.dpstrf(S, tol=cut * np.trace(S), lower=1)
    rows = np.empty((len(S), rank))
    rows[order - 1] = np.tril(factor)[:, :rank]
    return rows, order[:rank] - 1


def _blocks(length: int, other_length: int) -> Iterator[slice]:
    return gen_batches(length, max(_FEWEST, _CELLS // other_length))


def _within_range(products: np.ndarray) -> np.ndarray:
    if not np.isfinite(np.trace(products)):
        raise ValueError(
            "The table has values so large that their squares are beyond what a computer counts with (about 1e308): "
            "scale the columns, by MaxAbsScaler as the step before in a pipeline."
        )
    return products


def _dense(products: Any) -> np.ndarray:
    return np.asarray(products.toarray() if sparse.issparse(products) else products, dtype=np.float64)


class Coordinates(NamedTuple):
    """``(x - mean) @ to`` for a row x."""

    mean: np.ndarray
    to: np.ndarray


def rank_tolerance(X: Any) -> float:
    """Share of the largest variance below which a direction counts as having none."""
    return max(1e-10, float(np.finfo(X.dtype).eps) * max(X.shape))


def uncorrelated(
    X: Any, *, unit_variance: bool = True, row_weights: np.ndarray | None = None, ridge: float = 0.0
) -> Coordinates:
    """Coordinates without correlations, by decreasing variance; all of unit variance, or all as long as in the table.

    For unit variance the columns are brought to it first, so that their units make no difference; not with a ``ridge``,
    which is added to the variances in the units of the table. Directions without variance are left out.
    ``row_weights`` add up to 1.
    """
    factors = _factors_into_range(X, column_by_column=unit_variance and not ridge)
    if factors is not None:
        inside = X @ sparse.diags_array(factors) if sparse.issparse(X) else X * factors
        its_ridge = ridge and ridge * float(factors[0]) ** 2
        found = uncorrelated(inside, unit_variance=unit_variance, row_weights=row_weights, ridge=its_ridge)
        scale = factors[:, None] if unit_variance else 1
        return Coordinates(found.mean / factors, found.to * scale)
    shares = np.full(X.shape[0], 1 / X.shape[0]) if row_weights is None else row_weights
    mean, scales = _mean_and_scale(X, shares)
    if not scales.any():
        raise ValueError("All columns are constant, so there are no directions to find; check the table.")
    weights = (scales > 0).astype(float)
    if unit_variance and not ridge:
        weights = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    in_rows = X.shape[1] > X.shape[0]
    products = _products_of_rows if in_rows else _products_of_columns
    variances, vectors = np.linalg.eigh(products(X, mean, weights, shares))
    kept = variances > rank_tolerance(X) * variances[-1]
    variances, vectors = variances[kept][::-1], vectors[:, kept][:, ::-1]
    if in_rows:
        vectors = _combined_rows(X, mean, weights, vectors * np.sqrt(shares)[:, None]) / np.sqrt(variances)
    return Coordinates(mean, vectors * weights[:, None] / (np.sqrt(variances + ridge) if unit_variance else 1))


def _factors_into_range(X: Any, column_by_column: bool) -> np.ndarray | None:
    """What brings columns to a size whose squares can be counted with; None if all are of such a size already."""
    axis = 0 if column_by_column else None
    ends = [end.toarray() if sparse.issparse(end) else end for end in (X.max(axis=axis), X.min(axis=axis))]
    largest = np.abs(np.asarray(ends, dtype=np.float64)).max(axis=0).ravel()
    reach = np.finfo(X.dtype).max ** 0.25
    extreme = (largest > reach) | ((largest < 1 / reach) & (largest > 0))
    if not extreme.any():
        return None
    # Powers of two, so that no digit changes.
    factors = np.where(extreme, 2.0 ** -np.round(np.log2(np.where(extreme, largest, 1))), 1).astype(X.dtype)
    return np.broadcast_to(factors, X.shape[1]).copy()


def rows_along(X: Any, coordinates: Coordinates) -> np.ndarray:
    """The rows in the coordinates."""
    to = coordinates.to.astype(X.dtype)
    return X @ to - coordinates.mean.astype(X.dtype) @ to


def _mean_and_scale(X: Any, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(X.T @ shares, dtype=np.float64)
    if sparse.issparse(X):
        empty = 1 - (X != 0).astype(np.float64).T @ shares
        away = X.tocoo(copy=True)
        away.data = (away.data - mean[away.coords[1]]) ** 2 * shares[away.coords[0]]
        variances = np.asarray(away.sum(axis=0)).ravel() + empty * mean**2
    else:
        variances = shares @ (X - mean) ** 2
    scales = np.sqrt(np.maximum(variances, 0))
    # What rounding leaves of a constant column, at most the error of a mean of n entries, is not worth scaling up.
    scales[scales <= np.finfo(np.float64).eps * X.shape[0] * np.abs(mean)] = 0
    return mean, scales


def _products_of_columns(X: Any, mean: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(shares).astype(X.dtype)
    if sparse.issparse(X):
        shared = sparse.diags_array(roots) @ X
        products = (shared.T @ shared).toarray().astype(np.float64) - np.outer(mean, mean)
    else:
        centred = (X - mean.astype(X.dtype)) * roots[:, None]
        products = (centred.T @ centred).astype(np.float64)
    return products * np.outer(weights, weights)


def _products_of_rows(X: Any, mean: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(shares)
    if sparse.issparse(X):
        weighted = X @ sparse.diags_array(weights.astype(X.dtype))
        products = (weighted @ weighted.T).toarray().astype(np.float64)
        shift = X @ (mean * weights**2)
        products = products - shift[:, None] - shift + np.sum((mean * weights) ** 2)
    else:
        centred = (X - mean.astype(X.dtype)) * weights.astype(X.dtype)
        products = (centred @ centred.T).astype(np.float64)
    return products * np.outer(roots, roots)


def _combined_rows(X: Any, mean: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Weighted, centred columns times vectors over the rows."""
    return (X.T @ vectors - np.outer(mean, vectors.sum(axis=0))) * weights[:, None]


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
    U, sizes, Vt = np.linalg.svd(X - mean, full_matrices=False)
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
    squares, vectors = np.linalg.eigh(products)
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
