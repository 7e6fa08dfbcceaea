"""Columns and rows of a table that repeat others, by name and number."""

import numpy as np
import polars as pl

from fewer.io import Dataset
from fewer.overview._description import DuplicateRows, NearDuplicateColumns
from fewer.overview._duplicates import first_equal_columns, first_equal_rows, groups_of_equals
from fewer.overview._near_duplicates import FEWEST_ROWS, near_duplicate_columns
from fewer.overview._parts import Parts, labels_at

_MOST_CODES = 50
_SETS_SHOWN = 5
_ROWS_SHOWN = 6


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
