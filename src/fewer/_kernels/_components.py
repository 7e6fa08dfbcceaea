"""What hangs together: sets that are joined pair by pair (union-find)."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def root_of(parents, item):
    """The item that stands for the set of this one; paths are halved on the way, so that they stay short."""
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


@njit(cache=True, nogil=True)
def join_similar(parents, similarities, rows, columns, threshold):
    """Join the sets of every row and column of a block of similarities that reach the threshold, of either sign."""
    for i in range(rows.size):
        for j in range(columns.size):
            if abs(similarities[i, j]) >= threshold and rows[i] != columns[j]:
                first, second = root_of(parents, rows[i]), root_of(parents, columns[j])
                # The lower number stands for the set, so that results do not depend on the order of the blocks.
                if first < second:
                    parents[second] = first
                elif second < first:
                    parents[first] = second


@njit(cache=True, nogil=True)
def all_roots(parents):
    """The item that stands for the set of each."""
    roots = np.empty_like(parents)
    for item in range(parents.size):
        roots[item] = root_of(parents, item)
    return roots
