"""Quadratic forms of the columns of a sparse table: ``x_j' K x_j`` for every column j, over its stored entries only.

That takes ``sum_j nnz_j^2`` steps. Going through the dense product K X would take ``n nnz``, with room for K X.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_quadratic_forms(
    part_indptr: np.ndarray,
    part_indices: np.ndarray,
    part_data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    rows_of_k: np.ndarray,
    forms: np.ndarray,
) -> None:
    """Add to ``forms`` what some rows of K contribute.

    The table comes by columns (CSC) twice: only the rows at hand, counted from the first of them, and whole.
    """
    for column in range(len(indptr) - 1):
        total = 0.0
        for left in range(part_indptr[column], part_indptr[column + 1]):
            row = rows_of_k[part_indices[left]]
            inner = 0.0
            for right in range(indptr[column], indptr[column + 1]):
                inner += row[indices[right]] * data[right]
            total += part_data[left] * inner
        forms[column] += total
