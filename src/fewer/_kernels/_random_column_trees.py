"""Classification trees that split every node on one random column, at the cut with the largest information gain.

With ``f(k) = k log2 k``, the entropy of a node times its size is ``f(n) - sum_c f(n_c)``. When a row moves from the
right side of a cut to the left, two terms change: every cut costs O(1), for any number of classes.

The gain of a split is compared with what an irrelevant column would reach in the same node. Where no formula serves,
that is found by shuffling the labels over the rows in the order of the column, which keeps ties as they are.

Trees are grown on a table with every value replaced by its rank in its column.

Equal values have equal ranks. Ranks are integers, so nodes are sorted digit by digit, and they take half of the memory
of the table or less. A sparse table stays sparse: the ranks of the stored values, and one rank for zero in each column.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numba import njit
from scipy import sparse

from fewer._kernels._draws import distinct_bootstrap_rows, draw_below, shuffle

_DIGIT = 11
FORMULA_FOR_TWO_CLASSES = 0
"""Shuffle labels only in nodes with more than two classes."""
FORMULA_WITHOUT_TIES = 1
"""Shuffle labels in nodes with more than two classes, with ties, or with a limit on the size of leaves."""
NO_CHANCE_LEVEL = 2
"""Never shuffle labels."""
_N_SHUFFLES = 5
_TREES_AT_A_TIME = 8
_ROW = np.uint64(2**32 - 1)
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


class GrownTree(NamedTuple):
    """A tree by its nodes, each left child right after its parent.

    ``column`` is -1 for leaves, ``right`` the place of the right child. A split has its largest value on the left side
    in row ``below``, its smallest on the right in row ``above``. ``counts`` are the rows of each class. ``gain`` is the
    information gain in bits, ``chance`` its mean over shuffled labels, NaN where the labels were not shuffled. ``rows``
    are the rows that the tree was grown on.
    """

    column: np.ndarray
    right: np.ndarray
    below: np.ndarray
    above: np.ndarray
    counts: np.ndarray
    gain: np.ndarray
    chance: np.ndarray
    rows: np.ndarray


def size_times_log_size(n_rows: int) -> np.ndarray:
    """``k log2 k`` for k from 0 to ``n_rows``."""
    sizes = np.arange(n_rows + 1, dtype=float)
    sizes[1:] *= np.log2(sizes[1:])
    return sizes


@njit(cache=True, nogil=True)
def best_cut(labels, allowed, counts, left, right, xlogx, n_rows):
    """Largest value of ``sum_c f(left_c) + sum_c f(right_c) - f(n_left) - f(n_right)``, and the last place on its left.

    ``labels`` are in the order of the column, ``allowed`` tells after which place there may be a cut; ``left`` and
    ``right`` are room for counts.
    """
    of_right = 0.0
    for label in range(counts.size):
        left[label] = 0
        right[label] = counts[label]
        of_right += xlogx[counts[label]]
    of_left = 0.0
    best, best_place = -np.inf, -1
    for place in range(n_rows - 1):
        label = labels[place]
        of_left += xlogx[left[label] + 1] - xlogx[left[label]]
        of_right += xlogx[right[label] - 1] - xlogx[right[label]]
        left[label] += 1
        right[label] -= 1
        if allowed[place]:
            value = of_left + of_right - xlogx[place + 1] - xlogx[n_rows - place - 1]
            if value > best:
                best, best_place = value, place
    return best, best_place


@njit(cache=True, nogil=True)
def _allowed_cuts(keys, n_rows, min_leaf, allowed):
    """After which places in the order of the column a cut is possible; returns how many there are, and whether ties."""
    n_cuts = 0
    ties = False
    for place in range(n_rows - 1):
        differ = (keys[place] >> _SHIFT) != (keys[place + 1] >> _SHIFT)
        ties = ties or not differ
        allowed[place] = differ and place + 1 >= min_leaf and n_rows - place - 1 >= min_leaf
        n_cuts += allowed[place]
    return n_cuts, ties


@njit(cache=True, nogil=True)
def _class_counts(codes, rows, counts):
    """Fill the counts of a node; returns how many classes are there."""
    counts[:] = 0
    for row in rows:
        counts[codes[row]] += 1
    present = 0
    for label in range(counts.size):
        present += counts[label] > 0
    return present


@njit(cache=True, nogil=True)
def _mean_shuffled_value(labels, allowed, counts, left, right, xlogx, n_rows, n_shuffles, state):
    total = 0.0
    for _ in range(n_shuffles):
        shuffle(labels, n_rows, state)
        total += best_cut(labels, allowed, counts, left, right, xlogx, n_rows)[0]
    return total / n_shuffles


@njit(cache=True, nogil=True)
def grow_tree(table, codes, n_classes, n_rows, columns, min_leaf, chance_rule, n_shuffles, xlogx, seed):
    """One tree on the distinct rows of a bootstrap sample.

    ``table`` are ranked columns, ``codes`` the classes as integers from 0, ``columns`` those to draw from. A column
    that is constant in a node is drawn again; it stays out of the draw in all nodes below.
    """
    state = np.array([seed], dtype=np.uint64)
    sample = distinct_bootstrap_rows(n_rows, state)
    rows = sample.copy()
    draws = columns.copy()
    n_columns = columns.size
    room = 2 * rows.size - 1
    column_of = np.full(room, -1, dtype=np.int32)
    right_of = np.full(room, -1, dtype=np.int32)
    below = np.zeros(room, dtype=np.int32)
    above = np.zeros(room, dtype=np.int32)
    counts_of = np.zeros((room, n_classes), dtype=np.int32)
    gains = np.full(room, np.nan)
    chances = np.full(room, np.nan)

    keys = np.empty(rows.size, dtype=np.uint64)
    scratch = np.empty(rows.size, dtype=np.uint64)
    labels = np.empty(rows.size, dtype=np.int32)
    allowed = np.empty(rows.size, dtype=np.bool_)
    left = np.empty(n_classes, dtype=np.int32)
    right = np.empty(n_classes, dtype=np.int32)
    lookup = np.zeros(n_rows if table.starts.size > 0 else 1, dtype=np.uint32)

    # Nodes still to be split: where their rows start and stop, their parent if they are right children, and how many of
    # the columns at the front of ``draws`` are known to be constant in them.
    waiting = [(0, rows.size, -1, 0)]
    n_nodes = 0
    while len(waiting) > 0:
        start, stop, parent, n_constant = waiting.pop()
        node, size = n_nodes, stop - start
        n_nodes += 1
        if parent >= 0:
            right_of[parent] = node
        counts = counts_of[node]
        present = _class_counts(codes, rows[start:stop], counts)
        if present < 2 or size < 2 * min_leaf:
            continue
        n_cuts, ties = 0, False
        column = -1
        while n_constant < n_columns:
            place = n_constant + draw_below(state, n_columns - n_constant)
            column = draws[place]
            lowest, highest = fill_keys(table, column, rows[start:stop], keys, lookup)
            if lowest < highest:
                sort_by_rank(keys, scratch, size, lowest, highest)
                n_cuts, ties = _allowed_cuts(keys, size, min_leaf, allowed)
                if n_cuts > 0:
                    break
            draws[place], draws[n_constant] = draws[n_constant], column
            n_constant += 1
        if n_cuts == 0:
            continue

        for place in range(size):
            rows[start + place] = np.int64(keys[place] & _ROW)
            labels[place] = codes[rows[start + place]]
        value, cut = best_cut(labels, allowed, counts, left, right, xlogx, size)
        entropy = xlogx[size]
        for label in range(n_classes):
            entropy -= xlogx[counts[label]]
        column_of[node] = column
        below[node], above[node] = rows[start + cut], rows[start + cut + 1]
        gains[node] = max(entropy + value, 0.0) / size
        by_shuffling = present > 2 or (chance_rule == FORMULA_WITHOUT_TIES and (ties or min_leaf > 1))
        if by_shuffling and chance_rule != NO_CHANCE_LEVEL:
            value = _mean_shuffled_value(labels, allowed, counts, left, right, xlogx, size, n_shuffles, state)
            chances[node] = max(entropy + value, 0.0) / size
        waiting.append((start + cut + 1, stop, node, n_constant))
        waiting.append((start, start + cut + 1, -1, n_constant))
    return (
        column_of[:n_nodes].copy(),
        right_of[:n_nodes].copy(),
        below[:n_nodes].copy(),
        above[:n_nodes].copy(),
        counts_of[:n_nodes].copy(),
        gains[:n_nodes].copy(),
        chances[:n_nodes].copy(),
        sample,
    )


def grown_trees(
    table: RankedColumns,
    codes: np.ndarray,
    *,
    n_classes: int,
    n_columns: int,
    n_estimators: int,
    min_leaf: int,
    chance_rule: int,
    n_jobs: int | None,
    random_state: np.random.RandomState,
) -> Iterator[list[GrownTree]]:
    """Trees of a forest, some at a time, so that whoever watches can stop in between."""
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_estimators).astype(np.uint64)
    columns = np.arange(n_columns)
    xlogx = size_times_log_size(len(codes))

    def tree(seed):
        grown = grow_tree(table, codes, n_classes, len(codes), columns, min_leaf, chance_rule, _N_SHUFFLES, xlogx, seed)
        return GrownTree(*grown)

    n_workers = effective_n_jobs(n_jobs)
    at_a_time = _TREES_AT_A_TIME * n_workers
    batches = (seeds[start : start + at_a_time] for start in range(0, n_estimators, at_a_time))
    if n_workers == 1:  # a small tree is grown in less time than it takes to hand it over
        yield from ([tree(seed) for seed in batch] for batch in batches)
        return
    with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
        for batch in batches:
            yield parallel(delayed(tree)(seed) for seed in batch)
