"""What the scores of class means share: counts, means and sums of squares of each column in each class.

One pass over the table, dense or sparse, in double precision whatever the table's own, by Welford's updates: with ``d =
x - mean``, ``mean += d / count`` and ``square += d (x - mean)``. A class in which a column is constant has a sum of
squares of exactly zero, and a column such as 1e8 plus noise keeps the digits of its noise. The rows that a sparse
column does not store are merged in afterwards as a group of zeros.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from fewer._kernels._arrays import copy_into, read_only

_ENTRIES_AT_ONCE = 1 << 18
"""Entries of a row block that is copied, where a table does not store its rows one after the other."""


class ClassMoments(NamedTuple):
    """Moments of each column in each class; ``means`` and ``squares`` are of shape (n_classes, n_features)."""

    counts: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    """Sums of squared deviations from the class means."""

    @property
    def mean(self) -> np.ndarray:
        """Mean of each column over all rows; exact for a column that is constant."""
        apart = self.means - self.means[0]
        return self.means[0] + self.counts @ apart / self.counts.sum()

    @property
    def between(self) -> np.ndarray:
        """Sum of squares of the class means about the mean, each class counted by its rows."""
        with np.errstate(over="ignore"):
            return self.counts @ (self.means - self.mean) ** 2

    @property
    def within(self) -> np.ndarray:
        """Sum of squares about the class means."""
        return self.squares.sum(axis=0)

    def against_rest(self, code: int) -> "ClassMoments":
        """Moments of all other classes together (row 0) and of this one (row 1)."""
        others = ClassMoments(*(np.delete(part, code, axis=0) for part in self))
        counts = np.array([others.counts.sum(), self.counts[code]])
        means = np.stack([others.mean, self.means[code]])
        return ClassMoments(counts, means, np.stack([others.within + others.between, self.squares[code]]))


def class_moments(X: Any, codes: np.ndarray, weights: np.ndarray | None = None) -> ClassMoments:
    """Moments of a dense table, or of a CSC matrix without making it dense; classes are 0, 1, ..."""
    if weights is not None:
        return _weighted_moments(X, codes, weights)
    counts = np.bincount(codes).astype(float)
    if sparse.issparse(X):
        X = without_duplicates(X)
        return ClassMoments(counts, *sparse_class_moments(X.data, X.indices, X.indptr, codes, counts))
    n_classes = len(counts)
    means, squares = np.zeros((n_classes, X.shape[1])), np.zeros((n_classes, X.shape[1]))
    seen = np.zeros(n_classes)
    for rows, block in row_blocks(X):
        add_rows(read_only(block), codes[rows], seen, means, squares)
    return ClassMoments(counts, means, squares)


def _weighted_moments(X: Any, codes: np.ndarray, weights: np.ndarray) -> ClassMoments:
    """The same of rows with positive weights: a row of weight 2 counts as two rows."""
    n_classes = int(codes.max()) + 1
    members = sparse.csr_array((weights, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    counts = np.bincount(codes, weights)
    if sparse.issparse(X):
        X = without_duplicates(X)
        means = (members @ X).toarray() / counts[:, None]
        column_of, code_of = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr)), codes[X.indices]
        weight_of, cell = weights[X.indices], code_of * X.shape[1] + column_of
        apart = weight_of * (X.data - means[code_of, column_of]) ** 2
        squares, stored = (np.bincount(cell, each, means.size).reshape(means.shape) for each in (apart, weight_of))
        return ClassMoments(counts, means, squares + (counts[:, None] - stored) * means**2)
    start = np.asarray(X[0], dtype=np.float64)  # differences from a row keep the digits of columns far from zero
    means, squares = np.zeros((n_classes, X.shape[1])), np.zeros((n_classes, X.shape[1]))
    for rows, block in row_blocks(X, _ENTRIES_AT_ONCE):
        means += members[:, rows] @ (block - start)
    means = start + means / counts[:, None]
    for rows, block in row_blocks(X, _ENTRIES_AT_ONCE):
        squares += members[:, rows] @ (block - means[codes[rows]]) ** 2
    return ClassMoments(counts, means, squares)


def row_blocks(X: np.ndarray, at_once: int | None = None) -> Iterator[tuple[slice, np.ndarray]]:
    """The table in blocks whose rows are stored one after the other, or one block unless ``at_once`` limits it."""
    n_rows, n_columns = X.shape
    whole = X.flags.c_contiguous and at_once is None
    height = n_rows if whole else max(16, (at_once or _ENTRIES_AT_ONCE) // n_columns)
    for start in range(0, n_rows, height):
        rows = slice(start, min(start + height, n_rows))
        yield rows, np.ascontiguousarray(X[rows])


def without_duplicates(X: Any) -> Any:
    """The matrix with each entry stored once, sorted by row; itself if it is so already."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """``above / below`` with 0 for 0 / 0 (a constant column) and infinity for what is split without any error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > 0, above / below, 0.0)


