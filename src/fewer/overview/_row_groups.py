"""Rows of a table that belong together or follow each other: several rows of one patient, copies of rows, time.

Folds that separate rows that belong together, and folds that predict earlier rows from later ones, give optimistic
scores. The rules, all on at most a thousand rows:

Groups
    A column of whole numbers or strings with ten or more values, most of which repeat. Its rows resemble each other
    (`fewer.overview._resemblance`) far more often than chance and target explain; for numbers, far more often than
    those with the next value, since neighbouring values of an ordinary number mean similar rows too. And it is an
    identifier (by its name, by numbers that run 1, 2, 3 ..., by strings with digits), or the target is nearly constant
    within its values.
Copies
    Rows that are equal in all columns, unless so many are to be expected of columns with few values.

A finding is *critical* when random folds score better than folds that keep the rows together by 0.05 and by three
standard errors; for copies, when these are more than 5% of the rows and the difference is 0.02; for groups within which
the target is constant, the difference alone counts. Otherwise it is a *warning* or a *note*.

Time
    A column of dates; or of numbers that only rise or only fall from row to row and are called a year, a day or the
    like, or rise by equal steps while consecutive rows resemble each other. It is *critical* when random folds score
    better than folds that predict later rows from earlier ones, by 0.05 and by three standard errors (two, where
    consecutive rows resemble each other); otherwise it is a *warning*.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.overview._description import DuplicateRows, GroupColumn, TimeColumn
from fewer.overview._leakage import category_class_score, category_rank_score
from fewer.overview._parts import TIME_NAME, TableRows, words
from fewer.overview._resemblance import (
    CERTAIN,
    FEWEST_ROWS_COMPARED,
    GAP,
    MOST_TESTED,
    ROWS_COMPARED,
    STANDARD_ERRORS,
    is_harmful,
    nearness_in_order,
    resemblance,
    scores_by_group,
    scores_in_order,
    standardised,
)

_ROWS_SCREENED = 20_000
_FEWEST_VALUES = 10
_FEWEST_NUMBERS = 15  # scales from 0 to 10 and months have fewer
_LARGEST_VALUE = 0.25
_MOST_ROWS_OF_VALUE = 1000
_CONSTANT_TARGET = 0.95
_TIMES_CHANCE = 3
_MOSTLY = 0.5
_RATIO_OF_IDENTIFIER = 3
_RATIO_OF_NUMBER = 5
_ORDINARY_RATIO = 2
_GAP_OF_COPIES = 0.02
_MANY_COPIES = 0.05
_SOME_COPIES = 0.01
_GROUP_NAME = re.compile(
    r"(^|_)(id|ids|nr|no|patient|subject|person|participant|proband|individual|user|customer|client|donor|animal|mouse|"
    r"mice|rat|family|household|speaker|author|session|recording|batch|plate|slide|site|clinic|hospital|centre|center|"
    r"group|cluster|sample|specimen|case|store|machine|device|station|player|team|student|school)(_?(id|nr|no|number|code))?$"
)


def group_columns(table: TableRows, only: str | None = None) -> tuple[GroupColumn, ...]:
    """Columns that name the group of each row, the most harmful first; of several that agree, the first."""
    found: list[tuple[GroupColumn, np.ndarray]] = []
    for position in _candidates(table):
        if only is not None and table.dataset.columns[position] != only:
            continue
        group = _group_column(table, position)
        if group is None:
            continue
        values = table.values(position)
        # The site of a patient also keeps the patient's rows together; so the finer column is the one to name.
        if not any(_same_parts(values, other) for _, other in found):
            found.append((group, values))
    return tuple(sorted((group for group, _ in found), key=by_harm))


def by_harm(found: GroupColumn | TimeColumn) -> tuple[bool, float]:
    """Key that sorts the most harmful first."""
    return found.level != "critical", -found.gap


def _candidates(table: TableRows) -> list[int]:
    """Positions of columns whose values repeat as those of an identifier of groups do, the likeliest first."""
    n_rows = table.dataset.n_rows
    if n_rows < 2 * _FEWEST_VALUES:
        return []
    rng = np.random.default_rng(3)
    rows = np.arange(n_rows) if n_rows <= _ROWS_SCREENED else np.sort(rng.choice(n_rows, _ROWS_SCREENED, replace=False))
    labels = [int(table.parts.label_positions[j]) for j in table.labels]
    numbers = _not_ordinary(table, _whole_numbers(table, rows))
    numbers = [position for position in numbers if _may_repeat(table.column(position)[rows], n_rows)]
    labels = [position for position in labels if _may_repeat(table.column(position)[rows], n_rows)]
    names = table.dataset.columns
    numbers = [position for position in numbers if not TIME_NAME.search(words(names[position]))]
    by_name = sorted((*labels, *numbers), key=lambda j: _GROUP_NAME.search(words(names[j])) is None)
    return by_name[:MOST_TESTED]


def _whole_numbers(table: TableRows, rows: np.ndarray) -> list[int]:
    """Positions of columns of whole numbers, of which many are different from zero."""
    numbers, columns = table.parts.numbers, table.numbers
    if sp.issparse(numbers):
        columns = columns[np.diff(numbers.tocsc().indptr)[columns] >= (1 - _LARGEST_VALUE) * numbers.shape[0]]
    for some in (rows[:: max(1, len(rows) // 50)], rows):  # nearly all other columns are ruled out by the first rows
        block = numbers[some][:, columns]
        block = np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
        whole = ((block == np.rint(block)) | np.isnan(block)).all(axis=0)
        # Two thirds of so few rows with one value are beyond chance where at most a quarter have it.
        columns = columns[whole & (_commonest_share(block) < 2 / 3)] if block.size else columns[:0]
    booleans = {j for j, kind in enumerate(table.dataset.kinds) if kind == "boolean"}
    return [int(j) for j in table.parts.number_positions[columns] if j not in booleans]


def _commonest_share(block: np.ndarray) -> np.ndarray:
    """Share of the rows that have the median: a value that most rows have is the median."""
    return (block == np.median(block, axis=0)).mean(axis=0)


def _may_repeat(sample: np.ndarray, n_rows: int) -> bool:
    """Whether values repeat, ten or more of them, none in more than a quarter of the rows."""
    known = sample[~np.isnan(sample)]
    if len(known) < max(2 * _FEWEST_VALUES, 0.9 * len(sample)):
        return False
    counts = np.unique(known, return_counts=True)[1]
    n, pairs = len(known), float((counts * (counts - 1.0)).sum())
    if len(counts) < _FEWEST_VALUES or counts.max() > _LARGEST_VALUE * n or not pairs:
        return False
    rows_of_value = 1 + pairs / n * (n_rows / n)  # a sample meets the other rows of a value less often
    repeated = counts[counts > 1].sum() / n if n == n_rows else 1.0
    return rows_of_value <= _MOST_ROWS_OF_VALUE and rows_of_value >= 1.5 and repeated >= 0.5


def _not_ordinary(table: TableRows, positions: list[int]) -> list[int]:
    """Those that are worth a closer look, by the nearest neighbours in a sample of rows that all of them share.

    Left out are columns with which these neighbours agree no more than other rows do, and those with which they agree
    no more exactly than nearly: neighbouring values of an ordinary number mean similar rows.
    """
    if len(positions) < 3:  # each is looked at more closely anyway
        return positions
    n_rows = table.dataset.n_rows
    rng = np.random.default_rng(5)
    rows = np.arange(n_rows) if n_rows <= ROWS_COMPARED else np.sort(rng.choice(n_rows, ROWS_COMPARED, replace=False))
    sample, other = table.at(rows), rng.permutation(len(rows))
    at = np.searchsorted(table.parts.number_positions, positions)
    block = table.parts.numbers[rows][:, at]
    block = np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
    agree, by_chance = (block[sample.nearest] == block).mean(axis=0), (block[other] == block).mean(axis=0)
    # A sample of many rows meets the other rows of a value only where the values are few.
    tells = (by_chance > 0.01) | (n_rows <= ROWS_COMPARED)
    found = []
    for j in np.flatnonzero(~tells | (agree > _ORDINARY_RATIO * by_chance + 0.01)):
        ranks = np.unique(block[:, j], return_inverse=True)[1]
        near = np.abs(ranks[sample.nearest] - ranks) <= 1
        if near.sum() < 20 or resemblance(sample, ranks).order_ratio >= _ORDINARY_RATIO:
            found.append(positions[j])
    return found


def _rows_of_values(ranks: np.ndarray) -> np.ndarray:
    """At most a thousand rows: all of some pairs of neighbouring values, or as many of each as there is room for."""
    if len(ranks) <= ROWS_COMPARED:
        return np.arange(len(ranks))
    rng = np.random.default_rng(11)
    shuffled = rng.permutation(len(ranks))
    counts = np.bincount(ranks)
    most = max(8, ROWS_COMPARED // len(counts))
    place = np.empty(len(ranks), dtype=np.int64)
    by_value = shuffled[np.argsort(ranks[shuffled], kind="stable")]
    place[by_value] = np.arange(len(ranks)) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = rng.permutation((len(counts) + 1) // 2)
    kept = np.minimum(counts, most)
    of_pair = np.bincount(np.arange(len(counts)) // 2, kept, minlength=len(pairs))
    chosen = np.zeros(len(pairs), dtype=bool)
    chosen[pairs[np.cumsum(of_pair[pairs]) <= ROWS_COMPARED]] = True
    return np.flatnonzero(chosen[ranks // 2] & (place < most))


def _group_column(table: TableRows, position: int) -> GroupColumn | None:
    if table.n_features < 2:
        return None
    name, values = table.dataset.columns[position], table.values(position)
    identifier = _is_identifier(table, position, values)
    constant = _target_is_constant(table, values)
    if not (identifier or constant):
        return None
    rows = _rows_of_values(values)
    sample = table.at(rows, [position])
    like = resemblance(sample, values[rows])
    if like.share < _TIMES_CHANCE * like.chance or like.z < STANDARD_ERRORS:
        return None
    if not table.is_label(position):
        ratio = _RATIO_OF_IDENTIFIER if identifier else _RATIO_OF_NUMBER
        if like.order_ratio < ratio or (not identifier and _goes_with_others(table, position, rows)):
            return None
    scores = scores_by_group(sample, values[rows]) if table.has_score else None
    certain = constant and like.share >= _MOSTLY
    n_values = int(values.max()) + 1
    return GroupColumn(
        column=name,
        values=n_values,
        rows_of_value=table.dataset.n_rows / n_values,
        resemblance=like.share,
        chance=like.chance,
        constant_target=constant,
        measure=table.measure if scores else None,
        plain_score=scores.plain if scores else None,
        grouped_score=scores.kept if scores else None,
        level="critical" if scores and (is_harmful(scores) or (certain and scores.gap >= GAP)) else "warning",
    )


def _is_identifier(table: TableRows, position: int, values: np.ndarray) -> bool:
    """By its name, by numbers that run without a gap from 0 or 1, or by words with digits in them."""
    if _GROUP_NAME.search(words(table.dataset.columns[position])):
        return True
    if table.is_label(position):
        some = table.dataset.X.to_series(position).cast(pl.String).drop_nulls().unique()
        return bool(some.str.contains(r"\d").mean() >= 0.9)
    if values.max() + 1 < _FEWEST_NUMBERS:
        return False
    column = table.column(position)
    return bool(np.nanmin(column) in (0, 1) and np.nanmax(column) - np.nanmin(column) == values.max())


def _target_is_constant(table: TableRows, values: np.ndarray) -> bool:
    if table.y is None or not table.has_score:
        return False
    if table.is_classes:
        return max(category_class_score(values, table.y)) >= _CONSTANT_TARGET
    ranks = np.unique(table.y, return_inverse=True)[1].astype(float)
    return max(category_rank_score(values, ranks)) >= _CONSTANT_TARGET


def _goes_with_others(table: TableRows, position: int, rows: np.ndarray) -> bool:
    """Whether the numbers rise or fall with another column or the target, as those of an identifier do not."""
    values = table.values(position)[rows]
    Z = table.standardised(rows, [position])[0].astype(float)
    if table.has_score and table.y is not None:
        Z = np.column_stack([Z, standardised(table.y[rows][:, None].astype(float))])
    counts = np.bincount(values)
    seen = np.flatnonzero(counts)
    means = np.stack([np.bincount(values, column)[seen] for column in Z.T], axis=1) / counts[seen, None]
    means -= means.mean(axis=0)
    order = np.arange(len(seen)) - (len(seen) - 1) / 2
    correlation = order @ means / np.sqrt((order @ order) * np.maximum((means**2).sum(axis=0), 1e-9))
    # Beyond what the largest of so many would be by chance.
    return bool(np.abs(correlation).max(initial=0) > (1.5 + np.sqrt(2 * np.log(Z.shape[1] + 1))) / np.sqrt(len(seen)))


def _same_parts(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether one of two columns only joins values of the other."""
    both = len(np.unique(first * (int(second.max()) + 1) + second))
    return both <= 1.05 * max(int(first.max()), int(second.max()) + 1)


