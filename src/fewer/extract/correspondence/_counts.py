"""Tables of counts: which rows and columns hold any, their totals, and how far the table is from independence.

With the totals r_i of rows, c_k of columns and N of all of a table Y,

    M = A^{-1/2} (Y - r c' / N) B^{-1/2},    A = diag(r), B = diag(c),

has the trivial axis removed; the sum of its squares is Pearson's chi-square over N.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from fewer._estimators import warn_caller


class CountTable(NamedTuple):
    """The rows and columns of a table that hold counts, their totals, and where they are in the table."""

    counts: Any
    row_totals: np.ndarray
    column_totals: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    @property
    def total(self) -> float:
        return float(self.row_totals.sum())


def refuse_negative(counts: Any, who: str, names: Any = None) -> None:
    """Refuse negative counts, and name the first column that has one."""
    stored = counts.tocoo() if sparse.issparse(counts) else None
    lowest = counts.min() if stored is None or stored.nnz else 0
    if lowest < 0:
        place = int(np.nonzero(counts < 0)[1].min() if stored is None else stored.coords[1][stored.data < 0].min())
        name = place if names is None else repr(str(names[place]))
        raise ValueError(
            f"Negative values in data passed to {who}, in column {name}: it takes a table of counts, or of other "
            "numbers that are 0 or more."
        )


def count_table(counts: Any, who: str) -> CountTable:
    """The part of a table that holds counts; empty rows and columns are left out with a warning."""
    row_totals, column_totals = (np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    rows, columns = np.flatnonzero(row_totals), np.flatnonzero(column_totals)
    empty = [len(row_totals) - len(rows), len(column_totals) - len(columns)]
    if any(empty):
        what = " and ".join(f"{n} {thing}" for n, thing in zip(empty, ("rows", "columns"), strict=True) if n)
        warn_caller(f"{what} hold no counts: they take no part in the fit of {who}, and have no scores (NaN).")
        counts = counts[rows][:, columns]
    if len(rows) < 2 or len(columns) < 2:
        raise ValueError(
            f"{who} compares rows and columns of counts, and found {len(rows)} rows and {len(columns)} columns that "
            "hold any: two or more of each are needed (n_samples=1 or n_features=1 are too few)."
        )
    return CountTable(counts, row_totals[rows], column_totals[columns], rows, columns)


def warn_of_empty_rows(totals: np.ndarray, who: str) -> None:
    """Say that rows without counts are put in the middle."""
    n_empty = int(np.count_nonzero(totals <= 0))
    if n_empty:
        which = f"row {int(np.argmin(totals > 0))}" if n_empty == 1 else f"{n_empty} rows"
        warn_caller(
            f"{which} held no counts in the columns that {who} was fitted to: with nothing known, transform gives 0, "
            "the middle of the training rows."
        )


def residuals(table: CountTable) -> Any:
    """M: an array, or for a sparse table an operator that never forms it."""
    row_roots, column_roots = np.sqrt(table.row_totals), np.sqrt(table.column_totals)
    if not sparse.issparse(table.counts):
        expected = np.outer(row_roots, column_roots) / table.total
        return table.counts / row_roots[:, None] / column_roots - expected
    scaled = sparse.diags_array(1 / row_roots) @ table.counts @ sparse.diags_array(1 / column_roots)
    row_part, column_part = row_roots / np.sqrt(table.total), column_roots / np.sqrt(table.total)
    return LinearOperator(
        scaled.shape,
        dtype=np.float64,
        matvec=lambda v: scaled @ v.ravel() - row_part * (column_part @ v.ravel()),
        rmatvec=lambda v: scaled.T @ v.ravel() - column_part * (row_part @ v.ravel()),
        matmat=lambda v: scaled @ v - np.outer(row_part, column_part @ v),
        rmatmat=lambda v: scaled.T @ v - np.outer(column_part, row_part @ v),
    )


def total_inertia(table: CountTable) -> float:
    """Pearson's chi-square of the table over N."""
    if not sparse.issparse(table.counts):
        return float(np.sum(residuals(table) ** 2))
    stored = table.counts.tocoo()
    rows, columns = stored.coords
    shares = stored.data.astype(np.float64) ** 2 / (table.row_totals[rows] * table.column_totals[columns])
    return max(float(shares.sum()) - 1, 0.0)
