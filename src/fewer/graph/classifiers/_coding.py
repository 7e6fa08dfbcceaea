"""Columns as levels 0, 1, ...: measurements are cut, codes are taken as they are.

Both kinds of classifiers in this folder count levels. What is missing or was never seen in training has level -1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._estimators import known_column, warn_caller
from fewer._kernels._cuts import Discretisation, column_cuts
from fewer._wording import counted

MOST_VALUES = 10
"""With ``discrete="auto"``, columns of at most so many values are taken as codes."""


@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """How entries become levels.

    Attributes
    ----------
    marks : list of ndarray
        Sorted values of a column of codes, or cuts of one of measurements.
    discrete : ndarray of bool
        Which columns hold codes.
    """

    marks: list[np.ndarray]
    discrete: np.ndarray

    @property
    def n_levels(self) -> np.ndarray:
        """Levels of each column."""
        return np.array([len(each) for each in self.marks], dtype=np.int64) + ~self.discrete

    def codes(self, X: np.ndarray) -> np.ndarray:
        """Level of each entry, ``(n_rows, n_columns)``; -1 where it is missing or a value that was not seen."""
        found = np.empty(X.shape, dtype=np.int64)
        for column, (marks, discrete) in enumerate(zip(self.marks, self.discrete, strict=True)):
            entries = X[:, column]
            levels = np.searchsorted(marks, entries)
            if discrete:
                known = marks[np.minimum(levels, len(marks) - 1)] == entries
                levels = np.where(known, levels, -1)
            found[:, column] = np.where(np.isnan(entries), -1, levels)
        return found


def column_coding(
    X: np.ndarray, classes: np.ndarray, *, discrete: Any, method: Discretisation, n_bins: int
) -> ColumnCoding:
    """Coding of a complete table, by its classes where cuts depend on them."""
    n_columns = X.shape[1]
    if isinstance(discrete, str):  # "auto"
        values = [np.unique(column) for column in X.T]
        mask = np.array([len(each) <= MOST_VALUES for each in values])
    else:
        mask = np.broadcast_to(np.asarray(discrete, dtype=bool), n_columns).copy()
        values = [np.unique(column) if each else np.zeros(0) for column, each in zip(X.T, mask, strict=True)]
    measured = np.flatnonzero(~mask)
    cuts = column_cuts(X[:, measured], classes, method=method, n_bins=n_bins) if len(measured) else []
    marks = [each.astype(np.float64) for each in values]
    for column, own in zip(measured, cuts, strict=True):
        marks[column] = own
    return ColumnCoding(marks, mask)


def check_mask(discrete: Any, n_columns: int) -> None:
    """Refuse a mask of another length."""
    if not isinstance(discrete, str | bool) and np.shape(discrete) != (n_columns,):
        raise ValueError(
            f"discrete has shape {np.shape(discrete)}, and X {n_columns} columns: give 'auto', True, False or a mask."
        )


def complete_rows(X: np.ndarray, y: np.ndarray, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows without missing values; how many are left out is reported."""
    missing = np.isnan(X)
    rows = missing.any(axis=1)
    if not rows.any():
        return X, y
    worst = int(missing.sum(axis=0).argmax())
    name = known_column(worst, X.shape[1])
    if rows.all() or len(np.unique(y[~rows])) < len(np.unique(y)):
        raise ValueError(
            f"Input X contains NaN in {counted(int(rows.sum()), 'row')}, most often in column {name}, so that "
            f"{'no row is' if rows.all() else 'not every class has a row that is'} complete. {who} learns from rows "
            "without missing values: impute them first, or drop that column."
        )
    warn_caller(
        f"{counted(int(rows.sum()), 'row')} of {len(X):,} {'has' if rows.sum() == 1 else 'have'} missing values, most "
        f"often in column {name}; {who} learns from the others. In new rows missing values are summed out exactly."
    )
    return X[~rows], y[~rows]
