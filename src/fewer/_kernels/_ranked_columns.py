"""A table with every value replaced by its rank in its column: all that a tree needs to know in order to grow.

Equal values have equal ranks. Ranks are integers, so nodes are sorted digit by digit, and they take half of the memory
of the table or less. A sparse table stays sparse: the ranks of the stored values, and one rank for zero in each column.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

_SHIFT = np.uint64(32)


class RankedColumns(NamedTuple):
    """Ranks of a dense table in ``dense`` (n_columns, n_rows), of a sparse one by columns in the other four."""

    dense: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    ranks: np.ndarray
    zero_ranks: np.ndarray


def ranked_columns(X: Any) -> RankedColumns:
    """Ranks of a finite table, dense or sparse."""
    if sparse.issparse(X):
        return _ranked_sparse_columns(X)
    n_rows, n_columns = X.shape
    dense = np.empty((n_columns, n_rows), dtype=np.uint16 if n_rows <= 2**16 else np.uint32)
    for column in range(n_columns):
        values = np.ascontiguousarray(X[:, column])
        _fill_ranks(values, np.argsort(values), dense[column])
    index, ranks = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32)
    return RankedColumns(dense, index, index, ranks, ranks)


def _ranked_sparse_columns(X: Any) -> RankedColumns:
    X = X.tocsc(copy=True)
    X.sum_duplicates()
    n_columns = X.shape[1]
    # Every column gets a zero of its own, so that it is ranked among the stored values.
    column = np.append(np.repeat(np.arange(n_columns), np.diff(X.indptr)), np.arange(n_columns))
    values = np.append(X.data, np.zeros(n_columns, dtype=X.dtype))
    order = np.lexsort((values, column))
    new_column = np.diff(column[order], prepend=-1) > 0
    new_level = new_column | (np.diff(values[order], prepend=0) != 0)
    level = np.cumsum(new_level) - 1
    ranks = np.empty(len(values), dtype=np.uint32)
    ranks[order] = level - level[new_column][column[order]]
    stored, zeros = ranks[: X.nnz], ranks[X.nnz :]
    starts, rows = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return RankedColumns(np.empty((0, 0), dtype=np.uint16), starts, rows, stored, zeros)


@njit(cache=True, nogil=True)
def _fill_ranks(values, order, out):
    rank = 0
    for place in range(order.size):
        if place > 0 and values[order[place]] != values[order[place - 1]]:
            rank += 1
        out[order[place]] = rank


@njit(cache=True, nogil=True)
def _stored_rank(table, column, row):
    """Rank of one entry of a sparse table, by bisection."""
    low, high = table.starts[column], table.starts[column + 1]
    while low < high:
        middle = (low + high) // 2
        if table.rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    if low < table.starts[column + 1] and table.rows[low] == row:
        return table.ranks[low]
    return table.zero_ranks[column]


@njit(cache=True, nogil=True)
def fill_keys(table, column, rows, keys, lookup):
    """Put ``rank * 2**32 + row`` of some rows into ``keys``; returns the lowest and the highest rank among them.

    ``lookup`` has an entry for each row of the table, all zero, and is left so. It is used when so many rows of a
    sparse table are asked for that unpacking the column beats a search for each.
    """
    lowest, highest = np.uint64(2**32), np.uint64(0)
    is_sparse = table.starts.size > 0
    unpacked = False
    start = stop = 0
    if is_sparse:
        start, stop = table.starts[column], table.starts[column + 1]
        unpacked = rows.size * np.log2(stop - start + 2.0) > stop - start
        if unpacked:
            for stored in range(start, stop):
                lookup[table.rows[stored]] = table.ranks[stored] + 1
    for place in range(rows.size):
        row = rows[place]
        if not is_sparse:
            rank = np.uint64(table.dense[column, row])
        elif unpacked:
            rank = np.uint64(lookup[row] - 1 if lookup[row] > 0 else table.zero_ranks[column])
        else:
            rank = np.uint64(_stored_rank(table, column, row))
        keys[place] = (rank << _SHIFT) | np.uint64(row)
        lowest, highest = min(lowest, rank), max(highest, rank)
    if unpacked:
        for stored in range(start, stop):
            lookup[table.rows[stored]] = 0
    return lowest, highest


_DIGIT = 11


@njit(cache=True, nogil=True)
def sort_by_rank(keys, scratch, n_keys, lowest, highest):
    """Sort the first keys by rank, in place; rows of equal rank keep their order."""
    if n_keys <= 40:
        for place in range(1, n_keys):
            key = keys[place]
            before = place - 1
            while before >= 0 and (keys[before] >> _SHIFT) > (key >> _SHIFT):
                keys[before + 1] = keys[before]
                before -= 1
            keys[before + 1] = key
        return
    # Digits of a size that suits the number of keys: counting must not cost more than moving.
    bits = np.uint64(_DIGIT if n_keys > 1000 else 8 if n_keys > 120 else 6)
    mask = np.uint64((np.uint64(1) << bits) - np.uint64(1))
    counts = np.empty(2**_DIGIT + 1, dtype=np.int64)
    span = highest - lowest
    shift = np.uint64(0)
    source, target = keys, scratch
    swapped = False
    while (span >> shift) > 0:
        counts[: np.int64(mask) + 2] = 0
        for place in range(n_keys):
            digit = np.int64((((source[place] >> _SHIFT) - lowest) >> shift) & mask)
            counts[digit + 1] += 1
        for before in range(np.int64(mask)):
            counts[before + 1] += counts[before]
        for place in range(n_keys):
            digit = np.int64((((source[place] >> _SHIFT) - lowest) >> shift) & mask)
            target[counts[digit]] = source[place]
            counts[digit] += 1
        source, target = target, source
        swapped = not swapped
        shift += bits
    if swapped:
        for place in range(n_keys):
            keys[place] = scratch[place]
