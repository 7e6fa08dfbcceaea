"""How often values occur together: sums of ``c log c`` over the cells of contingency tables.

The entropy of a table of counts c with n rows is ``log n - sum(c log c) / n``. Counts are whole numbers up to n, so
``c log c`` is looked up and not computed.
"""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into


@njit(cache=True, nogil=True)
def joint_sums(codes, n_levels, columns, target, n_target, xlogx):
    """Sum of c log c over the table of each wanted column with the target. Columns are the rows of ``codes``."""
    n_rows = target.size
    table = np.zeros((2, n_levels.max() * n_target), dtype=np.int64)
    sums = np.empty(columns.size)
    for place in range(columns.size):
        column = columns[place]
        n_cells = n_levels[column] * n_target
        own = codes[column]
        # Two tables in turn: rows that fall into the same cell one after the other do not wait for each other.
        for row in range(0, n_rows - 1, 2):
            table[0, own[row] * n_target + target[row]] += 1
            table[1, own[row + 1] * n_target + target[row + 1]] += 1
        if n_rows % 2:
            table[0, own[n_rows - 1] * n_target + target[n_rows - 1]] += 1
        total = 0.0
        for cell in range(n_cells):
            total += xlogx[table[0, cell] + table[1, cell]]
            table[0, cell] = 0
            table[1, cell] = 0
        sums[place] = total
    return sums


@njit(cache=True, nogil=True)
def sparse_joint_sums(indptr, indices, codes, zero_codes, n_levels, columns, target, n_target, target_counts, xlogx):
    """The same for columns in compressed form: only what is not zero is counted, and zeros are what is left."""
    table = np.zeros((n_levels.max(), n_target), dtype=np.int64)
    sums = np.empty(columns.size)
    for place in range(columns.size):
        column = columns[place]
        zero = zero_codes[column]
        copy_into(table[zero], target_counts)
        for entry in range(indptr[column], indptr[column + 1]):
            t = target[indices[entry]]
            table[zero, t] -= 1
            table[codes[entry], t] += 1
        total = 0.0
        for level in range(n_levels[column]):
            for t in range(n_target):
                total += xlogx[table[level, t]]
                table[level, t] = 0
        sums[place] = total
    return sums


@njit(cache=True, nogil=True)
def joint_codes(first, second, n_first, n_second):
    """Numbers 0, 1, ... for the pairs of values that occur, in order of appearance, and how many there are."""
    seen = np.full(n_first * n_second, -1, dtype=np.int32)
    codes = np.empty(first.size, dtype=np.int32)
    n_seen = 0
    for row in range(first.size):
        cell = first[row] * n_second + second[row]
        if seen[cell] < 0:
            seen[cell] = n_seen
            n_seen += 1
        codes[row] = seen[cell]
    return codes, n_seen
