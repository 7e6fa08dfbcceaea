"""CSV and TSV files: checked line by line, then parsed by polars.

Parsers fill short rows silently and stop at others with a message about offsets. Here every record is counted first, so
that an error names its line: a separator or a line end counts when an even number of quotes stands before it. The file
is read in chunks, and only the positions of quotes, separators and line ends are looked at, so that this costs a
fraction of the parsing. The functions for text files in general (gzip, encodings, line numbers) are used for ARFF and
svmlight files as well.
"""

import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fewer._wording import argument
from fewer.io._errors import MOST_COLUMNS, TableError, physical_memory
from fewer.io._frame import columns_where, first_rows, match_counts, n_values, split_markers, string_columns
from fewer.io._memory import Table, default_names, header_names
from fewer.io._read import Options

_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_COMMA_NUMBER = r"^\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*$"
_INNER_COMMA = r"\d,\d"
_NUMBER_SHARE = 0.9
_RETURN, _QUOTE = 13, 34
NEWLINE = 10
CHUNK = 1 << 24
_MEMORY_SHARE = 4  # a table takes several times the memory of its text


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
        raise TableError(
            f"{argument('separator', separator)} must be a single character, such as ',', ';', '\\t' or '|'."
        )
    if options.decimal not in (".", ",") or options.decimal == separator:
        raise TableError(
            f"{argument('decimal', options.decimal)} must be '.' or ',', and differ from the separator {separator!r} "
            f"of {source}."
        )
    where = f"{source}, line {records.lines[0]}"
    _refuse_many_columns(n_fields(records.texts[0], separator), separator, where)
    cells = _cells(header, separator, where)
    names = _names(cells, source, records.lines[0]) if options.header else default_names(len(cells))
    if options.header and len(records.texts) == 1:
        raise TableError(f"{source}: there is a header with {len(cells)} names, but no rows.")
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
        raise TableError(
            f"{source}: this is UTF-16 text, as some spreadsheets write it. Use {argument('encoding', 'utf-16')}."
        )
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
            f"{where}: the first line has {n_columns:,} fields, and tables of more than {MOST_COLUMNS:,} columns "
            f"are not read from text files. Check that {separator!r} is the separator. Transpose the table if its "
            "rows and columns are swapped. Use svmlight or .npz for a sparse table."
        )


def _cells(header: str, separator: str, where: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(header, newline=""), delimiter=separator))
    except csv.Error as error:  # a field without end
        raise TableError(
            f'{where}: the header cannot be read ({error}). Check that all quotes (") are closed.'
        ) from error


def _names(cells: list[str], source: str, line: int) -> list[str]:
    cells = [cell.strip() for cell in cells]
    are_numbers = all(_NUMBER.fullmatch(cell) for cell in cells)
    if are_numbers and (len(set(cells)) < len(cells) or any(not cell.isdigit() for cell in cells)):
        shown = ", ".join(cells[:4]) + (", ..." if len(cells) > 4 else "")
        raise TableError(
            f"{source}, line {line}: the first line looks like data ({shown}), not like column names. Use "
            f"{argument('header', False)} "
            "(the columns are then named x0, x1, ...), or add a line of names."
        )
    return header_names(cells, f"{source}, line {line}")


