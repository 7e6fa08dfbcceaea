"""ARFF files: a header that declares the columns, then rows, dense (``1,x,?``) or sparse (``{0 1, 3 x}``).

Written files declare strings that are classes as nominal, and hold sparse tables as sparse rows.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import did_you_mean, listed_values
from fewer.io._convert import dataset_to_polars, target_name
from fewer.io._csv import decoded, is_packed, unpacked
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError
from fewer.io._memory import Table
from fewer.io._read import Options

_FIELD = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,'\"][^,]*|)\s*(,|$)")
_PAIR = re.compile(r"\s*(\d{1,18})\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,'\"\s][^,]*)\s*(,|$)")
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{}},]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,]*)\s*(?:,|$)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")
_DATE_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"
# Letters of Java's date formats, which ARFF uses, and what polars calls them.
_DATE_LETTERS = (
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
    (".SSS", "%.3f"),
)
_SPECIAL = (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


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


@dataclass(frozen=True)
class Attribute:
    """One column: its type is numeric, nominal, string or date."""

    name: str
    type: str
    values: tuple[str, ...] = ()
    date_format: str = ""


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
                f"{source}, line {number}: {stripped[:60]!r} is not allowed before @data. The header of an ARFF file "
                "holds lines with @relation, @attribute and comments (%)."
            )
    if not attributes or not rows.lines:
        missing = "@attribute lines" if not attributes else "lines with @data" if not in_data else "rows after @data"
        raise TableError(f"{source}: there are no {missing}. Check that the ARFF file is complete.")
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
                f"{source}, line {number}: field {len(fields) + 1} has a misplaced quote. Put the whole field in "
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
        typed = _dates(column, attribute, source)
        wanted = f"a date of the form {attribute.date_format}"
    else:
        typed = column.cast(pl.Enum(attribute.values), strict=False)
        wanted = f"one of its values {{{listed_values(attribute.values)}}}"
    wrong = (typed.is_null() & column.is_not_null()).arg_true()
    if wrong.len():
        value = column[wrong[0]]
        near = did_you_mean(value, attribute.values, "values") if attribute.type == "nominal" else ""
        hint = f" {near}" if near.startswith("Did") else ""
        raise TableError(
            f"{source}, line {numbers[wrong[0]]}: {value!r} in the attribute {attribute.name!r} is not {wanted}.{hint}"
        )
    return typed


def _dates(column: pl.Series, attribute: Attribute, source: str) -> pl.Series:
    try:
        typed = column.str.to_datetime(attribute.date_format, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{source}: the dates of the attribute {attribute.name!r} have a format that is not supported. Write "
            "them as "
            "yyyy-MM-dd."
        ) from error
    return typed if "%H" in attribute.date_format else typed.cast(pl.Date)


def _sparse_table(attributes: list[Attribute], rows: _Rows, source: str) -> Table:
    cells = list(_sparse_cells(attributes, rows, source))
    row_of = np.array([row for row, _, _ in cells], dtype=np.int64)
    column_of = np.array([column for _, column, _ in cells], dtype=np.int64)
    text = pl.Series([cell for _, _, cell in cells], dtype=pl.String)
    others = [j for j, attribute in enumerate(attributes) if not _is_numeric(attribute)]
    if len(others) > 1:
        raise TableError(
            f"{source}: the rows are sparse, but these attributes are not numbers: "
            f"{listed_values([attributes[j].name for j in others])}. A sparse table holds numbers, and one target."
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
                f"{source}, line {number}: the first row is sparse, so this one must be in braces as well."
            )
        inside, position, last = line[1:-1].strip(), 0, -1
        while position < len(inside):
            match = _PAIR.match(inside, position)
            if match is None or not last < int(match[1]) < len(attributes):
                raise TableError(
                    f"{source}, line {number}: {inside[position : position + 30]!r} is not 'index value' pairs with "
                    f"increasing indices from 0 to {len(attributes) - 1}."
                )
            last, position = int(match[1]), match.end()
            yield row, last, match[2].strip()


def unquoted(text: str) -> str:
    """The text without its quotes and escapes."""
    text = text.strip()
    if len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        return text
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)


def parsed_attribute(line: str, where: str) -> Attribute:
    """The attribute that a line ``@attribute name type`` declares."""
    match = _ATTRIBUTE.fullmatch(line.strip())
    if match is None or not match[2]:
        raise TableError(f"{where}: {line.strip()[:80]!r} is not a declaration. It should be: @attribute name type")
    name, kind = unquoted(match[1]), match[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise TableError(f"{where}: the values of the attribute {name!r} have no closing brace.")
        return Attribute(name, "nominal", nominal_values(kind[1:-1], name, where))
    word = kind.split()[0].lower()
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "string")
    if word == "date":
        return Attribute(name, "date", date_format=_polars_format(unquoted(kind[4:].strip()) or _DATE_FORMAT))
    raise TableError(
        f"{where}: the attribute {name!r} is of the type {kind[:40]!r}, which is not supported. Types are numeric, "
        "real, "
        "integer, string, date and {value, value, ...}."
    )


def nominal_values(text: str, name: str, where: str) -> tuple[str, ...]:
    """The values between the braces."""
    values, position = [], 0
    while position < len(text):
        match = _VALUE.match(text, position)
        if match is None:
            raise TableError(f"{where}: a quote in the values of the attribute {name!r} is never closed.")
        values.append(unquoted(match[1]))
        position = match.end()
    repeats = [value for value, count in Counter(values).items() if count > 1]
    if repeats or not values:
        fault = f"repeat {min(repeats)!r}" if repeats else "are missing"
        raise TableError(f"{where}: the values of the attribute {name!r} {fault}. List each once.")
    return tuple(values)


def _polars_format(java: str) -> str:
    for letters, directive in _DATE_LETTERS:
        java = java.replace(letters, directive)
    return java.replace("'", "")


def write_arff(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write the table, the target as the last attribute."""
    nominal: set[str] = set()
    if isinstance(table, Dataset):
        nominal = {*table.columns_of_kind("categorical"), *table.columns_of_kind("boolean"), target_name(table)}
        if table.is_sparse:
            _write_sparse(path, table)
            return
        table = dataset_to_polars(table)
    with path.open("w", encoding="utf-8", newline="") as file:
        _write_header(file, [_declaration(series, series.name in nominal) for series in table])
        cells = pl.DataFrame([_as_text(series) for series in table])
        file.write(cells.write_csv(include_header=False, quote_style="never", null_value="?"))


