"""write_table: one door for every file format."""

import gzip
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from fewer.io._arff_write import write_arff
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, refuse_repeated_names, shortened
from fewer.io._formats import format_of
from fewer.io._frame_writers import write_arrow, write_csv, write_excel, write_parquet, write_sqlite
from fewer.io._matrix_writers import write_mat, write_npz, write_svm
from fewer.io._memory import table_from_memory

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


def write_table(table: Any, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a table to a file, which `read_table` reads back.

    The file is written beside its place and moved there when it is complete, so that a full disk or Ctrl-C never
    destroys what was there before.

    Parameters
    ----------
    table : Dataset, pandas or polars frame, array, sparse matrix or dict of columns
        What to write. The target of a Dataset becomes the last column, or the label where the format has one.
    path : path
        Where to. The suffix tells the format: ``.csv``, ``.tsv``, ``.arff`` (each also with ``.gz``), ``.parquet``,
        ``.feather``, ``.arrow``, ``.svm``, ``.npz``, ``.mat``, ``.xlsx``, ``.sqlite``.
    format : str, optional
        The format when the suffix does not tell it: csv, parquet, arrow, arff, svmlight, mat, npz, excel, sqlite.

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
        raise TableError(f"{place}: there is no folder {place.parent}. Make it first.")
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
        raise TableError(f"{place} holds other tables, which would be lost: {shortened(others)}. Choose another name.")
