"""The columns of a table, dense or sparse, in one vocabulary: what solvers ask of all columns, and of a few at a time.

Column ``p``, one past the last, is the constant 1: the place of an intercept. Columns are named by their numbers, in
order. Both kinds are thin: the loops are kernels, of which each kind of table compiles its own, over a dense table in
Fortran order or a sparse one in CSC form. All else that a solver does is written in Python around these, so that a new
kind of table has only these small loops to compile. Row numbers are read as unsigned, which spares the loops a test for
negative ones; and sums run in two parts, because one alone would wait for itself.
"""

from itertools import pairwise

import numpy as np
from numba import njit

from fewer.learn.sparse._kernels import SUMS, optimality_gap, shrunk_step

_BLOCK = 512


class DenseColumns:
    """All columns of a table in Fortran order."""

    def __init__(self, X: np.ndarray):
        self.X = X

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    def products(self, v: np.ndarray, out: np.ndarray, columns: np.ndarray | None = None) -> None:
        """``out = X' v``, for some columns or all."""
        n_columns = self.X.shape[1]
        if columns is None and self.X.dtype == np.float64:
            np.dot(self.X.T, v, out=out[:n_columns])
            out[n_columns:] = v.sum()
        else:
            dense_products(self.X, np.arange(out.size) if columns is None else columns, v, out)

    def picked(self, columns: np.ndarray) -> "DenseSet":
        """Some of the columns as a table of their own; nothing is copied."""
        return DenseSet(self.X, columns)

    def n_blocks(self, n_rows: int) -> int:
        """How many blocks hold so many rows."""
        return -(-min(n_rows, self.n_rows) // _BLOCK)

    def fill_gram(self, columns: np.ndarray, first: int, h: np.ndarray, n_blocks: int, Q: np.ndarray) -> None:
        """``Q_ab = sum_i h_i x_ia x_ib`` in rows and columns ``first`` and later.

        With fewer blocks of rows than there are, they are spread evenly, and the sums brought to all rows.
        """
        everywhere = self.n_blocks(self.n_rows)
        stored = columns < self.X.shape[1]
        values = np.ones((columns.size, _BLOCK))
        new = np.zeros((columns.size - first, columns.size))
        n_taken = 0
        for turn in range(n_blocks):
            start = turn * everywhere // n_blocks * _BLOCK
            stop = min(start + _BLOCK, self.n_rows)
            n_taken += stop - start
            block = values[:, : stop - start]
            block[stored] = self.X.T[columns[stored], start:stop]
            new += (block[first:] * h[start:stop]) @ block.T
        new *= self.n_rows / n_taken
        Q[first : columns.size, : columns.size] = new
        Q[: columns.size, first : columns.size] = new.T


class DenseSet:
    """Some columns of a dense table; coordinates are places among them."""

    is_dense = True

    def __init__(self, X: np.ndarray, columns: np.ndarray):
        self.X, self.columns = X, columns

    @property
    def n_stored(self) -> int:
        return self.X.shape[0] * self.columns.size

    def products(self, v: np.ndarray, out: np.ndarray) -> None:
        dense_products(self.X, self.columns, v, out)

    def combination(self, steps: np.ndarray, out: np.ndarray) -> None:
        dense_combination(self.X, self.columns, steps, out)

    def part(self, places: np.ndarray) -> "DenseSet":
        return DenseSet(self.X, self.columns[places])

    def curved(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ``descend`` wants to know of the rows' curvatures, and that of each coordinate."""
        squares = np.empty(self.columns.size)
        dense_weighted_squares(self.X, self.columns, h, squares)
        return h, squares

    def descend(self, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled):
        return dense_descend(
            self.X, self.columns, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled
        )


class SparseColumns:
    """All columns of a table in CSC form."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_rows: int):
        self.data, self.indices, self.indptr, self.n_rows = data, indices, indptr, n_rows

    def products(self, v: np.ndarray, out: np.ndarray, columns: np.ndarray | None = None) -> None:
        """``out = X' v``, for some columns or all."""
        columns = np.arange(out.size) if columns is None else columns
        sparse_products(self.data, self.indices, self.indptr, columns, v, out)

    def picked(self, columns: np.ndarray) -> "SparseSet":
        """Some of the columns as a table of their own, in 64 bits, with stored ones for the constant."""
        n_columns = self.indptr.size - 1
        sizes = np.full(columns.size, self.n_rows, dtype=self.indptr.dtype)
        stored = columns[: np.searchsorted(columns, n_columns)]
        sizes[: stored.size] = self.indptr[stored + 1] - self.indptr[stored]
        starts = np.zeros(columns.size + 1, dtype=self.indptr.dtype)
        np.cumsum(sizes, out=starts[1:])
        values, rows = np.empty(starts[-1]), np.empty(starts[-1], dtype=self.indices.dtype)
        copy_columns(self.data, self.indices, self.indptr, columns, starts, values, rows)
        return SparseSet(values, rows, starts)

    def n_blocks(self, n_rows: int) -> int:
        """One: rows of a sparse table are not sampled."""
        return 1

    def fill_gram(self, columns: np.ndarray, first: int, h: np.ndarray, n_blocks: int, Q: np.ndarray) -> None:
        """``Q_ab = sum_i h_i x_ia x_ib`` in rows and columns ``first`` and later, which are in order."""
        new = self.picked(columns[first:])
        weighted, spread = new.data * h[new.indices], np.zeros(self.n_rows)
        for a, (start, stop) in enumerate(pairwise(new.indptr.tolist()), start=first):
            rows = new.indices[start:stop]
            spread[rows] = weighted[start:stop]
            self.products(spread, Q[a, : a + 1], columns[: a + 1])
            spread[rows] = 0.0
        Q[:first, first : columns.size] = Q[first : columns.size, :first].T
        corner = Q[first : columns.size, first : columns.size]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T


class SparseSet:
    """Some columns of a sparse table, copied; coordinates are places among them."""

    is_dense = False

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray):
        self.data, self.indices, self.indptr = data, indices, indptr
        self.places = np.arange(indptr.size - 1)

    @property
    def n_stored(self) -> int:
        return int(self.indptr[-1])

    def products(self, v: np.ndarray, out: np.ndarray) -> None:
        sparse_products(self.data, self.indices, self.indptr, self.places, v, out)

    def combination(self, steps: np.ndarray, out: np.ndarray) -> None:
        sparse_combination(self.data, self.indices, self.indptr, self.places, steps, out)

    def part(self, places: np.ndarray) -> "SparseSet":
        return SparseColumns(self.data, self.indices, self.indptr, 0).picked(places)

    def curved(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ``descend`` wants to know of the rows' curvatures, and that of each coordinate."""
        weighted, squares = np.empty(self.data.size), np.empty(self.places.size)
        weighted_entries(self.data, self.indices, self.indptr, h, weighted, squares)
        return weighted, squares

    def descend(self, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled):
        return sparse_descend(
            self.data,
            self.indices,
            self.indptr,
            curved,
            moving,
            coefficients,
            strengths,
            ridge,
            curvatures,
            residual,
            settled,
        )


# So many entries of a vector stay near the processor while a block of rows goes by. Loops that write go over slices:
# the compiler sees that indices are not negative, and takes several entries at once.
_ROWS_AT_ONCE = 2048


@njit(cache=True, nogil=True, fastmath=SUMS)
def dense_products(X, columns, v, out):
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
def dense_combination(X, columns, steps, out):
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
def dense_weighted_squares(X, columns, h, out):
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
def dense_descend(X, columns, h, moving, coefficients, strengths, ridge, curvatures, residual, settled):
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


@njit(cache=True, nogil=True, fastmath=SUMS)
def sparse_products(data, indices, indptr, columns, v, out):
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
def sparse_combination(data, indices, indptr, columns, steps, out):
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
def sparse_descend(
    data, indices, indptr, weighted, moving, coefficients, strengths, ridge, curvatures, residual, settled
):
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
