"""CSV and TSV files: checked line by line, then parsed by polars."""

import csv
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fewer.io._csv_scan import blank_records, first_records, n_fields
from fewer.io._encoding import check_encoding, decoded, is_packed, unpacked
from fewer.io._errors import TableError
from fewer.io._formats import Options
from fewer.io._frame import columns_where, first_rows, match_counts, n_values, split_markers
from fewer.io._limits import MOST_COLUMNS
from fewer.io._memory import Table, default_names, header_names
from fewer.io._strings import string_columns

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_COMMA_NUMBER = r"^\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*$"
_INNER_COMMA = r"\d,\d"
_NUMBER_SHARE = 0.9


def read_csv(path: Path, options: Options) -> Table:
    """The table in a text file with separators, plain or compressed by gzip."""
    source = str(path)
    data, text = _utf8_bytes(path, options.encoding, source)
    records = first_records(data)
    if not records.texts:
        raise TableError(f"{source}: the file is empty. Check that it was written completely.")
    header = records.texts[0].decode()
    separator = options.separator or _sniffed_separator(header)
    if len(separator) != 1 or not separator.isascii():
        raise TableError(f"separator={separator!r} must be a single character, such as ',', ';', '\\t' or '|'.")
    if options.decimal not in (".", ",") or options.decimal == separator:
        raise TableError(f"decimal={options.decimal!r} does not go with the separator {separator!r} of {source}.")
    where = f"{source}, line {records.lines[0]}"
    _refuse_many_columns(n_fields(records.texts[0], separator), separator, where)
    cells = _cells(header, separator, where)
    names = _names(cells, source, records.lines[0]) if options.header else default_names(len(cells))
    if options.header and len(records.texts) == 1:
        raise TableError(f"{source}: there is a header with {len(cells)} names, but no row below it.")
    _check_for_spaces(cells, records.texts[-1], source)
    blank = blank_records(data, separator, len(cells), source)
    frame = _parsed(text if text is not None else path, separator, len(cells), options, source)
    frame.columns = names
    frame = _without_blank_rows(frame, blank, options.header)
    if options.decimal == ",":
        frame = _with_decimal_points(frame)
    else:
        _warn_of_commas(frame, separator, source)
    return Table(frame, names, source)


def _utf8_bytes(path: Path, encoding: str, source: str) -> tuple[np.ndarray, bytes | None]:
    """Bytes of the file as UTF-8 without its mark, and the same as an object when they differ from the file."""
    text: bytes | None = None
    if is_packed(path):
        text = unpacked(path)
        data = np.frombuffer(text, dtype=np.uint8)
    elif path.stat().st_size == 0:
        data = np.zeros(0, dtype=np.uint8)
    else:
        data = np.memmap(path, dtype=np.uint8, mode="r")
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        data = decoded(data, encoding, source)
        text = data.tobytes()
    if data[:2].tobytes() in (b"\xff\xfe", b"\xfe\xff"):
        raise TableError(f"{source}: this is UTF-16 text, as a spreadsheet writes it. Use encoding='utf-16'.")
    check_encoding(data, source)
    if data[:3].tobytes() == b"\xef\xbb\xbf":
        data = data[3:]
    head = data[: 1 << 20]
    if (head == 13).any() and not (head == 10).any():  # line ends of old Macintoshes
        text = data.tobytes().replace(b"\r", b"\n")
        data = np.frombuffer(text, dtype=np.uint8)
    return data, text


def _sniffed_separator(header: str) -> str:
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(_SEPARATORS, key=unquoted.count)


def _refuse_many_columns(n_columns: int, separator: str, where: str) -> None:
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{where}: the first line has {n_columns:,} fields, and a table of more than {MOST_COLUMNS:,} columns is "
            f"not read from text. Check that {separator!r} is the separator; write rows as columns if the table lies "
            "on its side; and take svmlight or .npz for a sparse table."
        )


def _cells(header: str, separator: str, where: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(header, newline=""), delimiter=separator))
    except csv.Error as error:  # a field without end
        raise TableError(f'{where}: the names cannot be read ({error}). Is a quote (") never closed?') from error


