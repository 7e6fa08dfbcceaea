"""Columns that put the rows of a table in the order of time.

A column of dates; or of numbers that only rise or only fall from row to row and are called a year, a day or the like,
or rise by equal steps while consecutive rows resemble each other. A finding is *critical* when random folds score
better than folds that predict later rows from earlier ones, by 0.05 and by three standard errors (two, where
consecutive rows resemble each other); otherwise it is a *warning*.
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.overview._description import TimeColumn
from fewer.overview._parts import TIME_NAME, TableRows, words
from fewer.overview._resemblance import (
    CERTAIN,
    FEWEST_ROWS_COMPARED,
    MOST_TESTED,
    ROWS_COMPARED,
    STANDARD_ERRORS,
    is_harmful,
    nearness_in_order,
    scores_in_order,
)

_FEWEST_TIMES = 5
_LIKELY = 2
_NOT_TIME_NAME = re.compile(r"birth|born|dob")


def time_columns(table: TableRows, more: Mapping[str, np.ndarray] | None = None) -> tuple[TimeColumn, ...]:
    """Columns that put the rows in the order of time, the most harmful first; at most one of each level."""
    found = [column for name, values in _orders(table, more or {}) if (column := _time_column(table, name, values))]
    found.sort(key=lambda column: (column.level != "critical", -column.gap))
    return tuple(found[:1])


def _orders(table: TableRows, more: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Names and numbers of columns that may tell the time."""
    dataset = table.dataset
    yield from more.items()
    if isinstance(dataset.X, pl.DataFrame):
        for name, dtype in dataset.X.schema.items():
            if dtype == pl.Date or isinstance(dtype, pl.Datetime):
                yield name, table.column(dataset.columns.index(name))
    if sp.issparse(dataset.X):
        return
    numeric = [j for j, kind in enumerate(dataset.kinds) if kind in ("numeric", "identifier") and not table.is_label(j)]
    for position in _sorted_numbers(table, numeric):
        yield dataset.columns[position], table.column(position)


def _sorted_numbers(table: TableRows, positions: list[int]) -> list[int]:
    """Those of these columns of numbers that only rise or only fall from row to row."""
    at = np.searchsorted(table.parts.number_positions, positions)
    n_rows = table.dataset.n_rows
    for stop in (min(50, n_rows), n_rows):
        if not len(at):
            break
        steps = np.diff(np.asarray(table.parts.numbers[:stop][:, at], dtype=np.float64), axis=0)
        at = at[(steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)]
    return [int(j) for j in table.parts.number_positions[at]][:MOST_TESTED]


def _time_column(table: TableRows, name: str, values: np.ndarray) -> TimeColumn | None:
    if len(values) < FEWEST_ROWS_COMPARED or not table.n_features or _NOT_TIME_NAME.search(words(name)):
        return None
    if not np.isfinite(values).all() or len(np.unique(values)) < _FEWEST_TIMES:
        return None
    steps = np.diff(values)
    is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
    position = table.dataset.columns.index(name) if name in table.dataset.columns else None
    is_date = position is None or table.dataset.kinds[position] == "date"
    named = TIME_NAME.search(words(name)) is not None
    even = is_sorted and bool((steps == np.median(steps)).mean() >= 0.9) and bool(np.median(steps))
    if not (is_date or (is_sorted and (named or even))):
        return None
    if not (is_date or named) and _target_is_sorted(table):
        return None
    rows = _rows_in_windows(values)
    place = np.argsort(np.argsort(values[rows], kind="stable"), kind="stable")
    sample = table.at(rows, [] if position is None or is_date else [position])
    ratio, z = nearness_in_order(sample, place)
    resemble = ratio < 0.8 and z > STANDARD_ERRORS
    if not (is_date or named or resemble):
        return None
    scores = scores_in_order(sample, place) if table.has_score else None
    # Where rows that follow each other are seen to resemble each other, less proof of what it does is needed.
    harmful = scores is not None and is_harmful(scores, certain=_LIKELY if resemble else CERTAIN)
    if not (is_date or resemble or harmful):
        return None
    return TimeColumn(
        column=name,
        is_sorted=is_sorted,
        resemblance=ratio,
        measure=table.measure if scores else None,
        plain_score=scores.plain if scores else None,
        ordered_score=scores.kept if scores else None,
        level="critical" if harmful else "warning",
    )


def _target_is_sorted(table: TableRows) -> bool:
    """Whether the rows come class by class, or by their target: the order of the rows is then no time."""
    if table.y is None:
        return False
    changes = int(np.count_nonzero(np.diff(table.y)))
    if table.is_classes:
        return changes <= 3 * (int(table.y.max()) + 1)
    steps = np.diff(table.y)
    return bool((steps >= 0).mean() > 0.95 or (steps <= 0).mean() > 0.95)


def _rows_in_windows(order: np.ndarray) -> np.ndarray:
    """At most a thousand rows: short stretches of rows that follow each other, evenly over the whole time."""
    by_time = np.argsort(order, kind="stable")
    if len(order) <= ROWS_COMPARED:
        return by_time
    width = 25
    starts = np.linspace(0, len(order) - width, ROWS_COMPARED // width).astype(int)
    return np.unique(by_time[(starts[:, None] + np.arange(width)).ravel()])
