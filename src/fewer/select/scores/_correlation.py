"""Correlation of a column with a number for each row (Pearson), or of their ranks (Spearman); and sorted columns.

*Sorted columns*: dense tables are sorted a block of columns at a time, so that no second table is needed; sparse ones
only where they store something.

``r = sum_i (x_i - m)(y_i - k) / sqrt(sum_i (x_i - m)^2 sum_i (y_i - k)^2)``, and the same of the midranks. Under
independence of normal columns ``(1 - |r|) / 2`` follows a beta distribution with both parameters ``n / 2 - 1``.

*Kernels*: one pass along each sorted column gives the rank correlation, the largest difference of distribution
functions, or the information. Columns come as in a compressed sparse matrix: the stored values of column j are
``values[indptr[j]:indptr[j + 1]]`` in ascending order, none of them zero, with the row of each in ``rows``; all other
rows are zeros, a block whose place among the ranks is known without looking. A dense column is one with nothing left
out.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import betainc
from scipy.stats import rankdata

from fewer.select.scores._class_moments import (
    add_rows_with_target,
    class_moments,
    row_blocks,
    sparse_products,
    without_duplicates,
)
from fewer.select.scores._score import ColumnScores, column_score

_ENTRIES_AT_ONCE = 1 << 22


class SortedColumns(NamedTuple):
    """Columns in ascending order, in the form of a compressed sparse matrix; rows left out are zeros."""

    values: np.ndarray
    rows: np.ndarray
    indptr: np.ndarray


def sorted_columns(X: Any) -> Iterator[tuple[slice, SortedColumns]]:
    """Blocks of sorted columns, and where they are in the table."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        yield slice(0, n_columns), sorted_sparse_columns(X)
        return
    width = max(1, _ENTRIES_AT_ONCE // n_rows)
    for start in range(0, n_columns, width):
        columns = slice(start, min(start + width, n_columns))
        block = np.ascontiguousarray(X[:, columns].T)
        order = np.argsort(block, axis=1)
        values = np.take_along_axis(block, order, axis=1)
        yield columns, SortedColumns(values.ravel(), order.ravel(), np.arange(len(block) + 1) * n_rows)


def sorted_sparse_columns(X: Any) -> SortedColumns:
    """What a CSC matrix stores, each column in ascending order, without explicit zeros."""
    X = without_duplicates(X)
    stored = X.data != 0
    column_of = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))[stored]
    values, rows = X.data[stored], X.indices[stored]
    order = np.lexsort((values, column_of))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(column_of, minlength=X.shape[1]))])
    return SortedColumns(values[order], rows[order].astype(np.int64), indptr)


@column_score(tasks=("regression",), sparse=True, p_values=True)
def pearson_score(X: Any, y: np.ndarray, *, sample_weight: Any = None) -> ColumnScores:
    """Absolute value of the correlation of each column with the target.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Numbers; two classes count as 0 and 1.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        Two-sided p-values, exact for normal columns.

    Examples
    --------
    >>> from fewer.select import pearson_score
    >>> scores, p_values = pearson_score([[1, 3], [2, 1], [3, 3], [4, 1]], [2.0, 4.0, 6.0, 8.5])
    >>> scores.round(3), p_values.round(3)
    (array([0.998, 0.467]), array([0.002, 0.533]))
    """
    if sample_weight is not None:
        scores = np.abs(weighted_correlations(X, y, sample_weight))
        return ColumnScores(scores, correlation_p_values(scores, float(np.sum(sample_weight))))
    scores = np.abs(correlations(X, y))
    return ColumnScores(scores, correlation_p_values(scores, len(y)))


