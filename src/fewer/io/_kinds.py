"""What kind of thing each column holds.

The kinds, in the order in which they are tried:

constant
    At most one distinct value; missing entries do not count.
boolean
    True/false, numbers that are exactly 0 and 1, or the words true/false, yes/no, t/f, y/n in any case.
date
    Dates, times of day and durations.
identifier
    At least 10 values and (nearly) all different: short strings without prose, or whole numbers that run
    consecutively or whose name says so (``id``, ``patient_id``, ``index`` ...). Numbers with a fraction never are.
numeric
    Every other column of numbers.
text
    Strings with many distinct values that read like prose (three words or more on average), or are long.
categorical
    Every other column of strings or categories.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import scipy.sparse as sp

from fewer.io._frame import SHORT, CodedStrings, coded_strings, string_columns

KINDS = ("numeric", "boolean", "categorical", "text", "date", "constant", "identifier")

_WORD_PAIRS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})
_IDENTIFIER_NAME = re.compile(
    r"^(id|ids|idx|index|key|uuid|guid|row|rowid|row_?(number|names?)|unnamed.*|.*[_\s.-](id|idx|key|uuid|guid)|.*[a-z]I[dD])$",
)
_FEWEST_IDENTIFIERS = 10
_DISTINCT_SHARE = 0.95
_LARGE_SHARE = 0.5
_PROSE_WORDS = 3
_LONG_STRING = 50
_BAND_CELLS = 1_000_000
_MOST_SPELLINGS = 80  # of a pair of words such as yes and no; a longer list of values is none


def kinds_of(X: Any, columns: Sequence[str]) -> list[str]:
    """Kind of each column of an array, a sparse matrix or a polars frame (whose NaN are null)."""
    if isinstance(X, pl.DataFrame):
        return _kinds_of_frame(X)
    if sp.issparse(X):
        return _kinds_of_sparse(X)
    return _kinds_of_array(X, columns)


def kinds_of_numbers(frame: pl.DataFrame, array: np.ndarray) -> list[str]:
    """Kind of each column of a frame of numbers, and its array: the frame knows which of them are whole numbers."""
    kinds = _kinds_of_array(array, frame.columns)
    if array.dtype.kind == "f":
        whole = [j for j, dtype in enumerate(frame.dtypes) if dtype.is_integer()]
        for j, kind in zip(whole, _kinds_of_frame(frame[:, whole]), strict=True):
            kinds[j] = kind
    return kinds


def _name_says_identifier(name: str) -> bool:
    return _IDENTIFIER_NAME.match(name) is not None or _IDENTIFIER_NAME.match(name.lower()) is not None


def _kinds_of_array(X: np.ndarray, columns: Sequence[str]) -> list[str]:
    n_rows, n_columns = X.shape
    if n_rows == 0:
        return ["constant"] * n_columns
    lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    # NaN at both ends: nothing but missing values.
    constant = (lowest == highest) | (np.isnan(lowest) if X.dtype.kind == "f" else False)
    kinds = np.full(n_columns, "numeric", dtype=object)
    if X.dtype.kind in "iu" and n_rows >= _FEWEST_IDENTIFIERS:
        consecutive = highest.astype(float) - lowest.astype(float) == n_rows - 1
        for j in np.flatnonzero(~constant).tolist():
            if (consecutive[j] or _name_says_identifier(columns[j])) and len(np.unique(X[:, j])) == n_rows:
                kinds[j] = "identifier"
    kinds[constant] = "constant"
    kinds[_only_zeros_and_ones(X, np.flatnonzero(~constant & (lowest == 0) & (highest == 1)))] = "boolean"
    return kinds.tolist()


def _only_zeros_and_ones(X: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Those candidates, columns between 0 and 1, that hold nothing in between."""
    if X.dtype.kind != "f":
        return candidates
    # A band of rows at a time keeps the masks small, and columns scaled to 0..1 drop out in the first, short one.
    start, stop = 0, min(50, X.shape[0])
    while start < stop and len(candidates):
        band = X[start:stop, candidates]
        candidates = candidates[((band == 0) | (band == 1) | np.isnan(band)).all(axis=0)]
        start, stop = stop, min(X.shape[0], stop + max(1, _BAND_CELLS // max(1, len(candidates))))
    return candidates


def _kinds_of_sparse(X: Any) -> list[str]:
    n_rows, n_columns = X.shape
    columns = X.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    stored = np.diff(columns.indptr)
    lowest, highest = np.zeros(n_columns), np.zeros(n_columns)
    filled = np.flatnonzero(stored)
    starts = columns.indptr[filled]
    if len(filled):
        lowest[filled] = np.fmin.reduceat(columns.data, starts)
        highest[filled] = np.fmax.reduceat(columns.data, starts)
    with_zeros = stored < n_rows
    lowest[with_zeros] = np.fmin(lowest[with_zeros], 0)
    highest[with_zeros] = np.fmax(highest[with_zeros], 0)
    constant = (lowest == highest) | np.isnan(lowest)
    values = columns.data
    other = ~((values == 0) | (values == 1) | (values != values))
    others = np.zeros(n_columns, dtype=int)
    if len(filled):
        others[filled] = np.add.reduceat(other.astype(int), starts)
    boolean = ~constant & (others == 0)
    return np.where(constant, "constant", np.where(boolean, "boolean", "numeric")).tolist()


def _kinds_of_frame(frame: pl.DataFrame) -> list[str]:
    numeric = frame.select(cs.numeric())
    lowest = _row_of(numeric.select(pl.all().min()))
    highest = _row_of(numeric.select(pl.all().max()))
    short = _kinds_of_short_strings(string_columns(frame)) if frame.height <= SHORT else {}
    others = frame.select(~cs.numeric() if not short else ~(cs.numeric() | cs.string()))
    n_distinct = _row_of(others.select(pl.all().drop_nulls().n_unique()))
    spellings = _spellings(others, n_distinct)
    kinds = []
    for series in frame:
        name, dtype = series.name, series.dtype
        if name in short:
            kinds.append(short[name])
        elif dtype.is_numeric():
            kinds.append(_kind_of_numbers(series, lowest[name], highest[name]))
        elif n_distinct[name] <= 1:
            kinds.append("constant")
        elif dtype == pl.Boolean or _are_yes_and_no(spellings.get(name)):
            kinds.append("boolean")
        elif dtype.is_temporal():
            kinds.append("date")
        elif dtype == pl.String:
            kinds.append(_kind_of_strings(series, n_distinct[name]))
        else:
            kinds.append("categorical")
    return kinds


def _kinds_of_short_strings(strings: pl.DataFrame) -> dict[str, str]:
    """Kind of each of many columns of strings, without a query for each."""
    kinds: list[str] = []
    for coded in coded_strings(strings):
        ordered = CodedStrings(coded.values, np.sort(coded.codes, axis=1))
        present = ordered.codes < len(ordered.values)
        first = present & (np.diff(ordered.codes, axis=1, prepend=-1) > 0)
        n_distinct, n_values = first.sum(axis=1), present.sum(axis=1)
        lowered = ordered.values.str.strip_chars().str.to_lowercase()
        yes_and_no = np.zeros(len(n_values), dtype=bool)
        for pair in _WORD_PAIRS:
            either, other = (ordered.cells(lowered == word) for word in pair)
            yes_and_no |= either.any(axis=1) & other.any(axis=1) & ((either | other) == present).all(axis=1)
        words, length = (
            np.sum(ordered.cells(each) * first, axis=1) / np.maximum(n_distinct, 1)
            for each in _words_and_lengths(ordered.values)
        )
        share = n_distinct / np.maximum(n_values, 1)
        prose = (share > _LARGE_SHARE) & ((words >= _PROSE_WORDS) | (length > _LONG_STRING))
        different = (share >= _DISTINCT_SHARE) & (n_values >= _FEWEST_IDENTIFIERS)
        kinds += np.select(
            [n_distinct <= 1, yes_and_no, prose, different],
            ["constant", "boolean", "text", "identifier"],
            "categorical",
        ).tolist()
    return dict(zip(strings.columns, kinds, strict=True))


def _spellings(frame: pl.DataFrame, n_distinct: dict[str, int]) -> dict[str, Collection[str]]:
    """The different values of each column of words that has few enough to be a pair such as yes and no."""
    words = frame.select(cs.string() | cs.categorical() | cs.enum())
    few = [name for name in words.columns if n_distinct[name] <= _MOST_SPELLINGS]
    return _row_of(words.select(pl.col(few).drop_nulls().unique().cast(pl.String).implode())) if few else {}


def _row_of(frame: pl.DataFrame) -> dict[str, Any]:
    return frame.row(0, named=True) if frame.width and frame.height else dict.fromkeys(frame.columns)


def _kind_of_numbers(series: pl.Series, lowest: Any, highest: Any) -> str:
    if lowest == highest:  # both are None when every value is missing
        return "constant"
    if lowest == 0 and highest == 1 and (series.dtype.is_integer() or ((series == 0) | (series == 1)).all()):
        return "boolean"
    if not series.dtype.is_integer() or series.len() - series.null_count() < _FEWEST_IDENTIFIERS:
        return "numeric"
    values = series.drop_nulls()
    consecutive = highest - lowest == values.len() - 1
    if (consecutive or _name_says_identifier(series.name)) and values.n_unique() == values.len():
        return "identifier"
    return "numeric"


def _kind_of_strings(series: pl.Series, n_distinct: int) -> str:
    n_values = series.len() - series.null_count()
    share = n_distinct / n_values
    if share > _LARGE_SHARE:
        words, length = (float(np.mean(each.to_numpy())) for each in _words_and_lengths(series.drop_nulls().unique()))
        if words >= _PROSE_WORDS or length > _LONG_STRING:
            return "text"
        if share >= _DISTINCT_SHARE and n_values >= _FEWEST_IDENTIFIERS:
            return "identifier"
    return "categorical"


def _words_and_lengths(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Number of words and of characters of each value."""
    return values.str.strip_chars().str.count_matches(r"\s+") + 1, values.str.len_chars()


def _are_yes_and_no(spellings: Collection[str] | None) -> bool:
    return (
        spellings is not None
        and len(spellings) <= _MOST_SPELLINGS
        and {word.strip().lower() for word in spellings} in _WORD_PAIRS
    )
