"""A look at the bytes of a CSV file before it is parsed, for errors that name the line.

Parsers fill short rows silently and stop at others with a message about offsets. Here every record is counted: a
separator or a line end counts when an even number of quotes stands before it. The file is read in chunks and only the
positions of quotes, separators and line ends are looked at, so that this costs a fraction of the parsing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fewer.io._encoding import CHUNK, NEWLINE, column_of, line_of
from fewer.io._errors import TableError

_RETURN, _QUOTE = 13, 34


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
            f'{source}, line {record_line}: a quote (") is opened in this row and never closed. Close it, or double it '
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
    cure = "Mend this line; a separator that is part of a text must stand in quotes."
    if found == expected + 1:
        cure += (
            " If every line has one field more than the header, the header lacks a name for the row labels: add one at "
            "its start."
        )
    noun = "field" if found == 1 else "fields"
    return TableError(
        f"{source}, line {line}: {found} {noun} found, but {expected} expected from the first line. {cure}"
    )
