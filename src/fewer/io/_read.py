"""`read_table`: reads a table from any source, and the list of the file formats.

A new format is one function ``read(path, options) -> Table`` and one line in ``FORMATS``. The module of a format is
imported when a file of it is read. What a reader returns becomes a `Dataset`: the target is taken out, columns are
dropped, missing values are marked, and kinds are found.
"""

import importlib
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import argument, did_you_mean, listed_values
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, refuse_repeated_names, unknown_column
from fewer.io._frame import (
    DEFAULT_MISSING,
    is_numeric,
    is_numeric_type,
    numeric_array,
    split_markers,
    tidy_frame,
    with_null_for_nan,
)
from fewer.io._kinds import KINDS, kinds_of, kinds_of_numbers
from fewer.io._memory import Table, free_name, table_from_memory
from fewer.io._target import checked_task, missing_in, target_array, task_of

_URI = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
_TEXT_OPTIONS = ("header", "separator", "decimal", "encoding")
# Dropped columns are looked at for groups and time; of more than these, the others are forgotten.
_MOST_SET_ASIDE = 20


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
        Markers of missing values; spaces around them are ignored. Numbers (-999) mark numbers as well.
    task : {"auto", "binary", "multiclass", "classification", "regression", "none"}, default="auto"
        Task of the target. "auto": strings, booleans and categories are classes; so are whole numbers that are
        two, about equally frequent, or few without looking like counts; all other numbers make a regression.
        ``task_reason`` of the result gives the reason. "none": read no target.
    kinds : mapping of str to str, optional
        Kinds (of ``fewer.io.KINDS``) that override the detected ones.
    missing_target : {"drop", "error"}, default="drop"
        Rows whose target is missing: leave them out with a warning, or raise an error.
    header : bool, default=True
        CSV, Excel: whether the first line holds the names. Without, columns are named x0, x1, ...
    separator : str, optional
        CSV: the delimiter. Detected in the first line among comma, semicolon, tab and ``|`` by default.
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
        The file format, if the suffix does not show it: csv, parquet, arrow, arff, svmlight, mat, npz, excel, sqlite.

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
        files = listed_values(_files_in(path)) or "none"
        raise TableError(f"{path} is a folder. Give the path of one of its files: {files}.")
    if path.exists():
        return path
    if not path.parent.is_dir():
        parent = path.parent
        while not parent.is_dir():
            parent = parent.parent
        raise TableError(
            f"{path} does not exist: there is no folder {path.parent} (the last folder of this path that exists is "
            f"{parent})."
        )
    raise TableError(
        f"{path} does not exist. {did_you_mean(path.name, _files_in(path.parent), 'files in this folder')}"
    )


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
    except OSError:
        return []


class Format(NamedTuple):
    """A file format: where its reader is, its suffixes, and the options that the reader uses."""

    module: str
    reader: str
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()


