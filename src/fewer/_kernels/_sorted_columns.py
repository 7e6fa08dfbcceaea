"""What one walk along each sorted column tells: rank correlation, largest gap of distribution functions, information.

Columns come as in a compressed sparse matrix: the stored values of column j are ``values[indptr[j]:indptr[j + 1]]``
in ascending order, none of them zero, with the row of each in ``rows``; all other rows are zeros, a block whose place
among the ranks is known without looking. A dense column is one with nothing left out.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _tie_groups(values, n_left_out, starts, stops):
    """Runs of equal values, ascending, as ``starts`` and ``stops``; the zeros left out are an empty run. How many."""
    n_groups, place, n_stored = 0, 0, values.size
    zeros_due = n_left_out > 0
    while place < n_stored or zeros_due:
        if zeros_due and (place == n_stored or values[place] > 0):
            starts[n_groups], stops[n_groups] = place, place
            zeros_due = False
        else:
            end = place + 1
            while end < n_stored and values[end] == values[place]:
                end += 1
            starts[n_groups], stops[n_groups] = place, end
            place = end
        n_groups += 1
    return n_groups


@njit(cache=True, nogil=True)
def _longest(indptr):
    longest = 0
    for column in range(indptr.size - 1):
        longest = max(longest, indptr[column + 1] - indptr[column])
    return longest


@njit(cache=True, nogil=True)
def rank_correlations(values, rows, indptr, target):
    """Correlation of the midranks of each column with ``target``, midranks less their mean; 0 if either is constant."""
    n_rows, n_columns = target.size, indptr.size - 1
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    target_square = 0.0
    for row in range(n_rows):
        target_square += target[row] * target[row]
    correlations = np.zeros(n_columns)
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        n_left_out = n_rows - own.size
        left_out = 0.0
        if n_left_out > 0:
            for place in range(own.size):
                left_out -= target[own[place]]
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        below, square, product = 0, 0.0, 0.0
        for group in range(n_groups):
            size, wanted = stops[group] - starts[group], 0.0
            if size == 0:
                size, wanted = n_left_out, left_out
            else:
                for place in range(starts[group], stops[group]):
                    wanted += target[own[place]]
            midrank = below + 0.5 * (size - n_rows)
            square += size * midrank * midrank
            product += midrank * wanted
            below += size
        if square > 0 and target_square > 0:
            correlations[column] = product / np.sqrt(square * target_square)
    return correlations


@njit(cache=True, nogil=True)
def _class_counts(rows, classes, counts):
    counts[:] = 0
    for place in range(rows.size):
        counts[classes[rows[place]]] += 1


@njit(cache=True, nogil=True)
def largest_gaps(values, rows, indptr, classes, class_sizes, first):
    """Largest gap between the distribution functions of each class from ``first`` on and of all other rows."""
    n_rows, n_columns, n_classes = classes.size, indptr.size - 1, class_sizes.size
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    gaps = np.zeros((n_classes - first, n_columns))
    stored, below_in = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    per_row, per_other = np.empty(n_classes), np.empty(n_classes)
    for code in range(n_classes):
        per_row[code] = 1.0 / class_sizes[code]
        per_other[code] = 1.0 / (n_rows - class_sizes[code])
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        _class_counts(own, classes, stored)
        n_left_out = n_rows - own.size
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        below_in[:] = 0
        below = 0
        for group in range(n_groups - 1):  # after the last both functions are 1
            if stops[group] == starts[group]:
                below += n_left_out
                for code in range(n_classes):
                    below_in[code] += class_sizes[code] - stored[code]
            else:
                below += stops[group] - starts[group]
                for place in range(starts[group], stops[group]):
                    below_in[classes[own[place]]] += 1
            for code in range(first, n_classes):
                gap = abs(below_in[code] * per_row[code] - (below - below_in[code]) * per_other[code])
                if gap > gaps[code - first, column]:
                    gaps[code - first, column] = gap
    return gaps


@njit(cache=True, nogil=True)
def binned_information(values, rows, indptr, classes, class_sizes, n_bins):
    """Mutual information (nats) of each column, in bins of about equally many rows, and the classes; bins occupied.

    A column of at most ``n_bins`` different values keeps them. Equal values are never parted: a run goes where its
    middle falls.
    """
    n_rows, n_columns, n_classes = classes.size, indptr.size - 1, class_sizes.size
    starts, stops = np.empty(_longest(indptr) + 1, np.int64), np.empty(_longest(indptr) + 1, np.int64)
    information, occupied = np.zeros(n_columns), np.zeros(n_columns, np.int64)
    table = np.empty((n_bins, n_classes), np.int64)
    stored = np.empty(n_classes, np.int64)
    for column in range(n_columns):
        begin, end = indptr[column], indptr[column + 1]
        own = rows[begin:end]
        _class_counts(own, classes, stored)
        n_left_out = n_rows - own.size
        n_groups = _tie_groups(values[begin:end], n_left_out, starts, stops)
        table[:] = 0
        below = 0
        for group in range(n_groups):
            size = stops[group] - starts[group]
            if size == 0:
                size = n_left_out
            in_bin = group if n_groups <= n_bins else (n_bins * (2 * below + size)) // (2 * n_rows)
            if stops[group] == starts[group]:
                for code in range(n_classes):
                    table[in_bin, code] += class_sizes[code] - stored[code]
            else:
                for place in range(starts[group], stops[group]):
                    table[in_bin, classes[own[place]]] += 1
            below += size
        information[column], occupied[column] = _table_information(table, class_sizes, n_rows)
    return information, occupied


@njit(cache=True, nogil=True)
def _table_information(table, class_sizes, n_rows):
    """Mutual information of a table of counts, and its rows that are not empty."""
    total, occupied = 0.0, 0
    for in_bin in range(table.shape[0]):
        in_row = table[in_bin].sum()
        if in_row == 0:
            continue
        occupied += 1
        for code in range(table.shape[1]):
            count = table[in_bin, code]
            if count > 0:
                total += count * np.log(count * n_rows / (in_row * class_sizes[code]))
    return max(total / n_rows, 0.0), occupied
