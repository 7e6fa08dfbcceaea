"""One column of a table, dense or sparse, in one vocabulary, for kernels that are written once for both.

A dense table is an array in Fortran order; a sparse one is ``(data, indices, indptr, n_rows)`` of its CSC form. Column
``p``, one past the last, is the constant 1: the place of an intercept. Numba picks the form when it compiles, so a
solver is written once. Row numbers are read as unsigned, which spares the loops a test for negative ones.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from fewer._kernels._l1_quadratic import SUMS

_OPTIONS: Any = {"fastmath": SUMS, "nogil": True}


def _is_dense(X) -> bool:
    return isinstance(X, types.Array)


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
