"""Files that hold a frame: CSV, Parquet, Arrow, Excel and SQLite."""

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import polars.selectors as cs

from fewer.io._convert import dataset_to_polars
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, shortened

_MOST_EXCEL_ROWS, _MOST_EXCEL_COLUMNS = 1_048_575, 16_384


def frame_of(table: Dataset | pl.DataFrame) -> pl.DataFrame:
    """Columns and target of a Dataset as a frame, or the frame itself."""
    return dataset_to_polars(table) if isinstance(table, Dataset) else table


def _flat_frame_of(table: Dataset | pl.DataFrame, format: str) -> pl.DataFrame:
    frame = frame_of(table)
    if nested := [name for name, dtype in frame.schema.items() if dtype.is_nested() or dtype == pl.Binary]:
        raise TableError(f"{format} cannot hold lists or bytes, as in the columns {shortened(nested)}. Write Parquet.")
    return frame


def write_csv(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write text with separators: tabs for ``.tsv``, commas otherwise."""
    frame = _flat_frame_of(table, "CSV")
    frame = frame.with_columns(cs.by_dtype(pl.Categorical, pl.Enum, pl.Duration).cast(pl.String))
    separator = "\t" if ".tsv" in path.name.lower() or ".tab" in path.name.lower() else ","
    # A missing value alone on its line would be a blank line, which is no row at the end of a file.
    frame.write_csv(path, separator=separator, null_value="NA" if frame.width == 1 else "")


def write_parquet(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write Parquet."""
    frame_of(table).write_parquet(path)


def write_arrow(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write Arrow IPC, which is Feather version 2."""
    frame_of(table).write_ipc(path)


def write_excel(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write a workbook with one sheet."""
    if importlib.util.find_spec("xlsxwriter") is None:
        raise TableError("Writing Excel files needs xlsxwriter. Install it by pip install 'fewer[excel]'.")
    frame = _flat_frame_of(table, "Excel")
    if frame.height > _MOST_EXCEL_ROWS or frame.width > _MOST_EXCEL_COLUMNS:
        raise TableError(
            f"An Excel sheet holds {_MOST_EXCEL_ROWS:,} rows and {_MOST_EXCEL_COLUMNS:,} columns at most, but the "
            f"table has {frame.height:,} and {frame.width:,}. Write Parquet or CSV."
        )
    infinite = [series.name for series in frame if series.dtype.is_float() and series.is_infinite().any()]
    if infinite:
        raise TableError(
            f"Excel cannot hold infinite values, as in the columns {shortened(infinite)}. Write Parquet or CSV."
        )
    frame.with_columns(cs.by_dtype(pl.Categorical, pl.Enum).cast(pl.String)).write_excel(path)


def write_sqlite(path: Path, table: Dataset | pl.DataFrame) -> None:
    """Write a database with one table, named after the file."""
    frame = _flat_frame_of(table, "SQLite")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    name = '"' + path.name.split(".part.")[-1].split(".")[0].replace('"', '""') + '"'
    cells = frame.with_columns(cs.temporal().cast(pl.String), cs.by_dtype(pl.Categorical, pl.Enum).cast(pl.String))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {name} ({names})")
        marks = ", ".join("?" * frame.width)
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", cells.iter_rows())
