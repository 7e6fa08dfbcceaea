"""Tables in memory: pandas and polars frames, arrays, sparse matrices, dicts of columns.

pandas is read and written without pyarrow, and imported only for a caller who holds a frame or asks for one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import listed_values
from fewer.io._errors import TableError, refuse_repeated_names


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
            f"{listed_values([names[j] for j in others])}. A sparse table holds numbers, and one target."
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


def is_pandas(thing: object) -> bool:
    """Whether this is a thing of pandas, or derived from one, found out without importing pandas."""
    return any(kind.__module__.split(".")[0] == "pandas" for kind in type(thing).__mro__)


def names_from_pandas(frame: Any) -> list[str]:
    """Column names as strings; the levels of a MultiIndex are joined by underscores."""
    return ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]


def has_sparse_columns(frame: Any) -> bool:
    """Whether any column is stored sparsely."""
    return any(_is_sparse(dtype) for dtype in frame.dtypes)


def is_number(dtype: Any) -> bool:
    """Whether columns of this type hold numbers or booleans."""
    return getattr(dtype.subtype if _is_sparse(dtype) else dtype, "kind", "O") in "iufb"


def sparse_from_pandas(columns: list[Any]) -> sp.csr_array:
    """Sparse matrix of columns of numbers, of which some may be stored densely."""
    n_rows = len(columns[0])
    rows, cells = [], []
    for series in columns:
        if _is_sparse(series.dtype) and series.dtype.fill_value == 0:
            rows.append(series.array.sp_index.indices)
            cells.append(series.array.sp_values)
        else:
            values = series.to_numpy(dtype=float, na_value=np.nan)
            rows.append(np.flatnonzero(values))  # NaN is not zero, and stays
            cells.append(values[rows[-1]])
    starts = np.concatenate(([0], np.cumsum([len(part) for part in rows])))
    matrix = sp.csc_array((np.concatenate(cells), np.concatenate(rows), starts), shape=(n_rows, len(columns)))
    return matrix.tocsr()


def data_from_pandas(frame: Any, names: list[str]) -> Any:
    """Array for columns of one numeric type, polars frame for the rest."""
    dtypes = set(frame.dtypes)
    if len(dtypes) == 1 and all(isinstance(dtype, np.dtype) and dtype.kind in "iufb" for dtype in dtypes):
        return frame.to_numpy()
    return pl.DataFrame(
        [series_from_pandas(series, name) for (_, series), name in zip(frame.items(), names, strict=True)]
    )


def _is_sparse(dtype: Any) -> bool:
    return type(dtype).__name__ == "SparseDtype"


def series_from_pandas(series: Any, name: str) -> pl.Series:
    """The polars series with the same values; NaN, None, NA and NaT are null."""
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if _is_sparse(dtype):
        return series_from_pandas(series.sparse.to_dense(), name)
    if isinstance(dtype, np.dtype) and kind in "iufb":
        return pl.Series(name, series.to_numpy(), nan_to_null=True)
    if isinstance(dtype, np.dtype) and kind in "mM":
        return pl.Series(name, series.to_numpy())
    if type(dtype).__name__ == "PeriodDtype":
        return series_from_pandas(series.dt.to_timestamp(), name)
    if type(dtype).__name__ == "IntervalDtype":
        return series_from_pandas(series.astype("category"), name)
    if type(dtype).__name__ == "CategoricalDtype":
        return _categories_from_pandas(series, name)
    if type(dtype).__name__ == "DatetimeTZDtype":
        moments = pl.Series(name, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(str(dtype.tz))
    if kind in "iufb" and hasattr(series.array, "_mask"):  # nullable Int64, Float64, boolean
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return pl.Series(name, values, nan_to_null=True).set(pl.Series(series.isna().to_numpy()), None)
    missing = series.isna().to_numpy()
    values = series.to_numpy(dtype=object, copy=bool(missing.any()))
    if missing.any():
        values[missing] = None
    return _series_of_objects(name, values.tolist())


def _series_of_objects(name: str, values: list[Any]) -> pl.Series:
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        pass
    if all(value is None or isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
        return pl.Series(name, [None if value is None else float(value) for value in values])
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _categories_from_pandas(series: Any, name: str) -> pl.Series:
    categories = [str(category) for category in series.cat.categories]
    codes = series.cat.codes.to_numpy()
    # A null after the last category stands for the code -1.
    values = pl.Series(name, [*categories, None], dtype=pl.String).gather(np.where(codes < 0, len(categories), codes))
    return values.cast(pl.Enum(list(dict.fromkeys(categories))))


def pandas_from_series(series: pl.Series) -> Any:
    """The pandas series with the same values; whole numbers with missing entries become floats."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, (pl.Enum, pl.Categorical)):
        present = series.drop_nulls().unique().cast(pl.String).sort()
        categories = list(dtype.categories if isinstance(dtype, pl.Enum) else present)
        index = {category: code for code, category in enumerate(categories)}
        codes = [-1 if value is None else index[value] for value in series.cast(pl.String)]
        return pd.Series(pd.Categorical.from_codes(codes, categories=categories), name=series.name)
    if dtype == pl.String or dtype == pl.Time or (dtype == pl.Boolean and series.null_count()):
        return pd.Series(series.to_list(), name=series.name, dtype=None if dtype == pl.String else object)
    if dtype == pl.Null:
        return pd.Series(np.full(series.len(), np.nan), name=series.name)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        moments = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
        return pd.Series(moments, name=series.name).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if dtype == pl.Date:
        series = series.cast(pl.Datetime("ms"))
    if dtype.is_numeric() and series.null_count():
        return pd.Series(
            series.cast(dtype if dtype.is_float() else pl.Float64).fill_null(np.nan).to_numpy(), name=series.name
        )
    return pd.Series(series.to_numpy(), name=series.name)
