"""Parquet and Arrow (Feather) files, by polars; tried in a child process first."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from fewer.io._confined import UnreadableError, read_confined
from fewer.io._errors import TableError
from fewer.io._formats import Options
from fewer.io._memory import Table


def read_parquet(path: Path, options: Options) -> Table:
    """The table in a Parquet file."""
    return _read(path, "parquet", lambda: pl.read_parquet(path, glob=False), "a Parquet")


def read_arrow(path: Path, options: Options) -> Table:
    """The table in an Arrow IPC (Feather version 2) file."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"FEA1":
        raise TableError(f"{path}: this is the first version of Feather, which is not read. Write it anew as Parquet.")
    return _read(path, "arrow", lambda: pl.read_ipc(path), "an Arrow")


def _read(path: Path, format: str, read: Callable[[], pl.DataFrame], what: str) -> Table:
    try:
        read_confined(format, path, lambda reply: None)
        frame = read()
    except UnreadableError as error:
        raise error.as_error(path, what) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UnreadableError(reason, type(error).__name__).as_error(path, what) from error
    return Table(frame, frame.columns, str(path))
