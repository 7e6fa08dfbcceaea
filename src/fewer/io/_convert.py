"""A Dataset as a frame or an array."""

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, shortened
from fewer.io._frame import is_numeric_type, numeric_array
from fewer.io._memory import free_name
from fewer.io._pandas import pandas_from_series


def dataset_to_numpy(dataset: Dataset) -> Any:
    """Columns as an array; sparse stays sparse."""
    if not isinstance(dataset.X, pl.DataFrame):
        return dataset.X
    others = [name for name, dtype in dataset.X.schema.items() if not is_numeric_type(dtype)]
    if others:
        raise TableError(
            f"{dataset.source}: these columns are not numbers: {shortened(others)}. Leave them out with "
            "dataset.keep(dataset.columns_of_kind('numeric')), or encode them first."
        )
    return numeric_array(dataset.X)


def dataset_to_polars(dataset: Dataset, *, dense: bool = False) -> pl.DataFrame:
    """Columns and target as a polars frame."""
    X = dataset.X
    if sp.issparse(X):
        if not dense:
            raise TableError(
                f"{dataset.source}: the table is sparse, and a polars frame would hold its zeros as well: "
                f"{X.shape[0]:,} x {X.shape[1]:,} cells. Use to_polars(dense=True) if that fits, or to_pandas()."
            )
        X = X.toarray()
    if isinstance(X, np.ndarray):
        if X.dtype == np.float16:
            X = X.astype(np.float32)
        X = pl.DataFrame(X, schema=list(dataset.columns), orient="row", nan_to_null=X.dtype.kind == "f")
    X = X.with_columns([X[name].cast(pl.Int64) for name in _whole_identifiers(dataset, X)])
    return X if dataset.y is None else X.with_columns(_target_series(dataset))


def _whole_identifiers(dataset: Dataset, frame: pl.DataFrame) -> list[str]:
    """Identifiers that are whole numbers by what they mean, but share a float array with other columns."""
    floats = [name for name in dataset.columns_of_kind("identifier") if frame.schema[name].is_float()]
    return [name for name in floats if (frame[name] % 1 == 0).all() and not frame[name].is_infinite().any()]


def dataset_to_pandas(dataset: Dataset) -> Any:
    """Columns and target as a pandas frame."""
    import pandas as pd

    if sp.issparse(dataset.X):
        frame = pd.DataFrame.sparse.from_spmatrix(dataset.X, columns=list(dataset.columns))
    elif isinstance(dataset.X, np.ndarray):
        frame = pd.DataFrame(dataset.X, columns=list(dataset.columns))
    else:
        columns = {series.name: pandas_from_series(series) for series in dataset.X}
        frame = pd.DataFrame(columns, index=range(dataset.n_rows))
    if dataset.y is None:
        return frame
    # pandas makes whole numbers and strings of an array its own types; the values stay the same.
    return pd.concat([frame, pd.Series(dataset.y, name=target_name(dataset))], axis=1)


def target_name(dataset: Dataset) -> str:
    """Name under which the target can stand beside the columns."""
    return free_name(dataset.target or "target", dataset.columns)


def _target_series(dataset: Dataset) -> pl.Series:
    y = dataset.y
    assert y is not None
    values = y.tolist() if y.dtype == object else y
    return pl.Series(target_name(dataset), values, strict=False)
