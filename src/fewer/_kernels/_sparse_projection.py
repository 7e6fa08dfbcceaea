"""Products of a table with a matrix of few signs: every old column is added to, or taken from, some new ones.

Row j of ``targets`` (unsigned, so that no index counts from the end) and ``signs`` tells to which new columns the old
column j goes. The table is read once, as fast as memory gives it.
"""

import numpy as np
from numba import njit

_ABREAST = 8
"""Rows that are projected together. Their sums for one new column lie side by side, as vector instructions want."""


@njit(cache=True, nogil=True)
def project_rows(X, targets, signs, out):
    """Add to ``out`` of (rows, new columns) the projection of a dense table."""
    n_rows, n_columns = X.shape
    n_targets = targets.shape[1]
    sums = np.empty((out.shape[1], _ABREAST), dtype=X.dtype)
    n_abreast = n_rows - n_rows % _ABREAST
    for first in range(0, n_abreast, _ABREAST):
        sums[:] = 0
        for column in range(n_columns):
            # All are read before any is written: the compiler cannot know that the arrays do not overlap.
            x0, x1, x2, x3 = X[first, column], X[first + 1, column], X[first + 2, column], X[first + 3, column]
            x4, x5, x6, x7 = X[first + 4, column], X[first + 5, column], X[first + 6, column], X[first + 7, column]
            for place in range(n_targets):
                s = sums[targets[column, place]]
                sign = signs[column, place]
                s0, s1, s2, s3 = s[0] + sign * x0, s[1] + sign * x1, s[2] + sign * x2, s[3] + sign * x3
                s4, s5, s6, s7 = s[4] + sign * x4, s[5] + sign * x5, s[6] + sign * x6, s[7] + sign * x7
                s[0], s[1], s[2], s[3] = s0, s1, s2, s3
                s[4], s[5], s[6], s[7] = s4, s5, s6, s7
        for row in range(_ABREAST):
            for target in range(out.shape[1]):
                out[first + row, target] += sums[target, row]
    for row in range(n_abreast, n_rows):
        for column in range(n_columns):
            for place in range(n_targets):
                out[row, targets[column, place]] += signs[column, place] * X[row, column]


@njit(cache=True, nogil=True)
def project_sparse_rows(data, indices, indptr, targets, signs, out):
    """The same for a table in CSR form."""
    for row in range(indptr.size - 1):
        for stored in range(indptr[row], indptr[row + 1]):
            column, value = indices[stored], data[stored]
            for place in range(targets.shape[1]):
                out[row, targets[column, place]] += signs[column, place] * value
