"""A first look at a table: its content, its problems, and what to do next.

Plain facts about a table: what is missing, constant or infinite, how the target is distributed, and whether nearest
neighbours can be relied on. In many dimensions a few rows (hubs) are the neighbours of very many others, and many rows
of none (Radovanovic, Nanopoulos and Ivanovic 2010). Hubs are counted among at most 2,000 rows, with standardised
columns.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import scipy.sparse as sp

from fewer._kernels._neighbour_counts import (
    levina_bickel_dimension,
    neighbours_of_distances,
    skewness,
    times_listed,
)
from fewer.io import KINDS, Dataset
from fewer.overview._advice import advice_for
from fewer.overview._description import (
    ClassCount,
    Constant,
    CountInColumn,
    CountInRow,
    Description,
    Distribution,
    Hubness,
    Missing,
    Target,
)
from fewer.overview._duplicates import duplicate_columns, duplicate_rows, equal_rows, near_duplicates
from fewer.overview._leakage import judged_leaks, leaking_columns
from fewer.overview._parts import TableRows, parts_of, row_blocks
from fewer.overview._row_groups import by_harm, group_columns, judged_copies, rows_of_groups, time_columns

_ROWS_LISTED = 10
_COMMA_NUMBER = r"^\s*[+-]?\d+,\d+\s*$"


def describe(dataset: Dataset, *, times: Mapping[str, np.ndarray] | None = None) -> Description:
    """Describe a table: kinds of columns, missing cells, duplicates, rows that belong together, and target leakage.

    Fast on wide tables, and never makes a sparse table dense.

    Parameters
    ----------
    dataset : Dataset
        The table, as `read_table` gives it; a target is not needed.
    times : mapping of str to ndarray of shape (n_rows,), default=None
        Columns that are not in the table and may hold the time of each row, as numbers.

    Returns
    -------
    description : Description
        The findings as plain data, with ``to_dict`` and ``to_json``.

    Notes
    -----
    A column *leaks the target* when it alone predicts each row from the other rows with a balanced accuracy (for
    a target of numbers: an R2 on ranks) of 0.99 or more, or when its sorted values pass through the classes one after
    the other without overlap. A column of numbers predicts a row by the nearest rows in sorted order, a column of
    categories by the other rows of the category, so an identifier does not look perfect. Missing cells count as a
    value, and the known rows are judged alone too. Where rows are so few that one of as many columns of noise would
    be found as well, no column is reported and ``leakage_checked`` is False.

    Columns that *name groups* of rows, such as a patient with several rows, and columns that hold the *time* are found
    by how much rows that belong together resemble each other (`GroupColumn`, `TimeColumn`); at most a thousand rows are
    compared. Dropped columns are looked at as well. Where folds that ignore this would be too optimistic, the finding
    is "critical", and its scores show by how much.

    *Hubs* are rows that are among the nearest neighbours of very many others. They are looked for among at most 2,000
    rows of tables with 20 columns or more that are not sparse, with standardised columns (`Hubness`).

    *Near duplicates* are columns of numbers with an absolute correlation above 0.999 on the rows where both are known
    (at least ten, and half of those where either is).

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.io import read_table
    >>> from fewer.overview import describe
    >>> rng = np.random.default_rng(0)
    >>> height, ill = rng.normal(170, 10, size=100), rng.permutation(["yes", "no"] * 50)
    >>> table = {"height": height, "inches": height / 2.54, "code": np.where(ill == "yes", 7, 3), "ill": ill}
    >>> description = describe(read_table(table, target="ill"))
    >>> description.near_duplicates[0].columns
    ('height', 'inches')
    >>> description.leaking_columns[0]
    LeakingColumn(column='code', score=1.0, measure='balanced accuracy', by='values', known=1.0, level='critical')
    >>> print(description.advice[0])
    code alone predicts the target almost perfectly, which suggests target leakage. If it is not known before the
    outcome, leave it out: --drop code
    """
    parts = parts_of(dataset)
    duplicates = duplicate_columns(dataset, parts)
    table = TableRows(dataset, parts)
    beside = {name: TableRows(whole, parts_of(whole)) for name, whole in with_dropped(dataset)}
    of_tables = [(group, table) for group in group_columns(table)]
    of_tables += [(group, rows) for name, rows in beside.items() for group in group_columns(rows, only=name)]
    of_tables.sort(key=lambda each: by_harm(each[0]))
    groups, equals = tuple(group for group, _ in of_tables), equal_rows(dataset, parts)
    time = [*time_columns(table, times), *(each for rows in beside.values() for each in time_columns(rows))]
    found, checked = leaking_columns(dataset, parts)
    if found and groups:
        # Whatever is constant within a group predicts its target; a leaking column does so in other groups too.
        of_groups = dataset.take(rows_of_groups(of_tables[0][1], groups[0]))
        again = {each.column for each in leaking_columns(of_groups, parts_of(of_groups))[0]}
        found = tuple(each for each in found if each.column in again)
    comma_numbers = numbers_with_commas(dataset)
    description = Description(
        source=dataset.source,
        rows=dataset.n_rows,
        columns=dataset.n_columns,
        columns_by_kind={kind: tuple(names) for kind in KINDS if (names := dataset.columns_of_kind(kind))},
        memory_bytes=memory_bytes(dataset.X),
        stored_share=dataset.X.nnz / max(1, dataset.n_rows * dataset.n_columns) if dataset.is_sparse else None,
        missing=missing_cells(dataset),
        constants=constant_columns(dataset),
        duplicates=tuple(tuple(dataset.columns[j] for j in group) for group in duplicates),
        near_duplicates=near_duplicates(dataset, parts, duplicates),
        identifiers=tuple(name for name in dataset.columns_of_kind("identifier") if name not in comma_numbers),
        comma_numbers=comma_numbers,
        infinite=infinite_cells(dataset),
        target=target_of(dataset),
        leaking_columns=judged_leaks(found, table),
        leakage_checked=checked,
        duplicate_rows=judged_copies(duplicate_rows(dataset, equals), equals, table),
        groups=groups,
        time=tuple(sorted(time, key=by_harm)[:1]),
        hubness=hubness_of(table),
    )
    return replace(description, advice=advice_for(description))


def with_dropped(dataset: Dataset) -> Iterator[tuple[str, Dataset]]:
    """For each dropped column its name, and the table with this column: it may name the group or the time of a row."""
    for column in dataset.dropped:
        name = column.columns[0]
        numeric = not isinstance(column.X, pl.DataFrame)
        if name in dataset.columns or (dataset.is_sparse and not numeric):
            continue
        X: Any
        if isinstance(dataset.X, pl.DataFrame) or not numeric:
            X = dataset.to_polars().select(dataset.columns).with_columns(column.to_polars()[name])
        else:
            X = (
                sp.hstack([dataset.X, column.X], format="csr")
                if dataset.is_sparse
                else np.hstack([dataset.X, column.X])
            )
        yield name, replace(dataset, X=X, columns=(*dataset.columns, name), kinds=(*dataset.kinds, *column.kinds))


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


_ROWS = 2000
_FEWEST_ROWS = 50
_FEWEST_COLUMNS = 20
_NEIGHBOURS = 10
_LISTED = 12  # the dimension is averaged over 6 to 12 neighbours
_STRONG = 2.0
_MARKED = 1.4


def hubness_of(table: TableRows) -> Hubness | None:
    """Hubs among some rows of a table of 20 columns or more; None for others, sparse ones, and fewer than 50 rows."""
    n_rows = table.dataset.n_rows
    if table.dataset.is_sparse or table.n_features < _FEWEST_COLUMNS or n_rows < _FEWEST_ROWS:
        return None
    rows = np.arange(n_rows)
    if n_rows > _ROWS:
        rows = np.sort(np.random.default_rng(7).choice(n_rows, _ROWS, replace=False))
    Z, _ = table.standardised(rows)
    # Of equal rows, which are their own nearest neighbours, one is enough.
    Z = np.unique(Z[:, Z.std(axis=0) > 0], axis=0).astype(np.float64)
    if len(Z) < _FEWEST_ROWS or Z.shape[1] < _FEWEST_COLUMNS:
        return None
    neighbours, distances = neighbours_of_distances(_distance_blocks(Z), len(Z), _LISTED)
    counts = times_listed(neighbours[:, :_NEIGHBOURS])
    skew = skewness(counts)
    return Hubness(
        rows=len(Z),
        neighbours=_NEIGHBOURS,
        skewness=skew,
        never_listed=float(np.mean(counts == 0)),
        most_listed=int(counts.max()),
        dimension=levina_bickel_dimension(np.maximum(distances, np.finfo(float).tiny), 6, _LISTED),
        level="warning" if skew > _STRONG else "note" if skew >= _MARKED else "none",
    )


def _distance_blocks(Z: np.ndarray) -> Iterator[np.ndarray]:
    squares = np.einsum("ij,ij->i", Z, Z)
    for start in range(0, len(Z), 500):
        rows = slice(start, start + 500)
        yield np.sqrt(np.maximum(squares[rows, None] + squares - 2 * Z[rows] @ Z.T, 0.0))
