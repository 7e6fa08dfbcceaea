"""Nearest neighbours for many sets of columns that differ from one set by a single column.

The squared distances of the current set are kept for every pair (query, row), each as an unevaluated sum ``high + low``
of two floats. A candidate adds or takes away one square, in O(1) a pair. With twice the digits of a float, what is left
after a removal is the same float as if the columns had been summed afresh: nothing drifts, and equal distances stay
equal, however the search came to its set.

Pairs that must not meet (a row with itself, rows of one fold) have a distance of ``FAR``.
"""

import numpy as np
from numba import njit

FAR = 2.0**900
"""Distance of pairs that must not meet; columns are scaled so that no true distance comes near it."""

# Minima are only vectorised when the compiler may take it that there is no NaN; sums must not be reordered.
_NO_NAN = {"nnan", "nsz"}


@njit(cache=True, nogil=True, fastmath=_NO_NAN, inline="always")
def _distances_after(high, low, column, at, sign, out):
    """Distances from one query to all rows when one column is added (``sign`` 1) or taken away (-1)."""
    for row in range(out.size):
        gap = at - column[row]
        square = sign * (gap * gap)
        total = high[row] + square
        grown = total - high[row]
        lost = (high[row] - (total - grown)) + (square - grown)
        out[row] = total + (lost + low[row])


@njit(cache=True, nogil=True)
def change_distances(high, low, column, queries, sign):
    """Add a column to all distances (``sign`` 1), or take it away (-1), in place.

    ``high`` and ``low`` are (queries, rows), ``column`` holds the rows' values, ``queries`` the row of each query.
    """
    for query in range(high.shape[0]):
        at = column[queries[query]]
        for row in range(high.shape[1]):
            gap = at - column[row]
            square = sign * (gap * gap)
            before = high[query, row]
            total = before + square
            grown = total - before
            lost = (before - (total - grown)) + (square - grown)
            rest = lost + low[query, row]
            high[query, row] = total + rest
            low[query, row] = rest - (high[query, row] - total)


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
def nearest_hits(high, low, columns, candidates, sign, queries, folds, n_folds, starts, stops, original):
    """How many queries of each fold have a nearest neighbour of their own class, for each candidate column.

    Rows are sorted by class: those of the class of ``query`` are ``starts[query]`` to ``stops[query]``. So only two
    minima are needed, and no position; of equal distances, the row that came first in the table (``original``) decides.
    """
    n_rows = high.shape[1]
    hits = np.zeros((candidates.size, n_folds), dtype=np.int64)
    distances = np.empty(n_rows)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            _distances_after(high[query], low[query], column, column[queries[query]], sign, distances)
            start, stop = starts[query], stops[query]
            own = _smallest(distances, start, stop)
            other = min(_smallest(distances, 0, start), _smallest(distances, stop, n_rows))
            hit = own < other
            if own == other:
                first_own = _first_original(distances, own, start, stop, original, n_rows)
                first_other = _first_original(distances, own, 0, start, original, n_rows)
                first_other = _first_original(distances, own, stop, n_rows, original, first_other)
                hit = first_own < first_other
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
def vote_hits(high, low, columns, candidates, sign, queries, folds, n_folds, original, classes, n_classes, n_neighbors):
    """How many queries of each fold get their own class by a vote; of equal votes, the first class wins."""
    hits = np.zeros((candidates.size, n_folds), dtype=np.int64)
    distances = np.empty(high.shape[1])
    nearest_distance = np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    votes = np.empty(n_classes, dtype=np.int64)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            _distances_after(high[query], low[query], column, column[queries[query]], sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            votes[:] = 0
            for place in range(n_neighbors):
                votes[classes[nearest[place]]] += 1
            if np.argmax(votes) == classes[queries[query]]:
                hits[index, folds[query]] += 1
    return hits


@njit(cache=True, nogil=True)
def squared_errors(high, low, columns, candidates, sign, queries, folds, n_folds, original, target, n_neighbors):
    """Sum of squared errors of each fold when a query gets the mean of its neighbours, for each candidate column."""
    errors = np.zeros((candidates.size, n_folds))
    distances = np.empty(high.shape[1])
    nearest_distance = np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            _distances_after(high[query], low[query], column, column[queries[query]], sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            total = 0.0
            for place in range(n_neighbors):
                total += target[nearest[place]]
            error = target[queries[query]] - total / n_neighbors
            errors[index, folds[query]] += error * error
    return errors
