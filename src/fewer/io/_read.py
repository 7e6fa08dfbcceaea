"""read_table: one door for every source."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fewer.io._assemble import assemble
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, did_you_mean, shortened
from fewer.io._formats import Options, check_options, read_file
from fewer.io._frame import DEFAULT_MISSING
from fewer.io._memory import Table, table_from_memory

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")


def read_table(
    source: Any,
    *,
    target: Any = None,
    drop: Iterable[str] = (),
    missing_values: Iterable[object] = DEFAULT_MISSING,
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
    header: bool = True,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    query: str | None = None,
    table: str | None = None,
    sheet: str | int | None = None,
    format: str | None = None,
) -> Dataset:
    """Read a table from a file, a database or memory.

    Files: CSV and TSV (also ``.gz``), Parquet, Arrow/Feather, ARFF, svmlight, MATLAB ``.mat`` (up to version 7),
    ``.npz``, Excel (extra ``fewer[excel]``) and SQLite. Databases by their URI, such as ``postgresql://user@host/name``
    (extra ``fewer[sql]``). In memory: pandas and polars frames, numpy arrays, scipy.sparse matrices, dicts of columns.

    Parameters
    ----------
    source : path, URI, frame, array, sparse matrix or dict
        Where the table is. The index of a pandas frame is left out.
    target : str or array-like, optional
        Name of the column to predict, or its values, one for each row. Files that carry a target of their own
        (svmlight, ``.mat``, ``.npz``) need none.
    drop : iterable of str, default=()
        Columns to leave out.
    missing_values : iterable, default=DEFAULT_MISSING
        What marks a missing value; spaces around it do not count. Numbers (-999) mark numbers as well.
    task : {"auto", "binary", "multiclass", "classification", "regression", "none"}, default="auto"
        What the target asks for. "auto": strings, booleans and categories are classes; so are whole numbers that are
        two, about equally frequent, or few without looking like counts; all other numbers make a regression.
        ``task_reason`` of the result says why. "none": read no target.
    kinds : mapping of str to str, optional
        Kinds (of ``fewer.io.KINDS``) for columns whose kind was found otherwise than you want.
    missing_target : {"drop", "error"}, default="drop"
        What to do with rows whose target is missing: leave them out with a warning, or raise.
    header : bool, default=True
        CSV, Excel: whether the first line holds the names. Without, columns are named x0, x1, ...
    separator : str, optional
        CSV: what stands between fields. Found from the first line among comma, semicolon, tab and ``|`` when not given.
    decimal : {".", ","}, default="."
        CSV: the decimal mark.
    encoding : str, default="utf-8"
        CSV, ARFF: encoding of the text.
    query : str, optional
        Databases: the SQL query whose result is the table.
    table : str, optional
        Databases: the table to read; a SQLite file with a single table needs none.
    sheet : str or int, optional
        Excel: name or number (from 1) of the sheet; the first when not given.
    format : str, optional
        The file format when the suffix does not tell it: csv, parquet, arrow, arff, svmlight, mat, npz, excel, sqlite.

    Returns
    -------
    dataset : Dataset
        The table with its columns, kinds, target and task.

    Raises
    ------
    TableError
        When the table cannot be read as asked; the message names the file, the line or column, and the cure.

    Notes
    -----
    Strings that are all numbers become numbers, and strings that are all ISO dates become dates. When all columns are
    numbers they share one array, so that whole numbers beyond 2**53 lose digits beside columns with fractions.

    MATLAB, Excel, Parquet and Arrow files are read in a child process with limits on its time and memory, because
    damaged ones can crash the libraries that read them. This takes about half a second for each file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewer.io import read_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "plants.csv")
    >>> _ = path.write_text("height;leaves;kind\\n1.5;3;fern\\n;4;moss\\n0.7;5;fern\\n2.1;?;moss\\n")
    >>> plants = read_table(path, target="kind")
    >>> plants.X
    array([[1.5, 3. ],
           [nan, 4. ],
           [0.7, 5. ],
           [2.1, nan]])
    >>> plants.task, plants.y.tolist()
    ('binary', ['fern', 'moss', 'fern', 'moss'])
    >>> folder.cleanup()
    """
    if isinstance(missing_values, (str, int, float)):
        missing_values = (missing_values,)
    options = Options(header, separator, decimal, encoding, query, table, sheet, tuple(missing_values))
    return assemble(
        _table_from(source, options, format),
        target=target,
        drop=drop,
        missing_values=options.missing_values,
        task=task,
        kinds=kinds,
        missing_target=missing_target,
    )


def _table_from(source: Any, options: Options, format: str | None) -> Table:
    if isinstance(source, str) and _URI.match(source):
        from fewer.io._database import read_uri

        check_options(options, ("query", "table"), "A database URI")
        return read_uri(source, options)
    if isinstance(source, (str, os.PathLike)):
        return read_file(_existing(Path(source).expanduser()), options, format)
    check_options(options, (), f"A table in memory ({type(source).__name__})")
    return table_from_memory(source)


def _existing(path: Path) -> Path:
    if path.is_dir():
        files = shortened(_files_in(path)) or "none"
        raise TableError(f"{path} is a folder. Give the path of one of its files: {files}.")
    if path.exists():
        return path
    if not path.parent.is_dir():
        parent = path.parent
        while not parent.is_dir():
            parent = parent.parent
        raise TableError(
            f"{path} does not exist: there is no folder {path.parent} (the path exists as far as {parent})."
        )
    raise TableError(f"{path} does not exist. {did_you_mean(path.name, _files_in(path.parent))}")


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
    except OSError:
        return []
