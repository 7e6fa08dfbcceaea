"""Sums over the stored entries of each row of a sparse table (CSR), with no copy of what is summed.

They work on the range of rows from ``start`` to ``stop``, so that threads can share the table; a table by columns (CSC)
serves as the rows of its transpose.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sum_stored(
    start: int, stop: int, indptr: np.ndarray, indices: np.ndarray, vectors: np.ndarray, sums: np.ndarray
) -> None:
    """Sum of the vectors of the columns that a row has stored."""
    width = vectors.shape[1]
    for row in range(start, stop):
        for k in range(width):
            sums[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            vector = vectors[indices[place]]
            for k in range(width):
                sums[row, k] += vector[k]


@njit(cache=True, nogil=True)
def multiply_stored(
    start: int,
    stop: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    vectors: np.ndarray,
    products: np.ndarray,
) -> None:
    """The table times a thin matrix."""
    width = vectors.shape[1]
    for row in range(start, stop):
        for k in range(width):
            products[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            vector = vectors[indices[place]]
            value = data[place]
            for k in range(width):
                products[row, k] += value * vector[k]


@njit(cache=True, nogil=True)
def sum_residuals(
    start: int,
    stop: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    own: np.ndarray,
    others: np.ndarray,
    own_offset: np.ndarray,
    other_offset: np.ndarray,
    weighted: np.ndarray,
    totals: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Residuals of a low-rank model at the stored entries: their sums, squared and times the other side's vectors."""
    width = own.shape[1]
    for row in range(start, stop):
        total = 0.0
        square = 0.0
        for k in range(width):
            weighted[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            residual = data[place] - own_offset[row] - other_offset[column]
            for k in range(width):
                residual -= own[row, k] * others[column, k]
            total += residual
            square += residual * residual
            for k in range(width):
                weighted[row, k] += residual * others[column, k]
        totals[row] = total
        squares[row] = square