@column_score(tasks=("regression",), sparse=True, p_values=True)
def spearman_score(X: Any, y: np.ndarray) -> ColumnScores:
    """Absolute value of the rank correlation of each column with the target.

    The correlation of the ranks, equal values sharing the mean of theirs: large for any relation that only rises or
    only falls, and blind to outliers.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Numbers; two classes count as 0 and 1.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        Two-sided p-values by the t distribution, good from some ten rows on.

    Examples
    --------
    >>> from fewer.select import spearman_score
    >>> scores, p_values = spearman_score([[1, 3], [10, 1], [100, 3], [1000, 1]], [2.0, 4.0, 6.0, 8.5])
    >>> scores.round(3), p_values.round(3)
    (array([1.   , 0.447]), array([0.   , 0.553]))
    """
    target = rankdata(y) - (len(y) + 1) / 2
    scores = np.empty(X.shape[1])
    for columns, block in sorted_columns(X):
        scores[columns] = np.abs(rank_correlations(*block, target))
    scores = np.minimum(scores, 1.0)
    return ColumnScores(scores, correlation_p_values(scores, len(y)))


def correlations(X: Any, y: np.ndarray) -> np.ndarray:
    """Correlation of each column with y; 0 where either is constant."""
    centred = y - y.mean()
    if sparse.issparse(X):
        X = without_duplicates(X)
        squares, products = sparse_products(X.data, X.indices, X.indptr, centred)
    else:
        squares, products, means = (np.zeros(X.shape[1]) for _ in range(3))
        mean = 0.0
        for rows, block in row_blocks(X):
            mean = add_rows_with_target(block, centred[rows], rows.start, mean, means, squares, products)
    scale = np.sqrt(squares) * np.linalg.norm(centred)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, np.clip(products / scale, -1.0, 1.0), 0.0)


