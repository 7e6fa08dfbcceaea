"""Quadratic forms of the columns of a sparse table: ``x_j' K x_j`` for every column j, over its stored entries only.

That takes ``sum_j nnz_j^2`` steps. Going through the dense product K X would take ``n nnz``, with room for K X.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_quadratic_forms(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, block: np.ndarray, first_row: int, forms: np.ndarray
) -> None:
    """Add to ``forms`` what some rows of K contribute.

    ``indptr``, ``indices`` and ``data`` are the table by columns (CSC); ``block`` holds the rows of K from
    ``first_row`` on.
    """
    past_row = first_row + block.shape[0]
    for column in range(len(indptr) - 1):
        total = 0.0
        for left in range(indptr[column], indptr[column + 1]):
            if indices[left] < first_row or indices[left] >= past_row:
                continue
            row = block[indices[left] - first_row]
            inner = 0.0
            for right in range(indptr[column], indptr[column + 1]):
                inner += row[indices[right]] * data[right]
            total += data[left] * inner
        forms[column] += total
