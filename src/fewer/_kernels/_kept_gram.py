"""A matrix of products of columns, ``Q_ab = sum_i h_i x_ia x_ib``, that is kept while weights of rows change slowly.

It holds the columns asked for so far; new ones are added, at the weights that it was made with. What is given out is
brought to the present sum of weights. Whoever uses it says when it has become too old.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._weighted_gram import n_blocks_for, weighted_gram

LARGEST = 2000
N_HELD, N_BLOCKS, SPENT = 0, 1, 2


class KeptGram(NamedTuple):
    """The matrix (first rows and columns in use), the columns held, the place of each, and the weights of the rows.

    ``facts`` are the number of columns held, how many blocks of rows were taken, and what was spent without a matrix.
    """

    matrix: np.ndarray
    held: np.ndarray
    place: np.ndarray
    weights: np.ndarray
    facts: np.ndarray


def nothing_kept(n_columns: int, n_rows: int) -> KeptGram:
    """Room for a matrix; memory is taken as it fills."""
    size = min(n_columns, LARGEST)
    return KeptGram(
        np.empty((size, size)), np.empty(size, dtype=np.int64), np.full(n_columns, -1), np.empty(n_rows), np.zeros(3)
    )


@njit(cache=True, nogil=True)
def forget(kept):
    """Make the next matrix anew."""
    for at in range(int(kept.facts[N_HELD])):
        kept.place[kept.held[at]] = -1
    kept.facts[N_HELD] = 0


@njit(cache=True, nogil=True)
def kept_gram(kept, X, columns, h, n_blocks):
    """The matrix of these columns, about that of the present weights ``h``, as an array of its own."""
    missing = 0
    for at in range(columns.size):
        missing += kept.place[columns[at]] < 0
    if kept.facts[N_HELD] + missing > kept.held.size:
        forget(kept)
        missing = columns.size
    n_held = int(kept.facts[N_HELD])
    if n_held == 0:
        kept.weights[:] = h
        kept.facts[N_BLOCKS] = n_blocks
    if missing:
        n_now = n_held
        for at in range(columns.size):
            if kept.place[columns[at]] < 0:
                kept.place[columns[at]] = n_now
                kept.held[n_now] = columns[at]
                n_now += 1
        weighted_gram(X, kept.held[:n_now], n_held, kept.weights, int(kept.facts[N_BLOCKS]), kept.matrix)
        kept.facts[N_HELD] = n_now
    scale = h.sum() / kept.weights.sum()
    Q = np.empty((columns.size, columns.size))
    for a in range(columns.size):
        row = kept.matrix[kept.place[columns[a]]]
        for b in range(columns.size):
            Q[a, b] = scale * row[kept.place[columns[b]]]
    return Q


@njit(cache=True, nogil=True)
def sampled(kept, n_rows):
    """Whether the matrix rests on some of the rows only."""
    return kept.facts[N_BLOCKS] < n_blocks_for(n_rows)
