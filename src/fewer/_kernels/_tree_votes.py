"""Class shares of the leaves that rows fall into, for one tree at a time.

A tree is its nodes, each left child right after its parent: the column that is split (-1 in a leaf), the place of the
right child, the threshold (rows go left up to it), and the share of each class.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_votes(X, wanted, column, right, threshold, shares, votes):
    """Add to ``votes`` (n_rows, n_classes) the shares of the leaf of every wanted row of a dense table."""
    for row in range(wanted.size):
        if not wanted[row]:
            continue
        node = 0
        while column[node] >= 0:
            node = node + 1 if X[row, column[node]] <= threshold[node] else right[node]
        for label in range(shares.shape[1]):
            votes[row, label] += shares[node, label]


@njit(cache=True, nogil=True)
def add_sparse_votes(starts, columns, values, wanted, column, right, threshold, shares, votes):
    """The same for a table in CSR format with sorted indices."""
    for row in range(wanted.size):
        if not wanted[row]:
            continue
        stored = columns[starts[row] : starts[row + 1]]
        node = 0
        while column[node] >= 0:
            place = np.searchsorted(stored, column[node])
            found = place < stored.size and stored[place] == column[node]
            value = values[starts[row] + place] if found else 0.0
            node = node + 1 if value <= threshold[node] else right[node]
        for label in range(shares.shape[1]):
            votes[row, label] += shares[node, label]
