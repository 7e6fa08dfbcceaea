"""A table taken apart into what can be computed with: columns of numbers, and columns of labels."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from fewer.io import Dataset

_ROW = "\0row"  # no header of a table holds this
_CELLS_AT_ONCE = 1_000_000


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
