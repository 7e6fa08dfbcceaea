"""Nearest neighbours for many sets of columns that differ from one set by a single column.

The squared distances of the current set are kept for every pair (query, row), each as an unevaluated sum ``high + low``
of two floats. A candidate adds or takes away one square, in O(1) a pair. With twice the digits of a float, what is left
after a removal is the same float as if the columns had been summed afresh: nothing drifts, and equal distances stay
equal, however the search came to its set.

Pairs that must not meet (a row with itself, rows of one fold) have a distance of ``FAR``.
"""

import numpy as np
from numba import njit

FAR = 2.0**120
"""Distance of pairs that must not meet; columns are scaled so that no true distance comes near it."""

# Minima are only vectorised when the compiler may take it that there is no NaN; sums must not be reordered.
_NO_NAN = {"nnan", "nsz"}

_NOTHING = np.float32(np.inf).view(np.int32)


@njit(cache=True, nogil=True, fastmath=_NO_NAN, inline="always")
def _distances_after(high, low, column, at, scale, sign, out):
    """Distances from one query to all rows when one column, times a scale, is added (``sign`` 1) or taken away (-1)."""
    for row in range(out.size):
        gap = (at - column[row]) * scale
        square = sign * (gap * gap)
        total = high[row] + square
        grown = total - high[row]
        lost = (high[row] - (total - grown)) + (square - grown)
        out[row] = total + (lost + low[row])


@njit(cache=True, nogil=True)
def change_distances(high, low, rough, column, queries, scales, sign):
    """Add a column to all distances (``sign`` 1), or take it away (-1), in place.

    ``high``, ``low`` and ``rough`` (``high`` in single precision) are (queries, rows), ``column`` holds the rows'
    values, ``queries`` the row of each query, and ``scales`` what it multiplies the column by.
    """
    for query in range(high.shape[0]):
        at, scale = column[queries[query]], scales[query]
        for row in range(high.shape[1]):
            gap = (at - column[row]) * scale
            square = sign * (gap * gap)
            before = high[query, row]
            total = before + square
            grown = total - before
            lost = (before - (total - grown)) + (square - grown)
            rest = lost + low[query, row]
            high[query, row] = total + rest
            low[query, row] = rest - (high[query, row] - total)
            rough[query, row] = high[query, row]


@njit(cache=True, nogil=True, fastmath=_NO_NAN, inline="always")
def _smallest(values, start, stop):
    least = np.inf
    for place in range(start, stop):
        least = values[place] if values[place] < least else least
    return least


@njit(cache=True, nogil=True)
def _first_original(values, least, start, stop, original, first):
    """The lowest original row number among those at the least distance, or ``first`` if that is lower."""
    for place in range(start, stop):
        if values[place] == least and original[place] < first:
            first = original[place]
    return first


@njit(cache=True, nogil=True)
def _hits_exactly(high, low, column, at, sign, start, stop, original, distances):
    """Whether the nearest row, to the last digit, is one of those from ``start`` to ``stop``."""
    n_rows = distances.size
    _distances_after(high, low, column, at, 1.0, sign, distances)
    own = _smallest(distances, start, stop)
    other = min(_smallest(distances, 0, start), _smallest(distances, stop, n_rows))
    if own != other:
        return own < other
    unknown = np.iinfo(np.int64).max
    first_own = _first_original(distances, own, start, stop, original, unknown)
    first_other = _first_original(distances, own, 0, start, original, unknown)
    return first_own < _first_original(distances, own, stop, n_rows, original, first_other)


# Floats that are not negative have the order of their bits read as integers, and only minima of integers are
# vectorised. A distance that rounding made negative is taken for a smaller one than it is, by less than the rounding.


@njit(cache=True, nogil=True)
def _least_with(rough, column, at):
    """Least distance when a column is added, in single precision."""
    least = _NOTHING
    for row in range(rough.size):
        gap = at - column[row]
        least = min(least, np.float32(rough[row] + gap * gap).view(np.int32))
    return np.int32(least).view(np.float32)


@njit(cache=True, nogil=True)
def _least_without(rough, column, at):
    """Least distance when a column is taken away, in single precision."""
    least = _NOTHING
    for row in range(rough.size):
        gap = at - column[row]
        least = min(least, np.float32(rough[row] - gap * gap).view(np.int32))
    return np.int32(least).view(np.float32)


@njit(cache=True, nogil=True)
def _rough_error(distance, rounding, spread, sign):
    """Bound on the error of a least distance in single precision.

    Five roundings are within ``2**-20`` of the largest number met, and a coordinate that is off by ``rounding`` moves a
    square by as much times the gap. When a column is added, no number exceeds the distance itself; when one is taken
    away, its square, at most ``spread`` squared, was in the distance before.
    """
    largest = abs(distance) + (0.0 if sign > 0 else spread * spread)
    return 2.0**-20 * largest + 8 * rounding * np.sqrt(largest) + 16 * rounding * rounding + 2.0**-120


