"""Where columns are cut into levels: bins of equal frequency or width, or the cuts that pay for themselves (MDL).

The interval of a value is the number of cuts less than it. By description length, a cut into parts S1 and S2 of the n
rows S is made where the class entropy of the parts is least, if it gains more than it costs to describe:

    H(S) - (n1 H(S1) + n2 H(S2)) / n > [log2(n - 1) + log2(3^k - 2) - k H(S) + k1 H(S1) + k2 H(S2)] / n

with k, k1, k2 the numbers of classes present, and then again in both parts. A column without information about the
classes by itself is left in one piece, as a single level.

Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for classification
learning. IJCAI, 1022-1027.
"""

from typing import Literal

import numpy as np
from numba import njit

Discretisation = Literal["mdl", "equal_frequency", "equal_width"]


def column_cuts(
    X: np.ndarray, classes: np.ndarray | None = None, *, method: Discretisation = "mdl", n_bins: int = 5
) -> list[np.ndarray]:
    """Cuts of every column, to be applied to other rows too.

    Cuts by description length lie midway between the values on both sides; the others are the largest values below
    them, or shares of the range.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [7.0, 5.0], [8.0, 5.0], [9.0, 5.0]])
    >>> column_cuts(X, np.array([0, 0, 0, 1, 1, 1]))
    [array([5.]), array([], dtype=float64)]
    """
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    if method == "mdl":
        return [_mdl_cuts(column, *for_mdl(classes, len(X))) for column in columns]
    cuts_of = frequency_cuts if method == "equal_frequency" else width_cuts
    cuts, n_cuts = cuts_of(columns, n_bins)
    return [own[:n] for own, n in zip(cuts, n_cuts, strict=True)]


def levels_of(X: np.ndarray, cuts: list[np.ndarray]) -> np.ndarray:
    """Interval of each entry: how many cuts of its column are less than it."""
    levels = [np.searchsorted(own, column) for own, column in zip(cuts, X.T, strict=True)]
    return np.column_stack(levels).astype(np.int64)


def for_mdl(classes: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, int, np.ndarray]:
    """Classes, how many there are, and c log2 c for all counts."""
    if classes is None:
        raise ValueError("Cuts by description length (method='mdl') need classes.")
    counts = np.arange(n_rows + 1, dtype=float)
    return classes.astype(np.int32), int(classes.max()) + 1, counts * np.log2(np.maximum(counts, 1))


def _mdl_cuts(column: np.ndarray, classes: np.ndarray, n_classes: int, xlogx: np.ndarray) -> np.ndarray:
    order = np.argsort(column, kind="stable")
    values, is_cut = column[order], np.empty(len(column), dtype=np.bool_)
    mdl_cut_places(values, classes[order], n_classes, xlogx, is_cut, np.empty((len(column) + 1, 2), dtype=np.int64))
    after = np.flatnonzero(is_cut)
    below, above = values[after - 1], values[after]
    middle = below + (above - below) / 2
    return np.where(middle < above, middle, below)  # between neighbouring numbers there is none


