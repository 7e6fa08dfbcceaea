"""Cuts and intervals of sparse columns: only stored cells are sorted, and the zeros stand between the signs."""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into
from fewer._kernels._cuts import equal_frequency_cuts_of, mdl_cut_places


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
