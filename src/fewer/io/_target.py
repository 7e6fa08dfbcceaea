"""What the target asks for: a class of two, of many, or a number."""

from typing import Any

import numpy as np
import polars as pl

from fewer.io._errors import TableError, shortened
from fewer.io._memory import unmasked
from fewer.io._pandas import is_pandas, series_from_pandas

TASKS = ("binary", "multiclass", "regression", "none")
_MOST_INTEGER_CLASSES = 20
_MOST_NUMBERED_CLASSES = 100


def target_array(values: Any, source: str, name: str) -> np.ndarray:
    """One-dimensional array of the target: numbers as numbers, everything else as an object array.

    Missing entries are NaN among numbers and None among objects; whole numbers with missing entries become floats.
    """
    if isinstance(values, pl.DataFrame) and values.width == 1:
        values = values.to_series()
    if is_pandas(values):
        values = _pandas_column(values)
    if isinstance(values, pl.Series):
        return _from_series(values, source, name)
    if np.ma.isMaskedArray(values):
        values = unmasked(values)
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise TableError(
            f"{source}: the target must be one column, but target= has the shape {array.shape}. "
            "Give one value for each row."
        )
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "OUS":
        return _from_series(pl.Series(name, _plain_values(array), strict=False), source, name)
    raise TableError(f"{source}: a target of type {array.dtype} is neither a class nor a number. Convert it to one.")


def _pandas_column(values: Any) -> Any:
    """The polars series in a pandas series, index, array or frame of one column; other frames as they are."""
    import pandas as pd

    if isinstance(values, pd.DataFrame):
        if values.shape[1] != 1:
            return values
        values = values.iloc[:, 0]
    return series_from_pandas(values if isinstance(values, pd.Series) else pd.Series(values), "target")


def _plain_values(array: np.ndarray) -> list[Any]:
    values = [value.decode() if isinstance(value, bytes) else value for value in array.tolist()]
    return [None if value is None or value != value else value for value in values]


def _from_series(series: pl.Series, source: str, name: str) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_temporal():
        raise TableError(
            f"{source}: the target {name!r} holds dates or times. Turn them into a number (days since a fixed day) "
            "or a class first."
        )
    if isinstance(dtype, (pl.List, pl.Array, pl.Struct)):
        raise TableError(f"{source}: the target {name!r} holds lists; it must hold one class or number in each row.")
    if dtype == pl.Null:
        return np.full(series.len(), np.nan)
    if dtype.is_numeric():
        if dtype.is_decimal() or (dtype.is_integer() and "128" in str(dtype)):  # numpy has no such types
            series = series.cast(pl.Float64)
        return series.to_numpy() if not series.null_count() else series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if dtype == pl.Boolean and not series.null_count():
        return series.to_numpy()
    values = series.to_list() if dtype == pl.Boolean else series.cast(pl.String).to_list()
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def missing_in(y: np.ndarray) -> np.ndarray:
    """Mask of the entries of a target that are missing."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype == object:
        return np.fromiter((value is None for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def task_of(y: np.ndarray, source: str, name: str, asked: str = "auto") -> str:
    """Task that a complete target sets.

    Strings, booleans and categories are classes. Whole numbers are classes when there are at most 20 different ones and
    each is seen twice or more on average, or at most 100 that run without a gap from 0 or 1 and are seen about equally
    often, as numbered classes are; all other numbers make a regression. A single value is an error.
    """
    distinct = np.unique(y)
    if len(distinct) < 2:
        only = f" It is {distinct[0]!r} everywhere." if len(distinct) else ""
        raise TableError(
            f"{source}: the target {name!r} has only one value, so there is nothing to learn.{only} "
            "Choose another target, or add rows of the other classes."
        )
    is_number = y.dtype.kind in "iuf"
    if asked == "auto":
        return "regression" if is_number and not _whole_numbers_as_classes(y, distinct) else _classification(distinct)
    if asked == "regression":
        if y.dtype == object:
            raise TableError(
                f"{source}: task='regression' needs a target of numbers, but {name!r} holds {shortened(distinct, 4)}."
            )
        return asked
    if asked == "binary" and len(distinct) != 2:
        raise TableError(
            f"{source}: task='binary' needs a target of two classes, but {name!r} has {len(distinct)}: "
            f"{shortened(distinct.tolist(), 6)}. Use task='multiclass', or join classes."
        )
    if asked == "multiclass" and len(distinct) == 2:
        raise TableError(f"{source}: the target {name!r} has two classes only. Use task='binary' or leave task='auto'.")
    return _classification(distinct)


def checked_task(task: str) -> str:
    """The task as asked for, if it is one that exists."""
    allowed = ("auto", "classification", *TASKS)
    if task not in allowed:
        raise TableError(f"task={task!r} is not known. Use one of {', '.join(allowed)}.")
    return task


def _classification(distinct: np.ndarray) -> str:
    return "binary" if len(distinct) == 2 else "multiclass"


def _whole_numbers_as_classes(y: np.ndarray, distinct: np.ndarray) -> bool:
    whole = y.dtype.kind != "f" or bool(np.all(np.isfinite(distinct)) and np.all(distinct == np.rint(distinct)))
    if not whole or len(distinct) > _MOST_NUMBERED_CLASSES:
        return False
    if len(distinct) <= _MOST_INTEGER_CLASSES:
        return 2 * len(distinct) <= len(y)
    counts = np.unique(y, return_counts=True)[1]
    numbered = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == len(distinct) - 1
    return bool(numbered and counts.min() >= 5 and counts.max() <= 2 * counts.min())
