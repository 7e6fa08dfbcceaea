"""How well ridge regression (least squares, with ``alpha=0``) predicts rows that it has not seen, column by column.

With the partial column u of a candidate and its square s, the fit on one column more predicts
``f(x) + u(x) <u, y> / s``. Left-out rows follow from one fit on all: with the residual e and the leverage h of a row,
the fit without it misses it by ``e / (1 - h)``, where a candidate changes e by ``- u <u, y> / s`` and h by
``u^2 / s``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.model_selection import LeaveOneOut

from fewer._kernels._linear_candidates import (
    hits_after,
    left_out_hits,
    left_out_squared_errors,
    squared_errors_after,
)
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._linear_scorer import LeftOutScorer, LinearScorer, as_slice, places_in
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.objectives._subset_products import Change, Fit, SubsetProducts, rows_by_fold
from fewer.select.objectives._target import has_classes

# Products of columns have half the digits of the columns: below this, nothing can be told from rounding.
_DETERMINED = 1e-12


@dataclass
class RidgeObjective(Objective):
    """Cross-validated score of ridge regression, updated column by column.

    Minus the mean squared error for numbers, the accuracy of the ridge classifier for classes (which regresses on -1
    and 1, one column for each class if there are more than two), averaged over the folds: the same numbers as
    ``cross_val_score`` with scikit-learn's ``Ridge`` or ``RidgeClassifier`` gives, far sooner. Columns are taken as
    they are: standardise them beforehand if their units differ, because the penalty is the same for all.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty on the squared coefficients (not on the intercept). 0 is least squares: a column that the ones before it
        determine, on the training rows, changes nothing then.
    cv : "loo", int, splitter or iterable, default="loo"
        Leave-one-out, or the folds: a number of them (stratified for classes), a splitter of scikit-learn or pairs of
        training and test rows.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds; "auto" takes numbers with fractions, and whole numbers of very many kinds, for a regression,
        anything else for classes.

    See Also
    --------
    SequentialSearch : Searches for the columns that maximise it.
    DiscriminantObjective : The same for linear discriminant analysis.

    References
    ----------
    .. [1] Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method for
       prediction. Technometrics 16, 125-127.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.select import RidgeObjective, SequentialSearch
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> search = SequentialSearch(RidgeObjective(alpha=0.01), n_features_to_select=4).fit(X, y)
    >>> list(X.columns[search.get_support()])
    ['bmi', 'bp', 's1', 's5']
    """

    alpha: float = 1.0
    cv: Any = "loo"
    task: str = "auto"

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> SubsetScorer:
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without holes.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.

        Returns
        -------
        scorer : SubsetScorer
            Holds products of columns.
        """
        if not self.alpha >= 0:
            raise ValueError(f"alpha={self.alpha} must not be negative; 0 is least squares.")
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        classes = has_classes(y, self.task)
        codes = np.unique(y, return_inverse=True)[1] if classes else None
        if codes is None:
            targets = y.astype(float)[:, None]
        elif codes.max() == 1:
            targets = 2.0 * codes[:, None] - 1.0
        else:
            targets = 2.0 * (codes[:, None] == np.arange(codes.max() + 1)) - 1.0
        if isinstance(self.cv, LeaveOneOut) or (isinstance(self.cv, str) and self.cv == "loo"):
            if len(X) < 3:
                raise ValueError(f"Leave-one-out needs at least 3 rows, and there are {len(X)}.")
            return LeaveOneOutRidgeScorer(X, targets, codes, float(self.alpha))
        splits = fixed_splits(self.cv, X, y, classifier=classes, random_state=random_state)
        return RidgeScorer(X, targets, codes, splits, float(self.alpha))


