"""Nearest neighbours for a path of column sets: each set is the one before and some columns more, or starts afresh.

The squared distances of one query to all rows stay in the cache while the columns come in one by one.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _add_column(distances, column, at):
    for row in range(distances.size):
        gap = at - column[row]
        distances[row] += gap * gap


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _smallest(values):
    least = np.inf
    for place in range(values.size):
        least = values[place] if values[place] < least else least
    return least


@njit(cache=True, nogil=True)
def _note_nearest(distances, nearest, nearest_distances):
    """Fill in the nearest rows, nearest first; of equal distances, the row that comes first in the table."""
    wanted = nearest.size
    if wanted == 1:
        least = _smallest(distances)
        row = 0
        while row < distances.size - 1 and distances[row] != least:
            row += 1
        nearest[0] = row
        nearest_distances[0] = least
        return
    nearest_distances[:] = np.inf
    nearest[:] = 0
    for row in range(distances.size):
        distance = distances[row]
        if distance >= nearest_distances[wanted - 1]:
            continue
        place = wanted - 1
        while place > 0 and distance < nearest_distances[place - 1]:
            nearest_distances[place] = nearest_distances[place - 1]
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest_distances[place] = distance
        nearest[place] = row


@njit(cache=True, nogil=True)
def path_neighbours(train_columns, queries, columns, stops, afresh, n_neighbors):
    """Nearest training rows of every query for every set on the path, and their squared distances.

    ``train_columns`` is (columns, rows) and ``queries`` (queries, columns). Set s adds the columns
    ``columns[stops[s - 1]:stops[s]]``, to nothing where ``afresh[s]``. The results are (sets, queries, neighbours).
    """
    n_sets, n_queries = stops.size, queries.shape[0]
    nearest = np.empty((n_sets, n_queries, n_neighbors), dtype=np.int64)
    nearest_distances = np.empty((n_sets, n_queries, n_neighbors))
    distances = np.empty(train_columns.shape[1])
    for query in range(n_queries):
        distances[:] = 0.0
        start = 0
        for member in range(n_sets):
            if afresh[member]:
                distances[:] = 0.0
            for place in range(start, stops[member]):
                column = columns[place]
                _add_column(distances, train_columns[column], queries[query, column])
            start = stops[member]
            _note_nearest(distances, nearest[member, query], nearest_distances[member, query])
    return nearest, nearest_distances
