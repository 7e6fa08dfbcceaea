"""pandas in and out, without pyarrow; pandas is imported only for a caller who holds a frame, or asks for one."""

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp


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
