"""The Dantzig selector as a pair of linear programs, and how far a point is from solving them.

    min ||b||_1  subject to  ||c - G b||_inf <= alpha,      max c'm - alpha ||m||_1  subject to  ||G m||_inf <= 1,

with ``G = X'X / n`` and ``c = X'y / n``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

# A solution of a linear program is known to about this share of its size; what is smaller is zero.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True, eq=False)
class DantzigProblem:
    """``G`` and ``c``."""

    gram: np.ndarray
    products: np.ndarray

    @property
    def largest_alpha(self) -> float:
        """From here on every coefficient is zero."""
        return float(np.abs(self.products).max(initial=0.0))

    def excess(self, coef: np.ndarray, alpha: float) -> float:
        """By how much the worst row exceeds ``alpha``; at most 0 for a point that is allowed."""
        return float(np.abs(self.products - self.gram @ coef).max(initial=0.0) - alpha)

    def gap(self, coef: np.ndarray, dual: np.ndarray, alpha: float) -> float:
        """``||b||_1`` is above the minimum by this at most, where ``b`` is allowed."""
        inside = dual / max(float(np.abs(self.gram @ dual).max(initial=0.0)), 1.0)
        return float(np.abs(coef).sum() - (self.products @ inside - alpha * np.abs(inside).sum()))

    def is_solved(self, coef: np.ndarray, dual: np.ndarray, alpha: float) -> bool:
        """Whether both programs are solved, to rounding."""
        size = max(self.largest_alpha, 1e-300)
        allowed = self.excess(coef, alpha) <= 1e-10 * size
        return allowed and self.gap(coef, dual, alpha) <= 1e-9 * max(float(np.abs(coef).sum()), 1e-300)


class DantzigSolution(NamedTuple):
    """Coefficients, the dual that proves them best, and the steps it took."""

    coef: np.ndarray
    dual: np.ndarray
    alpha: float
    n_iter: int


class Moments(NamedTuple):
    """A table as the Dantzig selector sees it, and what is needed to undo that."""

    problem: DantzigProblem
    kept: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    target_mean: float
    target_square: float

    def original_coef(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and constant for the columns as they were given."""
        full = np.zeros(self.means.size)
        full[self.kept] = coef / self.scales[self.kept]
        return full, float(self.target_mean - self.means @ full)


def moments(X, y: np.ndarray, fit_intercept: bool, standardize: bool) -> Moments:
    """``G`` and ``c`` of the columns that vary, centred with an intercept, of mean square 1 if standardised."""
    n_rows, n_columns = X.shape
    dense = X.toarray() if sparse.issparse(X) and n_columns <= n_rows else X
    means = np.asarray(dense.mean(axis=0), dtype=float).ravel() if fit_intercept else np.zeros(n_columns)
    target_mean = float(y.mean()) if fit_intercept else 0.0
    target = y - target_mean
    if sparse.issparse(dense):
        gram = (dense.T @ dense).toarray() / n_rows - np.outer(means, means)
        products = np.asarray(dense.T @ target) / n_rows - means * target.mean()
    else:
        centred = dense - means
        gram = centred.T @ centred / n_rows
        products = centred.T @ target / n_rows
    squares = np.diag(gram).copy()
    kept = np.flatnonzero(squares > 1e-14 * (squares + means**2))
    scales = np.sqrt(np.maximum(squares, 0.0)) if standardize else np.ones(n_columns)
    inside = scales[kept]
    problem = DantzigProblem(gram[np.ix_(kept, kept)] / np.outer(inside, inside), products[kept] / inside)
    return Moments(problem, kept, means, scales, target_mean, float(target @ target / n_rows))
