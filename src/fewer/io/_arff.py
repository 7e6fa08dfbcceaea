"""ARFF files: a header that declares the columns, then rows, dense (``1,x,?``) or sparse (``{0 1, 3 x}``)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io._arff_header import Attribute, parsed_attribute, unquoted
from fewer.io._encoding import decoded, is_packed, unpacked
from fewer.io._errors import TableError, did_you_mean, shortened
from fewer.io._formats import Options
from fewer.io._memory import Table

_FIELD = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,'\"][^,]*|)\s*(,|$)")
_PAIR = re.compile(r"\s*(\d{1,18})\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,'\"\s][^,]*)\s*(,|$)")


class _Rows(NamedTuple):
    """The lines with data, and the number of each in the file."""

    lines: list[str]
    numbers: list[int]


def read_arff(path: Path, options: Options) -> Table:
    """The table in an ARFF file; nominal attributes become categories.

    Sparse rows become a sparse matrix. It holds numbers only, so that a single attribute which is not a number is taken
    for the target.
    """
    source = str(path)
    attributes, rows = _parts(_text(path, options.encoding, source), source)
    names = [attribute.name for attribute in attributes]
    if rows.lines[0].startswith("{"):
        return _sparse_table(attributes, rows, source)
    columns = _columns(rows, len(attributes), source)
    series = [
        _typed(column.alias(attribute.name), attribute, rows.numbers, source)
        for column, attribute in zip(columns, attributes, strict=True)
    ]
    # Names may repeat here; that is reported with their positions later.
    frame = pl.DataFrame([one.alias(str(j)) for j, one in enumerate(series)])
    return Table(frame, names, source)


def _text(path: Path, encoding: str, source: str) -> str:
    data = unpacked(path) if is_packed(path) else path.read_bytes()
    return decoded(np.frombuffer(data, dtype=np.uint8), encoding, source).tobytes().decode()


def _parts(text: str, source: str) -> tuple[list[Attribute], _Rows]:
    attributes: list[Attribute] = []
    rows, in_data = _Rows([], []), False
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("%"):
            continue
        if in_data:
            rows.lines.append(stripped)
            rows.numbers.append(number)
        elif stripped.lower().startswith("@attribute"):
            attributes.append(parsed_attribute(stripped, f"{source}, line {number}"))
        elif stripped.lower().startswith("@data"):
            in_data = True
        elif not stripped.lower().startswith("@relation"):
            raise TableError(
                f"{source}, line {number}: {stripped[:60]!r} is out of place before @data. The header of an ARFF file "
                "holds lines with @relation, @attribute and comments (%)."
            )
    if not attributes or not rows.lines:
        missing = "@attribute lines" if not attributes else "lines with @data" if not in_data else "rows after @data"
        raise TableError(f"{source}: there are no {missing}. Is this a complete ARFF file?")
    return attributes, rows


def _columns(rows: _Rows, width: int, source: str) -> list[pl.Series]:
    """The fields as text, null for ``?``; lines without quotes by polars, and one at a time when there are any."""
    whole = "\n".join(rows.lines)
    if "'" in whole or '"' in whole:
        records = [_fields(line, number, width, source) for line, number in zip(rows.lines, rows.numbers, strict=True)]
        return [pl.Series(values, dtype=pl.String) for values in zip(*records, strict=True)]
    for line, number in zip(rows.lines, rows.numbers, strict=True):
        if line.count(",") != width - 1:
            raise _wrong_width(source, number, line.count(",") + 1, width)
    frame = pl.read_csv(whole.encode(), has_header=False, infer_schema=False, quote_char=None)
    return [series.set(series == "?", None) for series in (series.str.strip_chars() for series in frame)]


def _fields(line: str, number: int, width: int, source: str) -> list[str | None]:
    fields: list[str | None] = []
    position, separator = 0, ","
    while separator == ",":
        match = _FIELD.match(line, position)
        if match is None:
            raise TableError(
                f"{source}, line {number}: field {len(fields) + 1} has a quote out of place. Put the whole field in "
                "quotes, and a backslash before quotes inside it."
            )
        fields.append(None if match[1].strip() == "?" else unquoted(match[1]))
        position, separator = match.end(), match[2]
    if len(fields) != width:
        raise _wrong_width(source, number, len(fields), width)
    return fields


def _wrong_width(source: str, number: int, found: int, width: int) -> TableError:
    noun = "field" if found == 1 else "fields"
    return TableError(f"{source}, line {number}: {found} {noun} found, but the header declares {width} attributes.")


def _typed(column: pl.Series, attribute: Attribute, numbers: list[int], source: str) -> pl.Series:
    """The text as what the attribute declares; raises at the first value that is not."""
    if attribute.type == "string":
        return column
    if attribute.type == "numeric":
        digits = column.str.strip_prefix("+")
        typed = digits.cast(pl.Int64, strict=False)
        if typed.null_count() > column.null_count():
            typed = digits.cast(pl.Float64, strict=False)
        wanted = "a number"
    elif attribute.type == "date":
        typed = column.str.to_datetime(attribute.date_format, strict=False)
        typed = typed if "%H" in attribute.date_format else typed.cast(pl.Date)
        wanted = f"a date of the form {attribute.date_format}"
    else:
        typed = column.cast(pl.Enum(attribute.values), strict=False)
        wanted = f"one of its values {{{shortened(attribute.values)}}}"
    wrong = (typed.is_null() & column.is_not_null()).arg_true()
    if wrong.len():
        value = column[wrong[0]]
        near = did_you_mean(value, attribute.values) if attribute.type == "nominal" else ""
        hint = f" {near}" if near.startswith("Did") else ""
        raise TableError(
            f"{source}, line {numbers[wrong[0]]}: {value!r} in the attribute {attribute.name!r} is not {wanted}.{hint}"
        )
    return typed


def _sparse_table(attributes: list[Attribute], rows: _Rows, source: str) -> Table:
    cells = list(_sparse_cells(attributes, rows, source))
    row_of = np.array([row for row, _, _ in cells], dtype=np.int64)
    column_of = np.array([column for _, column, _ in cells], dtype=np.int64)
    text = pl.Series([cell for _, _, cell in cells], dtype=pl.String)
    others = [j for j, attribute in enumerate(attributes) if not _is_numeric(attribute)]
    if len(others) > 1:
        raise TableError(
            f"{source}: the rows are sparse, but these attributes are not numbers: "
            f"{shortened([attributes[j].name for j in others])}. A sparse table holds numbers, and one target."
        )
    numeric = np.flatnonzero(~np.isin(column_of, others))
    values = np.zeros(len(cells))
    values[numeric] = _sparse_numbers(text[numeric], attributes, column_of[numeric], row_of[numeric], rows, source)
    kept = [j for j in range(len(attributes)) if j not in others]
    matrix = sp.csr_array((values, (row_of, column_of)), shape=(len(rows.lines), len(attributes)))
    y, target = None, None
    if others:
        target = attributes[others[0]].name
        where = np.flatnonzero(column_of == others[0])
        y = _sparse_target(attributes[others[0]], row_of[where], text[where].to_list(), rows, source)
        matrix = matrix[:, kept]
    return Table(matrix, [attributes[j].name for j in kept], source, y=y, target=target)


def _sparse_numbers(
    text: pl.Series, attributes: list[Attribute], column_of: np.ndarray, row_of: np.ndarray, rows: _Rows, source: str
) -> np.ndarray:
    missing = (text == "?").to_numpy()
    numbers = text.str.strip_prefix("+").cast(pl.Float64, strict=False)
    wrong = np.flatnonzero(numbers.is_null().to_numpy() & ~missing)
    if len(wrong):
        first = int(wrong[0])
        line, name = rows.numbers[row_of[first]], attributes[column_of[first]].name
        raise TableError(f"{source}, line {line}: {text[first]!r} in the attribute {name!r} is not a number.")
    return numbers.fill_null(np.nan).to_numpy()


def _is_numeric(attribute: Attribute) -> bool:
    """Numbers, or categories that are all numbers."""
    if attribute.type != "nominal":
        return attribute.type == "numeric"
    return pl.Series(attribute.values).cast(pl.Float64, strict=False).null_count() == 0 and "0" in attribute.values


def _sparse_target(attribute: Attribute, row_of: np.ndarray, text: list[str], rows: _Rows, source: str) -> Any:
    # What a sparse row leaves out is zero, and zero stands for the first of the values.
    values: list[str | None] = [attribute.values[0] if attribute.values else None] * len(rows.lines)
    for row, value in zip(row_of.tolist(), text, strict=True):
        values[row] = None if value == "?" else unquoted(value)
    return _typed(pl.Series(values, dtype=pl.String), attribute, rows.numbers, source)


def _sparse_cells(attributes: list[Attribute], rows: _Rows, source: str) -> Iterator[tuple[int, int, str]]:
    for row, (line, number) in enumerate(zip(rows.lines, rows.numbers, strict=True)):
        if not (line.startswith("{") and line.endswith("}")):
            raise TableError(
                f"{source}, line {number}: the first row is sparse, so this one should stand in braces, too."
            )
        inside, position, last = line[1:-1].strip(), 0, -1
        while position < len(inside):
            match = _PAIR.match(inside, position)
            if match is None or not last < int(match[1]) < len(attributes):
                raise TableError(
                    f"{source}, line {number}: {inside[position : position + 30]!r} is not 'index value' with an index "
                    f"that grows from 0 to {len(attributes) - 1}."
                )
            last, position = int(match[1]), match.end()
            yield row, last, match[2].strip()
