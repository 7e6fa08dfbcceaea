"""The likelihood ratio of classes in several dimensions, of which one direction moves and the others are fixed."""

from itertools import pairwise

import numpy as np

from fewer._kernels._projected_densities import joint_left_out_fit
from fewer.extract.projection_pursuit._indices import FLOOR
from fewer.extract.projection_pursuit._search import Criterion

MOST_ROWS = 1000
"""All pairs are summed, so that the rows are thinned out to so many."""


def thinned(begins: np.ndarray, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Rows to sum pairs over, the same share of every class, and where the classes begin among them."""
    sizes = np.diff(begins)
    if begins[-1] <= MOST_ROWS:
        return np.arange(begins[-1]), begins
    kept = np.maximum(np.round(sizes * (MOST_ROWS / begins[-1])).astype(int), np.minimum(sizes, 5))
    rows = [
        begin + np.sort(rng.permutation(size)[:keep])
        for begin, size, keep in zip(begins[:-1], sizes, kept, strict=True)
    ]
    return np.concatenate(rows), np.append(0, np.cumsum(kept))


def joint_ratio(
    Z: np.ndarray, begins: np.ndarray, others: np.ndarray, bandwidth: str | float, oversmooth: float
) -> Criterion:
    """``mean_j [ln f_k(z_j) - ln f(z_j)]`` along the rows of ``others`` and one direction more, by kernel densities.

    The rows of Z are in the order of their classes. Kernels are as wide along each direction: ``n^(-1 / (m + 4))``
    times ``oversmooth``, for m dimensions.
    """
    fixed = np.ascontiguousarray(Z @ np.reshape(others, (-1, Z.shape[1])).T)
    n_dims = fixed.shape[1] + 1
    floor = FLOOR * 0.4 ** (n_dims - 1)  # as far below the top of a normal density as in one dimension

    def width(size: int) -> float:
        return oversmooth * size ** (-1 / (n_dims + 4)) if isinstance(bandwidth, str) else float(bandwidth)

    def criterion(direction: np.ndarray) -> tuple[float, np.ndarray]:
        values = Z @ direction
        slopes, pooled = np.empty(len(Z)), np.empty(len(Z))
        total = -joint_left_out_fit(fixed, values, width(len(Z)), floor, pooled)
        for begin, end in pairwise(begins):
            own = slice(begin, end)
            total += joint_left_out_fit(fixed[own], values[own], width(end - begin), floor, slopes[own])
        return total / len(Z), (slopes - pooled) @ Z / len(Z)

    return criterion
