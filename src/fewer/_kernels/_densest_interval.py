"""The densest interval of each sorted column, by the likelihood of one uniform density inside and one outside.

Of m numbers with range r let k lie in an interval of width w r. Two uniform densities exceed the log-likelihood of a
single one by

    gain = k log(k / (m w)) + (m - k) log((m - k) / (m (1 - w))) = m KL(k / m || w).

KL is convex, and ``k`` and ``w`` are differences of the bounds' coordinates (numbers to the left, position). So of two
stretches of bounds the best pair is one of corners of their convex hulls, and only corners are tried: some tens where
all pairs would be as many as there are numbers. Pairs within a stretch are those of its halves, and so on.
"""

import numpy as np
from numba import njit


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
    """Every so many numbers a bound, and both ends; what lies in between is not looked at. How many."""
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
    """Corners of the convex hull of the bounds from ``first`` to ``last``, those above, then those below. How many."""
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
