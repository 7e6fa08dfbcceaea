"""Dense boxes with sides along the axes, each bounded in a few columns: fast projective clustering.

A box grows by one column at a time. Every column of the rows in the box so far has a densest interval, or none
(``fewer._kernels._densest_interval``); with ``rho_l`` the range of column l over all rows, the one with the largest
``(share of the rows inside) * rho_l / (b - a)`` is taken. When no column has an interval, the box is done; it is taken
out, and the next one grows from all rows that are left.

Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations. Subspace,
Latent Structure and Feature Selection, LNCS 3940, 163-172.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._kernels._densest_interval import densest_intervals, keep_rows, least_support

_AS_OFTEN_AS_IT_TAKES = 1_000_000_000

Bounds = dict[int, tuple[float, float]]


class Rule(NamedTuple):
    """What an interval needs: rows inside and outside, and a gain of likelihood.

    The number of rows is the largest of ``fixed``, ``share`` of all rows and, with ``root``, the square root of their
    number; the gain is ``gain_at_least + gain_per_log * log(rows)``.
    """

    fixed: int
    share: float = 0.0
    root: bool = False
    gain_per_log: float = 0.0
    gain_at_least: float = -np.inf

    def for_all(self, n_rows: int) -> "Rule":
        """The same support for every set of rows, however small: what it is for this many."""
        return self._replace(fixed=least_support(n_rows, self.fixed, self.share, self.root), share=0.0, root=False)


class Intervals(NamedTuple):
    """Of each column: slice of its sorted rows (empty: no interval), bounds, and the gain of the first pass."""

    slices: np.ndarray
    bounds: np.ndarray
    gains: np.ndarray


class Box(NamedTuple):
    """Bounds by column, in the order in which they were found, and the rows."""

    bounds: Bounds
    rows: np.ndarray


class SortedColumns:
    """Rows of a table, sorted along each column; sets of rows are made of one another without sorting again."""

    def __init__(self, values: np.ndarray, rows: np.ndarray, n_rows: int) -> None:
        self.values, self.rows, self.n_rows = values, rows, n_rows

    @classmethod
    def of(cls, X: np.ndarray) -> "SortedColumns":
        """All rows of a table."""
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        rows = np.argsort(columns, axis=1, kind="stable")
        return cls(np.take_along_axis(columns, rows, axis=1), rows.astype(np.int32), X.shape[0])

    def all_rows(self) -> np.ndarray:
        return self.rows[0, : self.n_rows]

    def n_distinct(self) -> np.ndarray:
        """Number of different values in each column."""
        return np.array([1 + np.count_nonzero(np.diff(column[: self.n_rows])) for column in self.values])

    def n_at_median(self) -> np.ndarray:
        """Number of rows with the median of each column."""
        middle = self.values[:, self.n_rows // 2]
        return np.count_nonzero(self.values[:, : self.n_rows] == middle[:, None], axis=1)

    def intervals(self, rule: Rule, logs: np.ndarray, n_passes: int = _AS_OFTEN_AS_IT_TAKES) -> Intervals:
        """The densest interval of each column."""
        return Intervals(*densest_intervals(self.values, self.n_rows, *rule, n_passes, logs))

    def keep(self, kept: np.ndarray, into: "SortedColumns") -> None:
        """Write the rows to keep, of a mask, into another one or into itself."""
        n_kept = int(np.count_nonzero(kept[self.all_rows()]))
        keep_rows(self.values, self.rows, self.n_rows, kept, into.values, into.rows)
        into.n_rows = n_kept


def refuse_sparse(X: Any, who: str) -> None:
    """Say what to do with a sparse table: an interval around zero would be the densest of every column."""
    if sparse.issparse(X):
        raise TypeError(
            f"X is sparse, and {who} looks for values that lie close together: in every column most rows would do so "
            "at zero, and the clusters would tell only where zeros are. Make a few dense columns of it first, by "
            "TruncatedSVD of scikit-learn or fewer.extract.RandomProjection, or pass X.toarray() if hardly any entry "
            "is zero."
        )


def logs_up_to(n_rows: int) -> np.ndarray:
    """Logarithms of 0 (as 0), 1, 2, ..., n_rows."""
    return np.log(np.maximum(np.arange(n_rows + 1), 1))


def found_boxes(left: SortedColumns, rule: Rule) -> Iterator[Box]:
    """Boxes in the order of discovery, each taken out of ``left``; the last has no bounds, and all that is left."""
    growing = SortedColumns(np.empty_like(left.values), np.empty_like(left.rows), 0)
    ranges, logs = np.ptp(left.values, axis=1), logs_up_to(left.n_rows)
    outside = np.ones(left.n_rows, dtype=bool)
    while True:
        box = _grown(left, growing, ranges, rule, logs)
        yield box
        if not box.bounds:
            return
        outside[box.rows] = False
        left.keep(outside, left)


def _grown(left: SortedColumns, growing: SortedColumns, ranges: np.ndarray, rule: Rule, logs: np.ndarray) -> Box:
    bounds: Bounds = {}
    kept = np.zeros(len(logs), dtype=bool)
    current = left
    while True:
        found = current.intervals(rule, logs)
        sizes = found.slices[:, 1] - found.slices[:, 0]
        if not sizes.any():
            return Box(bounds, current.all_rows().copy())
        widths = np.where(sizes > 0, found.bounds[:, 1] - found.bounds[:, 0], 1.0)
        column = int(np.argmax(sizes * ranges / widths))
        bounds[column] = (float(found.bounds[column, 0]), float(found.bounds[column, 1]))
        kept[:] = False
        kept[current.rows[column, slice(*found.slices[column])]] = True
        current.keep(kept, growing)
        current = growing


def first_boxes(
    columns: SortedColumns, rule: Rule, most: int | None, stop: Callable[[], bool] = lambda: False
) -> list[Box]:
    """The first boxes, as many as asked for, or all."""
    kept: list[Box] = []
    for box in found_boxes(columns, rule):
        kept.append(box)
        if stop() or len(kept) == most:
            break
    return kept


def rows_inside(X: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Rows of a table that lie in a box, its sides included."""
    rows = np.arange(X.shape[0])
    for column, (low, high) in bounds.items():
        values = X[rows, column].astype(np.float64, copy=False)  # a middle of two float32 is none itself
        rows = rows[(low <= values) & (values <= high)]
    return rows