def weighted_correlations(X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same of rows with positive weights."""
    centred = y - np.average(y, weights=weights)
    moments = class_moments(X, np.zeros(len(y), dtype=np.intp), weights)
    lowest, highest = (ends.toarray().ravel() if sparse.issparse(X) else ends for ends in (X.min(0), X.max(0)))
    products = np.zeros(X.shape[1])
    if sparse.issparse(X):
        products = np.asarray((weights * centred) @ X)
    else:
        for rows, block in row_blocks(X, _ENTRIES_AT_ONCE):
            products += (weights * centred)[rows] @ (block - moments.means[0])
    scale = np.sqrt(moments.squares[0] * (weights @ centred**2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((scale > 0) & (lowest < highest), np.clip(products / scale, -1.0, 1.0), 0.0)


def correlation_p_values(strength: np.ndarray, n_rows: float) -> np.ndarray:
    """Two-sided p-values of the absolute values of correlations."""
    if n_rows < 3:
        return np.ones_like(strength)
    half = n_rows / 2 - 1
    return np.minimum(2 * betainc(half, half, (1 - strength) / 2), 1.0)


@njit(cache=True, nogil=True)
def _tie_groups(values, n_left_out, starts, stops):
    """Runs of equal values, ascending, as ``starts`` and ``stops``; the zeros left out are an empty run. How many."""
    n_groups, place, n_stored = 0, 0, values.size
    zeros_due = n_left_out > 0
    while place < n_stored or zeros_due:
        if zeros_due and (place == n_stored or values[place] > 0):
            starts[n_groups], stops[n_groups] = place, place
            zeros_due = False
        else:
            end = place + 1
            while end < n_stored and values[end] == values[place]:
                end += 1
            starts[n_groups], stops[n_groups] = place, end
            place = end
        n_groups += 1
    return n_groups


@njit(cache=True, nogil=True)
def _longest(indptr):
    longest = 0
    for column in range(indptr.size - 1):
        longest = max(longest, indptr[column + 1] - indptr[column])
    return longest


@njit(cache=True, nogil=True)
def rank_correlations(values, rows, indptr, target):
    """Correlation of the midranks of each column with ``target``, midranks less their mean; 0 if either is constant."""
    n_rows, n_columns = target.size, indptr.size - 1
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    target_square = 0.0
    for row in range(n_rows):
        target_square += target[row] * target[row]
    correlations = np.zeros(n_columns)
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        n_left_out = n_rows - own.size
        left_out = 0.0
        if n_left_out > 0:
            for place in range(own.size):
                left_out -= target[own[place]]
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        below, square, product = 0, 0.0, 0.0
        for group in range(n_groups):
            size, wanted = stops[group] - starts[group], 0.0
            if size == 0:
                size, wanted = n_left_out, left_out
            else:
                for place in range(starts[group], stops[group]):
                    wanted += target[own[place]]
            midrank = below + 0.5 * (size - n_rows)
            square += size * midrank * midrank
            product += midrank * wanted
            below += size
        if square > 0 and target_square > 0:
            correlations[column] = product / np.sqrt(square * target_square)
    return correlations


@njit(cache=True, nogil=True)
def _class_counts(rows, classes, counts):
    counts[:] = 0
    for place in range(rows.size):
        counts[classes[rows[place]]] += 1


@njit(cache=True, nogil=True)
def largest_gaps(values, rows, indptr, classes, class_sizes, first):
    """Largest gap between the distribution functions of each class from ``first`` on and of all other rows."""
    n_rows, n_columns, n_classes = classes.size, indptr.size - 1, class_sizes.size
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    gaps = np.zeros((n_classes - first, n_columns))
    stored, below_in = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    per_row, per_other = np.empty(n_classes), np.empty(n_classes)
    for code in range(n_classes):
        per_row[code] = 1.0 / class_sizes[code]
        per_other[code] = 1.0 / (n_rows - class_sizes[code])
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        _class_counts(own, classes, stored)
        n_left_out = n_rows - own.size
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        below_in[:] = 0
        below = 0
        for group in range(n_groups - 1):  # after the last both functions are 1
            if stops[group] == starts[group]:
                below += n_left_out
                for code in range(n_classes):
                    below_in[code] += class_sizes[code] - stored[code]
            else:
                below += stops[group] - starts[group]
                for place in range(starts[group], stops[group]):
                    below_in[classes[own[place]]] += 1
            for code in range(first, n_classes):
                gap = abs(below_in[code] * per_row[code] - (below - below_in[code]) * per_other[code])
                if gap > gaps[code - first, column]:
                    gaps[code - first, column] = gap
    return gaps


@njit(cache=True, nogil=True)
def binned_information(values, rows, indptr, classes, class_sizes, n_bins):
    """Mutual information (nats) of each column, in bins of about equally many rows, and the classes; bins occupied.

    A column of at most ``n_bins`` different values keeps them. Equal values are never parted: a run goes where its
    middle falls.
    """
    n_rows, n_columns, n_classes = classes.size, indptr.size - 1, class_sizes.size
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    information, occupied = np.zeros(n_columns), np.zeros(n_columns, np.int64)
    table = np.empty((n_bins, n_classes), np.int64)
    stored = np.empty(n_classes, np.int64)
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        _class_counts(own, classes, stored)
        n_left_out = n_rows - own.size
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        table[:] = 0
        below = 0
        for group in range(n_groups):
            size = stops[group] - starts[group]
            if size == 0:
                size = n_left_out
            in_bin = group if n_groups <= n_bins else (n_bins * (2 * below + size)) // (2 * n_rows)
            if stops[group] == starts[group]:
                for code in range(n_classes):
                    table[in_bin, code] += class_sizes[code] - stored[code]
            else:
                for place in range(starts[group], stops[group]):
                    table[in_bin, classes[own[place]]] += 1
            below += size
        information[column], occupied[column] = _table_information(table, class_sizes, n_rows)
    return information, occupied


@njit(cache=True, nogil=True)
def _table_information(table, class_sizes, n_rows):
    """Mutual information of a table of counts, and its rows that are not empty."""
    total, occupied = 0.0, 0
    for in_bin in range(table.shape[0]):
        in_row = table[in_bin].sum()
        if in_row == 0:
            continue
        occupied += 1
        for code in range(table.shape[1]):
            count = table[in_bin, code]
            if count > 0:
                total += count * np.log(count * n_rows / (in_row * class_sizes[code]))
    return max(total / n_rows, 0.0), occupied
