"""The file formats there are: what a format is called, which suffixes it has, and which function reads it.

A new format is one function ``read(path, options) -> Table`` and one line in ``FORMATS``. The module of a format is
imported when a file of it is read.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from fewer.io._errors import TableError
from fewer.io._frame import DEFAULT_MISSING
from fewer.io._memory import Table


@dataclass(frozen=True)
class Options:
    """How to read a file; each format uses some of these."""

    header: bool = True
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    query: str | None = None
    table: str | None = None
    sheet: str | int | None = None
    missing_values: Iterable[object] = DEFAULT_MISSING


class Format(NamedTuple):
    """A file format: where its reader is, its suffixes, and the options that the reader uses."""

    module: str
    reader: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()


_TEXT_OPTIONS = ("header", "separator", "decimal", "encoding")
FORMATS = {
    "csv": Format("_csv", "read_csv", (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz"), _TEXT_OPTIONS),
    "parquet": Format("_arrow", "read_parquet", (".parquet", ".pq")),
    "arrow": Format("_arrow", "read_arrow", (".arrow", ".feather", ".ipc")),
    "arff": Format("_arff", "read_arff", (".arff", ".arff.gz"), ("encoding",)),
    "svmlight": Format("_svmlight", "read_svmlight", (".svm", ".svmlight", ".libsvm", ".svm.gz", ".libsvm.gz")),
    "mat": Format("_matrix_files", "read_mat", (".mat",)),
    "npz": Format("_matrix_files", "read_npz", (".npz",)),
    "excel": Format("_excel", "read_excel", (".xlsx", ".xls", ".xlsb", ".ods"), ("sheet", "header")),
    "sqlite": Format("_database", "read_sqlite", (".db", ".sqlite", ".sqlite3"), ("query", "table")),
}


def format_of(path: Path, asked: str | None = None) -> str:
    """Name of the format, as asked for or by the suffix of the path."""
    name = path.name.lower()
    for key, known in FORMATS.items():
        if key == asked or (asked is None and name.endswith(known.suffixes)):
            return key
    if asked is not None:
        raise TableError(f"format={asked!r} is not known. Use one of {', '.join(FORMATS)}.")
    suffixes = sorted({suffix for known in FORMATS.values() for suffix in known.suffixes})
    raise TableError(
        f"{path}: the format cannot be told from the name. Use a known suffix ({', '.join(suffixes)}), or say it by "
        f"format= ({', '.join(FORMATS)})."
    )


def read_file(path: Path, options: Options, asked: str | None = None) -> Table:
    """The table in a file."""
    key = format_of(path, asked)
    known = FORMATS[key]
    check_options(options, known.options, f"{path} ({key})")
    reader: Callable[[Path, Options], Table] = getattr(
        importlib.import_module(f"fewer.io.{known.module}"), known.reader
    )
    return reader(path, options)


def check_options(options: Options, used: Iterable[str], source: str) -> None:
    """Raise for an option that was given but has no meaning for this source."""
    for option in fields(Options):
        unused = option.name not in used and option.name != "missing_values"
        if unused and getattr(options, option.name) != option.default:
            raise TableError(f"{source}: the option {option.name}= has no meaning for this source. Leave it out.")
