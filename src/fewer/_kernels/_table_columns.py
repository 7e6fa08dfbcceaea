"""The columns of a table in a form that coordinate methods want, dense or sparse, in one vocabulary.

A dense table is an array in Fortran order; a sparse one is ``(data, indices, indptr, n_rows)`` of its CSC form. Column
``p``, one past the last, is the constant 1: the place of an intercept. Numba picks the form when it compiles, so a
solver is written once. Row numbers are read as unsigned, which spares the loops a test for negative ones.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

SUMS = {"reassoc", "nsz", "contract"}
_OPTIONS: Any = {"fastmath": SUMS, "nogil": True}


# So many entries of a vector stay near the processor while a block of rows goes by.
_ROWS_AT_ONCE = 2048


def _is_dense(X) -> bool:
    return isinstance(X, types.Array)


def n_columns(X): ...


@overload(n_columns)
def _n_columns(X):
    if _is_dense(X):
        return lambda X: X.shape[1]
    return lambda X: X[2].size - 1


def n_stored(X, j): ...


@overload(n_stored)
def _n_stored(X, j):
    """Entries that a loop over column j visits."""
    if _is_dense(X):
        return lambda X, j: X.shape[0]
    return lambda X, j: X[2][j + 1] - X[2][j] if j < X[2].size - 1 else X[3]


def entry(X, j, at): ...


@overload(entry, jit_options={"nogil": True})
def _entry(X, j, at):
    """Row and value of the entry of column j that a loop visits at turn ``at``."""
    if _is_dense(X):
        return lambda X, j, at: (np.int64(at), np.float64(X[at, j]) if j < X.shape[1] else 1.0)

    def sparse(X, j, at):
        data, indices, indptr, _ = X
        if j < indptr.size - 1:
            place = indptr[j] + at
            return (np.int64(indices[place]), np.float64(data[place]))
        return (np.int64(at), 1.0)

    return sparse


def dot(X, j, v): ...


@overload(dot, jit_options=_OPTIONS)
def _dot(X, j, v):
    """``sum_i x_ij v_i``."""
    if _is_dense(X):

        def dense(X, j, v):
            total = 0.0
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(v.size):
                    total += column[i] * v[i]
            else:
                for i in range(v.size):
                    total += v[i]
            return total

        return dense

    def sparse(X, j, v):
        data, indices, indptr, n_rows = X
        total = 0.0
        if j < indptr.size - 1:
            # Two sums: one alone would wait for itself.
            at, stop, other = np.int64(indptr[j]), np.int64(indptr[j + 1]), 0.0
            while at + 1 < stop:
                total += data[at] * v[np.uint32(indices[at])]
                other += data[at + 1] * v[np.uint32(indices[at + 1])]
                at += 2
            if at < stop:
                total += data[at] * v[np.uint32(indices[at])]
            total += other
        else:
            for i in range(n_rows):
                total += v[i]
        return total

    return sparse


def weighted_square(X, j, h): ...


@overload(weighted_square, jit_options=_OPTIONS)
def _weighted_square(X, j, h):
    """``sum_i h_i x_ij^2``."""
    if _is_dense(X):

        def dense(X, j, h):
            total = 0.0
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(h.size):
                    total += h[i] * column[i] * column[i]
            else:
                for i in range(h.size):
                    total += h[i]
            return total

        return dense

    def sparse(X, j, h):
        data, indices, indptr, n_rows = X
        total = 0.0
        if j < indptr.size - 1:
            for at in range(indptr[j], indptr[j + 1]):
                total += h[np.uint32(indices[at])] * data[at] * data[at]
        else:
            for i in range(n_rows):
                total += h[i]
        return total

    return sparse


def add(X, j, step, v): ...


@overload(add, jit_options=_OPTIONS)
def _add(X, j, step, v):
    """``v_i += step x_ij``."""
    if _is_dense(X):

        def dense(X, j, step, v):
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(v.size):
                    v[i] += step * column[i]
            else:
                for i in range(v.size):
                    v[i] += step

        return dense

    def sparse(X, j, step, v):
        data, indices, indptr, n_rows = X
        if j < indptr.size - 1:
            for at in range(indptr[j], indptr[j + 1]):
                v[np.uint32(indices[at])] += step * data[at]
        else:
            for i in range(n_rows):
                v[i] += step

    return sparse


def add_weighted(X, j, step, h, v): ...


@overload(add_weighted, jit_options=_OPTIONS)
def _add_weighted(X, j, step, h, v):
    """``v_i += step h_i x_ij``."""
    if _is_dense(X):

        def dense(X, j, step, h, v):
            if j < X.shape[1]:
                column = X[:, j]
                for i in range(v.size):
                    v[i] += step * h[i] * column[i]
            else:
                for i in range(v.size):
                    v[i] += step * h[i]

        return dense

    def sparse(X, j, step, h, v):
        data, indices, indptr, n_rows = X
        if j < indptr.size - 1:
            for at in range(indptr[j], indptr[j + 1]):
                v[np.uint32(indices[at])] += step * h[np.uint32(indices[at])] * data[at]
        else:
            for i in range(n_rows):
                v[i] += step * h[i]

    return sparse


def products(X, columns, v, out): ...


@overload(products, jit_options=_OPTIONS)
def _products(X, columns, v, out):
    """``out[at] = sum_i x_ij v_i`` for each of the columns named, which are in order and different."""
    if _is_dense(X):
        with_blas = X.dtype == types.float64

        def dense(X, columns, v, out):
            n_all = X.shape[1]
            if with_blas and columns.size >= n_all and columns[n_all - 1] == n_all - 1:
                np.dot(X.T, v, out[:n_all])
                out[n_all:] = v.sum()
                return
            out[:] = 0.0
            for start in range(0, v.size, _ROWS_AT_ONCE):
                part = v[start : start + _ROWS_AT_ONCE]
                for at in range(columns.size):
                    total = 0.0
                    if columns[at] < n_all:
                        column = X[:, columns[at]][start : start + _ROWS_AT_ONCE]
                        for i in range(part.size):
                            total += column[i] * part[i]
                    else:
                        for i in range(part.size):
                            total += part[i]
                    out[at] += total

        return dense

    def sparse(X, columns, v, out):
        data, indices, indptr, n_rows = X  # out of the loop: unpacking costs more than a short column
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
                for i in range(n_rows):
                    total += v[i]
            out[turn] = total + other

    return sparse


def combination(X, columns, steps, out): ...


@overload(combination, jit_options=_OPTIONS)
def _combination(X, columns, steps, out):
    """``out = sum_j steps_j x_j``, over the columns named."""
    if _is_dense(X):

        def dense(X, columns, steps, out):
            out[:] = 0.0
            for start in range(0, out.size, _ROWS_AT_ONCE):
                part = out[start : start + _ROWS_AT_ONCE]
                for at in range(columns.size):
                    step = steps[at]
                    if step == 0.0:
                        continue
                    if columns[at] < X.shape[1]:
                        column = X[:, columns[at]][start : start + _ROWS_AT_ONCE]
                        for i in range(part.size):
                            part[i] += step * column[i]
                    else:
                        for i in range(part.size):
                            part[i] += step

        return dense

    def sparse(X, columns, steps, out):
        data, indices, indptr, n_rows = X
        out[:] = 0.0
        for turn in range(columns.size):
            j, step = columns[turn], steps[turn]
            if step == 0.0:
                continue
            if j < indptr.size - 1:
                for at in range(indptr[j], indptr[j + 1]):
                    out[np.uint32(indices[at])] += step * data[at]
            else:
                for i in range(n_rows):
                    out[i] += step

    return sparse


def picked(X, columns): ...


@overload(picked, jit_options={"nogil": True})
def _picked(X, columns):
    """The columns named as a table of their own, and their places in it; a dense table stays as it is.

    A sparse one has only stored columns afterwards, also for the constant, and 64 bits.
    """
    if _is_dense(X):
        return lambda X, columns: (X, columns)

    def sparse(X, columns):
        data, indices, indptr, n_rows = X
        starts = np.empty(columns.size + 1, dtype=indptr.dtype)
        starts[0] = 0
        for at in range(columns.size):
            starts[at + 1] = starts[at] + n_stored(X, columns[at])
        values, rows = np.empty(starts[-1]), np.empty(starts[-1], dtype=indices.dtype)
        for at in range(columns.size):
            j, place = columns[at], starts[at]
            if j < indptr.size - 1:
                for old in range(indptr[j], indptr[j + 1]):
                    values[place], rows[place] = data[old], indices[old]
                    place += 1
            else:
                for i in range(n_rows):
                    values[place], rows[place] = 1.0, i
                    place += 1
        return (values, rows, starts, n_rows), np.arange(columns.size)

    return sparse
