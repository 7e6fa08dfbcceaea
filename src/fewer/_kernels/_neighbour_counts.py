"""How often each row is among the nearest neighbours of others, and the dimension that rows fill; NumPy alone.

``N_k(x)`` counts the rows that have x among their k nearest. With T_j(x) the distance of x to its j-th neighbour, the
dimension of Levina and Bickel is the mean of ``(k - 2) / sum_j log(T_k(x) / T_j(x))``.
"""

from collections.abc import Iterable

import numpy as np


def times_listed(neighbours: np.ndarray) -> np.ndarray:
    """k-occurrences: how many rows list each row among their neighbours.

    >>> times_listed(np.array([[1], [0], [1]]))
    array([1, 2, 0])
    """
    return np.bincount(neighbours.ravel(), minlength=len(neighbours))


def times_listed_badly(neighbours: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """How many rows of another class list each row."""
    return np.bincount(neighbours[codes[:, None] != codes[neighbours]], minlength=len(neighbours))


def standard_scores(counts: np.ndarray) -> np.ndarray:
    """Counts less their mean, over their standard deviation; zeros if all are equal."""
    centred = counts - counts.mean()
    spread = float(counts.std())
    return centred / spread if spread > 0 else np.zeros(len(counts))


def skewness(counts: np.ndarray) -> float:
    """Third central moment over the cubed standard deviation; NaN if all are equal."""
    return float(np.mean(standard_scores(counts) ** 3)) if counts.std() > 0 else float("nan")


def levina_bickel_dimension(distances: np.ndarray, first: int, last: int) -> float:
    """Intrinsic dimension from the distances T_1 <= ... <= T_last of each row's neighbours.

    ``m_k(x) = (k - 2) / sum_j log(T_k(x) / T_j(x))``, averaged over the rows and over k = first .. last.
    """
    logs = np.log(distances)
    sums = np.arange(1, last + 1) * logs[:, :last] - np.cumsum(logs[:, :last], axis=1)
    k = np.arange(first, last + 1)
    with np.errstate(divide="ignore"):
        return float(np.mean((k - 2) / sums[:, first - 1 :]))


def neighbours_of_distances(
    blocks: Iterable[np.ndarray], n_rows: int, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours from blocks of rows of the matrix of distances."""
    neighbours = np.empty((n_rows, n_neighbors), dtype=np.int64)
    distances = np.empty((n_rows, n_neighbors))
    start = 0
    for block in blocks:
        block = np.array(block, dtype=np.float64)
        place = np.arange(len(block))
        block[place, start + place] = np.inf
        edge = np.partition(block, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        for row, values in enumerate(block):
            near = np.flatnonzero(values <= edge[row])
            near = near[np.argsort(values[near], kind="stable")[:n_neighbors]]
            neighbours[start + row], distances[start + row] = near, values[near]
        start += len(block)
    return neighbours, distances