def _check_for_spaces(cells: list[str], row: bytes, source: str) -> None:
    fields = row.decode().split() if len(cells) == 1 else []
    if len(fields) > 1 and all(_NUMBER.fullmatch(field) for field in fields):
        raise TableError(
            f"{source}: the columns seem to be separated by spaces. Use {argument('separator', ' ')} if fields are "
            "separated by "
            "exactly one space; otherwise replace the spaces by commas."
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
        cure = f"use {argument('decimal', ',')}" if separator != "," else "write a point instead"
        warnings.warn(
            f"{source}: numbers with a comma ({example.strip()!r} in column {names[0]!r}) are read as strings, in "
            f"{len(names)} of {frame.width} columns. If the comma is the decimal mark, {cure}; if it separates "
            "thousands, remove it from the file.",
            UserWarning,
            stacklevel=6,  # the caller of read_table
        )


@dataclass
class Records:
    """The first two records that are not blank, as bytes, and the line on which each starts."""

    texts: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def first_records(data: np.ndarray) -> Records:
    """The header and the first row, wherever their line ends are."""
    size = 1 << 16
    while True:
        head = data[:size]
        ends = _record_ends(head, 0)
        if size >= len(data):
            ends = np.append(ends, len(data))
        starts = np.concatenate(([0], ends[:-1] + 1))
        records = Records()
        for where in np.flatnonzero(~_are_blank(head, starts, ends)).tolist():
            text = head[starts[where] : ends[where]].tobytes()
            if text.strip(b"\r\n"):
                records.texts.append(text.rstrip(b"\r"))
                records.lines.append(1 + int(np.count_nonzero(head[: starts[where]] == NEWLINE)))
            if len(records.texts) == 2:
                return records
        if size >= len(data):
            return records
        size *= 4


def n_fields(record: bytes, separator: str) -> int:
    """Number of fields of a record; a separator inside quotes does not count."""
    if b'"' not in record:
        return 1 + record.count(separator.encode())
    data = np.frombuffer(record, dtype=np.uint8)
    separators = np.flatnonzero(data == ord(separator))
    return 1 + int(np.count_nonzero(~_inside(separators, np.flatnonzero(data == _QUOTE), 0)))


def blank_records(data: np.ndarray, separator: str, expected: int, source: str) -> np.ndarray:
    """Numbers (from 0) of the records that are blank; raises when another has not the ``expected`` fields."""
    blank = [np.zeros(0, dtype=np.int64)]
    n_records = 0
    for chunk in _scanned(data, ord(separator), source):
        wrong = np.flatnonzero((chunk.fields != expected) & ~chunk.is_blank)
        if len(wrong):
            raise _ragged(source, chunk.line_of(int(wrong[0])), int(chunk.fields[wrong[0]]), expected)
        blank.append(n_records + np.flatnonzero(chunk.is_blank))
        n_records += len(chunk.fields)
    return np.concatenate(blank)


@dataclass
class _Chunk:
    """Records that end in one chunk: their numbers of fields, whether blank, and where they start."""

    fields: np.ndarray
    is_blank: np.ndarray
    starts: np.ndarray
    newlines: np.ndarray
    lines_before: int
    first_line: int

    def line_of(self, record: int) -> int:
        if record == 0:
            return self.first_line
        return self.lines_before + int(np.searchsorted(self.newlines, self.starts[record])) + 1


def _scanned(data: np.ndarray, separator: int, source: str) -> Iterator[_Chunk]:
    in_quotes, lines, record_line, record_start, separators_before = 0, 0, 1, 0, 0
    for offset in range(0, len(data), CHUNK):
        chunk = data[offset : offset + CHUNK]
        newlines = np.flatnonzero(chunk == NEWLINE)
        separators = np.flatnonzero(chunk == separator)
        quotes = np.flatnonzero(chunk == _QUOTE)
        ends = newlines
        if len(quotes) or in_quotes:
            _check_quotes(data, offset, quotes, in_quotes, separator, source)
            ends = newlines[~_inside(newlines, quotes, in_quotes)]
            separators = separators[~_inside(separators, quotes, in_quotes)]
        in_quotes = (in_quotes + len(quotes)) % 2
        last = offset + len(chunk) == len(data)
        if last and not in_quotes and (len(chunk) and chunk[-1] != NEWLINE):
            ends = np.append(ends, len(chunk))  # the last line lacks its line end
        if len(ends):
            counts = np.diff(np.searchsorted(separators, ends), prepend=0)
            counts[0] += separators_before
            starts = np.concatenate(([record_start - offset], ends[:-1] + 1))
            yield _Chunk(
                counts + 1, _are_blank(data, starts + offset, ends + offset), starts, newlines, lines, record_line
            )
            separators_before = len(separators) - int(np.searchsorted(separators, ends[-1]))
            record_start = offset + int(ends[-1]) + 1
            record_line = lines + int(np.searchsorted(newlines, ends[-1], side="right")) + 1
        else:
            separators_before += len(separators)
        lines += len(newlines)
    if in_quotes:
        raise TableError(
            f'{source}, line {record_line}: a quote (") is opened in this row and not closed. Close it, or double it '
            "if it is part of the text."
        )


def _inside(positions: np.ndarray, quotes: np.ndarray, in_quotes: int) -> np.ndarray:
    return ((np.searchsorted(quotes, positions) + in_quotes) & 1).astype(bool)


def _record_ends(chunk: np.ndarray, in_quotes: int) -> np.ndarray:
    newlines = np.flatnonzero(chunk == NEWLINE)
    return newlines[~_inside(newlines, np.flatnonzero(chunk == _QUOTE), in_quotes)]


def _are_blank(data: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    lengths = ends - starts
    blank = lengths == 0
    short = np.flatnonzero(lengths == 1)
    blank[short] = data[starts[short]] == _RETURN
    return blank


def _check_quotes(
    data: np.ndarray, offset: int, quotes: np.ndarray, in_quotes: int, separator: int, source: str
) -> None:
    """A quote opens at the start of a field and closes at its end; next to another quote it is part of the text."""
    opening, closing = offset + quotes[in_quotes::2], offset + quotes[1 - in_quotes :: 2]
    opening, closing = opening[opening > 0], closing[closing < len(data) - 1]
    edges = np.array([separator, NEWLINE, _RETURN, _QUOTE], dtype=np.uint8)
    stray = np.concatenate(
        [opening[~np.isin(data[opening - 1], edges)], closing[~np.isin(data[closing + 1], edges)]],
    )
    if len(stray):
        where = int(stray.min())
        raise TableError(
            f'{source}, line {line_of(data, where)}, character {column_of(data, where)}: there is a quote (") in the '
            "middle of a field. Put the whole field in quotes, with no spaces outside them, and double the quotes that "
            'are part of the text: "5"" disk".'
        )


def _ragged(source: str, line: int, found: int, expected: int) -> TableError:
    cure = "Correct this line; a field that contains the separator must be in quotes."
    if found == expected + 1:
        cure += (
            " If every line has one field more than the header, the header has no name for the row labels: add one at "
            "its start."
        )
    noun = "field" if found == 1 else "fields"
    return TableError(
        f"{source}, line {line}: {found} {noun} found, but {expected} expected from the first line. {cure}"
    )


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is compressed by gzip."""
    return path.suffix.lower() == ".gz"


def unpacked(path: Path) -> bytes:
    """What is in a file that is compressed by gzip."""
    most = physical_memory() // _MEMORY_SHARE
    chunks, length = [], 0
    try:
        with gzip.open(path) as file:
            while length <= most and (chunk := file.read(CHUNK)):
                chunks.append(chunk)
                length += len(chunk)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"{path}: the file cannot be decompressed by gzip ({error}). Check that it is complete."
        ) from error
    if length > most:
        raise TableError(
            f"{path}: decompressed, this is more than {most / 2**30:.1f} GiB of text, which is too much for the "
            "memory of this machine. Decompress it and read a part of it."
        )
    return b"".join(chunks)


def check_encoding(data: np.ndarray, source: str) -> None:
    """Raise at the first byte that is not UTF-8, with its line and column."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        if not chunk.all():
            where = start + int(np.argmin(chunk != 0))
            raise TableError(
                f"{source}, line {line_of(data, where)}: there is a NUL byte, so this is not a UTF-8 text file. If a "
                f"spreadsheet wrote it as 'Unicode text', use {argument('encoding', 'utf-16')}; otherwise check the "
                "format."
            )
        pending = len(decoder.getstate()[0])
        if chunk.max() < 128 and not pending:
            continue
        try:
            decoder.decode(chunk.tobytes(), final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            raise _undecodable(data, start - pending + error.start, "utf-8", source) from error


def decoded(data: np.ndarray, encoding: str, source: str) -> np.ndarray:
    """The same text as UTF-8 bytes."""
    try:
        text = data.tobytes().decode(encoding)
    except LookupError as error:
        raise TableError(
            f"{argument('encoding', encoding)} is not known. Use for example 'utf-8', 'cp1252' or 'utf-16'."
        ) from error
    except UnicodeDecodeError as error:
        raise _undecodable(data, error.start, encoding, source) from error
    return np.frombuffer(text.removeprefix("\ufeff").encode(), dtype=np.uint8)


def _undecodable(data: np.ndarray, where: int, encoding: str, source: str) -> TableError:
    line, column = line_of(data, where), column_of(data, where)
    try:
        data[max(0, where - 200) : where + 200].tobytes().decode("cp1252")
        likely = "cp1252"
    except UnicodeDecodeError:
        likely = "latin-1"
    return TableError(
        f"{source}, line {line}, character {column}: byte 0x{int(data[where]):02x} is not {encoding} text. The file "
        f"was probably written in another encoding: try {argument('encoding', likely)}."
    )


def line_of(data: np.ndarray, where: int) -> int:
    """Number of the line that holds this byte, from 1."""
    return 1 + sum(
        int(np.count_nonzero(data[start : min(where, start + CHUNK)] == NEWLINE)) for start in range(0, where, CHUNK)
    )


def column_of(data: np.ndarray, where: int) -> int:
    """Number of the character in its line, from 1."""
    before = data[max(0, where - 1_000_000) : where].tobytes()
    return 1 + len(before[before.rfind(b"\n") + 1 :].decode("utf-8", errors="replace"))
