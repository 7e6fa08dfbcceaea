"""Mahalanobis distances between classes, column by column.

``(m_a - m_b)' W^-1 (m_a - m_b)`` with the covariance W within classes. One column more adds
``(u(m_a) - u(m_b))^2 / s``, with its partial column u within classes and the square s of that: never less than nothing.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import linalg

from fewer._estimators import encoded_classes
from fewer.select.objectives._linear_scorer import LinearScorer
from fewer.select.objectives._objective import Objective
from fewer.select.objectives._subset_products import Change, Fit, SubsetProducts
from fewer.select.objectives._within_classes import DETERMINED, scaled_columns, warn_of_separators


@dataclass
class MahalanobisObjective(Objective):
    """Squared Mahalanobis distance between the class means.

    It never falls when a column is added, so :class:`BranchAndBoundSearch` finds the best subset of a size. It needs no
    folds, and grows with columns that tell nothing: compare subsets of one size by it, not sizes.

    Parameters
    ----------
    pairs : {"mean", "smallest"}, default="mean"
        With more than two classes, the mean over all pairs of them, or the smallest one: the pair that is hardest to
        tell apart.

    See Also
    --------
    BranchAndBoundSearch : Finds the best subset of a size.
    DiscriminantObjective : The accuracy on rows not seen.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import BranchAndBoundSearch, MahalanobisObjective
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> objective = MahalanobisObjective(pairs="smallest")
    >>> BranchAndBoundSearch(objective, n_features_to_select=2).fit(X, y).get_support()
    array([ True, False, False,  True])
    """

    pairs: str = "mean"

    @property
    def monotone(self) -> bool:
        """Each distance is a sum of squares, one for each column."""
        return True

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> "MahalanobisScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without holes.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : Ignored
            Nothing is drawn.

        Returns
        -------
        scorer : MahalanobisScorer
            Holds products of columns.
        """
        if self.pairs not in ("mean", "smallest"):
            raise ValueError(f"pairs={self.pairs!r} must be 'mean' or 'smallest'.")
        codes = encoded_classes(np.asarray(y), type(self).__name__).codes
        if len(codes) <= codes.max() + 1:
            raise ValueError(
                f"There are {len(codes)} rows in {codes.max() + 1} classes: no class varies. Give more rows."
            )
        return MahalanobisScorer(scaled_columns(np.asarray(X, dtype=float)), codes, smallest=self.pairs == "smallest")


class MahalanobisScorer(LinearScorer):
    """Distances between all pairs of classes; made by ``MahalanobisObjective.start``."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, *, smallest: bool) -> None:
        every_row = np.arange(len(X))
        super().__init__(SubsetProducts(X, every_row, codes, [every_row], ridge=0.0, tol=DETERMINED))
        self._degrees = len(X) - len(self._products.centres)
        self._one, self._other = np.array(list(combinations(range(len(self._products.centres)), 2))).T
        self._smallest = smallest
        warn_of_separators(self._products.squares[0], self._products.centres)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        if len(self.subset) > self._degrees:
            raise ValueError(
                f"{len(self.subset)} columns are too many to take away from: their covariance within the classes is "
                f"singular, because rows less classes are {self._degrees}. Choose fewer columns beforehand, or search "
                "forward."
            )
        return super().score_removed(candidates)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        gaps = self._products.centres[self._one] - self._products.centres[self._other]
        distances = change.of(gaps) ** 2 * change.inverses
        if len(fit.columns):
            whitened = linalg.solve_triangular(fit.factor, gaps[:, fit.columns].T, lower=True, check_finite=False)
            distances = distances + (whitened**2).sum(axis=0)[:, None]
        distances = self._degrees * distances
        return distances.min(axis=0) if self._smallest else distances.mean(axis=0)
