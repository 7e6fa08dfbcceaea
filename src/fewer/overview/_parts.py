"""The columns of a table as numbers and as labels, and its rows as standardised numbers."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.overview._resemblance import (
    Rows,
    standardised,
)

_ROW = "\0row"  # no header of a table holds this
_CELLS_AT_ONCE = 1_000_000
TIME_NAME = re.compile(
    r"(^|_)(date|datetime|time|timestamp|year|yr|month|week|quarter|day|days|hour|minute|second|epoch|period)(_|$)"
)
_COLUMNS = 2000
_MOST_CATEGORIES = 20


class Parts(NamedTuple):
    """The columns of a table by how they can be compared, with their positions in the table.

    ``numbers`` holds numbers, booleans and dates (NaN where missing). ``labels`` holds all other columns, each cell
    as the number of the first row with the same value (-1 where missing), so that two columns which are renamings of
    each other become equal.
    """

    numbers: Any
    number_positions: np.ndarray
    labels: np.ndarray
    label_positions: np.ndarray


def parts_of(dataset: Dataset) -> Parts:
    """The parts of a table; arrays and sparse matrices are numbers as they stand."""
    X = dataset.X
    if not isinstance(X, pl.DataFrame):
        return Parts(X, np.arange(X.shape[1]), np.empty((X.shape[0], 0), dtype=np.int32), np.empty(0, dtype=np.int64))
    is_number = np.array([_is_number(dtype) for dtype in X.dtypes], dtype=bool)
    number_positions, label_positions = np.flatnonzero(is_number), np.flatnonzero(~is_number)
    return Parts(numbers_at(X, number_positions), number_positions, labels_at(X, label_positions), label_positions)


def numbers_at(frame: pl.DataFrame, positions: np.ndarray) -> np.ndarray:
    """Columns of numbers, booleans and dates as floats; single precision where all of them have it."""
    names, dtypes = np.array(frame.columns, dtype=object)[positions], frame.dtypes
    dtype = pl.Float32 if len(names) and all(dtypes[j] == pl.Float32 for j in positions) else pl.Float64
    numbers = np.empty((frame.height, len(names)), dtype=np.float32 if dtype == pl.Float32 else np.float64, order="F")
    # Some columns at a time: a cast of the whole frame would stand beside it in memory, one of each column is slow.
    width = max(1, _CELLS_AT_ONCE // max(1, frame.height))
    for start in range(0, len(names), width):
        some = frame.select(names[start : start + width].tolist())
        some = some.select(pl.all().to_physical().cast(dtype).fill_null(np.nan))
        numbers[:, start : start + width] = some.to_numpy()
    return numbers


def labels_at(frame: pl.DataFrame, positions: np.ndarray) -> np.ndarray:
    """For each cell of these columns the number of the first row with the same value in it; -1 where missing."""
    if not len(positions):
        return np.empty((frame.height, 0), dtype=np.int32)
    columns = frame.columns
    names = [columns[j] for j in positions]
    first = [
        pl.when(pl.col(name).is_null()).then(-1).otherwise(pl.col(_ROW).first().over(name)).cast(pl.Int32).alias(name)
        for name in names
    ]
    return frame.select(names).with_row_index(_ROW).select(first).to_numpy()


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype.is_temporal() or dtype in (pl.Boolean, pl.Null)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows that hold about a million cells each, so that work on a block stays small in memory."""
    step = max(1, _CELLS_AT_ONCE // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def words(name: str) -> str:
    """A name in lower case with its words parted by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()).strip("_")


class TableRows:
    """A table from which rows are drawn as standardised numbers.

    Parameters
    ----------
    dataset : Dataset
        The table.
    parts : Parts
        Its columns of numbers and of labels.
    """

    def __init__(self, dataset: Dataset, parts: Parts) -> None:
        self.dataset, self.parts = dataset, parts
        learnt = np.array([kind in ("numeric", "boolean", "categorical") for kind in dataset.kinds], dtype=bool)
        self.numbers = np.flatnonzero(learnt[parts.number_positions]) if dataset.n_columns else np.empty(0, int)
        self.labels = np.flatnonzero(learnt[parts.label_positions]) if dataset.n_columns else np.empty(0, int)
        # Of very many columns of numbers some are enough to compare rows by.
        some = np.random.default_rng(7).permutation(len(self.numbers))[:_COLUMNS]
        self.compared = self.numbers[np.sort(some)]
        self.is_classes = dataset.task in ("binary", "multiclass")
        self.y: np.ndarray | None = None
        if dataset.y is not None:
            is_codes = self.is_classes
            self.y = np.unique(dataset.y, return_inverse=True)[1] if is_codes else dataset.y.astype(float)
        self.measure = "balanced accuracy" if self.is_classes else "R2"
        self.has_score = self.y is not None and bool(np.isfinite(self.y).all())
        self._all: tuple[np.ndarray, np.ndarray] | None = None

    def at(self, rows: np.ndarray, without: Sequence[int] = ()) -> Rows:
        """These rows, without the columns of these positions and those that part the rows in the same way."""
        Z, _ = self.standardised(rows, without)
        y = self.y[rows] if self.y is not None and self.has_score else None
        if y is not None and self.is_classes:
            y = np.unique(y, return_inverse=True)[1]
        return Rows(Z, y, is_classes=self.is_classes)

    @property
    def n_features(self) -> int:
        """Number of columns that are learnt from."""
        return len(self.numbers) + len(self.labels)

    def values(self, position: int) -> np.ndarray:
        """A column as numbers from 0 in sorted order (of a label: in the order of the rows); missing values are 0."""
        column = self.column(position)
        return np.unique(np.where(np.isnan(column), -np.inf, column), return_inverse=True)[1]

    def column(self, position: int) -> np.ndarray:
        """A column as floats; a label is the number of the first row with it."""
        at = np.flatnonzero(self.parts.number_positions == position)
        if len(at):
            column = self.parts.numbers[:, at[0]] if not sp.issparse(self.parts.numbers) else None
            column = self.parts.numbers[:, [at[0]]].toarray().ravel() if column is None else column
            return np.asarray(column, dtype=np.float64)
        column = self.parts.labels[:, np.flatnonzero(self.parts.label_positions == position)[0]].astype(np.float64)
        return np.where(column < 0, np.nan, column)

    def is_label(self, position: int) -> bool:
        """Whether the column holds words."""
        return bool(np.isin(position, self.parts.label_positions))

    def _renamings(self, position: int, rows: np.ndarray, others: np.ndarray) -> list[int]:
        """This column, and those among the first fifty others with one value for each of its values in these rows."""
        codes = np.unique(self.column(position)[rows], return_inverse=True)[1]
        found, n_values = [position], int(codes.max()) + 1
        if 2 * n_values > len(rows):  # all columns of different values part the rows alike
            return found
        for other in others[others != position][:50].tolist():
            theirs = np.unique(self.column(other)[rows], return_inverse=True)[1]
            if int(theirs.max()) + 1 == n_values == len(np.unique(codes * n_values + theirs)):
                found.append(other)
        return found

    def standardised(self, rows: np.ndarray, without: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """These rows as standardised numbers, and the position of the column that each comes from."""
        Z, source = self._standardised(rows)
        if not len(without):
            return Z, source
        dropped = [other for position in without for other in self._renamings(position, rows, np.unique(source))]
        kept = ~np.isin(source, dropped)
        return Z[:, kept], source[kept]

    def _standardised(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if len(rows) == self.dataset.n_rows and self._all is not None:
            return self._all
        numbers = self.parts.numbers
        block = numbers[rows][:, self.compared]
        blocks = [np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)]
        source = [self.parts.number_positions[self.compared]]
        for j in self.labels:
            codes = self.parts.labels[rows, j]
            values = np.unique(codes)
            if len(values) <= _MOST_CATEGORIES:
                blocks.append((codes[:, None] == values).astype(float))
                source.append(np.full(len(values), self.parts.label_positions[j]))
        found = standardised(np.hstack(blocks)), np.concatenate(source)
        if len(rows) == self.dataset.n_rows:
            self._all = found
        return found
