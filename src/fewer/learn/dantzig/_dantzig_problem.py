"""The Dantzig selector as a pair of linear programs, and how far a point is from solving them.

    min ||b||_1  subject to  ||c - G b||_inf <= alpha,      max c'm - alpha ||m||_1  subject to  ||G m||_inf <= 1,

with ``G = X'X / n`` and ``c = X'y / n``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# A solution of a linear program is known to about this share of its size; what is smaller is zero.
NEGLIGIBLE = 1e-8
# Positions of rows or columns.
Places = Any
# What a matrix of all pairs of columns may take, with its copies.
_MOST_BYTES = 2e9


@dataclass(frozen=True, eq=False)
class TableGram:
    """``G = Z'Z / n`` by way of ``Z = (X - means) / scales``, which is never stored where X is sparse.

    Columns of ``G`` are made when they are asked for, so memory stays at that of the table, however wide it is.
    """

    table: Any
    means: np.ndarray
    scales: np.ndarray

    def combined(self, weights: np.ndarray, rows: Places) -> np.ndarray:
        """``weights @ G[rows]``."""
        scaled = (weights / self.scales[rows]).T
        return self.against(self.table[:, rows] @ scaled - self.means[rows] @ scaled)

    def against(self, vectors: np.ndarray) -> np.ndarray:
        """``vectors' Z / n``."""
        products = (self.table.T @ vectors).T - np.multiply.outer(vectors.sum(axis=0), self.means)
        return products / (self.scales * self.table.shape[0])

    def block(self, rows: Places, columns: Places) -> np.ndarray:
        """``G[rows, columns]``."""
        products = self.table[:, rows].T @ self.table[:, columns] / self.table.shape[0]
        centred = (products.toarray() if sparse.issparse(products) else products) - np.multiply.outer(
            self.means[rows], self.means[columns]
        )
        centred /= self.scales[rows][:, None]
        centred /= self.scales[columns]
        return centred


@dataclass(frozen=True, eq=False)
class DantzigProblem:
    """``G``, whole or by way of the table, and ``c``."""

    gram: np.ndarray | TableGram
    products: np.ndarray

    def combined(self, weights: np.ndarray, rows: Places) -> np.ndarray:
        """``weights @ G[rows]``."""
        return self.gram.combined(weights, rows) if isinstance(self.gram, TableGram) else weights @ self.gram[rows]

    def block(self, rows: Places, columns: Places) -> np.ndarray:
        """``G[rows, columns]``."""
        return self.gram.block(rows, columns) if isinstance(self.gram, TableGram) else self.gram[np.ix_(rows, columns)]

    def times(self, vector: np.ndarray) -> np.ndarray:
        """``G @ vector``, for a vector with few entries that are not zero."""
        there = np.flatnonzero(vector)
        return self.combined(vector[there], there)

    def whole_gram(self, n_bytes: int, what: str) -> np.ndarray:
        """``G``, for ``what`` takes so many bytes for each of its entries; refused where that is too much memory."""
        size = self.products.size
        if n_bytes * size**2 > _MOST_BYTES:
            raise ValueError(
                f"{what} needs all {size:,} x {size:,} products of the columns, which would take about "
                f"{n_bytes * size**2 / 1e9:,.0f} GB of memory. Select columns first, or give alpha a number above 0 "
                "with solver='auto' and threshold a number or None, which need no more memory than the table."
            )
        return self.gram.block(slice(None), slice(None)) if isinstance(self.gram, TableGram) else self.gram

    @property
    def largest_alpha(self) -> float:
        """From here on every coefficient is zero."""
        return float(np.abs(self.products).max(initial=0.0))

    def excess(self, coef: np.ndarray, alpha: float) -> float:
        """By how much the worst row exceeds ``alpha``; at most 0 for a point that is allowed."""
        return float(np.abs(self.products - self.times(coef)).max(initial=0.0) - alpha)

    def gap(self, coef: np.ndarray, dual: np.ndarray, alpha: float) -> float:
        """``||b||_1`` is above the minimum by this at most, where ``b`` is allowed."""
        inside = dual / max(float(np.abs(self.times(dual)).max(initial=0.0)), 1.0)
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
    """``G`` and ``c`` of the columns that vary, centred with an intercept, of mean square 1 if standardised.

    ``G`` is computed where it is no larger than the table, as for tables longer than wide.
    """
    n_rows, n_columns = X.shape
    means = np.asarray(X.mean(axis=0), dtype=float).ravel() if fit_intercept else np.zeros(n_columns)
    target_mean = float(y.mean()) if fit_intercept else 0.0
    target = y - target_mean
    if sparse.issparse(X):
        table, shifts, n_stored = X.tocsc(), means, X.nnz
        squares = np.asarray(table.multiply(table).mean(axis=0)).ravel() - means**2
    else:
        table, shifts, n_stored = (X - means if fit_intercept else X), np.zeros(n_columns), X.size
        squares = np.einsum("ij,ij->j", table, table) / n_rows
    kept = np.flatnonzero(squares > 1e-14 * (squares + means**2))
    scales = np.sqrt(np.maximum(squares, 0.0)) if standardize else np.ones(n_columns)
    if kept.size < n_columns:
        table = table[:, kept]
    gram = TableGram(table, shifts[kept], scales[kept])
    fits = kept.size**2 <= n_stored
    problem = DantzigProblem(gram.block(slice(None), slice(None)) if fits else gram, gram.against(target))
    return Moments(problem, kept, means, scales, target_mean, float(target @ target / n_rows))
