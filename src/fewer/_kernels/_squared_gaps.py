"""Squared distances between pairs of rows that are named by their numbers."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def squared_gaps(rows, first, second):
    """``|rows[first[k]] - rows[second[k]]|^2`` for each pair k."""
    found = np.empty(len(first))
    for k in range(len(first)):
        total = 0.0
        for column in range(rows.shape[1]):
            gap = rows[first[k], column] - rows[second[k], column]
            total += gap * gap
        found[k] = total
    return found
