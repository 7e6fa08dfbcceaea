"""Loops over some columns of a dense table in Fortran order. Column ``p``, one past the last, is the constant 1.

The same names for sparse tables are in ``_sparse_columns``. All else that a solver does is written in Python around
these, so that a new kind of table has only these small loops to compile.
"""

from numba import njit

from fewer._kernels._l1_quadratic import SUMS, optimality_gap, shrunk_step

# So many entries of a vector stay near the processor while a block of rows goes by. Loops that write go over slices:
# the compiler sees that indices are not negative, and takes several entries at once.
_ROWS_AT_ONCE = 2048


@njit(cache=True, nogil=True, fastmath=SUMS)
def products(X, columns, v, out):
    """``out[at] = sum_i x_ij v_i`` for each of the columns named."""
    for at in range(columns.size):
        out[at] = 0.0
    for start in range(0, v.size, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, v.size)
        for at in range(columns.size):
            j, total = columns[at], 0.0
            if j < X.shape[1]:
                for i in range(start, stop):
                    total += X[i, j] * v[i]
            else:
                for i in range(start, stop):
                    total += v[i]
            out[at] += total


@njit(cache=True, nogil=True, fastmath=SUMS)
def combination(X, columns, steps, out):
    """``out = sum_j steps_j x_j``, over the columns named."""
    for i in range(out.size):
        out[i] = 0.0
    for start in range(0, out.size, _ROWS_AT_ONCE):
        part = out[start : start + _ROWS_AT_ONCE]
        for at in range(columns.size):
            j, step = columns[at], steps[at]
            if step == 0.0:
                continue
            if j < X.shape[1]:
                column = X[:, j][start : start + _ROWS_AT_ONCE]
                for i in range(part.size):
                    part[i] += step * column[i]
            else:
                for i in range(part.size):
                    part[i] += step


@njit(cache=True, nogil=True, fastmath=SUMS)
def weighted_squares(X, columns, h, out):
    """``out[at] = sum_i h_i x_ij^2`` for each of the columns named."""
    for at in range(columns.size):
        j, total = columns[at], 0.0
        if j < X.shape[1]:
            for i in range(h.size):
                total += h[i] * X[i, j] * X[i, j]
        else:
            for i in range(h.size):
                total += h[i]
        out[at] = total


@njit(cache=True, nogil=True, fastmath=SUMS)
def descend(X, columns, h, moving, coefficients, strengths, ridge, curvatures, residual, settled):
    """Minimise each of the ``moving`` coordinates in turn; ``residual`` are the rows' slopes, kept up to date.

    Returns the sum of optimality gaps met, the entries visited, and how many columns are moved to the front of
    ``moving``: those that are not zero, and unless ``settled`` those that were not optimal.
    """
    total, visited, n_kept = 0.0, 0, 0
    n_rows = residual.size
    for turn in range(moving.size):
        at = moving[turn]
        j, slope = columns[at], 0.0
        if j < X.shape[1]:
            for i in range(n_rows):
                slope += X[i, j] * residual[i]
        else:
            for i in range(n_rows):
                slope += residual[i]
        slope += ridge * strengths[at] * coefficients[at]
        gap = optimality_gap(slope, coefficients[at], strengths[at])
        total += gap
        visited += n_rows
        step = shrunk_step(slope, curvatures[at], coefficients[at], strengths[at])
        if step != 0.0:
            coefficients[at] += step
            visited += n_rows
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(n_rows):
                    residual[i] += step * h[i] * column[i]
            else:
                for i in range(n_rows):
                    residual[i] += step * h[i]
        if coefficients[at] != 0.0 or (gap > 0.0 and not settled):
            moving[n_kept] = at
            n_kept += 1
    return total, visited, n_kept
