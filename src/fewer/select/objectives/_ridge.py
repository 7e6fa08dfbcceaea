"""How well ridge regression (least squares, with ``alpha=0``) predicts rows that it has not seen, column by column.

With the partial column u of a candidate and its square s, the fit on one column more predicts ``f(x) + u(x) <u, y> /
s``. Left-out rows follow from one fit on all: with the residual e and the leverage h of a row, the fit without it
misses it by ``e / (1 - h)``, where a candidate changes e by ``- u <u, y> / s`` and h by ``u^2 / s``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import LeaveOneOut

from fewer._kernels._numpy_lapack import solve_cholesky, solve_triangular
from fewer.select._target import Split, fixed_splits, has_classes, leaves_one_out
from fewer.select.objectives._objective import FoldMeasure, Objective, SubsetScorer
from fewer.select.objectives._subset_products import (
    Change,
    Fit,
    LeftOutScorer,
    LinearScorer,
    SubsetProducts,
    as_slice,
    classes_after,
    left_out_classes,
    left_out_values,
    places_in,
    rows_by_fold,
)

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

    def start(
        self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None, groups: Any = None
    ) -> SubsetScorer:
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without missing values.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        n_jobs : int or None, default=None
            Not used: the linear algebra has threads of its own.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together, where ``cv`` is a number or asks for groups.

        Returns
        -------
        scorer : SubsetScorer
            Holds products of columns.
        """
        if not self.alpha >= 0:
            raise ValueError(f"alpha={self.alpha} must not be negative; 0 is least squares.")
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        classes = has_classes(y, self.task)
        scoring = "accuracy" if classes else "neg_mean_squared_error"
        if leaves_one_out(self.cv):
            if len(X) < 3:
                raise ValueError(f"Leave-one-out needs at least 3 rows, and there are {len(X)}.")
            return LeaveOneOutRidgeScorer(X, y, float(self.alpha), classes=classes, scoring=scoring)
        splits = fixed_splits(self.cv, X, y, classifier=classes, random_state=random_state, groups=groups)
        return RidgeScorer(X, y, splits, float(self.alpha), classes=classes, scoring=scoring)


class RidgeTargets(NamedTuple):
    """What is regressed on: numbers, or -1 and 1, in one column for each class if there are more than two."""

    columns: np.ndarray
    truth: np.ndarray
    labels: np.ndarray | None


def ridge_targets(y: np.ndarray, classes: bool) -> RidgeTargets:
    """Targets, what predictions are compared with (codes or numbers), and the classes that codes stand for."""
    if not classes:
        numbers = y.astype(float)
        return RidgeTargets(numbers[:, None], numbers, None)
    labels, codes = np.unique(y, return_inverse=True)
    first = 1 if len(labels) == 2 else 0
    return RidgeTargets(2.0 * (codes[:, None] == np.arange(first, len(labels))) - 1.0, codes, labels)


class RidgeScorer(LinearScorer):
    """Ridge regression on the training rows of every fold; made by ``RidgeObjective.start``.

    ``alpha`` is one penalty, or one for each column in each fold (folds, columns).
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        splits: list[Split],
        alpha: float | np.ndarray,
        *,
        classes: bool,
        scoring: Any,
    ) -> None:
        order = rows_by_fold(splits, len(X))
        training, tests = places_in(order, [train for train, _ in splits]), [test for _, test in splits]
        one_group = np.zeros(len(X), dtype=np.int64)
        super().__init__(SubsetProducts(X, order, one_group, training, ridge=alpha, tol=_DETERMINED))
        self._tests = [as_slice(rows) for rows in places_in(order, tests)]
        targets = ridge_targets(y[order], classes)
        self._classes = classes
        self._target_means = np.stack([targets.columns[rows].mean(axis=0) for rows in training])
        self._with_target = self._products.with_target(targets.columns)
        self._measure = FoldMeasure(scoring, [targets.truth[rows] for rows in self._tests], targets.labels)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        by_fold = enumerate(zip(fits, changes, strict=True))
        return self._measure(np.vstack([self._predicted(fold, fit, change) for fold, (fit, change) in by_fold]).T)

    def _predicted(self, fold: int, fit: Fit, change: Change) -> np.ndarray:
        """Codes or numbers (test rows, candidates)."""
        products, mean = self._products, self._products.offsets[fold]
        rows = products.rows[self._tests[fold]]
        shifts = change.of(rows) - change.of(mean)
        with_target = self._with_target[fold]
        coefficients = change.inverses[:, None] * change.of(with_target.T).T
        slopes = _solved(fit, with_target[fit.columns])
        predictions = self._target_means[fold] + (rows[:, fit.columns] - mean[:, fit.columns]) @ slopes
        if not self._classes:
            return predictions + shifts * coefficients[:, 0]
        if predictions.shape[1] == 1:  # the second class wins above 0
            predictions, coefficients = (np.hstack([np.zeros_like(a), a]) for a in (predictions, coefficients))
        return classes_after(predictions, shifts, coefficients, np.zeros_like(coefficients))


class LeaveOneOutRidgeScorer(LeftOutScorer):
    """Ridge regression on all rows, from which each is left out in turn; made by ``RidgeObjective.start``."""

    def __init__(self, X: np.ndarray, y: np.ndarray, alpha: float, *, classes: bool, scoring: Any) -> None:
        one_group = np.zeros(len(X), dtype=np.int64)
        every_row = np.arange(len(X))
        super().__init__(SubsetProducts(X, every_row, one_group, [every_row], ridge=alpha, tol=_DETERMINED))
        self._problem = (X, y, alpha)
        self._classes, self._scoring = classes, scoring
        targets = ridge_targets(y, classes)
        self._targets = targets.columns
        self._with_target = self._products.with_target(self._targets)[0]
        self._measure = FoldMeasure(scoring, list(targets.truth[:, None]), targets.labels)

    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        (fit,), (change,) = fits, changes
        rows, n_rows = self._products.rows, len(self._targets)
        residuals = self._targets - self._targets.mean(axis=0)
        leverage_left = np.full(n_rows, 1 - 1 / n_rows)
        if len(fit.columns):
            inside = rows[:, fit.columns]
            residuals = residuals - inside @ _solved(fit, self._with_target[fit.columns])
            whitened = solve_triangular(fit.factor, inside.T)
            leverage_left = leverage_left - (whitened**2).sum(axis=0)
        shifts, inverses = change.of(rows), change.inverses
        coefficients = inverses[:, None] * change.of(self._with_target.T).T
        if self._classes:
            found = left_out_classes(self._targets, residuals, leverage_left, shifts, coefficients, inverses)
        else:
            targets, residuals, coefficients = self._targets[:, 0], residuals[:, 0], coefficients[:, 0]
            found = left_out_values(targets, residuals, leverage_left, shifts, coefficients, inverses)
        return self._measure(found.T)

    def _one_by_one(self) -> RidgeScorer:
        X, y, alpha = self._problem
        splits = list(LeaveOneOut().split(X))
        return RidgeScorer(X, y, splits, alpha, classes=self._classes, scoring=self._scoring)


def _solved(fit: Fit, products: np.ndarray) -> np.ndarray:
    """Coefficients of the subset."""
    return solve_cholesky(fit.factor, products) if len(fit.columns) else products