def _write_header(file: TextIO, declarations: list[str]) -> None:
    file.write("@relation table\n\n" + "".join(f"@attribute {declared}\n" for declared in declarations) + "\n@data\n")


def _quoted(text: str) -> str:
    for character, escaped in _SPECIAL:
        text = text.replace(character, escaped)
    return f"'{text}'"


def _declaration(series: pl.Series, nominal: bool) -> str:
    name, dtype = _quoted(series.name), series.dtype
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return f"{name} numeric"
    if dtype == pl.Date:
        return f'{name} date "yyyy-MM-dd"'
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return f"{name} date \"yyyy-MM-dd'T'HH:mm:ss.SSS\""
    if isinstance(dtype, pl.Enum):
        values = list(dtype.categories)
    elif dtype == pl.String or isinstance(dtype, pl.Categorical):
        values = series.drop_nulls().cast(pl.String).unique().sort().to_list()
        if not values or (dtype == pl.String and not nominal):
            return f"{name} string"
    else:
        raise TableError(
            f"ARFF cannot hold the column {series.name!r} of type {dtype}. Leave it out, or write Parquet."
        )
    return f"{name} {{{','.join(map(_quoted, values))}}}"


def _as_text(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype == pl.Boolean:
        return series.cast(pl.Int8).cast(pl.String)
    if dtype.is_numeric() or dtype == pl.Null:
        return series.cast(pl.String)
    if dtype == pl.Date:
        return series.dt.to_string("%Y-%m-%d")
    if isinstance(dtype, pl.Datetime):
        return series.dt.to_string("%Y-%m-%dT%H:%M:%S%.3f")
    text = series.cast(pl.String)
    for character, escaped in _SPECIAL:
        text = text.str.replace_all(character, escaped, literal=True)
    return pl.select(pl.concat_str(pl.lit("'"), text, pl.lit("'"))).to_series().alias(series.name)


def _write_sparse(path: Path, dataset: Dataset) -> None:
    X, y = dataset.X.tocsr(), dataset.y
    declarations = [f"{_quoted(name)} numeric" for name in dataset.columns]
    ends = [""] * dataset.n_rows
    if y is not None:
        target = pl.Series(target_name(dataset), y.tolist())
        declarations.append(_declaration(target, nominal=True))
        ends = [f"{dataset.n_columns} {text}" for text in _as_text(target)]
    with path.open("w", encoding="utf-8", newline="") as file:
        _write_header(file, declarations)
        for row, end in enumerate(ends):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            order = np.argsort(X.indices[stored])
            pairs = zip(X.indices[stored][order].tolist(), X.data[stored][order].tolist(), strict=True)
            cells = [f"{j} {'?' if value != value else value}" for j, value in pairs]
            file.write("{" + ", ".join([*cells, end] if end else cells) + "}\n")
