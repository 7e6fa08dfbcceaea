"""`write_table`: writes a table to a file of any format; here are the formats that hold a frame."""

import gzip
import importlib.util
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from fewer._wording import listed_values
from fewer.io._arff import write_arff
from fewer.io._convert import dataset_to_polars
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, refuse_repeated_names
from fewer.io._matrix_files import write_mat, write_npz, write_svm
from fewer.io._memory import table_from_memory
from fewer.io._read import format_of

_MOST_EXCEL_ROWS, _MOST_EXCEL_COLUMNS = 1_048_575, 16_384


def write_table(table: Any, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a table to a file, which `read_table` reads back.

    The file is written beside its place and moved there when it is complete, so that a full disk or Ctrl-C never
    destroys what was there before.

    Parameters
    ----------
    table : Dataset, pandas or polars frame, array, sparse matrix or dict of columns
        What to write. The target of a Dataset becomes the last column, or the label where the format has one.
    path : path
        The file. Its suffix decides the format: ``.csv``, ``.tsv``, ``.arff`` (each also with ``.gz``), ``.parquet``,
        ``.feather``, ``.arrow``, ``.svm``, ``.npz``, ``.mat``, ``.xlsx``, ``.sqlite``.
    format : str, optional
        The format, if the suffix does not show it: csv, parquet, arrow, arff, svmlight, mat, npz, excel, sqlite.

    Raises
    ------
    TableError
        When the format cannot hold the table, or the file cannot be written.

    Notes
    -----
    Parquet and Arrow keep the types of columns. Text formats keep the values: strings such as "NA", or strings that
    look like numbers, are read back as missing or as numbers. svmlight keeps no names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewer.io import read_table, write_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "plants.parquet")
    >>> write_table({"height": [1.5, None], "kind": ["fern", "moss"]}, path)
    >>> read_table(path, target="kind").X
    array([[1.5],
           [nan]])
    >>> folder.cleanup()
    """
    place = Path(os.path.realpath(Path(path).expanduser()))
    key = format_of(place, format)
    if key == "sqlite":
        _check_no_other_tables(place)
    if not place.parent.is_dir():
        raise TableError(f"{place}: there is no folder {place.parent}. Create it first.")
    content = table if isinstance(table, Dataset) else _frame_or_dataset(table)
    try:
        _write_and_move(place, _WRITERS[key], content)
    except (OSError, sqlite3.OperationalError) as error:
        raise TableError(f"{place} could not be written: {getattr(error, 'strerror', None) or error}.") from error
    except (pl.exceptions.PolarsError, TypeError, NotImplementedError, OverflowError) as error:
        raise TableError(f"{place}: the format {key} cannot hold this table: {error}") from error


def _write_and_move(place: Path, write: Callable[[Path, Dataset | pl.DataFrame], None], content: Any) -> None:
    packed = place.name.lower().endswith(".gz")
    # The name keeps its suffix, for which some writers look, and starts with a point, so that nobody takes it for
    # a table.
    token = f".{secrets.token_hex(4)}.part."
    parts = [place.with_name(token + (place.name[:-3] if packed else place.name))]
    try:
        write(parts[0], content)
        if packed:
            parts.append(place.with_name(token + place.name))
            with parts[0].open("rb") as plain, gzip.open(parts[1], "wb", compresslevel=6) as file:
                shutil.copyfileobj(plain, file)
        with parts[-1].open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(parts[-1], place)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _frame_or_dataset(table: Any) -> Dataset | pl.DataFrame:
    """Frames as they are, without reading numbers or dates out of strings; arrays and sparse matrices as a Dataset."""
    found = table_from_memory(table)
    refuse_repeated_names(found.source, found.columns)
    if isinstance(found.data, pl.DataFrame):
        frame = found.data.clone()
        frame.columns = found.columns
        return frame
    return Dataset.from_frame(table, missing_values=())


def _check_no_other_tables(place: Path) -> None:
    if not place.exists():
        return
    try:
        with closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    except sqlite3.Error as error:
        raise TableError(f"{place} exists and is not a SQLite database ({error}). Choose another name.") from error
    if others := [name for name in names if name != place.name.split(".")[0]]:
        raise TableError(
            f"{place} holds other tables, which would be lost: {listed_values(others)}. Choose another name."
        )


def frame_of(table: Dataset | pl.DataFrame) -> pl.DataFrame:
    """Columns and target of a Dataset as a frame, or the frame itself."""
    return dataset_to_polars(table) if isinstance(table, Dataset) else table


def _flat_frame_of(table: Dataset | pl.DataFrame, format: str) -> pl.DataFrame:
    frame = frame_of(table)
    if nested := [name for name, dtype in frame.schema.items() if dtype.is_nested() or dtype == pl.Binary]:
        raise TableError(
            f"{format} cannot hold the lists or bytes in the columns {listed_values(nested)}. Use Parquet."
        )
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
        raise TableError("Writing Excel files needs xlsxwriter. Install it with pip install 'fewer[excel]'.")
    frame = _flat_frame_of(table, "Excel")
    if frame.height > _MOST_EXCEL_ROWS or frame.width > _MOST_EXCEL_COLUMNS:
        raise TableError(
            f"An Excel sheet holds {_MOST_EXCEL_ROWS:,} rows and {_MOST_EXCEL_COLUMNS:,} columns at most, but the "
            f"table has {frame.height:,} and {frame.width:,}. Write Parquet or CSV."
        )
    infinite = [series.name for series in frame if series.dtype.is_float() and series.is_infinite().any()]
    if infinite:
        raise TableError(
            f"Excel cannot hold infinite values, as in the columns {listed_values(infinite)}. Write Parquet or CSV."
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


_WRITERS: dict[str, Callable[[Path, Dataset | pl.DataFrame], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "arff": write_arff,
    "svmlight": write_svm,
    "mat": write_mat,
    "npz": write_npz,
    "excel": write_excel,
    "sqlite": write_sqlite,
}
