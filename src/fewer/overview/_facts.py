"""Plain facts about a table: what is missing, constant or infinite, and how the target is spread."""

import math
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.overview._description import (
    ClassCount,
    Constant,
    CountInColumn,
    CountInRow,
    Distribution,
    Missing,
    Target,
)
from fewer.overview._duplicates import row_blocks

_ROWS_LISTED = 10
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+\s*$"


def memory_bytes(X: Any) -> int:
    """Memory of the cells."""
    if isinstance(X, pl.DataFrame):
        return int(X.estimated_size())
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def missing_cells(dataset: Dataset) -> Missing:
    """Missing cells in total, by column and by row, the worst first."""
    by_column = dataset.missing_by_column
    cells = int(by_column.sum())
    if cells == 0:
        return Missing(0, 0.0, (), dataset.n_rows, ())
    by_row = dataset.missing_by_row
    worst_columns = np.argsort(-by_column, kind="stable")[: np.count_nonzero(by_column)]
    worst_rows = np.argsort(-by_row, kind="stable")[: min(_ROWS_LISTED, np.count_nonzero(by_row))]
    return Missing(
        cells=cells,
        share=cells / (dataset.n_rows * dataset.n_columns),
        columns=tuple(_in_column(dataset, int(j), by_column[j]) for j in worst_columns),
        complete_rows=int(np.count_nonzero(by_row == 0)),
        worst_rows=tuple(CountInRow(int(i) + 1, int(by_row[i]), by_row[i] / dataset.n_columns) for i in worst_rows),
    )


def infinite_cells(dataset: Dataset) -> tuple[CountInColumn, ...]:
    """Columns with infinite values."""
    X = dataset.X
    counts = np.zeros(dataset.n_columns, dtype=np.int64)
    if isinstance(X, pl.DataFrame):
        floats = np.array([dtype.is_float() for dtype in X.dtypes], dtype=bool)
        if floats.any():
            counts[floats] = X.select(cs.float().is_infinite().sum()).row(0)
    elif X.dtype.kind == "f":
        if sp.issparse(X):
            infinite = X.astype(bool)
            infinite.data = np.isinf(X.data)
            counts += np.asarray(infinite.sum(axis=0)).ravel()
        else:
            for rows in row_blocks(*X.shape):
                counts += np.isinf(X[rows]).sum(axis=0)
    return tuple(_in_column(dataset, int(j), counts[j]) for j in np.flatnonzero(counts))


def numbers_with_commas(dataset: Dataset) -> tuple[str, ...]:
    """Columns of words all of which are numbers but for a comma."""
    if not isinstance(dataset.X, pl.DataFrame):
        return ()
    words = dataset.X.select(cs.string())
    if not words.width:
        return ()
    all_are = words.select(pl.all().str.contains(_COMMA_NUMBER).all() & pl.all().is_not_null().any()).row(0)
    return tuple(name for name, numbers in zip(words.columns, all_are, strict=True) if numbers)


def constant_columns(dataset: Dataset) -> tuple[Constant, ...]:
    """Columns of the kind "constant", with their value."""
    return tuple(
        Constant(name, _only_value(dataset, j), int(dataset.missing_by_column[j]))
        for j, (name, kind) in enumerate(zip(dataset.columns, dataset.kinds, strict=True))
        if kind == "constant"
    )


def target_of(dataset: Dataset) -> Target | None:
    """The target, with its classes or its distribution."""
    y = dataset.y
    if y is None:
        return None
    name = dataset.target or "target"
    if dataset.task == "regression":
        return Target(name, dataset.task, (), distribution_of(y), dataset.task_reason, dataset.is_counts)
    labels, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    classes = tuple(ClassCount(plain_value(labels[k]), int(counts[k]), float(counts[k] / len(y))) for k in order)
    return Target(name, dataset.task, classes, None, dataset.task_reason)


def distribution_of(y: np.ndarray) -> Distribution:
    """Quartiles, mean, spread and skewness of the finite values."""
    values = y.astype(np.float64)
    finite = values[np.isfinite(values)]
    distinct, infinite = len(np.unique(values)), len(values) - len(finite)
    if not len(finite):
        return Distribution(None, None, None, None, None, None, None, None, distinct, infinite)
    quartiles = [float(q) for q in np.quantile(finite, [0, 0.25, 0.5, 0.75, 1])]
    mean, spread = float(finite.mean()), float(finite.std(ddof=1)) if len(finite) > 1 else 0.0
    skewness = float(np.mean(((finite - mean) / finite.std()) ** 3)) if spread > 0 else None
    minimum, lower, median, upper, maximum = quartiles
    return Distribution(minimum, lower, median, upper, maximum, mean, spread, skewness, distinct, infinite)


def plain_value(value: Any) -> Any:
    """A value as a Python object that JSON knows; what is neither number, boolean nor string becomes its text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _only_value(dataset: Dataset, j: int) -> Any:
    X = dataset.X
    if isinstance(X, pl.DataFrame):
        known = X.to_series(j).drop_nulls()
        return plain_value(known[0]) if known.len() else None
    if sp.issparse(X):
        column = X[:, [j]]
        values = np.append(column.data, 0) if column.nnz < dataset.n_rows else column.data
    else:
        values = X[:, j]
    known = values[values == values]
    return plain_value(known[0]) if len(known) else None


def _in_column(dataset: Dataset, j: int, count: Any) -> CountInColumn:
    return CountInColumn(dataset.columns[j], int(count), float(count / dataset.n_rows))