class RidgeScorer(LinearScorer):
    """Ridge regression on the training rows of every fold; made by ``RidgeObjective.start``."""

    def __init__(
        self, X: np.ndarray, targets: np.ndarray, codes: np.ndarray | None, splits: list[Split], alpha: float
    ) -> None:
        order = rows_by_fold(splits, len(X))
        training, tests = places_in(order, [train for train, _ in splits]), [test for _, test in splits]
        one_group = np.zeros(len(X), dtype=np.int64)
        super().__init__(SubsetProducts(X, order, one_group, training, ridge=alpha, tol=_DETERMINED))
        self._tests = [as_slice(rows) for rows in places_in(order, tests)]
        self._targets = targets[order]
        self._codes = None if codes is None else codes[order]
        self._target_means = np.stack([self._targets[rows].mean(axis=0) for rows in training])
        self._with_target = self._products.with_target(self._targets)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        by_fold = enumerate(zip(fits, changes, strict=True))
        return np.mean([self._fold_scores(fold, fit, change) for fold, (fit, change) in by_fold], axis=0)

    def _fold_scores(self, fold: int, fit: Fit, change: Change) -> np.ndarray:
        products, mean = self._products, self._products.offsets[fold]
        rows, targets = products.rows[self._tests[fold]], self._targets[self._tests[fold]]
        shifts = change.of(rows) - change.of(mean)
        with_target = self._with_target[fold]
        coefficients = change.inverses[:, None] * change.of(with_target.T).T
        slopes = _solved(fit, with_target[fit.columns])
        predictions = self._target_means[fold] + (rows[:, fit.columns] - mean[:, fit.columns]) @ slopes
        if self._codes is None:
            return -squared_errors_after(targets[:, 0] - predictions[:, 0], shifts, coefficients[:, 0]) / len(rows)
        if predictions.shape[1] == 1:  # the second class wins above 0
            predictions, coefficients = (np.hstack([np.zeros_like(a), a]) for a in (predictions, coefficients))
        codes = self._codes[self._tests[fold]]
        return hits_after(predictions, shifts, coefficients, np.zeros_like(coefficients), codes) / len(rows)


class LeaveOneOutRidgeScorer(LeftOutScorer):
    """Ridge regression on all rows, from which each is left out in turn; made by ``RidgeObjective.start``."""

    def __init__(self, X: np.ndarray, targets: np.ndarray, codes: np.ndarray | None, alpha: float) -> None:
        one_group = np.zeros(len(X), dtype=np.int64)
        every_row = np.arange(len(X))
        super().__init__(SubsetProducts(X, every_row, one_group, [every_row], ridge=alpha, tol=_DETERMINED))
        self._problem = (X, targets, codes, alpha)
        self._targets, self._codes = targets, codes
        self._with_target = self._products.with_target(targets)[0]

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        rows, n_rows = self._products.rows, len(self._targets)
        residuals = self._targets - self._targets.mean(axis=0)
        leverage_left = np.full(n_rows, 1 - 1 / n_rows)
        if len(fit.columns):
            inside = rows[:, fit.columns]
            residuals = residuals - inside @ _solved(fit, self._with_target[fit.columns])
            whitened = linalg.solve_triangular(fit.factor, inside.T, lower=True, check_finite=False)
            leverage_left = leverage_left - (whitened**2).sum(axis=0)
        shifts = change.of(rows)
        coefficients = change.inverses[:, None] * change.of(self._with_target.T).T
        if self._codes is None:
            sums = -left_out_squared_errors(residuals[:, 0], leverage_left, shifts, coefficients[:, 0], change.inverses)
        else:
            sums = left_out_hits(
                self._targets, residuals, leverage_left, shifts, coefficients, change.inverses, self._codes
            )
        return sums / n_rows

    def _one_by_one(self) -> RidgeScorer:
        X, targets, codes, alpha = self._problem
        return RidgeScorer(X, targets, codes, list(LeaveOneOut().split(X)), alpha)


def _solved(fit: Fit, products: np.ndarray) -> np.ndarray:
    """Coefficients of the subset."""
    return linalg.cho_solve((fit.factor, True), products, check_finite=False) if len(fit.columns) else products