_COLUMNS_AT_ONCE = 1024
"""So many that the running means stay in the cache while the rows go by."""


@njit(cache=True, nogil=True)
def add_rows(X, classes, counts, means, squares):
    """Add the rows of a dense table to the moments, in place; ``means`` and ``squares`` are (classes, columns)."""
    n_rows, n_columns = X.shape
    before = counts.copy()
    for start in range(0, n_columns, _COLUMNS_AT_ONCE):
        stop = min(start + _COLUMNS_AT_ONCE, n_columns)
        copy_into(counts, before)
        for row in range(n_rows):
            code = classes[row]
            counts[code] += 1
            share = 1.0 / counts[code]
            x, mean, square = X[row, start:stop], means[code, start:stop], squares[code, start:stop]
            for column in range(stop - start):
                value = np.float64(x[column])
                apart = value - mean[column]
                middle = mean[column] + apart * share
                mean[column] = middle
                square[column] += apart * (value - middle)


@njit(cache=True, nogil=True)
def add_rows_with_target(X, target, n_before, target_mean, means, squares, products):
    """The same for a single class, with the sums of products of each column and a number for each row.

    Returns the mean of the target over all rows so far.
    """
    n_rows, n_columns = X.shape
    mean_after = target_mean
    for start in range(0, n_columns, _COLUMNS_AT_ONCE):
        stop = min(start + _COLUMNS_AT_ONCE, n_columns)
        mean_after = target_mean
        for row in range(n_rows):
            share = 1.0 / (n_before + row + 1)
            mean_after += (target[row] - mean_after) * share
            pull = target[row] - mean_after
            x, mean, square = X[row, start:stop], means[start:stop], squares[start:stop]
            product = products[start:stop]
            for column in range(stop - start):
                value = np.float64(x[column])
                apart = value - mean[column]
                middle = mean[column] + apart * share
                mean[column] = middle
                square[column] += apart * (value - middle)
                product[column] += apart * pull
    return mean_after


@njit(cache=True, nogil=True)
def sparse_class_moments(data, indices, indptr, classes, counts):
    """Means and sums of squares (classes, columns) of a sparse table by columns; ``counts`` are the rows of a class."""
    n_classes, n_columns = counts.size, indptr.size - 1
    means, squares = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    stored, mean, square = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for column in range(n_columns):
        stored[:] = 0
        mean[:] = 0
        square[:] = 0
        for place in range(indptr[column], indptr[column + 1]):
            code = classes[indices[place]]
            value = np.float64(data[place])
            stored[code] += 1
            apart = value - mean[code]
            mean[code] += apart / stored[code]
            square[code] += apart * (value - mean[code])
        for code in range(n_classes):
            share = stored[code] / counts[code] if counts[code] > 0 else 0.0
            means[code, column] = mean[code] * share
            squares[code, column] = square[code] + mean[code] * mean[code] * share * (counts[code] - stored[code])
    return means, squares


@njit(cache=True, nogil=True)
def sparse_products(data, indices, indptr, target):
    """Sums of squares of each sparse column, and of its products with ``target``, whose mean is zero."""
    n_rows, n_columns = target.size, indptr.size - 1
    squares, products = np.zeros(n_columns), np.zeros(n_columns)
    for column in range(n_columns):
        stored, mean, square, target_mean, product = 0.0, 0.0, 0.0, 0.0, 0.0
        for place in range(indptr[column], indptr[column + 1]):
            value, wanted = np.float64(data[place]), target[indices[place]]
            stored += 1
            apart = value - mean
            mean += apart / stored
            square += apart * (value - mean)
            target_mean += (wanted - target_mean) / stored
            product += apart * (wanted - target_mean)
        missing = n_rows - stored
        if missing > 0:
            # The target's mean over the rows not stored is -stored * target_mean / missing, its total being zero.
            share = stored / n_rows
            square += mean * mean * share * missing
            product += mean * target_mean * stored
        squares[column], products[column] = square, product
    return squares, products
