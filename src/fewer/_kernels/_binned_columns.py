"""A table in bins: each value replaced by the number of its bin, in one byte.

Equal values share a bin. A column with no more distinct values than bins keeps them all apart; any other is cut into
bins of about as many rows each.
"""

import numpy as np
from numba import njit


def binned_columns(X: np.ndarray, n_bins: int) -> np.ndarray:
    """Bins (n_columns, n_rows) of a finite dense table; ``n_bins`` is at most 256."""
    bins = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    for column in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, column])
        _fill_bins(values, np.argsort(values), n_bins, bins[column])
    return bins


@njit(cache=True, nogil=True)
def _fill_bins(values, order, n_bins, out):
    n_rows = order.size
    n_distinct = 1
    for place in range(1, n_rows):
        n_distinct += values[order[place]] != values[order[place - 1]]
    level = first = 0
    for place in range(n_rows):
        if place > 0 and values[order[place]] != values[order[place - 1]]:
            level, first = level + 1, place
        out[order[place]] = level if n_distinct <= n_bins else first * n_bins // n_rows