def frequency_cuts(columns: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts of some columns (a row each) into bins of equal frequency, and the numbers of these."""
    cuts = np.empty((len(columns), n_bins - 1), dtype=columns.dtype)
    n_cuts = np.empty(len(columns), dtype=np.int64)
    equal_frequency_cuts(np.sort(columns, axis=1), n_bins, cuts, n_cuts)
    return cuts, n_cuts


def weighted_frequency_cuts(columns: np.ndarray, weights: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with weights of the rows: a row of weight 2 counts as two rows."""
    cuts = np.empty((len(columns), n_bins - 1), dtype=columns.dtype)
    n_cuts = np.empty(len(columns), dtype=np.int64)
    for column, values in enumerate(columns):
        order = np.argsort(values)
        below = np.concatenate([[0.0], np.cumsum(weights[order])])
        n_cuts[column] = weighted_frequency_cuts_of(values[order], below, n_bins, cuts[column])
    return cuts, n_cuts


def width_cuts(columns: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts of some columns (a row each) into bins of equal width, and the numbers of these."""
    return range_cuts(columns.min(axis=1), columns.max(axis=1), n_bins)


def range_cuts(low: np.ndarray, high: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts of columns with these ranges into bins of equal width, and the numbers of these."""
    shares = (np.arange(1, n_bins) / n_bins).astype(low.dtype)
    cuts = np.multiply.outer(low, 1 - shares) + np.multiply.outer(high, shares)
    return cuts, np.where(high > low, n_bins - 1, 0)


@njit(cache=True, nogil=True)
def equal_frequency_cuts_of(values, n_bins, cuts):
    """Write the cuts of one sorted column, and return how many there are. Equal values are never parted."""
    n_rows = values.size
    n_cuts = 0
    for row in range(1, n_rows):
        if values[row] != values[row - 1]:
            if n_cuts == n_bins - 1:
                n_cuts = -1
                break
            cuts[n_cuts] = values[row - 1]
            n_cuts += 1
    if n_cuts >= 0:  # so few values that each is an interval of its own
        return n_cuts
    n_cuts = 0
    for b in range(1, n_bins):
        # The same cuts from either end, so that a column and its negative get the same intervals in reverse.
        lower_half = 2 * b <= n_bins
        nearer_end = b if lower_half else n_bins - b
        place = (2 * n_rows * nearer_end + n_bins - 1) // (2 * n_bins)
        if not lower_half:
            place = n_rows - place
        if place == 0 or place == n_rows:
            continue
        before = np.searchsorted(values, values[place])
        after = np.searchsorted(values, values[place], side="right")
        # The end of the run of equal values that is nearer; the ends of the column are no cuts.
        to_before, to_after = place - before, after - place
        is_before = to_before < to_after or (to_before == to_after and lower_half)
        cut = before if before > 0 and (is_before or after == n_rows) else after
        if cut < n_rows and (n_cuts == 0 or values[cut - 1] > cuts[n_cuts - 1]):
            cuts[n_cuts] = values[cut - 1]
            n_cuts += 1
    return n_cuts


@njit(cache=True, nogil=True)
def equal_frequency_cuts(sorted_columns, n_bins, cuts, n_cuts):
    """Cuts of every sorted column (a row each)."""
    for column in range(sorted_columns.shape[0]):
        n_cuts[column] = equal_frequency_cuts_of(sorted_columns[column], n_bins, cuts[column])


@njit(cache=True, nogil=True)
def weighted_frequency_cuts_of(values, below, n_bins, cuts):
    """The same for rows with weights: ``below[i]`` is the sum of those of the first i rows; it has one entry more."""
    n_rows, total = values.size, below[-1]
    n_cuts = 0
    for row in range(1, n_rows):
        if values[row] != values[row - 1]:
            if n_cuts == n_bins - 1:
                n_cuts = -1
                break
            cuts[n_cuts] = values[row - 1]
            n_cuts += 1
    if n_cuts >= 0:
        return n_cuts
    n_cuts = 0
    for b in range(1, n_bins):
        lower_half = 2 * b <= n_bins
        nearer_end = b if lower_half else n_bins - b
        place = np.floor((2 * total * nearer_end + n_bins - 1) / (2 * n_bins))
        if not lower_half:
            place = total - place
        if place <= 0 or place >= total:
            continue
        at = min(np.searchsorted(below, place, side="right") - 1, n_rows - 1)
        before = np.searchsorted(values, values[at])
        after = np.searchsorted(values, values[at], side="right")
        to_before, to_after = place - below[before], below[after] - place
        is_before = to_before < to_after or (to_before == to_after and lower_half)
        cut = before if before > 0 and (is_before or after == n_rows) else after
        if cut < n_rows and (n_cuts == 0 or values[cut - 1] > cuts[n_cuts - 1]):
            cuts[n_cuts] = values[cut - 1]
            n_cuts += 1
    return n_cuts


@njit(cache=True, nogil=True)
def intervals(values, cuts, n_cuts, codes):
    """Interval of each value of every column (a row each): how many cuts are less than it."""
    for column in range(values.shape[0]):
        own = cuts[column, : n_cuts[column]]
        if own.size > 24:
            for row in range(values.shape[1]):
                codes[column, row] = np.searchsorted(own, values[column, row])
            continue
        codes[column, :] = 0
        for cut in own:
            for row in range(values.shape[1]):
                codes[column, row] += values[column, row] > cut


@njit(cache=True, nogil=True)
def _best_cut(values, classes, start, stop, totals, left, xlogx):
    """Where to part [start, stop) so that the class entropy of the parts is least, and that entropy times its rows.

    ``xlogx[c]`` is c log2 c. Moving one row from the right part to the left changes two counts only.
    """
    left[:] = 0
    right_sum = 0.0
    for c in range(totals.size):
        right_sum += xlogx[totals[c]]
    left_sum = 0.0
    best, best_cut = np.inf, -1
    for row in range(start, stop - 1):
        c = classes[row]
        on_left, on_right = left[c], totals[c] - left[c]
        left_sum += xlogx[on_left + 1] - xlogx[on_left]
        right_sum += xlogx[on_right - 1] - xlogx[on_right]
        left[c] = on_left + 1
        if values[row] == values[row + 1]:
            continue
        n_left = row + 1 - start
        spread = xlogx[n_left] - left_sum + xlogx[stop - start - n_left] - right_sum
        if spread < best - 1e-9:
            best, best_cut = spread, row + 1
    return best_cut


@njit(cache=True, nogil=True)
def _entropy_and_classes(counts, xlogx):
    """Entropy in bits of class counts, and how many classes there are."""
    n_rows, total, n_present = 0, 0.0, 0
    for count in counts:
        n_rows += count
        total += xlogx[count]
        n_present += count > 0
    return (xlogx[n_rows] - total) / n_rows, n_present


@njit(cache=True, nogil=True)
def _pays(totals, left, xlogx):
    """Whether a cut shortens the description: Fayyad and Irani's criterion."""
    n_rows = totals.sum()
    entropy, k = _entropy_and_classes(totals, xlogx)
    entropy_left, k_left = _entropy_and_classes(left, xlogx)
    entropy_right, k_right = _entropy_and_classes(totals - left, xlogx)
    n_left = left.sum()
    gain = entropy - (n_left * entropy_left + (n_rows - n_left) * entropy_right) / n_rows
    # log2(3^k - 2), which would overflow for many classes
    arrangements = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** (-k))
    delta = arrangements - (k * entropy - k_left * entropy_left - k_right * entropy_right)
    return gain > (np.log2(n_rows - 1.0) + delta) / n_rows


@njit(cache=True, nogil=True)
def mdl_cut_places(values, classes, n_classes, xlogx, is_cut, todo):
    """Mark the rows of one sorted column that start a new interval, and return how many intervals there are."""
    n_rows = values.size
    is_cut[:] = False
    totals = np.zeros(n_classes, dtype=np.int64)
    left = np.zeros(n_classes, dtype=np.int64)
    todo[0, 0], todo[0, 1] = 0, n_rows
    n_todo, n_intervals = 1, 1
    while n_todo:
        n_todo -= 1
        start, stop = todo[n_todo, 0], todo[n_todo, 1]
        if stop - start < 2:
            continue
        totals[:] = 0
        for row in range(start, stop):
            totals[classes[row]] += 1
        cut = _best_cut(values, classes, start, stop, totals, left, xlogx)
        if cut < 0:
            continue
        left[:] = 0
        for row in range(start, cut):
            left[classes[row]] += 1
        if _pays(totals, left, xlogx):
            is_cut[cut] = True
            n_intervals += 1
            todo[n_todo, 0], todo[n_todo, 1] = start, cut
            todo[n_todo + 1, 0], todo[n_todo + 1, 1] = cut, stop
            n_todo += 2
    return n_intervals
