"""A Dataset as a frame, as an array, or as a few lines of text for the terminal and a notebook."""

import html
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from fewer._wording import counted, listed_values, rounded_percent
from fewer.io._dataset import Dataset
from fewer.io._errors import TableError
from fewer.io._frame import is_numeric_type, numeric_array
from fewer.io._kinds import KINDS
from fewer.io._memory import free_name, pandas_from_series

_CLASSES_SHOWN = 8


def dataset_to_numpy(dataset: Dataset) -> Any:
    """Columns as an array; sparse stays sparse."""
    if not isinstance(dataset.X, pl.DataFrame):
        return dataset.X
    others = [name for name, dtype in dataset.X.schema.items() if not is_numeric_type(dtype)]
    if others:
        raise TableError(
            f"{dataset.source}: these columns are not numbers: {listed_values(others)}. Leave them out with "
            "dataset.keep(dataset.columns_of_kind('numeric')), or encode them first."
        )
    return numeric_array(dataset.X)


def dataset_to_polars(dataset: Dataset, *, dense: bool = False) -> pl.DataFrame:
    """Columns and target as a polars frame."""
    X = dataset.X
    if sp.issparse(X):
        if not dense:
            raise TableError(
                f"{dataset.source}: the table is sparse, and a polars frame would store its zeros as well: "
                f"{X.shape[0]:,} x {X.shape[1]:,} cells. Use to_polars(dense=True) if it fits into memory, or "
                "to_pandas()."
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


def summary_text(dataset: Dataset) -> str:
    """The summary as plain text."""
    lines = [f"{dataset.source}: {_table_line(dataset)}"]
    return "\n".join(lines + [f"  {label:<8} {text}" for label, text in _facts(dataset)])


def summary_html(dataset: Dataset) -> str:
    """The summary as a small HTML table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{label}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
        for label, text in _facts(dataset)
    )
    head = f"<b>{html.escape(dataset.source)}</b>: {html.escape(_table_line(dataset))}"
    return f"<div><p>{head}</p><table>{rows}</table></div>"


def _table_line(dataset: Dataset) -> str:
    line = f"{counted(dataset.n_rows, 'row')}, {counted(dataset.n_columns, 'column')}"
    if dataset.is_sparse:
        share = dataset.X.nnz / max(1, dataset.n_rows * dataset.n_columns)
        line += f", sparse ({rounded_percent(share)} stored)"
    return line


def _facts(dataset: Dataset) -> list[tuple[str, str]]:
    facts = [("kinds", _kinds_line(dataset)), ("missing", _missing_line(dataset))]
    if infinite := _infinite_columns(dataset):
        facts.append(("infinite", f"values in {counted(infinite, 'column')}; most methods raise an error for them"))
    facts.append(("target", _target_line(dataset)))
    if dataset.other_task:
        facts.append(("task", dataset.task_reason.replace("--task ", "task=")))
    return facts


def _kinds_line(dataset: Dataset) -> str:
    counts = Counter(dataset.kinds)
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind]) or "no columns"


def _missing_line(dataset: Dataset) -> str:
    total = int(dataset.missing_by_column.sum())
    if total == 0:
        return "none"
    columns = int(np.count_nonzero(dataset.missing_by_column))
    rows = int(np.count_nonzero(dataset.missing_by_row))
    share = rounded_percent(total / (dataset.n_rows * dataset.n_columns))
    return f"{counted(total, 'cell')} ({share}), in {counted(columns, 'column')} and {counted(rows, 'row')}"


def _infinite_columns(dataset: Dataset) -> int:
    X = dataset.X
    if isinstance(X, np.ndarray):
        if X.dtype.kind != "f":
            return 0
        step = max(1, 2_000_000 // max(1, X.shape[1]))
        infinite = np.zeros(X.shape[1], dtype=bool)
        for start in range(0, X.shape[0], step):
            infinite |= np.isinf(X[start : start + step]).any(axis=0)
        return int(infinite.sum())
    if sp.issparse(X):
        columns = X.tocoo().col[np.isinf(X.tocoo().data)] if X.dtype.kind == "f" else []
        return len(set(columns))
    return sum(bool(series.is_infinite().any()) for series in X if series.dtype.is_float())


def _target_line(dataset: Dataset) -> str:
    y = dataset.y
    if y is None:
        return "none"
    if dataset.task == "regression":
        if len(y) == 0:
            return f"{dataset.target}: regression"
        return f"{dataset.target}: regression (from {np.min(y):.4g} to {np.max(y):.4g}, median {np.median(y):.4g})"
    classes, counts = np.unique(y, return_counts=True)
    shown = [f"{label}: {count:,}" for label, count in zip(classes[:_CLASSES_SHOWN], counts, strict=False)]
    if len(classes) > _CLASSES_SHOWN:
        shown.append(f"and {len(classes) - _CLASSES_SHOWN} more, the rarest with {counted(int(counts.min()), 'row')}")
    number = "" if dataset.task == "binary" else f", {len(classes)} classes"
    return f"{dataset.target}: {dataset.task}{number} ({', '.join(shown)})"
