"""Penalised learners with equally many basis functions, all tried at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting.base_learners._base_learner import Basis
from fewer.learn.boosting.base_learners._columns import column_values
from fewer.learn.boosting.base_learners._linear_learner import LinearBasis
from fewer.learn.boosting.base_learners._smoother import Smoother


@dataclass(frozen=True)
class SmoothTerms:
    """What is needed to evaluate the terms on other rows."""

    columns: list[tuple[int, ...]]
    bases: list[Basis]

    def values(self, X: Any, term: int, total: np.ndarray) -> np.ndarray:
        """One term at the rows of X."""
        return self.bases[term].matrix(column_values(X, self.columns[term])) @ total

    def linear_part(self, term: int, total: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Constant, columns and slopes of one term; nothing for terms that are not linear."""
        basis = self.bases[term]
        if not isinstance(basis, LinearBasis):
            return 0.0, np.empty(0, dtype=int), np.empty(0)
        constant = float(total[0]) if basis.intercept else 0.0
        return constant, np.array(self.columns[term], dtype=int), total[int(basis.intercept) :]

    def n_outside(self, X: Any, term: int) -> int:
        """Rows for which the term is continued beyond what was seen."""
        return self.bases[term].n_outside(column_values(X, self.columns[term]))


class SmoothDesign:
    """The basis functions at the training rows, side by side and sparse, and the fit of each learner as matrices."""

    def __init__(self, terms: SmoothTerms, matrices: list[Any], smoothers: list[Smoother], weights: np.ndarray) -> None:
        self.terms = terms
        self._matrices = matrices
        stacked = sparse.hstack([sparse.csr_array(matrix) for matrix in matrices], format="csr")
        self._products = sparse.csr_array((sparse.diags_array(weights) @ stacked).T)
        self._inverses = np.array([smoother.inverse for smoother in smoothers])
        self._gains = np.array([smoother.gain for smoother in smoothers])
        self._width = self._gains.shape[-1]
        self.usable = np.ones(len(matrices), dtype=bool)
        self.degrees_of_freedom = np.array([smoother.df for smoother in smoothers])

    @property
    def n_moments(self) -> int:
        """A product for each basis function."""
        return self._products.shape[0]

    def moments(self, vectors: Any) -> np.ndarray:
        """Products ``Z'W v`` with all basis functions."""
        products = self._products @ vectors
        return products.toarray() if sparse.issparse(products) else products

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner."""
        by_term = moments.reshape(-1, self._width)
        return np.einsum("jk,jk->j", by_term, (self._gains @ by_term[:, :, None])[:, :, 0])

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The fit of one learner."""
        return self._inverses[term] @ moments[term * self._width : (term + 1) * self._width]

    def directions(self, term: int) -> Any:
        """What the coefficients of a learner multiply."""
        return self._matrices[term]

    def inverse(self, term: int) -> np.ndarray:
        """The matrix that takes products with the directions to coefficients."""
        return self._inverses[term]

    def values(self, term: int, coefficients: np.ndarray) -> np.ndarray:
        """The fit at the training rows."""
        return self._matrices[term] @ coefficients
