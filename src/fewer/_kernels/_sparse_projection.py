"""Products of a table with a matrix of few signs: every old column is added to, or taken from, some new ones.

Row j of ``codes`` tells to which new columns the old column j goes: twice the number of the new column, plus 1 if it is
taken away. (One unsigned number for both keeps them in the nearest caches, and no index counts from the end.) The table
is read once, about as fast as memory gives it.
"""

import numpy as np
from numba import njit

_ABREAST = 8
"""Rows that are projected together. Their sums for one new column lie side by side, as vector instructions want."""


@njit(cache=True, nogil=True)
def project_rows(X, codes, size, out):
    """Add to ``out`` of (rows, new columns) the projection of a dense table by entries of ``size``."""
    n_rows, n_columns = X.shape
    n_targets = codes.shape[1]
    entries = np.array([size, -size], dtype=X.dtype)
    sums = np.empty((out.shape[1], _ABREAST), dtype=X.dtype)
    n_abreast = n_rows - n_rows % _ABREAST
    for first in range(0, n_abreast, _ABREAST):
        sums[:] = 0
        for column in range(n_columns):
            # All are read before any is written: the compiler cannot know that the arrays do not overlap.
            x0, x1, x2, x3 = X[first, column], X[first + 1, column], X[first + 2, column], X[first + 3, column]
            x4, x5, x6, x7 = X[first + 4, column], X[first + 5, column], X[first + 6, column], X[first + 7, column]
            for place in range(n_targets):
                code = codes[column, place]
                entry = entries[code & np.uint32(1)]
                s = sums[code >> np.uint32(1)]
                s0, s1, s2, s3 = s[0] + entry * x0, s[1] + entry * x1, s[2] + entry * x2, s[3] + entry * x3
                s4, s5, s6, s7 = s[4] + entry * x4, s[5] + entry * x5, s[6] + entry * x6, s[7] + entry * x7
                s[0], s[1], s[2], s[3] = s0, s1, s2, s3
                s[4], s[5], s[6], s[7] = s4, s5, s6, s7
        for row in range(_ABREAST):
            for target in range(out.shape[1]):
                out[first + row, target] += sums[target, row]
    for row in range(n_abreast, n_rows):
        for column in range(n_columns):
            for place in range(n_targets):
                code = codes[column, place]
                out[row, code >> np.uint32(1)] += entries[code & np.uint32(1)] * X[row, column]


@njit(cache=True, nogil=True)
def project_sparse_rows(data, indices, indptr, codes, size, out):
    """The same for a table in CSR form."""
    entries = np.array([size, -size], dtype=data.dtype)
    for row in range(indptr.size - 1):
        sums = out[row]
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        for place in range(codes.shape[1]):
            for stored in range(start, stop):
                code = codes[np.uint64(indices[stored]), place]
                sums[code >> np.uint32(1)] += entries[code & np.uint32(1)] * data[stored]
