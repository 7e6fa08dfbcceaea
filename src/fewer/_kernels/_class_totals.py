"""Sums of every column over every class."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_entries(X, classes, totals):
    """Add the rows of a dense table to ``totals`` (classes, columns), in place."""
    for row in range(X.shape[0]):
        total = totals[classes[row]]
        for column in range(X.shape[1]):
            total[column] += np.float64(X[row, column])


@njit(cache=True, nogil=True)
def add_stored(data, indices, indptr, classes, totals):
    """Add the stored entries of a sparse table by columns to ``totals``, in place."""
    for column in range(indptr.size - 1):
        for place in range(indptr[column], indptr[column + 1]):
            totals[classes[indices[place]], column] += np.float64(data[place])
