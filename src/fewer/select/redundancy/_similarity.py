"""Similarity of columns: correlations, rank correlations and symmetric uncertainty; and their relevance by any score.

Correlations need no copy of the table. With centred columns of length one, ``z_j = (x_j - m_j) / |x_j - m_j|``, the
correlation of two is ``z_i' z_j``. Large tables are centred a block of rows at a time, and sparse ones not at all:
``(x_j - m_j)' t = x_j' t - m_j sum(t)``.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.utils import gen_batches

from fewer.select.information._levels import Information, discretise
from fewer.select.scores import named_score, score_card

# Tables up to this many cells are kept in centred form; larger ones are gone through in blocks of rows.
_CELLS_AT_ONCE = 2**21
# One matrix product for all pairs is faster than vector products for k columns if there are at most this many times k.
_COLUMNS_FOR_EACH_ASKED = 20
# All pairs of up to this many columns are held.
_COLUMNS_HELD = 4096


class Correlations:
    """Correlations with the columns of a table.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_rows, n_columns)
        Finite numbers.
    n_asked : int, default=1
        How many columns will be asked for, roughly: with many, all pairs are computed at the first.

    Attributes
    ----------
    varies : ndarray of shape (n_columns,)
        Which columns vary by more than rounding errors; the others have correlation 0 with everything.
    """

    def __init__(self, X: Any, *, n_asked: int = 1):
        self._X = X
        self._n_rows, self._n_columns = X.shape
        self._mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        norm = np.sqrt(self._sums_of_squares())
        self.varies = norm > 1e-12 * np.abs(self._mean) * np.sqrt(self._n_rows)
        self._norm = np.where(self.varies, norm, np.inf)
        self._all_pairs: np.ndarray | None = None
        few = self._n_columns <= min(_COLUMNS_FOR_EACH_ASKED * n_asked, _COLUMNS_HELD)
        self._all_at_once = few and not sp.issparse(X)
        self._centred: np.ndarray | None = None
        if not sp.issparse(X) and X.size <= _CELLS_AT_ONCE:
            self._centred = X - self._mean

    def _sums_of_squares(self) -> np.ndarray:
        """Sum of the squared differences from the mean, for each column."""
        if sp.issparse(self._X):
            n_stored = np.diff(self._X.indptr)
            column = np.repeat(np.arange(self._n_columns), n_stored)
            gaps = self._X.data.astype(np.float64) - self._mean[column]
            return np.bincount(column, gaps**2, self._n_columns) + (self._n_rows - n_stored) * self._mean**2
        squares = np.zeros(self._n_columns)
        for rows in self._row_blocks():
            gaps = self._X[rows] - self._mean
            squares += np.einsum("ij,ij->j", gaps, gaps)
        return squares

    def _row_blocks(self) -> Iterator[slice]:
        return gen_batches(self._n_rows, max(1, _CELLS_AT_ONCE // max(self._n_columns, 1)))

    def _centred_blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._centred is not None:
            yield slice(None), self._centred
            return
        for rows in self._row_blocks():
            yield rows, self._X[rows] - self._mean

    def products(self, targets: np.ndarray) -> np.ndarray:
        """Inner products of the standardised columns with one or several vectors (the columns of a matrix)."""
        if sp.issparse(self._X):
            found = np.asarray(self._X.T @ targets) - np.multiply.outer(self._mean, targets.sum(axis=0))
        else:
            found = np.zeros((self._n_columns, *targets.shape[1:]))
            for rows, block in self._centred_blocks():
                found += block.T @ targets[rows]
        return (found.T / self._norm).T

    def with_target(self, target: np.ndarray) -> np.ndarray:
        """Correlation of every column with a vector; 0 if that is constant."""
        centred = target - target.mean()
        length = np.linalg.norm(centred)
        if length <= 1e-12 * np.abs(target).max(initial=0) * np.sqrt(self._n_rows):
            return np.zeros(self._n_columns)
        return np.clip(self.products(centred / length), -1, 1)

    def with_column(self, column: int) -> np.ndarray:
        """Correlation of every column with one of them."""
        if not self._all_at_once:
            own = self._X[:, [column]].toarray()[:, 0] if sp.issparse(self._X) else self._X[:, column]
            return self.with_target(own.astype(np.float64)) if self.varies[column] else np.zeros(self._n_columns)
        return self._pairs()[column]

    def _pairs(self) -> np.ndarray:
        """Correlations of all columns with all."""
        if self._all_pairs is None:
            self._all_pairs = np.zeros((self._n_columns, self._n_columns))
            for _, block in self._centred_blocks():
                self._all_pairs += block.T @ block
            self._all_pairs /= np.multiply.outer(self._norm, self._norm)
            np.clip(self._all_pairs, -1, 1, out=self._all_pairs)
        return self._all_pairs

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Correlations of some columns with others."""
        if self._all_at_once:
            return self._pairs()[np.ix_(first, second)]
        if sp.issparse(self._X):
            found = (self._X[:, first].T.astype(np.float64) @ self._X[:, second]).toarray()
            found -= self._n_rows * np.multiply.outer(self._mean[first], self._mean[second])
        elif self._centred is not None:
            lengths = self._norm[first], self._norm[second]
            return (self._centred[:, first] / lengths[0]).T @ (self._centred[:, second] / lengths[1])
        else:
            found = np.zeros((len(first), len(second)))
            for rows in gen_batches(self._n_rows, max(1, _CELLS_AT_ONCE // max(len(first), len(second), 1))):
                block = self._X[rows]
                found += (block[:, first] - self._mean[first]).T @ (block[:, second] - self._mean[second])
        found /= np.multiply.outer(self._norm[first], self._norm[second])
        return np.clip(found, -1, 1, out=found)

    def f_statistics_of_classes(self, codes: np.ndarray) -> np.ndarray:
        """F of the analysis of variance between classes 0, 1, ...; infinite where nothing varies within them."""
        counts = np.bincount(codes)
        members = (codes[:, None] == np.arange(len(counts))) / np.sqrt(counts)
        explained = (self.products(members) ** 2).sum(axis=1)
        return _f_statistics(explained, len(counts) - 1, self._n_rows - len(counts))

    def f_statistics_of_numbers(self, y: np.ndarray) -> np.ndarray:
        """F of the regression of y on each column."""
        return _f_statistics(self.with_target(y) ** 2, 1, self._n_rows - 2)


def _f_statistics(explained: np.ndarray, n_effects: int, n_left: int) -> np.ndarray:
    """F from the share of the variance that is explained."""
    left = 1 - explained
    with np.errstate(divide="ignore"):
        return np.where(left > 1e-14, explained / np.maximum(left, 1e-14), np.inf) * max(n_left, 1) / n_effects


Measure = Literal["pearson", "spearman", "symmetric_uncertainty"]


class Similarity(Protocol):
    """Similarities of the columns of a table; those of a constant column are 0."""

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones; the sign does not matter."""
        ...


class CorrelationSimilarity:
    """The correlation."""

    def __init__(self, X: Any):
        self._correlations = Correlations(X, n_asked=X.shape[1])

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones."""
        return self._correlations.between(first, second)


class UncertaintySimilarity:
    """Symmetric uncertainty of levels with equally many rows."""

    def __init__(self, X: Any, n_bins: int):
        self._information = Information(discretise(X, n_bins=n_bins))

    def between(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A row for each of the first columns, an entry for each of the second ones."""
        return np.stack([self._information.symmetric_uncertainty_with_column(int(column), second) for column in first])


def similarity_of(X: Any, measure: Measure, n_bins: int) -> Similarity:
    """The similarity that a name stands for."""
    if measure == "pearson":
        return CorrelationSimilarity(X)
    if measure == "spearman":
        return CorrelationSimilarity(rankdata(X, axis=0))
    return UncertaintySimilarity(X, n_bins)


def relevance_by_score(score: str | Callable[..., Any], X: Any, y: np.ndarray) -> np.ndarray:
    """Scores of the columns by the name of a score or by a function; the best over the classes if there are several."""
    function = named_score(score) if isinstance(score, str) else score
    given = function(X, y)
    relevance = np.asarray(given[0] if isinstance(given, tuple) else given, dtype=float)
    if relevance.ndim == 2:
        relevance = relevance.max(axis=0)
    if relevance.shape != (X.shape[1],):
        raise ValueError(
            f"relevance must give a number for each of the {X.shape[1]} columns, and gave an array of shape "
            f"{relevance.shape}."
        )
    return relevance


def score_takes_sparse(score: str | Callable[..., Any]) -> bool:
    """Whether a score takes sparse tables; a function without a card is trusted to."""
    try:
        card = score_card(named_score(score) if isinstance(score, str) else score)
    except ValueError:  # an unknown name, which fit complains about
        return False
    return card is None or card.sparse
