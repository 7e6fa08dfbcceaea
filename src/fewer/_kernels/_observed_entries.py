"""Arithmetic at the observed entries of a table: low-rank values, products with thin matrices, a ridge for each row.

Entries lie row by row (``indptr``, ``indices``, as in CSR). Every kernel works on the rows from ``start`` to ``stop``,
so that threads can share the table.
"""

import numpy as np
from numba import njit

from fewer._kernels._copied import copy_into

_REORDERED = {"reassoc", "contract"}  # lets sums be vectorised; NaN and infinity keep their meaning


_AT_ONCE = 256


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_low_rank_values(start, stop, indptr, indices, left, right, out):
    """``out[e] = left[i] . right[j]`` at every entry e = (i, j)."""
    for i in range(start, stop):
        own = left[i]
        for e in range(indptr[i], indptr[i + 1]):
            other = right[indices[e]]
            total = own[0] * other[0]
            for k in range(1, own.shape[0]):
                total += own[k] * other[k]
            out[e] = total


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_reordered_products(start, stop, indptr, indices, order, values, thin, out):
    """``out[i] = sum of values[order[e]] * thin[j]``: the values lie in another order, that of the transposed table."""
    for i in range(start, stop):
        sums = out[i]
        sums[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            value = values[order[e]]
            other = thin[indices[e]]
            for k in range(sums.shape[0]):
                sums[k] += value * other[k]


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_ridge_rows(start, stop, indptr, indices, order, values, thin, penalties, out):
    """``out[i]`` minimises the squared error at row i's entries, plus ``sum penalties * out[i]**2``; 0 without entries.

    ``order`` is empty where the values lie in the order of the entries. Penalties must make each system positive
    definite: that is left to the caller.
    """
    rank = thin.shape[1]
    gram = np.empty((rank, rank))
    product = np.empty((rank, rank))
    right = np.empty(rank)
    # Vectors are gathered, some at a time, so that the Gram matrix is a product of matrices and not a sum of small
    # ones.
    gathered = np.empty((_AT_ONCE, rank))
    reordered = order.shape[0] > 0
    for i in range(start, stop):
        if indptr[i] == indptr[i + 1]:
            out[i] = 0
            continue
        gram[:] = 0
        right[:] = 0
        for first in range(indptr[i], indptr[i + 1], _AT_ONCE):
            n = min(_AT_ONCE, indptr[i + 1] - first)
            for at in range(n):
                e = first + at
                value = values[order[e]] if reordered else values[e]
                other = thin[indices[e]]
                row = gathered[at]
                for k in range(rank):
                    row[k] = other[k]
                    right[k] += value * row[k]
            some = gathered[:n]
            np.dot(some.T, some, product)
            gram += product
        for k in range(rank):
            gram[k, k] += penalties[k]
        _solve_in_place(gram, right)
        copy_into(out[i], right)


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _solve_in_place(gram, right):
    """Solves ``gram @ x = right`` by Cholesky, reading and overwriting the lower triangle; x replaces ``right``."""
    rank = right.shape[0]
    for k in range(rank):
        pivot = gram[k, k]
        for m in range(k):
            pivot -= gram[k, m] * gram[k, m]
        pivot = np.sqrt(pivot)
        gram[k, k] = pivot
        for i in range(k + 1, rank):
            total = gram[i, k]
            for m in range(k):
                total -= gram[i, m] * gram[k, m]
            gram[i, k] = total / pivot
        total = right[k]
        for m in range(k):
            total -= gram[k, m] * right[m]
        right[k] = total / pivot
    for k in range(rank - 1, -1, -1):
        total = right[k]
        for i in range(k + 1, rank):
            total -= gram[i, k] * right[i]
        right[k] = total / gram[k, k]