def _names(cells: list[str], source: str, line: int) -> list[str]:
    cells = [cell.strip() for cell in cells]
    are_numbers = all(_NUMBER.fullmatch(cell) for cell in cells)
    if are_numbers and (len(set(cells)) < len(cells) or any(not cell.isdigit() for cell in cells)):
        shown = ", ".join(cells[:4]) + (", ..." if len(cells) > 4 else "")
        raise TableError(
            f"{source}, line {line}: the first line looks like data ({shown}), not like column names. Use header=False "
            "(the columns are then named x0, x1, ...), or add a line of names."
        )
    return header_names(cells, f"{source}, line {line}")


def _check_for_spaces(cells: list[str], row: bytes, source: str) -> None:
    fields = row.decode().split() if len(cells) == 1 else []
    if len(fields) > 1 and all(_NUMBER.fullmatch(field) for field in fields):
        raise TableError(
            f"{source}: the columns seem to be separated by spaces. Use separator=' ' if it is one space each time; "
            "otherwise replace the spaces by commas."
        )


def _parsed(text: Any, separator: str, n_columns: int, options: Options, source: str) -> pl.DataFrame:
    settings: dict[str, Any] = {
        "separator": separator,
        "has_header": options.header,
        "null_values": split_markers(options.missing_values)[0],
        "decimal_comma": options.decimal == ",",
    }
    # Types from the first rows are right for most tables and much quicker to find; where a later row does not fit,
    # polars says so. Types from all rows fail only for such as a whole number too long for any integer: then all is
    # read as text.
    first_rows = max(20, min(1000, 500_000 // n_columns))
    failure: BaseException | None = None
    for inference in ({"infer_schema_length": first_rows}, {"infer_schema_length": None}, {"infer_schema": False}):
        try:
            return pl.read_csv(text, **inference, **settings)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            failure = error
    raise TableError(f"{source}: the text cannot be parsed: {str(failure).splitlines()[0]}") from failure


def _without_blank_rows(frame: pl.DataFrame, blank: np.ndarray, header: bool) -> pl.DataFrame:
    """Rows without those that polars makes of blank lines; it skips those before the first record by itself."""
    if len(blank) == 0:
        return frame
    leading = int(np.count_nonzero(blank == np.arange(len(blank))))
    rows = blank[leading:] - leading - int(header)
    kept = np.ones(frame.height, dtype=bool)
    if frame.width == 1:  # in a single column a blank line is a missing value, except at the end of the file
        trailing = frame.height - 1 - np.arange(len(rows))[::-1]
        rows = rows[np.logical_and.accumulate((rows == trailing)[::-1])[::-1]]
    kept[rows] = False
    return frame.filter(pl.Series(kept))


def _with_decimal_points(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of numbers that polars left as strings, for their spaces or signs, with points for commas."""
    strings = [series for series in frame if series.dtype == pl.String]
    commas = [
        series for series in strings if series.null_count() < series.len() and series.str.contains(_COMMA_NUMBER).all()
    ]
    return frame.with_columns([series.str.replace(",", ".", literal=True) for series in commas])


def _warn_of_commas(frame: pl.DataFrame, separator: str, source: str) -> None:
    """Tell of columns that are strings only because their numbers hold commas."""
    strings = first_rows(string_columns(frame))
    if not strings.width:
        return
    are_numbers, with_comma = match_counts(strings, _COMMA_NUMBER, _INNER_COMMA)
    found = (with_comma > 0) & (are_numbers >= _NUMBER_SHARE * n_values(strings))
    names = columns_where(strings, found)
    if names:
        example = next(value for value in strings[names[0]] if value is not None and "," in value)
        cure = "use decimal=','" if separator != "," else "write it as a point"
        warnings.warn(
            f"{source}: numbers with a comma ({example.strip()!r} in column {names[0]!r}) are read as strings, in "
            f"{len(names)} of {frame.width} columns. If the comma is the decimal mark, {cure}; if it parts thousands, "
            "take it out of the file.",
            UserWarning,
            stacklevel=6,  # the caller of read_table
        )