FORMATS = {
    "csv": Format("_csv", "read_csv", (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz"), _TEXT_OPTIONS),
    "parquet": Format("_confined", "read_parquet", (".parquet", ".pq")),
    "arrow": Format("_confined", "read_arrow", (".arrow", ".feather", ".ipc")),
    "arff": Format("_arff", "read_arff", (".arff", ".arff.gz"), ("encoding",)),
    "svmlight": Format("_matrix_files", "read_svmlight", (".svm", ".svmlight", ".libsvm", ".svm.gz", ".libsvm.gz")),
    "mat": Format("_matrix_files", "read_mat", (".mat",)),
    "npz": Format("_matrix_files", "read_npz", (".npz",)),
    "excel": Format("_confined", "read_excel", (".xlsx", ".xls", ".xlsb", ".ods"), ("sheet", "header")),
    "sqlite": Format("_database", "read_sqlite", (".db", ".sqlite", ".sqlite3"), ("query", "table")),
}


def format_of(path: Path, asked: str | None = None) -> str:
    """Name of the format, as asked for or by the suffix of the path."""
    name = path.name.lower()
    for key, known in FORMATS.items():
        if key == asked or (asked is None and name.endswith(known.suffixes)):
            return key
    if asked is not None:
        raise TableError(f"{argument('format', asked)} is not known. Use one of {', '.join(FORMATS)}.")
    suffixes = sorted({suffix for known in FORMATS.values() for suffix in known.suffixes})
    raise TableError(
        f"{path}: the format is not clear from the name. Use a known suffix ({', '.join(suffixes)}), or set "
        f"{argument('format')} "
        f"({', '.join(FORMATS)})."
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
            raise TableError(f"{source}: the option {option.name}= does not apply to this source. Leave it out.")


def assemble(
    table: Table,
    *,
    target: Any = None,
    drop: Iterable[str] = (),
    missing_values: Iterable[object],
    task: str = "auto",
    kinds: Mapping[str, str] | None = None,
    missing_target: str = "drop",
) -> Dataset:
    """The Dataset in a table; see `fewer.io.read_table` for the options."""
    checked_task(task)
    if missing_target not in ("drop", "error"):
        raise TableError(f"missing_target={missing_target!r} is not known. Use 'drop' or 'error'.")
    refuse_repeated_names(table.source, table.columns)
    if table.data.shape[0] == 0:
        raise TableError(f"{table.source}: the table has no rows.")
    target_name, y = _target_of(table, target, task)
    names = _dropped(table, drop, target_name)
    data, columns = _without(table, names)
    if table.columns and columns in ([], [target_name]):
        raise TableError(f"{table.source}: no column is left besides the target and those in {argument('drop')}.")
    if isinstance(data, pl.DataFrame):
        data = tidy_frame(data, missing_values, table.source)
    else:
        data = _with_marked_missing(data, missing_values, table.source)
    reason, other, rows = "", "", None
    if target_name in columns and y is None:
        y, data, columns = _split_off(data, columns, target_name)
    if y is not None and target_name is not None:
        y = target_array(y, table.source, target_name)
        if len(y) != data.shape[0]:
            raise TableError(
                f"{table.source}: {target_name} has {len(y)} values, but the table has {data.shape[0]} rows."
            )
        data, y, rows = _rows_with_target(data, y, table.source, target_name, missing_target)
        task, reason, other = task_of(y, table.source, target_name, task)
        if task != "regression" and y.dtype.kind == "f" and np.all(np.isfinite(y) & (y == np.rint(y))):
            y = y.astype(np.int64)  # classes 1, 2, 3, that a file of floats could only hold as 1.0, 2.0, 3.0
    if isinstance(data, pl.DataFrame) and is_numeric(data):
        frame, data = data, numeric_array(data)
        found = kinds_of_numbers(frame, data)
    else:
        if isinstance(data, pl.DataFrame):
            data = with_null_for_nan(data)
        found = kinds_of(data, columns)
    _override(found, columns, kinds or {}, data, table.source)
    return Dataset(
        X=data,
        y=y,
        columns=tuple(columns),
        target=target_name,
        kinds=tuple(found),
        task=task if y is not None else "none",
        source=table.source,
        task_reason=reason,
        other_task=other,
        rows=rows,
        dropped=_set_aside(table, names, missing_values, rows),
    )


def _set_aside(
    table: Table, names: set[str], missing_values: Iterable[object], rows: np.ndarray | None
) -> tuple[Dataset, ...]:
    """The first dropped columns, each as a table; one that cannot be read was dropped for that."""
    found = []
    for name in [each for each in table.columns if each in names][:_MOST_SET_ASIDE]:
        data, columns = _without(table, set(table.columns) - {name})
        try:
            column = assemble(Table(data, columns, table.source), missing_values=missing_values, task="none")
        except TableError:
            continue
        found.append(column if rows is None else column.take(rows))
    return tuple(found)


def _target_of(table: Table, target: Any, task: str) -> tuple[str | None, Any]:
    """Name of the target, and its values unless they are still a column of the table."""
    if task == "none":
        return None, None
    if target is None:
        if table.y is None:
            return None, None
        return table.target or "target", table.y
    if isinstance(target, str) or np.isscalar(target):
        wanted = str(target)
        if table.y is not None and wanted == (table.target or "target"):
            return wanted, table.y
        if wanted in table.columns:
            return wanted, None
        if table.y is not None:
            raise TableError(
                f"{table.source}: there is no column {wanted!r}, but the file has a target of its own. Leave out "
                f"{argument('target')} to use it, or give its name {table.target or 'target'!r}."
            )
        raise unknown_column(table.source, wanted, table.columns, argument("target"))
    name = getattr(target, "name", None)
    return (
        name if isinstance(name, str) and name and name not in table.columns else free_name("target", table.columns)
    ), target


def _dropped(table: Table, drop: Iterable[str], target_name: str | None) -> set[str]:
    names = {drop} if isinstance(drop, str) else {str(name) for name in drop}
    known = set(table.columns)
    for name in sorted(names):
        if name not in known:
            raise unknown_column(table.source, name, table.columns, argument("drop"))
    if target_name in names & known and table.y is None:
        raise TableError(
            f"{table.source}: {target_name!r} is both the target and in {argument('drop')}. Leave it out of one of "
            "them."
        )
    return names


def _without(table: Table, names: set[str]) -> tuple[Any, list[str]]:
    data, columns = table.data, list(table.columns)
    if isinstance(data, pl.DataFrame) and data.columns != columns:
        data = data.clone()
        data.columns = columns
    if not names:
        return data, columns
    kept = [j for j, name in enumerate(columns) if name not in names]
    columns = [columns[j] for j in kept]
    return (data.select(columns) if isinstance(data, pl.DataFrame) else data[:, kept]), columns


def _split_off(data: Any, columns: list[str], name: str) -> tuple[Any, Any, list[str]]:
    where = columns.index(name)
    kept = [j for j in range(len(columns)) if j != where]
    names = [columns[j] for j in kept]
    if isinstance(data, pl.DataFrame):
        return data[name], data.select(names), names
    if sp.issparse(data):
        return data[:, [where]].toarray().ravel(), data[:, kept], names
    return data[:, where], data[:, kept], names


def _with_marked_missing(data: Any, missing_values: Iterable[object], source: str) -> Any:
    numbers = split_markers(missing_values)[1]
    if not numbers:
        return data
    if sp.issparse(data) and 0.0 in numbers:
        raise TableError(f"{source}: 0 cannot mark missing values in a sparse table, because zeros are not stored.")
    cells = data.data if sp.issparse(data) else data
    marked = np.isin(cells, numbers)
    if not marked.any():
        return data
    data = data.astype(data.dtype if data.dtype.kind == "f" else np.float64, copy=True)
    if sp.issparse(data):
        data.data[marked] = np.nan
    else:
        data[marked] = np.nan
    return data


def _rows_with_target(
    data: Any, y: np.ndarray, source: str, name: str | None, missing_target: str
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows with a target, their targets, and their numbers; None where all have one."""
    missing = missing_in(y)
    n_missing = int(missing.sum())
    if n_missing == 0:
        return data, y, None
    if n_missing == len(y):
        raise TableError(f"{source}: the target {name!r} is missing in every row. Choose another target.")
    rows = ", ".join(str(row + 1) for row in np.flatnonzero(missing)[:5]) + (", ..." if n_missing > 5 else "")
    found = f"{source}: the target {name!r} is missing in {n_missing} of {len(y)} rows (rows {rows}, counted from 1)"
    if missing_target == "error":
        raise TableError(f"{found}. Add the values, or use missing_target='drop' to leave these rows out.")
    warnings.warn(f"{found}; these rows are left out.", UserWarning, stacklevel=4)
    kept = np.flatnonzero(~missing)
    return data[kept], y[kept], kept


def _override(found: list[str], columns: list[str], kinds: Mapping[str, str], data: Any, source: str) -> None:
    position = {name: j for j, name in enumerate(columns)}
    for name, kind in kinds.items():
        if name not in position:
            raise unknown_column(source, name, columns, argument("kinds"))
        if kind not in KINDS:
            raise TableError(f"kinds={{{name!r}: {kind!r}}}: this kind is not known. Use one of {', '.join(KINDS)}.")
        dtype = data.schema[name] if isinstance(data, pl.DataFrame) else None
        is_number = dtype is None or is_numeric_type(dtype)
        if (kind == "numeric" and not is_number) or (
            kind == "date" and not (dtype is not None and dtype.is_temporal())
        ):
            example = "" if dtype is None else f" (for example {data[name].drop_nulls().head(1).to_list()})"
            wanted = "numbers" if kind == "numeric" else "ISO dates such as 2024-05-31"
            raise TableError(
                f"{source}: column {name!r} cannot be of the kind {kind!r}: it does not hold {wanted}{example}. "
                f"If some of its values mark missing values, list them in {argument('missing_values')}."
            )
        found[position[name]] = kind
