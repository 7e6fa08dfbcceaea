"""Columns sorted one by one, in the form that the kernels of ranks walk along.

Dense tables are sorted a block of columns at a time, so that no second table is needed; sparse ones only where they
store something.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer.select.scores._class_moments import without_duplicates

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
