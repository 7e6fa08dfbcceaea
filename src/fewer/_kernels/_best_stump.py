"""The threshold on each column that goes best with signed weights of the rows."""

import numpy as np
from numba import njit

# Edges that differ by less are equal: sums in another order must not choose another threshold.
_EQUAL = 1e-12


@njit(cache=True, nogil=True)
def best_cuts(values, rows, signed, both):
    """Of each sorted column: number of rows below the best threshold, sign of their votes, and edge.

    A stump votes ``sign`` for the rows below and ``-sign`` for the others; its edge is the sum of votes times signed
    weights. Without ``both`` the sign is always 1. The number may be none or that of all rows: the same vote for all.
    """
    n_columns, n_rows = values.shape
    total = signed.sum()
    n_below = np.full(n_columns, 0 if total < 0 else n_rows)
    signs, edges = np.ones(n_columns, np.int64), np.full(n_columns, abs(total))
    for column in range(n_columns):
        below = 0.0
        for k in range(n_rows - 1):
            below += signed[rows[column, k]]
            if values[column, k] < values[column, k + 1]:
                edge = 2 * below - total
                sign = -1 if both and edge < 0 else 1
                if sign * edge > edges[column] + _EQUAL:
                    n_below[column], signs[column], edges[column] = k + 1, sign, sign * edge
    return n_below, signs, edges
