"""How often linear discriminant analysis recognises rows that it has not seen, column by column.

A row goes to the class k with the highest ``log pi_k - n/2 |x - m_k|^2``, in the metric of the inverse scatter within
classes. One column more adds ``(u(x) - u(m_k))^2 / s``, with the partial column u within classes and its square s.
Without row i of class g, the scatter loses ``n_g / (n_g - 1) d d'`` with ``d = x_i - m_g``, so that leave-one-out needs
one fit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.model_selection import LeaveOneOut

from fewer._estimators import encoded_classes
from fewer._kernels._linear_candidates import hits_after, left_out_discriminant_hits
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._linear_scorer import LeftOutScorer, LinearScorer, as_slice, places_in
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.objectives._subset_products import Change, Fit, SubsetProducts, rows_by_fold
from fewer.select.objectives._within_classes import DETERMINED, scaled_columns, warn_of_separators


@dataclass
class DiscriminantObjective(Objective):
    """Cross-validated accuracy of linear discriminant analysis, updated column by column.

    The same numbers as ``cross_val_score`` with scikit-learn's ``LinearDiscriminantAnalysis()`` gives, far sooner. A
    column that others determine within the classes (always so with as many columns as rows) changes nothing.

    Parameters
    ----------
    cv : "loo", int, splitter or iterable, default=5
        Leave-one-out, or the folds: a number of them (stratified), a splitter of scikit-learn or pairs of training and
        test rows.

    See Also
    --------
    SequentialSearch : Searches for the columns that maximise it.
    MahalanobisObjective : The distance between the classes, which never falls with a column more.

    References
    ----------
    .. [1] Lachenbruch, P. A. and Mickey, M. R. (1968). Estimation of error rates in discriminant analysis.
       Technometrics 10, 1-11.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import DiscriminantObjective, SequentialSearch
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> SequentialSearch(DiscriminantObjective(), n_features_to_select=2).fit(X, y).subset_path_
    {1: (0,), 2: (0, 3)}
    """

    cv: Any = 5

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> SubsetScorer:
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without holes.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.

        Returns
        -------
        scorer : SubsetScorer
            Holds products of columns.
        """
        X, codes = np.asarray(X, dtype=float), encoded_classes(np.asarray(y), type(self).__name__).codes
        X = scaled_columns(X)
        if isinstance(self.cv, LeaveOneOut) or (isinstance(self.cv, str) and self.cv == "loo"):
            if np.sort(np.bincount(codes))[-2] < 2:
                raise ValueError("Leave-one-out needs two classes of at least two rows each.")
            return LeaveOneOutDiscriminantScorer(X, codes)
        splits = fixed_splits(self.cv, X, codes, classifier=True, random_state=random_state)
        return DiscriminantScorer(X, codes, splits)


class DiscriminantScorer(LinearScorer):
    """Discriminants on the training rows of every fold; made by ``DiscriminantObjective.start``."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, splits: list[Split]) -> None:
        order = rows_by_fold(splits, len(X))
        training, tests = places_in(order, [train for train, _ in splits]), [test for _, test in splits]
        super().__init__(SubsetProducts(X, order, codes[order], training, ridge=0.0, tol=DETERMINED))
        self._tests = [as_slice(rows) for rows in places_in(order, tests)]
        self._codes = codes[order]
        counts = self._products.counts
        if ((counts > 0).sum(axis=1) < 2).any():
            raise ValueError("The training rows of a fold hold one class only; use fewer folds, or stratify them.")
        with np.errstate(divide="ignore"):
            self._log_shares = np.log(counts / counts.sum(axis=1, keepdims=True))
        warn_of_separators(self._products.squares.max(axis=0), self._products.centres)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        by_fold = enumerate(zip(fits, changes, strict=True))
        return np.mean([self._fold_scores(fold, fit, change) for fold, (fit, change) in by_fold], axis=0)

    def _fold_scores(self, fold: int, fit: Fit, change: Change) -> np.ndarray:
        products, n_training = self._products, self._products.counts[fold].sum()
        rows, codes = products.rows[self._tests[fold]], self._codes[self._tests[fold]]
        means = products.centres + products.offsets[fold]
        shifts = change.of(rows) + change.of(products.centres)[codes]
        centres = change.of(means).T
        coefficients = n_training * change.inverses[:, None] * centres
        decisions = np.tile(self._log_shares[fold], (len(codes), 1))
        if len(fit.columns):
            inside = rows[:, fit.columns] + products.centres[codes][:, fit.columns]
            directions = linalg.cho_solve((fit.factor, True), means[:, fit.columns].T, check_finite=False)
            lengths = np.einsum("ks,sk->k", means[:, fit.columns], directions)
            decisions = decisions + n_training * (inside @ directions - 0.5 * lengths)
        return hits_after(decisions, shifts, coefficients, -0.5 * coefficients * centres, codes) / len(codes)


class LeaveOneOutDiscriminantScorer(LeftOutScorer):
    """Discriminants on all rows, from which each is left out in turn; made by ``DiscriminantObjective.start``."""

    def __init__(self, X: np.ndarray, codes: np.ndarray) -> None:
        every_row = np.arange(len(X))
        super().__init__(SubsetProducts(X, every_row, codes, [every_row], ridge=0.0, tol=DETERMINED))
        self._problem = (X, codes)
        self._sizes = np.bincount(codes).astype(float)
        self._log_shares = np.log(self._sizes / (len(X) - 1))
        self._codes = codes
        warn_of_separators(self._products.squares[0], self._products.centres)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        rows, centres, codes = self._products.rows, self._products.centres, self._codes
        distances = np.zeros((len(rows), len(centres)))
        crossed = np.zeros_like(distances)
        if len(fit.columns):
            whitened = linalg.solve_triangular(
                fit.factor, np.vstack([rows, centres])[:, fit.columns].T, lower=True, check_finite=False
            )
            deviations, middles = whitened[:, : len(rows)].T, whitened[:, len(rows) :].T
            for one, middle in enumerate(middles):
                gaps = deviations + middles[codes] - middle
                distances[:, one] = np.einsum("is,is->i", gaps, gaps)
                crossed[:, one] = np.einsum("is,is->i", gaps, deviations)
        centre_places = change.of(centres)
        hits = left_out_discriminant_hits(
            distances,
            crossed,
            change.of(rows) + centre_places[codes],
            centre_places,
            change.inverses,
            codes,
            self._sizes,
            self._log_shares,
        )
        return hits / len(codes)

    def _one_by_one(self) -> DiscriminantScorer:
        X, codes = self._problem
        return DiscriminantScorer(X, codes, list(LeaveOneOut().split(X)))