def judged_copies(rows: DuplicateRows, first: np.ndarray, table: TableRows) -> DuplicateRows:
    """The repeated rows with their level, and for many of them with the score both ways."""
    share = rows.repeats / max(1, table.dataset.n_rows)
    if share <= _SOME_COPIES or _may_coincide(table, first):
        return rows
    if share <= _MANY_COPIES:
        return replace(rows, level="warning")
    if not table.has_score or len(first) < FEWEST_ROWS_COMPARED:
        return replace(rows, level="warning")
    values = np.unique(first, return_inverse=True)[1]
    drawn = _rows_of_sets(values)
    scores = scores_by_group(table.at(drawn), values[drawn])
    return replace(
        rows,
        level="critical" if is_harmful(scores, _GAP_OF_COPIES) else "warning",
        measure=table.measure,
        plain_score=scores.plain,
        grouped_score=scores.kept,
    )


def _may_coincide(table: TableRows, first: np.ndarray) -> bool:
    """Whether a tenth of the pairs of equal rows, or more, is to be expected of independent columns of few values."""
    counts = np.bincount(first)
    pairs = float((counts * (counts - 1.0)).sum() / 2)
    n_rows = len(first)
    expected = n_rows * (n_rows - 1) / 2
    for position in (*table.parts.number_positions[table.numbers], *table.parts.label_positions[table.labels]):
        sizes = np.bincount(table.values(int(position)))
        expected *= float((sizes * (sizes - 1.0)).sum()) / (n_rows * (n_rows - 1))
        if expected < 0.1 * pairs:
            return False
    return True


def _rows_of_sets(values: np.ndarray) -> np.ndarray:
    """At most a thousand rows, all copies of each that is drawn."""
    if len(values) <= ROWS_COMPARED:
        return np.arange(len(values))
    counts = np.bincount(values)
    drawn = np.random.default_rng(13).permutation(len(counts))
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[drawn[np.cumsum(counts[drawn]) <= ROWS_COMPARED]] = True
    return np.flatnonzero(chosen[values])


def rows_of_groups(table: TableRows, group: GroupColumn) -> Any:
    """The first row of each group."""
    return np.unique(table.values(table.dataset.columns.index(group.column)), return_index=True)[1]


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
