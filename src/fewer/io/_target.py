"""What the target asks for: a class of two, of many, or a number.

Words and booleans are classes, numbers with a fraction are numbers. Whole numbers may be codes of classes, counts, or a
scale; with n rows and k different values these rules are tried in order:

1. two values: two classes;
2. more than 100 values, or fewer than two rows for each value on average: numbers;
3. values with large gaps (a range of more than 2 k): numbers;
4. values that are about equally frequent, as those of numbered classes are: classes. At most a factor of 3 lies between
   the frequencies; more than 10 values also run from 0 or 1 without a gap (or are equally frequent up to a tenth), and
   beyond 20 values the factor is 2 and each has 5 rows;
5. more than 10 values: numbers;
6. frequencies that rise to one peak and fall to a rare largest value (at most a quarter of the peak; of fewer than
   eight values also less than 2% of the rows, or fewer than 5), as those of counts do: numbers, if the values start
   at 0 and are four or more, or are six or more;
7. all others: classes.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from fewer._wording import argument, listed_values
from fewer.io._errors import TableError
from fewer.io._memory import is_pandas, series_from_pandas, unmasked

TASKS = ("binary", "multiclass", "regression", "none")
_MOST_CODES = 10
_MOST_BALANCED_CLASSES = 20
_MOST_NUMBERED_CLASSES = 100
_RARE_SHARE = 0.02
_RARE_ROWS = 5
_MANY_STEPS = 8


class Task(NamedTuple):
    """A task, why it was taken, and the other one that whole numbers could be taken for."""

    name: str
    reason: str
    other: str = ""


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
            f"{source}: the target must be one column, but {argument('target')} has the shape {array.shape}. "
            "Give one value for each row."
        )
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "OUS":
        return _from_series(pl.Series(name, _plain_values(array), strict=False), source, name)
    raise TableError(f"{source}: a target of type {array.dtype} holds neither classes nor numbers. Convert it.")


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
            f"{source}: the target {name!r} holds dates or times. Convert them to numbers (days since a fixed day) "
            "or classes first."
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
    known: dict[Any, Any] = {}  # each label once in memory, and not once for each row
    array[:] = [known.setdefault(value, value) for value in values]
    return array


def missing_in(y: np.ndarray) -> np.ndarray:
    """Mask of the entries of a target that are missing."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype == object:
        return np.fromiter((value is None for value in y), dtype=bool, count=len(y))
    return np.zeros(len(y), dtype=bool)


def task_of(y: np.ndarray, source: str, name: str, asked: str = "auto") -> Task:
    """Task that a complete target sets, by the rules of this module, and why.

    A single value is an error, unless it is said what the target is: rows to score may be of one class.
    """
    distinct = np.unique(y)
    if len(distinct) < 2 and not (len(distinct) and asked in ("classification", "regression")):
        only = f" It is {distinct.tolist()[0]!r} in every row." if len(distinct) else ""
        raise TableError(
            f"{source}: the target {name!r} has only one value, so there is nothing to learn.{only} "
            "Choose another target, or add rows of the other classes."
        )
    is_number = y.dtype.kind in "iuf"
    if asked == "auto":
        if not is_number:
            return Task(_classification(distinct), "strings or booleans are classes")
        return _task_of_numbers(y)
    if asked == "regression":
        if y.dtype == object:
            raise TableError(
                f"{source}: {argument('task', 'regression')} needs a numeric target, but {name!r} holds "
                f"{listed_values(distinct, 4)}."
            )
        return Task(asked, "as asked")
    if asked == "binary" and len(distinct) != 2:
        raise TableError(
            f"{source}: {argument('task', 'binary')} needs a target of two classes, but {name!r} has {len(distinct)}: "
            f"{listed_values(distinct.tolist(), 6)}. Use {argument('task', 'multiclass')}, or join classes."
        )
    if asked == "multiclass" and len(distinct) == 2:
        raise TableError(
            f"{source}: the target {name!r} has two classes only. Use {argument('task', 'binary')} or leave "
            f"{argument('task', 'auto')}."
        )
    return Task(_classification(distinct), "as asked")


