"""Tables that are in memory already: frames, arrays and sparse matrices."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io._errors import TableError, refuse_repeated_names, shortened
from fewer.io._pandas import (
    data_from_pandas,
    has_sparse_columns,
    is_number,
    is_pandas,
    names_from_pandas,
    sparse_from_pandas,
)


@dataclass
class Table:
    """What a reader hands over: the cells, their column names, and a target where the source carries its own.

    ``data`` is a numeric two-dimensional array, a sparse matrix, or a polars frame (whose own names do not count).
    """

    data: Any
    columns: list[str]
    source: str
    y: Any = None
    target: str | None = None


def table_from_memory(thing: Any) -> Table:
    """The table in a frame, an array, a sparse matrix, or a dict of columns."""
    if is_pandas(thing):
        return _table_from_pandas(thing)
    if isinstance(thing, pl.LazyFrame):
        thing = thing.collect()
    if isinstance(thing, pl.Series):
        thing = thing.to_frame(thing.name or "x0")
    if isinstance(thing, pl.DataFrame):
        return Table(thing, thing.columns, "polars DataFrame")
    if sp.issparse(thing):
        return _table_from_sparse(thing)
    if isinstance(thing, dict):
        return _table_from_dict(thing)
    if isinstance(thing, np.ndarray) or (isinstance(thing, (list, tuple)) and len(thing)):
        return _table_from_array(_as_array(thing))
    if hasattr(thing, "__arrow_c_stream__"):
        frame = pl.DataFrame(thing)
        return Table(frame, frame.columns, f"{type(thing).__module__.split('.')[0]} {type(thing).__name__}")
    raise TableError(
        f"A {type(thing).__name__} is not a table. Give a path, a database URI, a pandas or polars frame, a numpy "
        "array, a scipy.sparse matrix, or a dict of columns."
    )


def default_names(n_columns: int) -> list[str]:
    """Names for columns that came without: x0, x1, ... as in scikit-learn."""
    return [f"x{j}" for j in range(n_columns)]


def header_names(cells: Iterable[str], source: str) -> list[str]:
    """Names from the cells of a header; those that are blank are called by their position."""
    names = [cell or f"unnamed_{position}" for position, cell in enumerate(cells, start=1)]
    refuse_repeated_names(source, names)
    return names


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The name, with as many underscores as tell it from those that are taken."""
    taken = set(taken)
    while wanted in taken:
        wanted += "_"
    return wanted


def unmasked(array: Any) -> np.ndarray:
    """Masked array as a plain one, with NaN (None among objects) where it was masked."""
    return array.astype(float).filled(np.nan) if array.dtype.kind in "iufb" else array.astype(object).filled(None)


def _table_from_pandas(thing: Any) -> Table:
    if hasattr(thing, "to_frame"):  # a series or an index
        name = "x0" if thing.name is None else str(thing.name)
        thing = thing.to_frame(name=name)
    if not hasattr(thing, "columns"):
        raise TableError(f"A pandas {type(thing).__name__} is not a table. Give a pandas DataFrame.")
    names = names_from_pandas(thing)
    if has_sparse_columns(thing):
        return _table_from_sparse_pandas(thing, names)
    unique = names if len(set(names)) == len(names) else default_names(len(names))  # repeats are reported by name later
    return Table(data_from_pandas(thing, unique), names, "pandas DataFrame")


def _table_from_sparse_pandas(frame: Any, names: list[str]) -> Table:
    """Sparse matrix of the numbers; one column of another type is taken for the target."""
    numbers = [j for j, dtype in enumerate(frame.dtypes) if is_number(dtype)]
    others = [j for j in range(len(names)) if j not in set(numbers)]
    if len(others) > 1:
        raise TableError(
            "pandas DataFrame: some columns are sparse, but these are not numbers: "
            f"{shortened([names[j] for j in others])}. A sparse table holds numbers, and one target."
        )
    columns = [series for _, series in frame.items()]
    matrix = sparse_from_pandas([columns[j] for j in numbers])
    table = Table(matrix, [names[j] for j in numbers], "pandas DataFrame")
    if others:
        table.y, table.target = columns[others[0]], names[others[0]]
    return table


def _table_from_sparse(matrix: Any) -> Table:
    if matrix.ndim != 2:
        raise TableError(f"A table has two dimensions, but this sparse array has {matrix.ndim}.")
    if matrix.dtype.kind not in "iufb":
        raise TableError(
            f"A sparse matrix of type {matrix.dtype} does not hold numbers. Convert it with .astype(float)."
        )
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    return Table(matrix, default_names(matrix.shape[1]), f"scipy sparse matrix ({matrix.format})")


def _table_from_dict(columns: dict[Any, Any]) -> Table:
    try:
        frame = pl.DataFrame({str(name): values for name, values in columns.items()}, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise TableError(f"The dict is not a table of columns of equal length: {error}") from error
    return Table(frame, frame.columns, "dict of columns")


def _as_array(thing: Any) -> np.ndarray:
    if np.ma.isMaskedArray(thing):
        return unmasked(thing)
    if isinstance(thing, np.ndarray):
        return np.asarray(thing)  # a np.matrix becomes a plain array
    try:
        array = np.asarray(thing)
        return np.asarray(thing, dtype=object) if array.dtype.kind in "US" else array
    except ValueError as error:
        raise TableError(f"The rows of the list have different lengths: {error}") from error


def _table_from_array(array: np.ndarray) -> Table:
    if array.dtype.names:
        names = list(array.dtype.names)
        return Table(
            pl.DataFrame({name: np.ascontiguousarray(array[name]) for name in names}), names, "numpy structured array"
        )
    if array.ndim != 2:
        cure = "Use array.reshape(-1, 1) for one column." if array.ndim == 1 else "Reshape it to rows x columns."
        raise TableError(f"A table has two dimensions, but this array has {array.ndim} (shape {array.shape}). {cure}")
    names = default_names(array.shape[1])
    if array.dtype.kind in "iufb":
        return Table(array.astype(np.float64) if array.dtype.itemsize > 8 else array, names, "numpy array")
    if array.dtype.kind == "c":
        raise TableError("The array holds complex numbers. Give their real and imaginary parts as separate columns.")
    columns = [_series_from_array(array[:, j], name) for j, name in enumerate(names)]
    return Table(pl.DataFrame(columns), names, "numpy array")


def _series_from_array(column: np.ndarray, name: str) -> pl.Series:
    if column.dtype.kind in "mM":
        return pl.Series(name, np.ascontiguousarray(column))
    values = [value.decode() if isinstance(value, bytes) else value for value in column.tolist()]
    return pl.Series(name, [None if value != value else value for value in values], strict=False)
