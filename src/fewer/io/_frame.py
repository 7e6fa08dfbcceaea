"""Frames as readers return them: missing values marked, and strings that are all numbers or dates converted.

Short columns of strings are examined together, each different value once: a query costs polars some 30 microseconds for
each column, so their cells are joined end to end as codes of the different values, which are few where columns hold
categories.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from fewer._wording import argument, listed_values
from fewer.io._errors import TableError

DEFAULT_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?")
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_ISO_MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?)?$"
_ISO_MOMENT_IN_ZONE = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
_NUMBER = r"^\s*[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity)\s*$"
_OTHER_DATE = r"^\s*(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|\d{4}[./]\d{1,2}[./]\d{1,2})(\s+\d{1,2}:\d{2}.*)?\s*$"
_SAMPLE = 200
_BAND_ROWS = 1024
_MOST = 0.9
_NUMPY_TYPE: dict[pl.DataType | type[pl.DataType], type] = {
    pl.Boolean: np.bool_,
    pl.Int8: np.int8,
    pl.Int16: np.int16,
    pl.Int32: np.int32,
    pl.Int64: np.int64,
    pl.UInt8: np.uint8,
    pl.UInt16: np.uint16,
    pl.UInt32: np.uint32,
    pl.UInt64: np.uint64,
}
SHORT = 1000
BATCH_CELLS = 10_000_000


def tidy_frame(frame: pl.DataFrame, missing_values: Iterable[object], source: str) -> pl.DataFrame:
    """The frame with missing markers as null, and strings that are numbers or ISO dates as such."""
    words, numbers = split_markers(missing_values)
    if not all(_is_plain(dtype) for dtype in set(frame.dtypes)):
        frame = pl.DataFrame([_plain(series, source) for series in frame])
    frame = _with_tidy_strings(frame, words)
    numbers_mostly, dates_mostly = _mostly(frame, _NUMBER, _OTHER_DATE)
    _warn_of_stray_words(frame.select(numbers_mostly), source)
    _warn_of_other_dates(frame.select(dates_mostly), frame.width, source)
    if numbers:
        frame = frame.with_columns(
            pl.when(~cs.numeric().cast(pl.Float64).is_in(numbers)).then(cs.numeric()).name.keep()
        )
    return frame


def _warn_of_stray_words(frame: pl.DataFrame, source: str) -> None:
    """Tell of columns that are strings only for a word or two among numbers: these often stand for missing values."""
    strays = {series.name: words for series in frame if (words := _stray_words(series))}
    if not strays:
        return
    shown = "; ".join(f"{name!r} contains {listed_values(words)}" for name, words in list(strays.items())[:3])
    more = f"; and {len(strays) - 3} more columns" if len(strays) > 3 else ""
    words = sorted({word for found in strays.values() for word in found})
    more_markers = f"[*fewer.io.DEFAULT_MISSING, {listed_values(words)}]"
    warnings.warn(
        f"{source}: columns of numbers are read as strings, because they contain text: {shown}{more}. If this text "
        f"marks missing values, add it: {argument('missing_values', words, python=more_markers)}.",
        UserWarning,
        stacklevel=5,  # the caller of read_table
    )


def _warn_of_other_dates(frame: pl.DataFrame, n_columns: int, source: str) -> None:
    """Tell of dates in an order that cannot be known for sure: 03/04/2024 is two different days."""
    candidates = [series.drop_nulls() for series in frame]
    dates = [series for series in candidates if series.str.contains(_OTHER_DATE).sum() >= _MOST * series.len() > 0]
    if dates:
        first = dates[0]
        warnings.warn(
            f"{source}: dates such as {first[0].strip()!r} (column {first.name!r}) are read as strings, in "
            f"{len(dates)} of {n_columns} columns. Write dates as 2024-05-31: day and month are then unambiguous.",
            UserWarning,
            stacklevel=5,  # the caller of read_table
        )


def _mostly(frame: pl.DataFrame, *patterns: str) -> list[list[str]]:
    """Columns of strings of which most match in the first rows, or of which nothing is there yet to judge by."""
    strings = first_rows(string_columns(frame))
    enough = _MOST * n_values(strings)
    return [columns_where(strings, counts >= enough) for counts in match_counts(strings, *patterns)]


def match_counts(strings: pl.DataFrame, *patterns: str) -> list[np.ndarray]:
    """For each pattern, how many values of each column match."""
    return string_counts(strings, *[lambda cells, pattern=pattern: cells.str.contains(pattern) for pattern in patterns])


def first_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Enough rows to judge by."""
    return frame if frame.height <= _SAMPLE else frame.head(_SAMPLE)


