"""The mean outer product of gradients, as a thin factor.

``Gamma = (1/n) sum_i F(x_i) F(x_i)' = T'T`` with T of rank rows, so that Gamma itself, columns x columns, need not be
formed. Its entry (s, t) tells how much the target changes with columns s and t together.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from fewer.extract.gradients._gradient_learner import GradientLearner


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


def outer_product(learner: GradientLearner) -> OuterProduct:
    """Of a learner's gradients at its rows, added up over classes."""
    n_rows, rank = learner._slopes.shape[1:]
    slopes = learner._slopes.reshape(-1, rank)
    _, sizes, turn = linalg.svd(slopes / np.sqrt(n_rows), full_matrices=False, check_finite=False)
    kept = sizes > max(sizes[0] * np.finfo(float).eps * max(slopes.shape), np.finfo(float).tiny)
    if not kept.any():
        raise ValueError("The gradient is 0 everywhere: y is constant, or the penalties are too large for it.")
    return OuterProduct(sizes[kept] ** 2, turn[kept] @ learner._axes.T)
