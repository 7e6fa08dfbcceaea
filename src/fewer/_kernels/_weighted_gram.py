"""Products of columns with row weights, ``Q_ab = sum_i h_i x_ia x_ib``, for some columns of a dense or sparse table."""

import numpy as np
from numba import njit
from numba.extending import overload

from fewer._kernels._table_columns import _is_dense, dot

_BLOCK = 512


def weighted_gram(X, columns, first, h, n_blocks, Q): ...


@overload(weighted_gram, jit_options={"nogil": True})
def _weighted_gram(X, columns, first, h, n_blocks, Q):
    """Fill rows and columns ``first`` and later of ``Q``; with fewer blocks than there are, rows are sampled evenly."""
    if _is_dense(X):

        def dense(X, columns, first, h, n_blocks, Q):
            n_rows, size = h.size, columns.size
            all_blocks = (n_rows + _BLOCK - 1) // _BLOCK
            taken = min(n_blocks, all_blocks)
            total = np.zeros((size - first, size))
            values = np.empty((size, _BLOCK))
            weighted = np.empty((size - first, _BLOCK))
            n_taken = 0
            for turn in range(taken):
                start = ((turn * all_blocks) // taken) * _BLOCK
                stop = min(start + _BLOCK, n_rows)
                n_taken += stop - start
                for a in range(size):
                    if columns[a] < X.shape[1]:
                        column = X[:, columns[a]]
                        for i in range(stop - start):
                            values[a, i] = column[start + i]
                    else:
                        values[a, : stop - start] = 1.0
                    values[a, stop - start :] = 0.0
                for a in range(first, size):
                    for i in range(stop - start):
                        weighted[a - first, i] = values[a, i] * h[start + i]
                    weighted[a - first, stop - start :] = 0.0
                total += np.dot(weighted, values.T)
            scale = n_rows / n_taken
            for a in range(first, size):
                for b in range(size):
                    Q[a, b] = scale * total[a - first, b]
                    Q[b, a] = Q[a, b]

        return dense

    def sparse(X, columns, first, h, n_blocks, Q):
        data, indices, indptr, n_rows = X
        spread = np.zeros(n_rows)
        for a in range(first, columns.size):
            j = columns[a]
            if j < indptr.size - 1:
                for at in range(indptr[j], indptr[j + 1]):
                    spread[indices[at]] = data[at] * h[indices[at]]
            else:
                spread[:] = h
            for b in range(a + 1):
                Q[a, b] = dot(X, columns[b], spread)
                Q[b, a] = Q[a, b]
            if j < indptr.size - 1:
                for at in range(indptr[j], indptr[j + 1]):
                    spread[indices[at]] = 0.0
            else:
                spread[:] = 0.0

    return sparse


@njit(cache=True, nogil=True)
def n_blocks_for(n_rows):
    return (n_rows + _BLOCK - 1) // _BLOCK
