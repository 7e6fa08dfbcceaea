"""Short columns of strings asked about together, each different value once.

A query costs polars some 30 microseconds for each column, which is much for short columns: their cells are laid end to
end instead, as numbers of the different values. What is asked of a cell is then asked of the different values, which
are few where columns hold categories.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

SHORT = 1000
BATCH_CELLS = 10_000_000


class CodedStrings(NamedTuple):
    """Columns of strings as numbers: of each cell the place of its value in ``values``, their number if missing."""

    values: pl.Series
    codes: np.ndarray

    def cells(self, of_values: pl.Series) -> np.ndarray:
        """What is known of each value, for each cell (n_columns, n_rows); zero where the cell is missing."""
        known = of_values.to_numpy()
        return np.append(known, np.zeros(1, dtype=known.dtype))[self.codes]


def string_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of strings; the frame itself if it has no others, as a selection takes a while if it is wide."""
    return frame.select(cs.string()) if frame.select(~cs.string()).width else frame


def coded_strings(strings: pl.DataFrame) -> Iterator[CodedStrings]:
    """The columns of a frame of strings as numbers, as many at a time as fit into a bounded number of cells."""
    width = max(1, BATCH_CELLS // max(1, strings.height))
    columns = strings.get_columns()
    for start in range(0, len(columns), width):
        batch = columns[start : start + width]
        cells = pl.concat(batch, rechunk=True)
        values = cells.unique().drop_nulls()
        codes = cells.cast(pl.Enum(values)).to_physical().fill_null(len(values)).to_numpy()
        yield CodedStrings(values, codes.reshape(len(batch), strings.height))


def string_counts(strings: pl.DataFrame, *conditions: Callable[[Any], Any]) -> list[np.ndarray]:
    """For each condition, in how many cells of each column of strings it holds."""
    if strings.height > SHORT:
        return [np.array(strings.select(holds(pl.all()).sum()).row(0), dtype=np.int64) for holds in conditions]
    counts: list[list[np.ndarray]] = [[np.zeros(0, dtype=np.int64)] for _ in conditions]
    for coded in coded_strings(strings):
        for found, holds in zip(counts, conditions, strict=True):
            found.append(coded.cells(holds(coded.values)).sum(axis=1))
    return [np.concatenate(found) for found in counts]