@njit(cache=True, nogil=True)
def nearest_hits(
    high,
    low,
    rough,
    columns,
    rough_columns,
    roundings,
    spreads,
    candidates,
    sign,
    queries,
    folds,
    n_folds,
    starts,
    stops,
    original,
):
    """How many queries of each fold have a nearest neighbour of their own class, for each candidate column.

    Rows are sorted by class: those of the class of ``query`` are ``starts[query]`` to ``stops[query]``. So only two
    minima are needed, and no position. They are compared in single precision first (``rough``); only where these are
    too close to call are all digits used. Of equal distances, the row that came first in the table (``original``)
    decides.
    """
    hits = np.zeros((candidates.size, n_folds), dtype=np.int64)
    distances = np.empty(high.shape[1])
    for index in range(candidates.size):
        candidate = candidates[index]
        column, rough_column = columns[candidate], rough_columns[candidate]
        for query in range(queries.size):
            start, stop, row = starts[query], stops[query], queries[query]
            at = rough_column[row]
            if sign > 0:
                own = _least_with(rough[query, start:stop], rough_column[start:stop], at)
                before = _least_with(rough[query, :start], rough_column[:start], at)
                after = _least_with(rough[query, stop:], rough_column[stop:], at)
            else:
                own = _least_without(rough[query, start:stop], rough_column[start:stop], at)
                before = _least_without(rough[query, :start], rough_column[:start], at)
                after = _least_without(rough[query, stop:], rough_column[stop:], at)
            other = min(before, after)
            larger = max(np.float64(own), np.float64(other))
            if abs(np.float64(own) - np.float64(other)) > 2 * _rough_error(
                larger, roundings[candidate], spreads[candidate], sign
            ):
                hit = own < other
            else:
                hit = _hits_exactly(
                    high[query], low[query], column, column[row], sign, start, stop, original, distances
                )
            if hit:
                hits[index, folds[query]] += 1
    return hits


@njit(cache=True, nogil=True)
def _note_nearest(distances, original, nearest_distance, nearest):
    """Fill in the nearest rows, nearest first; of equal distances, the row that came first in the table."""
    n_neighbors = nearest.size
    nearest_distance[:] = np.inf
    nearest[:] = -1
    for row in range(distances.size):
        distance = distances[row]
        if distance > nearest_distance[n_neighbors - 1]:
            continue
        place = n_neighbors - 1
        if distance == nearest_distance[place] and nearest[place] >= 0 and original[row] > original[nearest[place]]:
            continue
        while place > 0 and (
            nearest[place - 1] < 0
            or distance < nearest_distance[place - 1]
            or (distance == nearest_distance[place - 1] and original[row] < original[nearest[place - 1]])
        ):
            nearest_distance[place] = nearest_distance[place - 1]
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest_distance[place] = distance
        nearest[place] = row


@njit(cache=True, nogil=True)
def _note_weights(distances, by_distance, weights):
    """What each neighbour counts: equally much, or by its inverse distance; a row at no distance decides alone."""
    there = by_distance and distances[0] <= 0.0  # the nearest comes first
    for place in range(weights.size):
        if there:
            weights[place] = 1.0 if distances[place] <= 0.0 else 0.0
        else:
            weights[place] = 1.0 / np.sqrt(distances[place]) if by_distance else 1.0


@njit(cache=True, nogil=True)
def neighbour_classes(
    high,
    low,
    columns,
    scales,
    scale_of,
    candidates,
    sign,
    queries,
    original,
    classes,
    n_classes,
    n_neighbors,
    by_distance,
):
    """Class of each query (candidates, queries) by a vote of its neighbours; of equal votes, the first class wins.

    ``scales`` (scalings, columns) multiply the columns, ``scale_of`` tells the scaling of each query.
    """
    found = np.empty((candidates.size, queries.size), dtype=np.int64)
    distances = np.empty(high.shape[1])
    nearest_distance, weights = np.empty(n_neighbors), np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    votes = np.empty(n_classes)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            scale = scales[scale_of[query], candidates[index]]
            _distances_after(high[query], low[query], column, column[queries[query]], scale, sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            _note_weights(nearest_distance, by_distance, weights)
            votes[:] = 0.0
            for place in range(n_neighbors):
                votes[classes[nearest[place]]] += weights[place]
            found[index, query] = np.argmax(votes)
    return found


@njit(cache=True, nogil=True)
def neighbour_means(
    high, low, columns, scales, scale_of, candidates, sign, queries, original, target, n_neighbors, by_distance
):
    """Mean of the target over the neighbours of each query (candidates, queries)."""
    found = np.empty((candidates.size, queries.size))
    distances = np.empty(high.shape[1])
    nearest_distance, weights = np.empty(n_neighbors), np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            scale = scales[scale_of[query], candidates[index]]
            _distances_after(high[query], low[query], column, column[queries[query]], scale, sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            _note_weights(nearest_distance, by_distance, weights)
            total, weight = 0.0, 0.0
            for place in range(n_neighbors):
                total += weights[place] * target[nearest[place]]
                weight += weights[place]
            found[index, query] = total / weight
    return found
