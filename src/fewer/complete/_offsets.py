"""Offsets and scales of a table with holes, taken from the observed entries before a low-rank model is fitted."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from fewer.complete._observed import Observed

_SWEEPS = 100
_SETTLED = 1e-10


class Offsets(NamedTuple):
    """An entry of row i and column j stands for ``(x - rows[i] - columns[j]) / scales[j]``."""

    rows: np.ndarray | None
    columns: np.ndarray
    scales: np.ndarray


def fitted_offsets(table: Observed, center: str | None, scale: bool) -> Offsets:
    """Means of what is observed: of columns, or of rows and columns together; scales are standard deviations."""
    columns = np.zeros(table.shape[1]) if center is None else table.column_means
    rows = None
    if center == "both":
        rows, columns = _two_way_means(table, columns)
    scales = np.ones(table.shape[1])
    if scale:
        stored = standardised(table, Offsets(rows, columns, scales)).by_rows
        squares = np.bincount(stored.indices, weights=stored.data.astype(np.float64) ** 2, minlength=table.shape[1])
        spread = np.sqrt(squares / np.maximum(table.column_counts, 1))
        # What rounding leaves of a constant column is not worth scaling up.
        scales = np.where(spread > 1e-6 * np.abs(columns), spread, 1.0)
        scales[scales == 0] = 1.0
    return Offsets(rows, columns, scales)


def offsets_of_rows(table: Observed, fitted: Offsets) -> Offsets:
    """The same for new rows: each row's own mean, from what is observed of it, where rows have offsets."""
    if fitted.rows is None:
        return fitted
    stored = table.by_rows
    return fitted._replace(rows=_row_means(stored, stored.data - fitted.columns[stored.indices]))


def standardised(table: Observed, offsets: Offsets) -> Observed:
    """The table without its offsets, in units of its scales."""
    if offsets.rows is None and not offsets.columns.any() and (offsets.scales == 1).all():
        return table
    columns, scales = offsets.columns.astype(table.dtype), offsets.scales.astype(table.dtype)
    rows = np.zeros(table.shape[0], table.dtype) if offsets.rows is None else offsets.rows.astype(table.dtype)
    if table.dense is not None:
        return Observed((table.dense - rows[:, None] - columns) / scales)
    stored = table.by_rows
    values = stored.data - np.repeat(rows, np.diff(stored.indptr)) - columns[stored.indices]
    values /= scales[stored.indices]
    return Observed(sparse.csr_array((values, stored.indices, stored.indptr), shape=stored.shape))


def _two_way_means(table: Observed, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of rows and of columns that leave no mean in either, by turns."""
    stored = table.by_rows
    counts = np.maximum(table.column_counts, 1)
    size = max(float(np.abs(columns).max(initial=0)), np.finfo(float).tiny)
    for _ in range(_SWEEPS):
        rows = _row_means(stored, stored.data - columns[stored.indices])
        left = stored.data - np.repeat(rows, np.diff(stored.indptr))
        before, columns = columns, np.bincount(stored.indices, weights=left, minlength=len(counts)) / counts
        if np.abs(columns - before).max(initial=0) <= _SETTLED * size:
            break
    return _row_means(stored, stored.data - columns[stored.indices]), columns


def _row_means(stored: sparse.csr_array, values: np.ndarray) -> np.ndarray:
    counts = np.diff(stored.indptr)
    totals = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=values, minlength=len(counts))
    return totals / np.maximum(counts, 1)
