"""Kernels for levels: intervals of dense and sparse columns, and sums over contingency tables.

Where a sorted column is cut is in `fewer._kernels._cuts`. Of sparse columns only stored cells are sorted, and the zeros
are between the negative and the positive values.

*Contingency tables* give sums of ``c log c`` over their cells. The entropy of a table of counts c with n rows is ``log
n - sum(c log c) / n``. Counts are whole numbers up to n, so ``c log c`` is looked up and not computed.
"""

import numpy as np
from numba import njit

from fewer._kernels._arrays import copy_into
from fewer._kernels._cuts import equal_frequency_cuts_of, mdl_cut_places


@njit(cache=True, nogil=True)
def mdl_intervals(columns, order, classes, n_classes, xlogx, codes, n_levels):
    """Interval of each value of every column (a row each), by recursive cuts that pay for themselves.

    ``order`` sorts each column, ``xlogx[c]`` is c log2 c for counts up to the number of rows.
    """
    n_rows = columns.shape[1]
    values = np.empty(n_rows, dtype=columns.dtype)
    sorted_classes = np.empty(n_rows, dtype=classes.dtype)
    is_cut = np.empty(n_rows, dtype=np.bool_)
    todo = np.empty((n_rows + 1, 2), dtype=np.int64)
    for column in range(columns.shape[0]):
        for place in range(n_rows):
            row = order[column, place]
            values[place] = columns[column, row]
            sorted_classes[place] = classes[row]
        n_levels[column] = mdl_cut_places(values, sorted_classes, n_classes, xlogx, is_cut, todo)
        code = 0
        for place in range(n_rows):
            code += is_cut[place]
            codes[column, order[column, place]] = code


@njit(cache=True, nogil=True)
def _fill_sorted(stored, n_zeros, values):
    """Write the sorted column: negative values, zeros that are not stored, the others; and say where zeros start."""
    n_negative = np.searchsorted(stored, 0)
    copy_into(values, stored[:n_negative])
    values[n_negative : n_negative + n_zeros] = 0
    copy_into(values[n_negative + n_zeros :], stored[n_negative:])
    return n_negative


@njit(cache=True, nogil=True)
def sparse_equal_frequency_cuts(indptr, data, n_rows, n_bins, cuts, n_cuts):
    """Cuts of every column of a CSC matrix."""
    values = np.empty(n_rows, dtype=data.dtype)
    for column in range(indptr.size - 1):
        stored = np.sort(data[indptr[column] : indptr[column + 1]])
        _fill_sorted(stored, n_rows - stored.size, values)
        n_cuts[column] = equal_frequency_cuts_of(values, n_bins, cuts[column])


@njit(cache=True, nogil=True)
def sparse_intervals(indptr, data, cuts, n_cuts, codes, zero_codes):
    """Interval of each stored cell, and of zero: how many cuts are less."""
    for column in range(indptr.size - 1):
        own = cuts[column, : n_cuts[column]]
        zero_codes[column] = np.searchsorted(own, 0)
        for entry in range(indptr[column], indptr[column + 1]):
            codes[entry] = np.searchsorted(own, data[entry])


@njit(cache=True, nogil=True)
def sparse_mdl_intervals(indptr, indices, data, classes, n_classes, xlogx, codes, zero_codes, n_levels):
    """Interval of each stored cell, and of zero, by recursive cuts that pay for themselves."""
    n_rows = classes.size
    values = np.empty(n_rows, dtype=data.dtype)
    sorted_classes = np.empty(n_rows, dtype=classes.dtype)
    is_cut = np.empty(n_rows, dtype=np.bool_)
    todo = np.empty((n_rows + 1, 2), dtype=np.int64)
    all_counts = np.bincount(classes, minlength=n_classes)
    for column in range(indptr.size - 1):
        start, stop = indptr[column], indptr[column + 1]
        order = np.argsort(data[start:stop]) + start
        n_zeros = n_rows - order.size
        first_zero = _fill_sorted(data[order], n_zeros, values)
        zero_counts = all_counts.copy()
        for place in range(order.size):
            own_class = classes[indices[order[place]]]
            zero_counts[own_class] -= 1
            sorted_classes[place if place < first_zero else place + n_zeros] = own_class
        # Among equal values the order of the classes does not matter.
        at = first_zero
        for c in range(n_classes):
            sorted_classes[at : at + zero_counts[c]] = c
            at += zero_counts[c]
        n_levels[column] = mdl_cut_places(values, sorted_classes, n_classes, xlogx, is_cut, todo)
        code = 0
        for place in range(n_rows):
            code += is_cut[place]
            if place < first_zero:
                codes[order[place]] = code
            elif place >= first_zero + n_zeros:
                codes[order[place - n_zeros]] = code
            elif place == first_zero:
                zero_codes[column] = code


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
def weighted_joint_sums(codes, n_levels, columns, target, n_target, weights):
    """As ``joint_sums``, of rows with weights."""
    table = np.zeros(n_levels.max() * n_target)
    sums = np.empty(columns.size)
    for place in range(columns.size):
        column = columns[place]
        own = codes[column]
        for row in range(target.size):
            table[own[row] * n_target + target[row]] += weights[row]
        sums[place] = _sum_of_xlogx(table, n_levels[column] * n_target)
    return sums


@njit(cache=True, nogil=True)
def sparse_weighted_joint_sums(
    indptr, indices, codes, zero_codes, n_levels, columns, target, n_target, target_counts, weights
):
    """As ``sparse_joint_sums``, of rows with weights."""
    table = np.zeros(n_levels.max() * n_target)
    sums, left = np.empty(columns.size), np.empty(n_target)
    for place in range(columns.size):
        column = columns[place]
        copy_into(left, target_counts)
        for entry in range(indptr[column], indptr[column + 1]):
            t, weight = target[indices[entry]], weights[indices[entry]]
            left[t] -= weight
            table[codes[entry] * n_target + t] += weight
        for t in range(n_target):
            if left[t] > 1e-12 * target_counts[t]:  # less is rounding
                table[zero_codes[column] * n_target + t] += left[t]
        sums[place] = _sum_of_xlogx(table, n_levels[column] * n_target)
    return sums


@njit(cache=True, nogil=True)
def _sum_of_xlogx(table, n_cells):
    """Sum of c log c over the first cells of a table, which are set to zero."""
    total = 0.0
    for cell in range(n_cells):
        if table[cell] > 0:
            total += table[cell] * np.log(table[cell])
        table[cell] = 0
    return total


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
