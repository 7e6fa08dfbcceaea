"""The threshold on each column that goes best with signed weights of the rows.

Columns come as in ``_sorted_columns``: stored values ascending, with the row of each; what is not stored is a block of
zeros.
"""

import numpy as np
from numba import njit

# Edges that differ by less are equal: sums in another order must not choose another threshold.
_EQUAL = 1e-12


@njit(cache=True, nogil=True)
def best_cuts(values, rows, indptr, signed, both):
    """Of each sorted column: the values next to the best threshold, sign of the votes below, and edge.

    A stump votes ``sign`` for the rows below and ``-sign`` for the others; its edge is the sum of votes times signed
    weights. Without ``both`` the sign is always 1. Where the same vote for all is the best, both values are infinite.
    """
    n_columns, n_rows = indptr.size - 1, signed.size
    total = signed.sum()
    lower = np.full(n_columns, -np.inf if total < 0 else np.inf)
    upper = lower.copy()
    signs, edges = np.ones(n_columns, np.int64), np.full(n_columns, abs(total))
    for column in range(n_columns):
        place, end = indptr[column], indptr[column + 1]
        zeros_due = end - place < n_rows
        left_out = 0.0
        if zeros_due:
            left_out = total
            for stored in range(place, end):
                left_out -= signed[rows[stored]]
        below = 0.0
        while place < end or zeros_due:
            if zeros_due and (place == end or values[place] > 0):
                value = 0.0
                below += left_out
                zeros_due = False
            else:
                value = values[place]
                below += signed[rows[place]]
                place += 1
            if zeros_due and (place == end or values[place] > 0):
                following = 0.0
            elif place < end:
                following = values[place]
            else:
                break
            if value < following:
                edge = 2 * below - total
                sign = -1 if both and edge < 0 else 1
                if sign * edge > edges[column] + _EQUAL:
                    lower[column], upper[column] = value, following
                    signs[column], edges[column] = sign, sign * edge
    return lower, upper, signs, edges
