"""Parquet and Arrow (Feather) files, by polars."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from fewer.io._errors import TableError
from fewer.io._formats import Options
from fewer.io._memory import Table


def read_parquet(path: Path, options: Options) -> Table:
    """The table in a Parquet file."""
    return _read(path, lambda: pl.read_parquet(path), "a Parquet")


def read_arrow(path: Path, options: Options) -> Table:
    """The table in an Arrow IPC (Feather version 2) file."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"FEA1":
        raise TableError(f"{path}: this is the first version of Feather, which is not read. Write it anew as Parquet.")
    return _read(path, lambda: pl.read_ipc(path), "an Arrow")


def _read(path: Path, read: Callable[[], pl.DataFrame], name: str) -> Table:
    try:
        frame = read()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise TableError(
            f"{path}: this cannot be read as {name} file ({reason}). Was it written completely?"
        ) from error
    return Table(frame, frame.columns, str(path))