def columns_where(frame: pl.DataFrame, mask: np.ndarray) -> list[str]:
    """Names of the columns for which the mask holds."""
    return [name for name, holds in zip(frame.columns, mask.tolist(), strict=True) if holds]


def n_values(frame: pl.DataFrame) -> np.ndarray:
    """Number of cells of each column that are not missing."""
    return frame.height - np.array(frame.null_count().row(0), dtype=np.int64) if frame.width else np.zeros(0, np.int64)


def _stray_words(series: pl.Series) -> list[str]:
    values = series.drop_nulls()
    words = values.filter(~values.str.contains(_NUMBER))
    distinct = words.unique().sort().to_list()
    return distinct if words.len() <= (1 - _MOST) * values.len() and len(distinct) <= 3 else []


def with_null_for_nan(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a single sign for what is missing."""
    floats = frame.select(cs.float())
    if not floats.width:
        return frame
    with_nan = [name for name, found in floats.select(pl.all().is_nan().any()).row(0, named=True).items() if found]
    return frame.with_columns(pl.col(with_nan).fill_nan(None)) if with_nan else frame


def split_markers(missing_values: Iterable[object]) -> tuple[list[str], list[float]]:
    """Markers of missing values as words, and those among them that are numbers (-999 marks numbers, too)."""
    if isinstance(missing_values, (str, int, float)):
        missing_values = (missing_values,)
    words, numbers = [], []
    for marker in missing_values:
        words.append(str(marker))
        try:
            number = float(str(marker))
        except ValueError:
            continue
        if not np.isnan(number):
            numbers.append(number)
    return words, numbers


def numeric_array(frame: pl.DataFrame) -> np.ndarray:
    """All-numeric frame as an array of the common type; missing is NaN.

    float32 only when every column is float32, booleans only when all are complete booleans, integers only when
    nothing is missing, float64 otherwise.
    """
    dtype = _common_type(frame)
    if frame.height <= SHORT:
        number = pl.Float64 if dtype.kind == "f" else pl.UInt8
        others = frame.select(cs.boolean() | cs.by_dtype(pl.Null)).cast(number)  # numpy has neither with nulls
        whole = frame.with_columns(others.get_columns()) if others.width else frame
        return np.ascontiguousarray(whole.to_numpy(order="c"), dtype=dtype)
    array = np.empty((frame.height, frame.width), dtype=dtype)
    # Some columns at a time, and a band of rows of them, so that the cells written stay in the processor's cache.
    width = min(64, max(16, 16_000_000 // max(1, frame.height)))
    for start in range(0, frame.width, width):
        columns = [series.to_numpy() for series in _complete(frame[:, start : start + width], dtype)]
        for top in range(0, frame.height, _BAND_ROWS):
            band = slice(top, top + _BAND_ROWS)
            for j, column in enumerate(columns, start):
                array[band, j] = column[band]
    return array


def _complete(frame: pl.DataFrame, dtype: np.dtype) -> pl.DataFrame:
    """The frame without nulls: NaN stands for them."""
    if not any(series.null_count() for series in frame):
        return frame
    return frame.select(pl.all().cast(pl.Float32 if dtype == np.float32 else pl.Float64).fill_null(np.nan))


def is_numeric(frame: pl.DataFrame) -> bool:
    """Whether every column holds numbers or booleans (or nothing at all)."""
    return all(is_numeric_type(dtype) for dtype in frame.dtypes)


def is_numeric_type(dtype: pl.DataType) -> bool:
    """Whether columns of this type hold numbers or booleans (or nothing at all)."""
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def _common_type(frame: pl.DataFrame) -> np.dtype:
    dtypes = set(frame.dtypes)
    if dtypes == {pl.Float32}:
        return np.dtype(np.float32)
    complete = sum(frame.null_count().row(0)) == 0 if frame.width else True
    if not complete or not dtypes or any(not (dtype.is_integer() or dtype == pl.Boolean) for dtype in dtypes):
        return np.dtype(np.float64)
    return np.result_type(*[_NUMPY_TYPE[dtype] for dtype in dtypes])


def _is_plain(dtype: pl.DataType) -> bool:
    """Whether columns of this type stay as they are."""
    return dtype in _NUMPY_TYPE or dtype in (pl.Float32, pl.Float64, pl.String, pl.Null)


def _plain(series: pl.Series, source: str) -> pl.Series:
    if hasattr(series.dtype, "ext_storage"):  # such as PostgreSQL's numeric, whose values are strings underneath
        series = series.ext.storage()
    dtype = series.dtype
    if dtype.is_numeric():
        return series if dtype in _NUMPY_TYPE or dtype == pl.Float32 else series.cast(pl.Float64)
    if dtype in (pl.String, pl.Boolean, pl.Null) or dtype.is_temporal() or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return series
    raise TableError(
        f"{source}: column {series.name!r} holds values of type {dtype}, which cannot be features. "
        f"Leave it out with {argument('drop', [series.name])}, or convert it to numbers or strings first."
    )


def _with_tidy_strings(frame: pl.DataFrame, missing: list[str]) -> pl.DataFrame:
    """The frame with its strings tidied, many columns in one query where they are short and few where they are long."""
    strings = string_columns(frame)
    width = max(1, BATCH_CELLS // max(1, frame.height))
    tidied: list[pl.Series] = []
    for start in range(0, strings.width, width):
        tidied += _tidy_strings(strings[:, start : start + width] if strings.width > width else strings, missing)
    return frame.with_columns(tidied) if tidied else frame


def _tidy_strings(strings: pl.DataFrame, missing: list[str]) -> list[pl.Series]:
    """Those columns that are not what they were: without the marks of missing values, as numbers or as dates."""

    def marked(cells: Any) -> Any:
        return cells.str.strip_chars().is_in(missing)

    with_marks = columns_where(strings, string_counts(strings, marked)[0] > 0)
    if with_marks:
        strings = strings.with_columns(pl.when(~marked(pl.col(with_marks))).then(pl.col(with_marks)).name.keep())
    empty = set(columns_where(strings, n_values(strings) == 0))
    numbers, moments, moments_in_zone = (
        [name for name in names if name not in empty]
        for names in _matching(strings, _NUMBER, _ISO_MOMENT, _ISO_MOMENT_IN_ZONE)
    )
    changed = {name: strings[name] for name in with_marks}
    changed |= {name: strings[name].cast(pl.Null) for name in empty}
    changed |= {series.name: series for series in _numbers_from(strings.select(numbers))}
    changed |= {name: _dates_from(strings[name]) for name in (*moments, *moments_in_zone)}
    return list(changed.values())


def _matching(strings: pl.DataFrame, *patterns: str) -> list[list[str]]:
    """For each pattern, those columns of which every value matches; nulls do not count."""
    sample = first_rows(strings)  # these rule out most
    wanted = n_values(sample)
    found = [columns_where(sample, counts == wanted) for counts in match_counts(sample, *patterns)]
    if strings.height == sample.height:
        return found
    return [
        _matching_throughout(strings.select(names), pattern) for names, pattern in zip(found, patterns, strict=True)
    ]


def _matching_throughout(strings: pl.DataFrame, pattern: str) -> list[str]:
    return columns_where(strings, match_counts(strings, pattern)[0] == n_values(strings))


def _numbers_from(strings: pl.DataFrame) -> list[pl.Series]:
    """Columns of strings that are all numbers as such; a column with a number beyond any type is left out."""
    left = strings.select(pl.all().str.strip_chars().str.strip_prefix("+"))
    converted: list[pl.Series] = []
    for dtype in (pl.Int64, pl.Float64):
        numbers = left.select(pl.all().cast(dtype, strict=False))
        done = [new for new, old in zip(numbers, left, strict=True) if new.null_count() == old.null_count()]
        left = left.drop([series.name for series in done])
        converted += done
    return converted


def _dates_from(series: pl.Series) -> pl.Series:
    in_zone = series.str.contains(_ISO_MOMENT_IN_ZONE).all()
    if not in_zone and not series.str.contains(_ISO_MOMENT).all():
        return series
    if series.str.contains(_ISO_DATE).all():
        dates = series.str.to_date("%Y-%m-%d", strict=False)
    else:
        moments = series.str.replace(" ", "T").str.replace(r"T(\d{2}:\d{2})($|Z|[+-])", "T${1}:00${2}")
        moments = moments.str.replace(r"^(.{10})$", "${1}T00:00:00")
        dates = moments.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f" + ("%#z" if in_zone else ""), strict=False)
    return dates if dates.null_count() == series.null_count() else series


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
