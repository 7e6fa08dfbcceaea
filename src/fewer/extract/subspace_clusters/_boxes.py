"""Dense boxes with sides along the axes, each bounded in a few columns: fast projective clustering.

A box grows by one column at a time. Every column of the rows in the box so far has a densest interval, or none; with
``rho_l`` the range of column l over all rows, the one with the largest ``(share of the rows inside) * rho_l / (b - a)``
is taken. When no column has an interval, the box is done; its rows are removed, and the next one grows from all rows
that are left.

The densest interval of a column is the best by the likelihood of one uniform density inside and one outside. Of m
numbers with range r let k lie in an interval of width w r. Two uniform densities exceed the log-likelihood of a single
one by

    gain = k log(k / (m w)) + (m - k) log((m - k) / (m (1 - w))) = m KL(k / m || w).

KL is convex, and ``k`` and ``w`` are differences of the bounds' coordinates (numbers to the left, position). So of two
stretches of bounds the best pair is one of corners of their convex hulls, and only corners are tried: some tens where
all pairs would be as many as there are numbers. Pairs within a stretch are those of its halves, and so on.

Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations. Subspace,
Latent Structure and Feature Selection, LNCS 3940, 163-172.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse


@njit(cache=True, nogil=True)
def _middle(values, k):
    """The middle between a number and the one before it, and whether it lies between them: equals have none."""
    left, right = values[k - 1], values[k]
    middle = 0.5 * left + 0.5 * right
    return middle, left < middle < right


@njit(cache=True, nogil=True)
def _place_bounds(values, from_count, to_count, positions, counts, n_bounds):
    """Appends both ends and all middles between different neighbours, by the numbers to their left. How many then."""
    if from_count == 0:
        positions[n_bounds], counts[n_bounds] = values[0], 0
        n_bounds += 1
    for k in range(max(from_count, 1), min(to_count + 1, values.size)):
        middle, between = _middle(values, k)
        if between:
            positions[n_bounds], counts[n_bounds] = middle, k
            n_bounds += 1
    if to_count == values.size:
        positions[n_bounds], counts[n_bounds] = values[values.size - 1], values.size
        n_bounds += 1
    return n_bounds


@njit(cache=True, nogil=True)
def _coarse_bounds(values, least, positions, counts):
    """Every so many numbers a bound, and both ends; what lies in between is skipped. Returns how many."""
    positions[0], counts[0] = values[0], 0
    n_coarse, k = 1, least
    while k < values.size:
        middle, between = _middle(values, k)
        if between:
            positions[n_coarse], counts[n_coarse] = middle, k
            n_coarse += 1
            k += least
        else:
            k += 1
    positions[n_coarse], counts[n_coarse] = values[values.size - 1], values.size
    return n_coarse + 1


@njit(cache=True, nogil=True)
def _gain(positions, counts, n_bounds, low, high, logs):
    """Gain of the interval between two bounds, less a term that is the same for all; nothing for the whole range."""
    last = n_bounds - 1
    if low == 0 and high == last:
        return -np.inf
    inside = counts[high] - counts[low]
    outside = counts[last] - inside
    whole = positions[last] - positions[0]
    within = (positions[high] - positions[low]) / whole
    without = ((positions[low] - positions[0]) + (positions[last] - positions[high])) / whole
    return inside * (logs[inside] - np.log(within)) + outside * (logs[outside] - np.log(without))


@njit(cache=True, nogil=True)
def _corners(positions, counts, first, last, corners):
    """Corners of the convex hull of the bounds from ``first`` to ``last``, above, then below; returns how many."""
    n_corners = 0
    for side in (1.0, -1.0):
        start = n_corners
        for k in range(first, last + 1):
            while n_corners - start >= 2:
                a, b = corners[n_corners - 2], corners[n_corners - 1]
                turn = (positions[b] - positions[a]) * (counts[k] - counts[a])
                turn -= (positions[k] - positions[a]) * (counts[b] - counts[a])
                if side * turn < 0:
                    break
                n_corners -= 1
            corners[n_corners] = k
            n_corners += 1
    # Both sides have the two ends, which need be tried only once.
    n_corners -= 2 if last > first else 1
    for k in range(start, n_corners):
        corners[k] = corners[k + 1]
    return n_corners


@njit(cache=True, nogil=True)
def _best_of_stretches(positions, counts, n_bounds, low_from, low_to, high_from, high_to, corners, logs, best):
    """The better of ``best`` and the best interval from one stretch of bounds to another that does not begin before."""
    n_low = _corners(positions, counts, low_from, low_to, corners)
    n_both = n_low + _corners(positions, counts, high_from, high_to, corners[n_low:])
    for a in range(n_low):
        for b in range(n_low, n_both):
            if corners[a] < corners[b]:
                gain = _gain(positions, counts, n_bounds, corners[a], corners[b], logs)
                # Of equals the first: what lies left of a bound gains as much as what lies right of it.
                if gain > best[2] or (gain == best[2] and corners[a] < best[0]):
                    best = (corners[a], corners[b], gain)
    return best


@njit(cache=True, nogil=True)
def _best_in_stretch(positions, counts, n_bounds, first, last, corners, logs, best):
    """The better of ``best`` and the best interval within a stretch of bounds, by neighbouring halves."""
    size = 1
    while size <= last - first:
        for start in range(first, last + 1 - size, 2 * size):
            middle, end = start + size, min(start + 2 * size - 1, last)
            best = _best_of_stretches(positions, counts, n_bounds, start, middle - 1, middle, end, corners, logs, best)
        size *= 2
    return best


@njit(cache=True, nogil=True)
def _best_interval(values, least, positions, counts, coarse_positions, coarse_counts, corners, logs):
    """The best interval, among coarse bounds first, then among all up to their neighbours.

    Its bounds as places among those that are written to ``positions`` and ``counts``, its gain, and how many these are.
    """
    n_coarse = _coarse_bounds(values, least, coarse_positions, coarse_counts)
    a, b, gain = _best_in_stretch(
        coarse_positions, coarse_counts, n_coarse, 0, n_coarse - 1, corners, logs, (0, 0, -np.inf)
    )
    if b == 0:
        return 0, 0, -np.inf, 0
    # Both ends of the column, and all bounds up to the neighbours of the two coarse ones; no others are needed.
    before, after = coarse_counts[max(a - 1, 0)], coarse_counts[min(b + 1, n_coarse - 1)]
    n_bounds = 0
    if before > 0:
        positions[0], counts[0] = values[0], 0
        n_bounds = 1
    low_from = n_bounds
    if b - a > 1:
        n_bounds = _place_bounds(values, before, coarse_counts[a + 1], positions, counts, n_bounds)
        low_to = n_bounds - 1
        high_from = low_to
        if b - a > 2:
            high_from = n_bounds
            n_bounds = _place_bounds(values, coarse_counts[b - 1], after, positions, counts, n_bounds)
        else:
            n_bounds = _place_bounds(values, coarse_counts[b - 1] + 1, after, positions, counts, n_bounds)
    else:
        n_bounds = _place_bounds(values, before, after, positions, counts, n_bounds)
    high_to = n_bounds - 1
    if after < values.size:
        positions[n_bounds], counts[n_bounds] = values[values.size - 1], values.size
        n_bounds += 1
    low = np.searchsorted(counts[:n_bounds], coarse_counts[a])
    high = np.searchsorted(counts[:n_bounds], coarse_counts[b])
    best = (low, high, gain)
    if b - a > 1:
        best = _best_of_stretches(
            positions, counts, n_bounds, low_from, low_to, high_from, high_to, corners, logs, best
        )
    else:
        # The stretches of the two ends overlap between the two coarse bounds.
        best = _best_of_stretches(positions, counts, n_bounds, low_from, low, low, high_to, corners, logs, best)
        best = _best_of_stretches(positions, counts, n_bounds, low, high, high, high_to, corners, logs, best)
        best = _best_in_stretch(positions, counts, n_bounds, low, high, corners, logs, best)
    return best[0], best[1], best[2], n_bounds


@njit(cache=True, nogil=True)
def _densest_part(positions, counts, n_bounds, low, high):
    """The densest of what lies left of an interval, in it, and right of it: the interval may be a valley."""
    last = n_bounds - 1
    best, kept = -1.0, (low, high)
    for a, b in ((low, high), (0, low), (high, last)):
        if b > a:
            density = (counts[b] - counts[a]) / (positions[b] - positions[a])
            if density > best:
                best, kept = density, (a, b)
    return kept


@njit(cache=True, nogil=True)
def least_support(n_rows, fixed, share, root):
    """The largest of a fixed number, a share of the rows and, if asked for, the square root of their number."""
    least = max(fixed, int(np.ceil(share * n_rows)))
    return max(least, int(np.ceil(np.sqrt(n_rows)))) if root else least


@njit(cache=True, nogil=True)
def densest_intervals(values, n_rows, fixed, share, root, gain_per_log, gain_at_least, n_passes, logs):
    """For each sorted column: bounds, the rows between them as a slice, and the gain of the first pass.

    An interval is searched again inside of the one before, ``n_passes`` times at most, until it is refused: it needs
    ``least_support`` rows inside and outside, and a gain of more than ``gain_at_least + gain_per_log * log(rows)``. A
    column without an interval has an empty slice.
    """
    n_columns = values.shape[0]
    slices, bounds, gains = np.zeros((n_columns, 2), np.int64), np.zeros((n_columns, 2)), np.zeros(n_columns)
    positions, counts = np.empty(n_rows + 1), np.empty(n_rows + 1, np.int64)
    corners = np.empty(4 * (n_rows + 1), np.int64)
    coarse_positions, coarse_counts = np.empty(n_rows + 1), np.empty(n_rows + 1, np.int64)
    for column in range(n_columns):
        first, last = 0, n_rows
        for each in range(n_passes):
            size = last - first
            least = least_support(size, fixed, share, root)
            if size < 2 * least:
                break
            low, high, gain, n_bounds = _best_interval(
                values[column, first:last], least, positions, counts, coarse_positions, coarse_counts, corners, logs
            )
            if n_bounds == 0:
                break
            gain -= size * logs[size]
            if each == 0:
                gains[column] = gain
            low, high = _densest_part(positions, counts, n_bounds, low, high)
            inside = counts[high] - counts[low]
            if min(inside, size - inside) < least or gain <= gain_at_least + gain_per_log * logs[size]:
                break
            bounds[column, 0], bounds[column, 1] = positions[low], positions[high]
            first, last = first + counts[low], first + counts[high]
            slices[column, 0], slices[column, 1] = first, last
    return slices, bounds, gains


@njit(cache=True, nogil=True)
def keep_rows(values, rows, n_rows, kept, values_out, rows_out):
    """Sorted columns with only the rows to keep, which may be written over the old ones."""
    for column in range(values.shape[0]):
        place = 0
        for k in range(n_rows):
            row = rows[column, k]
            # Written in any case, and kept or written over: the processor need not guess which.
            values_out[column, place], rows_out[column, place] = values[column, k], row
            place += kept[row]


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
            "at zero, and the clusters would only show where zeros are. Make a few dense columns of it first, by "
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
