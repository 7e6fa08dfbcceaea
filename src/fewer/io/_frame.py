"""One shape for polars frames from anywhere: plain types, nulls for what is missing, numbers as numbers."""

import warnings
from collections.abc import Iterable

import numpy as np
import polars as pl
import polars.selectors as cs

from fewer.io._errors import TableError, shortened

DEFAULT_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?")

_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_ISO_MOMENT = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?)?$"
_ISO_MOMENT_IN_ZONE = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
_NUMBER = r"^\s*[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(?i:inf|infinity)\s*$"
_SAMPLE = 200
_BAND_ROWS = 1024
_NUMBER_SHARE = 0.9


def tidy_frame(frame: pl.DataFrame, missing_values: Iterable[object], source: str) -> pl.DataFrame:
    """The frame with missing markers as null, and strings that are numbers or ISO dates as such."""
    words, numbers = split_markers(missing_values)
    frame = pl.DataFrame([_tidied(series, words, source) for series in frame])
    _warn_of_stray_words(frame, source)
    if numbers:
        frame = frame.with_columns(
            pl.when(~cs.numeric().cast(pl.Float64).is_in(numbers)).then(cs.numeric()).name.keep()
        )
    return frame


def _warn_of_stray_words(frame: pl.DataFrame, source: str) -> None:
    """Tell of columns that are strings only for a word or two among numbers: these often stand for missing values."""
    strays = {series.name: words for series in frame if series.dtype == pl.String and (words := _stray_words(series))}
    if not strays:
        return
    shown = "; ".join(f"{name!r} for {shortened(words)}" for name, words in list(strays.items())[:3])
    more = f"; and {len(strays) - 3} more columns" if len(strays) > 3 else ""
    words = sorted({word for found in strays.values() for word in found})
    warnings.warn(
        f"{source}: columns of numbers are read as strings for words among them: {shown}{more}. If these stand for "
        f"missing values, add them: missing_values=[*fewer.io.DEFAULT_MISSING, {shortened(words)}].",
        UserWarning,
        stacklevel=5,  # the caller of read_table
    )


def _stray_words(series: pl.Series) -> list[str]:
    values = series.drop_nulls()
    if values.head(_SAMPLE).str.contains(_NUMBER).sum() < _NUMBER_SHARE * min(_SAMPLE, values.len()):
        return []
    words = values.filter(~values.str.contains(_NUMBER))
    distinct = words.unique().sort().to_list()
    return distinct if words.len() <= (1 - _NUMBER_SHARE) * values.len() and len(distinct) <= 3 else []


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
    array = np.empty((frame.height, frame.width), dtype=dtype)
    # Some columns at a time, and a band of rows of them, so that the cells written stay in the processor's cache.
    width = min(64, max(16, 16_000_000 // max(1, frame.height)))
    for start in range(0, frame.width, width):
        columns = [_complete(series, dtype).to_numpy() for series in frame[:, start : start + width]]
        for top in range(0, frame.height, _BAND_ROWS):
            band = slice(top, top + _BAND_ROWS)
            for j, column in enumerate(columns, start):
                array[band, j] = column[band]
    return array


def _complete(series: pl.Series, dtype: np.dtype) -> pl.Series:
    """The series without nulls: NaN stands for them."""
    if series.null_count() == 0:
        return series
    return series.cast(pl.Float32 if dtype == np.float32 else pl.Float64).fill_null(np.nan)


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


def _tidied(series: pl.Series, missing: list[str], source: str) -> pl.Series:
    if hasattr(series.dtype, "ext_storage"):  # such as PostgreSQL's numeric, whose values are strings underneath
        series = series.ext.storage()
    return _tidy_strings(series, missing) if series.dtype == pl.String else _plain(series, source)


def _plain(series: pl.Series, source: str) -> pl.Series:
    dtype = series.dtype
    if dtype.is_numeric():
        return series if dtype in _NUMPY_TYPE or dtype == pl.Float32 else series.cast(pl.Float64)
    if dtype == pl.Boolean or dtype == pl.Null or dtype.is_temporal() or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return series
    raise TableError(
        f"{source}: column {series.name!r} holds values of type {dtype}, which have no place in a table of features. "
        f"Leave it out with drop=[{series.name!r}], or turn it into numbers or strings first."
    )


def _tidy_strings(series: pl.Series, missing: list[str]) -> pl.Series:
    stripped = series.str.strip_chars()
    series = series.set(stripped.is_in(missing), None)
    sample = series.drop_nulls().head(_SAMPLE)
    if sample.len() == 0:
        return series.cast(pl.Null) if series.len() else series
    if sample.str.contains(_NUMBER).all():
        return _numbers_from(series)
    if sample.str.contains(_ISO_MOMENT).all() or sample.str.contains(_ISO_MOMENT_IN_ZONE).all():
        return _dates_from(series)
    return series


def _numbers_from(series: pl.Series) -> pl.Series:
    if not series.str.contains(_NUMBER).all():  # nulls do not count
        return series
    stripped = series.str.strip_chars().str.strip_prefix("+")
    for dtype in (pl.Int64, pl.Float64):
        numbers = stripped.cast(dtype, strict=False)
        if numbers.null_count() == series.null_count():
            return numbers
    return series


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
