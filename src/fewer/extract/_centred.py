"""Products of a centred table without a centred copy: dense tables go block by block, sparse ones stay sparse.

Sums are in double precision throughout: products square the condition number, and single precision would not bear that.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

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
    left, sizes, right = linalg.svd(centred, full_matrices=False, check_finite=False, overwrite_a=True)
    kept = sizes > np.finfo(centred.dtype).eps * max(centred.shape) * sizes[0]
    return left[:, kept], sizes[kept], right[kept]


def positive_eigenpairs(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a positive semi-definite matrix, decreasing, and their vectors; without those from rounding."""
    values, vectors = linalg.eigh(S, check_finite=False, driver="evd")
    kept = values > np.finfo(S.dtype).eps * len(S) * values[-1]
    return values[kept][::-1], vectors[:, kept][:, ::-1]


def pivoted_factor(S: np.ndarray, relative_cut: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """F of (rows, rank) with ``S = F F'`` for a positive semi-definite S, and the rows that are lower triangular in it.

    A Cholesky factor, which costs a small part of what eigenvectors do: the row comes next that is furthest from the
    span of those before, until all are in it, to within a share of the trace.
    """
    cut = np.finfo(S.dtype).eps if relative_cut is None else relative_cut
    factor, order, rank, _ = linalg.lapack.dpstrf(S, tol=cut * np.trace(S), lower=1)
    rows = np.empty((len(S), rank))
    rows[order - 1] = np.tril(factor)[:, :rank]
    return rows, order[:rank] - 1


def _blocks(length: int, other_length: int) -> Iterator[slice]:
    return gen_batches(length, max(_FEWEST, _CELLS // other_length))


def _within_range(products: np.ndarray) -> np.ndarray:
    if not np.isfinite(np.trace(products)):
        raise ValueError(
            "The table holds numbers so large that their squares are beyond what a computer counts with (about 1e308): "
            "bring the columns to other units, by MaxAbsScaler as the step before in a pipeline."
        )
    return products


def _dense(products: Any) -> np.ndarray:
    return np.asarray(products.toarray() if sparse.issparse(products) else products, dtype=np.float64)
