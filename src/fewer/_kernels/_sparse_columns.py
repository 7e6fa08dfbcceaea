"""Loops over some columns of a sparse table in CSC form. Column ``p``, one past the last, is the constant 1.

The same names for dense tables are in ``_dense_columns``. Row numbers are read as unsigned, which spares the loops a
test for negative ones; and sums run in two parts, because one alone would wait for itself.
"""

import numpy as np
from numba import njit

from fewer._kernels._l1_quadratic import SUMS, optimality_gap, shrunk_step


@njit(cache=True, nogil=True, fastmath=SUMS)
def products(data, indices, indptr, columns, v, out):
    """``out[at] = sum_i x_ij v_i`` for each of the columns named."""
    for turn in range(columns.size):
        j = columns[turn]
        total, other = 0.0, 0.0
        if j < indptr.size - 1:
            at, stop = np.int64(indptr[j]), np.int64(indptr[j + 1])
            while at + 1 < stop:
                total += data[at] * v[np.uint32(indices[at])]
                other += data[at + 1] * v[np.uint32(indices[at + 1])]
                at += 2
            if at < stop:
                total += data[at] * v[np.uint32(indices[at])]
        else:
            for i in range(v.size):
                total += v[i]
        out[turn] = total + other


@njit(cache=True, nogil=True, fastmath=SUMS)
def combination(data, indices, indptr, columns, steps, out):
    """``out = sum_j steps_j x_j``, over the columns named."""
    for i in range(out.size):
        out[i] = 0.0
    for turn in range(columns.size):
        j, step = columns[turn], steps[turn]
        if step != 0.0:
            for at in range(indptr[j], indptr[j + 1]):
                out[np.uint32(indices[at])] += step * data[at]


@njit(cache=True, nogil=True)
def copy_columns(data, indices, indptr, columns, starts, values, rows):
    """Copy the columns named to where each starts in ``values`` and ``rows``; the constant with all its ones."""
    for turn in range(columns.size):
        j, place = columns[turn], np.int64(starts[turn])
        if j < indptr.size - 1:
            for at in range(indptr[j], indptr[j + 1]):
                values[place] = data[at]
                rows[place] = indices[at]
                place += 1
        else:
            for at in range(place, starts[turn + 1]):
                values[at] = 1.0
                rows[at] = at - place


@njit(cache=True, nogil=True, fastmath=SUMS)
def weighted_entries(data, indices, indptr, h, weighted, squares):
    """The stored entries times ``h``, and ``sum_i h_i x_ij^2`` of each column."""
    for j in range(squares.size):
        total = 0.0
        for at in range(indptr[j], indptr[j + 1]):
            weighted[at] = data[at] * h[np.uint32(indices[at])]
            total += weighted[at] * data[at]
        squares[j] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def descend(data, indices, indptr, weighted, moving, coefficients, strengths, ridge, curvatures, residual, settled):
    """Minimise each of the ``moving`` coordinates in turn; ``residual`` are the rows' slopes, kept up to date.

    There is a coordinate for each column. Returns the sum of optimality gaps met, the entries visited, and how many
    columns are moved to the front of ``moving``: those that are not zero, and unless ``settled`` those that were not
    optimal.
    """
    total, visited, n_kept = 0.0, np.int64(0), 0
    for turn in range(moving.size):
        column = moving[turn]
        start, stop = np.int64(indptr[column]), np.int64(indptr[column + 1])
        at, slope, other = start, 0.0, 0.0
        while at + 1 < stop:
            slope += data[at] * residual[np.uint32(indices[at])]
            other += data[at + 1] * residual[np.uint32(indices[at + 1])]
            at += 2
        if at < stop:
            slope += data[at] * residual[np.uint32(indices[at])]
        slope += other
        slope += ridge * strengths[column] * coefficients[column]
        gap = optimality_gap(slope, coefficients[column], strengths[column])
        total += gap
        visited += stop - start
        step = shrunk_step(slope, curvatures[column], coefficients[column], strengths[column])
        if step != 0.0:
            coefficients[column] += step
            visited += stop - start
            for place in range(start, stop):
                residual[np.uint32(indices[place])] += step * weighted[place]
        if coefficients[column] != 0.0 or (gap > 0.0 and not settled):
            moving[n_kept] = column
            n_kept += 1
    return total, visited, n_kept
