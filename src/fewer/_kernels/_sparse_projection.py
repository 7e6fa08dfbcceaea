"""Products of a table with a matrix of few signs: every old column is added to, or taken from, some new ones.

Row j of ``codes`` tells to which new columns the old column j goes: twice the number of the new column, plus 1 if it is
taken away. (One unsigned number for both keeps them in the nearest caches, and no index counts from the end.) The table
is read once, about as fast as memory gives it. The sums of a row are held apart from ``out``, in the nearest cache, and
written once; on the way out they tell whether all of them are finite.

Both functions work on the rows from ``start`` to ``stop``.
"""

import numpy as np
from numba import njit

_ABREAST = 8
"""Rows that are projected together. Their sums for one new column lie side by side, as vector instructions want."""


@njit(cache=True, nogil=True)
def project_rows(start, stop, places, X, codes, size, out, finite):
    """Write to ``out`` of (rows, new columns) the projection of a dense table by entries of ``size``."""
    n_columns = X.shape[1]
    n_targets = codes.shape[1]
    entries = np.array([size, -size], dtype=X.dtype)
    sums = np.empty((out.shape[1], _ABREAST), dtype=X.dtype)
    n_abreast = stop - (stop - start) % _ABREAST
    for first in range(start, n_abreast, _ABREAST):
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
            finite[first + row] = _write(sums[:, row], out[first + row])
    for row in range(n_abreast, stop):
        alone = np.zeros(out.shape[1], dtype=X.dtype)
        for column in range(n_columns):
            for place in range(n_targets):
                code = codes[column, place]
                alone[code >> np.uint32(1)] += entries[code & np.uint32(1)] * X[row, column]
        finite[row] = _write(alone, out[row])


@njit(cache=True, nogil=True)
def project_sparse_rows(start, stop, indptr, indices, data, codes, size, out, finite):
    """The same for a table in CSR form."""
    entries = np.array([size, -size], dtype=data.dtype)
    sums = np.empty(out.shape[1], dtype=data.dtype)
    for row in range(start, stop):
        sums[:] = 0
        first, last = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        for place in range(codes.shape[1]):
            for stored in range(first, last):
                code = codes[np.uint64(indices[stored]), place]
                sums[code >> np.uint32(1)] += entries[code & np.uint32(1)] * data[stored]
        finite[row] = _write(sums, out[row])


@njit(cache=True, nogil=True)
def _write(sums, out):
    finite = True
    for target in range(sums.size):
        out[target] = sums[target]
        finite &= np.isfinite(sums[target])
    return finite
