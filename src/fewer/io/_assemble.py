"""From the cells that a reader hands over to a Dataset: target out, columns dropped, missing marked, kinds found."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer.io._dataset import Dataset
from fewer.io._errors import TableError, refuse_repeated_names, unknown_column
from fewer.io._frame import is_numeric, is_numeric_type, numeric_array, split_markers, tidy_frame, with_null_for_nan
from fewer.io._kinds import KINDS, kinds_of, kinds_of_numbers
from fewer.io._memory import Table, free_name
from fewer.io._target import checked_task, missing_in, target_array, task_of


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
    data, columns = _without(table, _dropped(table, drop, target_name))
    if table.columns and columns in ([], [target_name]):
        raise TableError(f"{table.source}: no column is left to learn from beside the target and those in drop=.")
    if isinstance(data, pl.DataFrame):
        data = tidy_frame(data, missing_values, table.source)
    else:
        data = _with_marked_missing(data, missing_values, table.source)
    reason, rows = "", None
    if target_name in columns and y is None:
        y, data, columns = _split_off(data, columns, target_name)
    if y is not None and target_name is not None:
        y = target_array(y, table.source, target_name)
        if len(y) != data.shape[0]:
            raise TableError(
                f"{table.source}: {target_name} has {len(y)} values, but the table has {data.shape[0]} rows."
            )
        data, y, rows = _rows_with_target(data, y, table.source, target_name, missing_target)
        task, reason = task_of(y, table.source, target_name, task)
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
        rows=rows,
    )


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
                f"{table.source}: there is no column {wanted!r}, but the file carries a target of its own. Leave the "
                f"target out to use it, or call it {table.target or 'target'!r}."
            )
        raise unknown_column(table.source, wanted, table.columns, "target=")
    name = getattr(target, "name", None)
    return (
        name if isinstance(name, str) and name and name not in table.columns else free_name("target", table.columns)
    ), target


def _dropped(table: Table, drop: Iterable[str], target_name: str | None) -> set[str]:
    names = {drop} if isinstance(drop, str) else {str(name) for name in drop}
    known = set(table.columns)
    for name in sorted(names):
        if name not in known:
            raise unknown_column(table.source, name, table.columns, "drop=")
    if target_name in names & known and table.y is None:
        raise TableError(
            f"{table.source}: {target_name!r} is both the target and in drop=. Leave it out of one of them."
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
        raise TableError(f"{source}: 0 cannot mark missing values in a sparse table, where it is what is not stored.")
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
        raise TableError(f"{found}. Fill it in, or use missing_target='drop' to leave these rows out.")
    warnings.warn(f"{found}; these rows are left out.", UserWarning, stacklevel=4)
    kept = np.flatnonzero(~missing)
    return data[kept], y[kept], kept


def _override(found: list[str], columns: list[str], kinds: Mapping[str, str], data: Any, source: str) -> None:
    position = {name: j for j, name in enumerate(columns)}
    for name, kind in kinds.items():
        if name not in position:
            raise unknown_column(source, name, columns, "kinds=")
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
                "If some of its values stand for missing ones, name them in missing_values=."
            )
        found[position[name]] = kind