def checked_task(task: str) -> str:
    """The task as asked for, if it is one that exists."""
    allowed = ("auto", "classification", *TASKS)
    if task not in allowed:
        raise TableError(f"{argument('task', task)} is not known. Use one of {', '.join(allowed)}.")
    return task


def _classification(distinct: np.ndarray) -> str:
    return "binary" if len(distinct) == 2 else "multiclass"


def is_counts(y: np.ndarray) -> bool:
    """Whether a target of numbers may count something: whole numbers from 0 or 1 on, most of the small ones seen.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Numbers.

    Returns
    -------
    counts : bool
        True for a target that a Poisson score suits.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.io._target import is_counts
    >>> is_counts(np.array([0, 1, 0, 3, 2, 1, 9])), is_counts(np.array([0, 1200, 45000])), is_counts(np.array([0.5, 1]))
    (True, False, False)
    """
    if y.dtype.kind not in "iuf" or not len(y) or not _are_whole(y) or y.min() not in (0, 1):
        return False
    middle = np.median(y)
    return bool(2 * len(np.unique(y[y <= middle])) >= middle - y.min() + 1)


def _are_whole(y: np.ndarray) -> bool:
    return y.dtype.kind != "f" or bool(np.all(np.isfinite(y)) and np.all(y == np.rint(y)))


def _task_of_numbers(y: np.ndarray) -> Task:
    """The rules of this module for numbers."""
    values, counts = np.unique(y, return_counts=True)
    n_values, lowest, highest = len(values), values[0], values[-1]
    if not _are_whole(y):
        return Task("regression", "numbers with a fraction or infinite ones")
    span, between = float(highest) - float(lowest), f"{n_values:,} whole numbers from {lowest:.0f} to {highest:.0f}"
    if n_values == 2 and len(y) >= 4:
        return Task("binary", "two different whole numbers are two classes")
    numbers, classes = "; --task classification makes them classes", "; --task regression makes them numbers"
    if n_values > _MOST_NUMBERED_CLASSES or 2 * n_values > len(y):
        return Task("regression", f"{between} are too many for classes")
    if span + 1 > 2 * n_values:
        return Task("regression", f"{between} have gaps, so they are taken as numbers{numbers}", "classification")
    if _are_equally_frequent(values, counts):
        return Task("multiclass", f"{between}, about equally frequent, are taken as classes{classes}", "regression")
    if n_values > _MOST_CODES:
        return Task(
            "regression", f"{between} are taken as numbers, being more than {_MOST_CODES}{numbers}", "classification"
        )
    if _fall_like_counts(counts) and (n_values >= 6 or (lowest == 0 and n_values >= 4)):
        what = "counts" if lowest in (0, 1) else "a scale"
        return Task(
            "regression",
            f"{between}, whose frequencies fall from one peak to the highest, are taken as {what}{numbers}",
            "classification",
        )
    return Task("multiclass", f"{between} are few, so they are taken as classes{classes}", "regression")


def _are_equally_frequent(values: np.ndarray, counts: np.ndarray) -> bool:
    """As classes are: many values also run from 0 or 1 without a gap, or are equally frequent."""
    ratio = counts.max() / counts.min()
    if len(values) <= _MOST_CODES:
        return bool(ratio <= 3)
    numbered = values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1
    if len(values) <= _MOST_BALANCED_CLASSES:
        return bool(counts.min() >= 2 and ratio <= (3 if numbered else 1.1))
    return bool(numbered and counts.min() >= 5 and ratio <= 2)


def _fall_like_counts(counts: np.ndarray) -> bool:
    """Whether frequencies rise to one peak and fall to a rare last one, up to what chance does to each."""
    n, peak = counts.sum(), int(counts.argmax())
    slack = 2 * np.sqrt(counts[1:] + counts[:-1])
    steps = np.diff(counts)
    one_peak = (steps[:peak] >= -slack[:peak]).all() and (steps[peak:] <= slack[peak:]).all()
    # Of 8 or more classes in any order, less than 0.5% have one peak; fewer are counts only if the last is rare.
    rare = len(counts) >= _MANY_STEPS or counts[-1] < max(_RARE_SHARE * n, _RARE_ROWS)
    rare = rare and 4 * counts[-1] <= counts.max()
    return bool(one_peak and rare)
