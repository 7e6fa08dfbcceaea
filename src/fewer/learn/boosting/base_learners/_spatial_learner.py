"""A smooth surface over two columns: products of B-splines."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting.base_learners._base_learner import BaseLearner, Basis
from fewer.learn.boosting.base_learners._columns import as_references
from fewer.learn.boosting.base_learners._spline_basis import SplineBasis, difference_matrix


def row_products(first: Any, second: Any) -> Any:
    """Products of each column of the first with each of the second, row by row."""
    first, second = sparse.csr_array(first), sparse.csr_array(second)
    ones_second, ones_first = np.ones((1, second.shape[1])), np.ones((1, first.shape[1]))
    repeated = sparse.kron(first, ones_second, format="csr")
    tiled = sparse.kron(ones_first, second, format="csr")
    return sparse.csr_array(repeated.multiply(tiled))


@dataclass(frozen=True)
class SurfaceBasis(Basis):
    """Products of the B-splines of two columns."""

    splines: tuple[SplineBasis, SplineBasis]

    def matrix(self, values: np.ndarray) -> Any:
        return row_products(self.splines[0].matrix(values[:, 0]), self.splines[1].matrix(values[:, 1]))

    def n_outside(self, values: np.ndarray) -> int:
        return max(splines.n_outside(values[:, place]) for place, splines in enumerate(self.splines))


@dataclass(frozen=True)
class SpatialLearner(BaseLearner):
    """A smooth surface over two columns, such as a map, or the interaction of two measurements.

    Parameters
    ----------
    columns : sequence of two int or str
        Which columns, by number or name.
    df : float, default=6
        Degrees of freedom of the fit in one step; more than ``differences**2``, which are free of the penalty.
    knots : int, default=12
        Inner knots along each column.
    degree : int, default=3
        Degree of the pieces.
    differences : int, default=2
        What is penalised along each column: with 2, being different from a straight line.

    See Also
    --------
    TreeLearner : An interaction with jumps instead.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ComponentwiseBoostingRegressor, SpatialLearner
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    >>> y = np.exp(-4 * (X**2).sum(axis=1))
    >>> ComponentwiseBoostingRegressor([SpatialLearner((0, 1))]).fit(X, y).score(X, y) > 0.8
    True
    """

    columns: Any
    df: float | None = 6.0
    knots: int = 12
    degree: int = 3
    differences: int = 2

    kind = "surface"
    has_constant = True

    def __post_init__(self) -> None:
        if len(as_references(self.columns)) != 2:
            raise ValueError("A SpatialLearner takes two columns, such as SpatialLearner(('east', 'north')).")
        if self.df is not None and self.df <= self.differences**2:
            raise ValueError(f"df={self.df} is too small: {self.differences**2} are free of the penalty.")

    def fitted_basis(self, values: np.ndarray) -> SurfaceBasis | None:
        lows, highs = values.min(axis=0), values.max(axis=0)
        if not (lows < highs).all():
            return None
        first, second = (
            SplineBasis(float(low), float(high), self.knots, self.degree, cyclic=False)
            for low, high in zip(lows, highs, strict=True)
        )
        differences = difference_matrix(first.size, self.differences)
        along, identity = differences.T @ differences, np.eye(first.size)
        return SurfaceBasis(np.kron(along, identity) + np.kron(identity, along), None, (first, second))
