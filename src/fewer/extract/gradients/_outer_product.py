"""The mean outer product of gradients, as a thin factor.

``Gamma = (1/n) sum_i F(x_i) F(x_i)' = T'T`` with T of rank rows, so that Gamma itself, columns x columns, need not be
formed. Its entry (s, t) tells how much the target changes with columns s and t together.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

NO_GRADIENT = "The gradient is 0 everywhere: y is constant, or the penalties are too large for it."


class OuterProduct(NamedTuple):
    """Eigenvalues of Gamma that are more than rounding, decreasing, and unit eigenvectors as rows."""

    eigenvalues: np.ndarray
    directions: np.ndarray

    @property
    def diagonal(self) -> np.ndarray:
        """How much the target changes with each column: the diagonal of Gamma."""
        return self.eigenvalues @ self.directions**2

    @property
    def matrix(self) -> np.ndarray:
        """Gamma."""
        return (self.directions.T * self.eigenvalues) @ self.directions


def outer_product(slopes: np.ndarray, axes: np.ndarray) -> OuterProduct:
    """Of gradients (functions, rows, r) along axes (columns, r) of the span of the rows, added up over functions."""
    n_rows, rank = slopes.shape[1:]
    slopes = slopes.reshape(-1, rank)
    _, sizes, turn = linalg.svd(slopes / np.sqrt(n_rows), full_matrices=False, check_finite=False)
    kept = sizes > max(sizes[0] * np.finfo(float).eps * max(slopes.shape), np.finfo(float).tiny)
    return OuterProduct(sizes[kept] ** 2, turn[kept] @ axes.T)


def leading_directions(slopes: np.ndarray, axes: np.ndarray, n_directions: int | None) -> np.ndarray:
    """The first of the directions alone (directions, columns), from products of the slopes."""
    n_rows, rank = slopes.shape[1:]
    if n_directions is None:
        return outer_product(slopes, axes).directions
    slopes = slopes.reshape(-1, rank)
    first = max(rank - n_directions, 0)
    eigenvalues, turn = linalg.eigh(slopes.T @ slopes / n_rows, subset_by_index=(first, rank - 1), check_finite=False)
    kept = eigenvalues > max(eigenvalues[-1] * np.finfo(float).eps * max(slopes.shape), np.finfo(float).tiny)
    return turn[:, kept][:, ::-1].T @ axes.T
