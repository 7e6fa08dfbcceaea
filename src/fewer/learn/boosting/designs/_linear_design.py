"""Lines in single columns, all tried at once.

With z a column (centred where learners have an intercept), ``b = z'W u`` and ``S = z'W z``, the fit is ``(b / S) z``
and the weighted sum of squares falls by ``b^2 / S``; the mean of u adds the same to all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class LinearTerms:
    """What is needed to evaluate the lines on other rows."""

    columns: np.ndarray
    centres: np.ndarray
    intercept: bool

    def values(self, X: Any, term: int, total: np.ndarray) -> np.ndarray:
        """One term at the rows of X."""
        column = X[:, [self.columns[term]]]
        column = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        constant, slope = total if self.intercept else (0.0, total[0])
        return constant + slope * (column - self.centres[term])

    def linear_part(self, term: int, total: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Constant, columns and slopes of one term."""
        constant, slope = total if self.intercept else (0.0, total[0])
        return float(constant - slope * self.centres[term]), self.columns[[term]], np.array([slope])

    def n_outside(self, X: Any, term: int) -> int:
        """A line goes on by itself."""
        return 0


class LinearDesign:
    """The columns at the training rows. Sparse ones stay so: they are centred in the products only."""

    def __init__(self, X: Any, columns: np.ndarray, weights: np.ndarray, intercept: bool) -> None:
        every = np.array_equal(columns, np.arange(X.shape[1]))
        table = X if every else X[:, columns]
        self._weights, self._intercept, self._total = weights, intercept, float(weights.sum())
        means = (table.T @ weights) / self._total
        centres = means if intercept else np.zeros(len(columns))
        self._sparse = sparse.issparse(table)
        if self._sparse:
            self._table = sparse.csc_array(table)
            squares = self._table.copy()
            squares.data **= 2
            raw = squares.T @ weights
            self._squares = raw - self._total * centres**2
        else:
            self._table = table - centres
            self._squares = np.einsum("ij,ij,i->j", self._table, self._table, weights)
            raw = self._squares + self._total * centres**2
        # A constant column has rounding errors for a variance; larger ones where it is a difference of sums.
        self.usable = self._squares > (1e-12 if self._sparse else 1e-26) * raw
        self._safe_squares = np.where(self.usable, self._squares, 1.0)
        self.terms = LinearTerms(np.asarray(columns), centres, intercept)
        self.degrees_of_freedom = np.ones(len(columns))

    @property
    def n_moments(self) -> int:
        """A product for each column, and the sum of u with an intercept."""
        return len(self.terms.columns) + self._intercept

    def moments(self, vectors: Any) -> np.ndarray:
        """Products ``z'W v`` with all columns."""
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        weighted = (self._weights * vectors.T).T
        products = self._table.T @ weighted
        if not self._intercept:
            return products
        totals = weighted.sum(axis=0)
        if self._sparse:
            products = products - np.multiply.outer(self.terms.centres, totals)
        return np.concatenate([totals[None], products])

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner."""
        products = moments[int(self._intercept) :]
        gains = products**2 / self._safe_squares
        if self._intercept:
            gains += moments[0] ** 2 / self._total
        gains[~self.usable] = -np.inf
        return gains

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The fit of one learner."""
        if not self._intercept:
            return moments[[term]] / self._safe_squares[term]
        return np.array([moments[0] / self._total, moments[term + 1] / self._safe_squares[term]])

    def directions(self, term: int) -> np.ndarray:
        """What the coefficients of a learner multiply."""
        column = self._table[:, [term]]
        if self._sparse:
            column = column.toarray() - self.terms.centres[term]
        return np.hstack([np.ones_like(column), column]) if self._intercept else column

    def inverse(self, term: int) -> np.ndarray:
        """The matrix that takes products with the directions to coefficients."""
        squares = [self._total, self._safe_squares[term]] if self._intercept else [self._safe_squares[term]]
        return np.diag(1 / np.array(squares))

    def values(self, term: int, coefficients: np.ndarray) -> np.ndarray:
        """The fit at the training rows."""
        return self.directions(term) @ coefficients
