"""In how many rows of each class a column is above zero, from dense and from sparse tables, in one pass."""

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse


@njit(cache=True, nogil=True)
def _counts_of_dense(X, codes, counts):
    for row in range(X.shape[0]):
        code = codes[row]
        for column in range(X.shape[1]):
            if X[row, column] > 0:
                counts[code, column] += 1


@njit(cache=True, nogil=True)
def _counts_of_rows(data, columns, starts, codes, counts):
    for row in range(len(starts) - 1):
        code = codes[row]
        for place in range(starts[row], starts[row + 1]):
            if data[place] > 0:
                counts[code, columns[place]] += 1


@njit(cache=True, nogil=True)
def _counts_of_columns(data, rows, starts, codes, counts):
    for column in range(len(starts) - 1):
        for place in range(starts[column], starts[column + 1]):
            if data[place] > 0:
                counts[codes[rows[place]], column] += 1


def occurrence_counts(X: Any, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Rows of each class in which each column is above zero.

    Parameters
    ----------
    X : ndarray, CSR or CSC of shape (n_samples, n_features)
        Table. Stored zeros count as zeros, and entries stored twice as their sum.
    codes : ndarray of int of shape (n_samples,)
        Class of each row, from 0 on.
    n_classes : int
        Number of classes.

    Returns
    -------
    counts : ndarray of int64 of shape (n_classes, n_features)
        The counts.
    """
    counts = np.zeros((n_classes, X.shape[1]), dtype=np.int64)
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    if not sparse.issparse(X):
        _counts_of_dense(X, codes, counts)
        return counts
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    count = _counts_of_rows if X.format == "csr" else _counts_of_columns
    count(X.data, X.indices, X.indptr, codes, counts)
    return counts


def occurrence_log_rates(counts: np.ndarray, class_sizes: np.ndarray, smoothing: float) -> np.ndarray:
    """``ln P(F|C)``, a row for each class."""
    return np.log(counts + smoothing) - np.log(class_sizes + 2 * smoothing)[:, None]


def undecided(joint: np.ndarray) -> np.ndarray:
    """Where rounding would choose between the two likeliest classes, which are on the last axis.

    >>> undecided(np.array([[-1.0, -2.0], [-1.0, -1.0 - 1e-15], [-3.0, -1.0]]))
    array([False,  True, False])
    """
    first, second = np.partition(joint, -2, axis=-1)[..., :-3:-1].swapaxes(0, -1)
    return (first - second <= 1e-12 * np.abs(first)).swapaxes(0, -1)
