"""ARFF files out: strings that are classes become nominal, and sparse tables sparse rows."""

from pathlib import Path
from typing import TextIO

import numpy as np
import polars as pl

from fewer.io._convert import dataset_to_polars, target_name
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError

_SPECIAL = (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


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
