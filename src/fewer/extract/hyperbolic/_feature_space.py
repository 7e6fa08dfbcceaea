"""Rows of a table as points of feature space, and how large their cloud is."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fewer._kernels._row_products import squared_distances
from fewer.extract._centred import pivoted_factor

_RELATIVE_CUT = 1e-10
_ROWS_FOR_MEDIAN = 1000


class FeatureSpace(NamedTuple):
    """Rows of a table in coordinates of feature space (rows, k), and k rows that span it.

    The latter is None if the coordinates are the columns themselves.
    """

    rows: Any
    spanning: np.ndarray | None

    def dual(self, directions: np.ndarray) -> np.ndarray:
        """Weights of the rows (rows, directions) that make up directions (k, directions)."""
        weights = np.zeros((self.rows.shape[0], directions.shape[1]))
        weights[self.spanning] = linalg.solve_triangular(
            self.rows[self.spanning], directions, lower=True, trans="T", check_finite=False
        )
        return weights


def feature_space(G: np.ndarray) -> FeatureSpace:
    """Coordinates R from the kernel matrix ``G = R R'``; directions that are but rounding are left out."""
    return FeatureSpace(*pivoted_factor(G, _RELATIVE_CUT))


def diameter(rows: Any) -> float:
    """A bound of the distance between two rows: twice the largest distance from the mean."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    squared = row_norms(rows, squared=True) - 2 * safe_sparse_dot(rows, mean) + mean @ mean
    largest = float(squared.max())
    rounding = np.finfo(rows.dtype).eps * len(mean) * float(mean @ mean)
    return 2 * np.sqrt(largest) if largest > rounding else 0.0


def median_squared_distance(X: Any) -> float:
    """Over at most some hundred thousand pairs."""
    some = np.unique(np.linspace(0, X.shape[0] - 1, _ROWS_FOR_MEDIAN).astype(int))
    squared = squared_distances(X[some], X[some])[np.triu_indices(len(some), k=1)]
    positive = squared[squared > 0]
    return float(np.median(positive)) if positive.size else 1.0
