"""B-splines on equidistant knots, continued as straight lines beyond the last ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline


def difference_matrix(size: int, order: int, cyclic: bool = False) -> np.ndarray:
    """Differences of neighbouring coefficients; a circle's last has the first as its neighbour."""
    if cyclic:
        step = np.roll(np.eye(size), 1, axis=1) - np.eye(size)
        return np.linalg.matrix_power(step, order)
    return np.diff(np.eye(size), n=order, axis=0)


@dataclass(frozen=True)
class SplineBasis:
    """B-splines of one variable: ``n_knots`` equidistant inner knots between ``low`` and ``high``."""

    low: float
    high: float
    n_knots: int
    degree: int
    cyclic: bool

    @property
    def knots(self) -> np.ndarray:
        """All knots, with ``degree`` more beyond either end."""
        places = np.arange(-self.degree, self.n_knots + 2 + self.degree)
        return self.low + (self.high - self.low) / (self.n_knots + 1) * places

    @property
    def size(self) -> int:
        """Number of basis functions."""
        return self.n_knots + 1 + (0 if self.cyclic else self.degree)

    def matrix(self, x: np.ndarray) -> Any:
        """Value of each basis function at each x, sparse: at most ``degree + 1`` of them are not zero."""
        knots = self.knots
        if self.cyclic:
            inside = self.low + np.mod(x - self.low, self.high - self.low)
        else:
            inside = np.clip(x, self.low, self.high)
        # Rounding must not push a value over the knot that is its bound.
        inside = np.clip(inside, knots[self.degree], knots[-self.degree - 1])
        basis = sparse.csr_array(BSpline.design_matrix(inside, knots, self.degree))
        if self.cyclic:
            return self._wrapped(basis)
        beyond = x - np.clip(x, self.low, self.high)
        if beyond.any():
            basis = sparse.csr_array(basis + sparse.diags_array(beyond) @ self._slopes(inside, beyond))
        return basis

    def _slopes(self, inside: np.ndarray, beyond: np.ndarray) -> Any:
        """Slope of each basis function at the end that a row lies beyond; empty rows for those within."""
        rows = np.flatnonzero(beyond)
        knots, n_columns = self.knots, self.size
        ends = BSpline(knots, np.eye(n_columns), self.degree).derivative()(inside[rows])
        slopes = sparse.coo_array(ends)
        return sparse.csr_array((slopes.data, (rows[slopes.row], slopes.col)), shape=(len(inside), n_columns))

    def _wrapped(self, basis: Any) -> Any:
        """On a circle the last ``degree`` functions are the first ones again."""
        fold = sparse.eye_array(self.size, format="csr")
        return sparse.csr_array(basis @ sparse.vstack([fold, fold[: self.degree]]))

    def n_outside(self, x: np.ndarray) -> int:
        """How many values lie beyond the range that the basis was made for."""
        return 0 if self.cyclic else int(((x < self.low) | (x > self.high)).sum())
