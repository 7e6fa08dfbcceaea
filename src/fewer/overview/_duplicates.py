"""Columns and rows that repeat an earlier one, cell for cell.

Every cell ``x`` is scrambled to a 64-bit number ``h(x)`` and a line (a column or a row) is hashed by a random
projection modulo 2**64, ``sum_i w_i h(x_i)``: exact whatever the order of summation, and zero for the cells that a
sparse matrix does not store. Lines of equal hash are then compared cell by cell. Missing equals missing, and -0.0
equals 0.0.

Columns and rows of a table that repeat others, by name and number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.overview._description import DuplicateRows, NearDuplicateColumns
from fewer.overview._near_duplicates import FEWEST_ROWS, near_duplicate_columns
from fewer.overview._parts import Parts, labels_at, row_blocks

_CELLS_AT_ONCE = 1_000_000
_MOST_CODES = 50
_SETS_SHOWN = 5
_ROWS_SHOWN = 6


def first_equal_columns(X: Any) -> np.ndarray:
    """For each column the position of the first column that equals it; its own position when it is new.

    Parameters
    ----------
    X : ndarray or scipy sparse matrix of shape (n_rows, n_columns)
        Numbers; NaN where missing.

    Returns
    -------
    first : ndarray of shape (n_columns,)
        ``first[j] == j`` for all columns that repeat none before them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._duplicates import first_equal_columns
    >>> first_equal_columns(np.array([[1.0, 2.0, 1.0], [np.nan, 3.0, np.nan]]))
    array([0, 1, 0])
    """
    if sp.issparse(X):
        return _first_equal_lines(_canonical(X, "csc"))
    weights = _weights(X.shape[0])
    hashes = np.zeros(X.shape[1], dtype=np.uint64)
    for rows in row_blocks(*X.shape):
        hashes += (_scrambled(X[rows]) * weights[rows, None]).sum(axis=0, dtype=np.uint64)
    first = _first_with_hash(hashes)
    repeats = np.flatnonzero(first != np.arange(len(first)))
    same = np.ones(len(repeats), dtype=bool)
    for rows in row_blocks(X.shape[0], len(repeats)):
        same &= _equal(X[rows][:, repeats], X[rows][:, first[repeats]]).all(axis=0)
    first[repeats[~same]] = repeats[~same]
    return first


def first_equal_rows(*tables: tuple[Any, np.ndarray]) -> np.ndarray:
    """For each row the number of the first row that equals it in every table; its own number when it is new.

    Parameters
    ----------
    *tables : pairs of (ndarray or scipy sparse matrix of shape (n_rows, any), ndarray of int)
        Parts of one table, side by side, each with the positions of the columns that count.

    Returns
    -------
    first : ndarray of shape (n_rows,)
        ``first[i] == i`` for all rows that repeat none before them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._duplicates import first_equal_rows
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 4.0]])
    >>> first_equal_rows((X, np.arange(2)))
    array([0, 1, 0, 3])
    >>> first_equal_rows((X, np.array([1])))
    array([0, 1, 0, 1])
    """
    n_rows = tables[0][0].shape[0]
    if sum(len(columns) for _, columns in tables) == 0:
        return np.arange(n_rows)
    if sp.issparse(tables[0][0]):
        X, columns = tables[0]
        return _first_equal_lines(_canonical(X if len(columns) == X.shape[1] else X[:, columns], "csr"))
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for seed, (X, columns) in enumerate(tables):
        weights = np.zeros(X.shape[1], dtype=np.uint64)
        weights[columns] = _weights(len(columns), seed)
        for rows in row_blocks(*X.shape):
            hashes[rows] += (_scrambled(X[rows]) * weights).sum(axis=1, dtype=np.uint64)
    first = _first_with_hash(hashes)
    repeats = np.flatnonzero(first != np.arange(n_rows))
    same = np.ones(len(repeats), dtype=bool)
    for X, columns in tables:
        for some in row_blocks(len(repeats), X.shape[1]):
            same[some] &= _equal(X[repeats[some]], X[first[repeats[some]]])[:, columns].all(axis=1)
    first[repeats[~same]] = repeats[~same]
    return first


def groups_of_equals(first: np.ndarray) -> list[list[int]]:
    """Positions of the lines that are equal, one list for each set of two or more, in the order of the table.

    Parameters
    ----------
    first : ndarray of int
        As `first_equal_columns` and `first_equal_rows` return it.

    Returns
    -------
    groups : list of lists of int
        Each sorted; the first position of a group is that of the line that the others repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.overview._duplicates import groups_of_equals
    >>> groups_of_equals(np.array([0, 1, 0, 3, 1, 0]))
    [[0, 2, 5], [1, 4]]
    """
    order = np.argsort(first, kind="stable")
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    groups: Sequence[np.ndarray] = np.split(order, starts[1:])
    return [group.tolist() for group in groups if len(group) > 1]


def _weights(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([20, seed]).integers(2**64, size=size, dtype=np.uint64, endpoint=False)


def _scrambled(values: np.ndarray) -> np.ndarray:
    """64 bits for each cell in which every bit of the value counts; 0 for 0."""
    floats = values.astype(np.float64) + 0.0  # turns -0.0 to 0.0
    floats[np.isnan(floats)] = np.nan  # NaN has many bit patterns
    bits = floats.view(np.uint64)
    # The low bits of small whole numbers are all zero: without folding the high ones in they would hash alike.
    for shift, factor in ((32, 0x9E3779B97F4A7C15), (29, 0xBF58476D1CE4E5B9)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(32)
    return bits


def _first_with_hash(hashes: np.ndarray) -> np.ndarray:
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first[inverse]


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | ((a != a) & (b != b))


def _canonical(X: Any, form: str) -> Any:
    """Sparse matrix with sorted indices, each cell stored once and no stored zeros; the one given is not changed."""
    canonical = X.asformat(form, copy=True)
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    return canonical


def _first_equal_lines(lines: Any) -> np.ndarray:
    """As above for the columns of a CSC or the rows of a CSR matrix in canonical form."""
    indptr = lines.indptr.astype(np.int64)
    n_lines, length = len(indptr) - 1, lines.shape[0] if lines.format == "csc" else lines.shape[1]
    sums = np.zeros(len(lines.data) + 1, dtype=np.uint64)
    np.cumsum(_scrambled(lines.data) * _weights(length)[lines.indices], out=sums[1:])
    first = _first_with_hash(sums[indptr[1:]] - sums[indptr[:-1]])
    repeats = np.flatnonzero(first != np.arange(n_lines))
    sizes = np.diff(indptr)
    same = sizes[repeats] == sizes[first[repeats]]
    repeats, unlike = repeats[same], repeats[~same]
    line = np.repeat(np.arange(len(repeats)), sizes[repeats])
    offset = np.arange(len(line)) - np.repeat(np.cumsum(sizes[repeats]) - sizes[repeats], sizes[repeats])
    here, there = indptr[repeats][line] + offset, indptr[first[repeats]][line] + offset
    differs = (lines.indices[here] != lines.indices[there]) | ~_equal(lines.data[here], lines.data[there])
    unlike = np.concatenate([unlike, repeats[np.unique(line[differs])]])
    first[unlike] = unlike
    return first


def duplicate_columns(dataset: Dataset, parts: Parts) -> list[list[int]]:
    """Groups of positions of columns that say exactly the same; constant columns are left out.

    Numbers are the same when they are equal, categories already when one is a renaming of the other. A category whose
    values hardly repeat is compared by its values, since all columns of distinct values part the rows alike.
    """
    if not dataset.n_rows:
        return []
    groups = [[int(parts.number_positions[j]) for j in group] for group in _equal_columns(parts.numbers)]
    if isinstance(dataset.X, pl.DataFrame):
        groups = [group for found in groups for group in _split_by_value(dataset.X, found)]
        groups += _renamings(dataset, parts)
    varying = [[j for j in group if dataset.kinds[j] != "constant"] for group in _joined(groups)]
    return sorted(group for group in varying if len(group) > 1)


def near_duplicates(dataset: Dataset, parts: Parts, duplicates: list[list[int]]) -> tuple[NearDuplicateColumns, ...]:
    """Groups of columns of numbers that nearly repeat their first; of exact duplicates only the first takes part."""
    repeats = {j for group in duplicates for j in group[1:]}
    groups = []
    for group in near_duplicate_columns(parts.numbers):
        leader = int(parts.number_positions[group.leader])
        positions = parts.number_positions[group.members].tolist()
        members = [(j, r) for j, r in zip(positions, group.correlations, strict=True) if j not in repeats]
        if members and leader not in repeats:
            names = (dataset.columns[leader], *(dataset.columns[j] for j, _ in members))
            groups.append(NearDuplicateColumns(names, (1.0, *(r for _, r in members))))
    return tuple(groups)


def equal_rows(dataset: Dataset, parts: Parts) -> np.ndarray:
    """For each row the number of the first one that equals it, identifiers aside."""
    return first_equal_rows(
        (parts.numbers, _telling(dataset, parts.number_positions)),
        (parts.labels, _telling(dataset, parts.label_positions)),
    )


def duplicate_rows(dataset: Dataset, first: np.ndarray) -> DuplicateRows:
    """Rows that repeat an earlier one, and those among them whose targets contradict each other."""
    repeats = np.flatnonzero(first != np.arange(dataset.n_rows))
    if not len(repeats):
        return DuplicateRows(0, 0, ())
    contradicts = np.zeros(dataset.n_rows, dtype=bool)
    if dataset.y is not None:
        code = np.unique(dataset.y, return_inverse=True)[1]
        contradicts[first[repeats[code[repeats] != code[first[repeats]]]]] = True
    contradicting = contradicts[first]
    heads = np.unique(first[repeats])
    heads = heads[np.argsort(~contradicts[heads], kind="stable")][:_SETS_SHOWN]
    examples = tuple(tuple((np.flatnonzero(first == head)[:_ROWS_SHOWN] + 1).tolist()) for head in heads)
    return DuplicateRows(len(repeats), int(contradicting.sum()), examples)


def _equal_columns(X: np.ndarray) -> list[list[int]]:
    return groups_of_equals(first_equal_columns(X)) if X.shape[1] else []


def _telling(dataset: Dataset, positions: np.ndarray) -> np.ndarray:
    """Which of these columns do not just number or name the rows."""
    return np.flatnonzero([dataset.kinds[j] != "identifier" for j in positions])


def _renamings(dataset: Dataset, parts: Parts) -> list[list[int]]:
    """Groups of columns, at least one of them no number, that part the rows in the same way."""
    labels, positions = parts.labels, parts.label_positions
    if not len(positions):
        return []
    codes = [int(j) for j in parts.number_positions if _could_be_codes(dataset.X.to_series(int(j)))]
    if codes:
        labels = np.hstack([labels, labels_at(dataset.X, np.array(codes))])
        positions = np.concatenate([positions, codes])
    groups = []
    is_label = set(parts.label_positions.tolist())
    for group in _equal_columns(labels):
        found = sorted(int(positions[j]) for j in group)
        column = labels[:, group[0]]
        known = column[column >= 0]
        if len(known) >= FEWEST_ROWS and 2 * len(np.unique(known)) <= len(known):
            groups += [found] if is_label.intersection(found) else []
        else:
            groups += _split_by_value(dataset.X, [j for j in found if j in is_label])
    return groups


def _could_be_codes(series: pl.Series) -> bool:
    """Whether a column of numbers may be a category in disguise: booleans, or few different whole numbers."""
    if series.dtype == pl.Boolean:
        return True
    return series.dtype.is_integer() and series.n_unique() <= _MOST_CODES


def _split_by_value(frame: pl.DataFrame, group: list[int]) -> list[list[int]]:
    """The group parted into columns of equal values; whole numbers beyond 2**53 only look equal as floats."""
    parted: list[list[int]] = []
    for j in group:
        series = frame.to_series(j)
        for same in parted:
            if _same_values(series, frame.to_series(same[0])):
                same.append(j)
                break
        else:
            parted.append([j])
    return [same for same in parted if len(same) > 1]


def _same_values(a: pl.Series, b: pl.Series) -> bool:
    if a.dtype.is_numeric() and b.dtype.is_numeric():
        return bool(a.eq_missing(b).all())
    if a.dtype == b.dtype:
        return a.equals(b, check_names=False, null_equal=True)
    as_text = [series.cast(pl.String) for series in (a, b)]
    return as_text[0].equals(as_text[1], check_names=False, null_equal=True)


def _joined(groups: list[list[int]]) -> list[list[int]]:
    """Groups with a common member made one."""
    group_of: dict[int, list[int]] = {}
    for group in groups:
        together = sorted(set(group).union(*(group_of.get(j, []) for j in group)))
        for j in together:
            group_of[j] = together
    return list({id(group): group for group in group_of.values()}.values())
