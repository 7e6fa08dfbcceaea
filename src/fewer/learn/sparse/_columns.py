"""The columns of a table, dense or sparse, in one vocabulary: what solvers ask of all columns, and of a few at a time.

Column ``p``, one past the last, is the constant 1: the place of an intercept. Columns are named by their numbers, in
order. Both kinds are thin: the loops are kernels, of which each kind of table compiles its own.
"""

from itertools import pairwise

import numpy as np

from fewer._kernels import _dense_columns, _sparse_columns

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
            _dense_columns.products(self.X, np.arange(out.size) if columns is None else columns, v, out)

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
        _dense_columns.products(self.X, self.columns, v, out)

    def combination(self, steps: np.ndarray, out: np.ndarray) -> None:
        _dense_columns.combination(self.X, self.columns, steps, out)

    def part(self, places: np.ndarray) -> "DenseSet":
        return DenseSet(self.X, self.columns[places])

    def curved(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ``descend`` wants to know of the rows' curvatures, and that of each coordinate."""
        squares = np.empty(self.columns.size)
        _dense_columns.weighted_squares(self.X, self.columns, h, squares)
        return h, squares

    def descend(self, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled):
        return _dense_columns.descend(
            self.X, self.columns, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled
        )


class SparseColumns:
    """All columns of a table in CSC form."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_rows: int):
        self.data, self.indices, self.indptr, self.n_rows = data, indices, indptr, n_rows

    def products(self, v: np.ndarray, out: np.ndarray, columns: np.ndarray | None = None) -> None:
        """``out = X' v``, for some columns or all."""
        columns = np.arange(out.size) if columns is None else columns
        _sparse_columns.products(self.data, self.indices, self.indptr, columns, v, out)

    def picked(self, columns: np.ndarray) -> "SparseSet":
        """Some of the columns as a table of their own, in 64 bits, with stored ones for the constant."""
        n_columns = self.indptr.size - 1
        sizes = np.full(columns.size, self.n_rows, dtype=self.indptr.dtype)
        stored = columns[: np.searchsorted(columns, n_columns)]
        sizes[: stored.size] = self.indptr[stored + 1] - self.indptr[stored]
        starts = np.zeros(columns.size + 1, dtype=self.indptr.dtype)
        np.cumsum(sizes, out=starts[1:])
        values, rows = np.empty(starts[-1]), np.empty(starts[-1], dtype=self.indices.dtype)
        _sparse_columns.copy_columns(self.data, self.indices, self.indptr, columns, starts, values, rows)
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
        _sparse_columns.products(self.data, self.indices, self.indptr, self.places, v, out)

    def combination(self, steps: np.ndarray, out: np.ndarray) -> None:
        _sparse_columns.combination(self.data, self.indices, self.indptr, self.places, steps, out)

    def part(self, places: np.ndarray) -> "SparseSet":
        return SparseColumns(self.data, self.indices, self.indptr, 0).picked(places)

    def curved(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What ``descend`` wants to know of the rows' curvatures, and that of each coordinate."""
        weighted, squares = np.empty(self.data.size), np.empty(self.places.size)
        _sparse_columns.weighted_entries(self.data, self.indices, self.indptr, h, weighted, squares)
        return weighted, squares

    def descend(self, curved, moving, coefficients, strengths, ridge, curvatures, residual, settled):
        return _sparse_columns.descend(
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
