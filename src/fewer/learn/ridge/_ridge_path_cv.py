"""The penalty of a logistic or a ridge regression by cross-validation, or by leave-one-out in closed form.

The paths of all folds are followed at once; see ``_path_cv``. For leave-one-out of a ridge regression, with row weights
``c`` that sum to 1, the weighted centred table ``B = diag(c)^1/2 (Z - 1 m')`` and ``B'B = V diag(g) V'``, the leverages
at a penalty are ``h_i = c_i + sum_j (B V)_ij^2 / (g_j + penalty)``, and the error of a row that is left out is its
residual over ``1 - h_i``.
"""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight

from fewer._estimators import (
    Interval,
    LinearClassifierMixin,
    LinearModel,
    StrOptions,
    encoded_classes,
    fit_steps,
)
from fewer.catalogue import method
from fewer.learn.ridge._newton import LogLoss, SoftmaxLoss, SquaredLoss, probabilities, sum_to_zero_basis
from fewer.learn.ridge._path_cv import ACCEPTED, SHARED_CONSTRAINTS, RidgePathCV, normalised
from fewer.learn.ridge._tables import Table


@method(
    tasks=["classification"],
    when="A tuned linear baseline for any table: all columns stay in the model, correlated ones share their effect, "
    "and it gives probabilities. For a short list of columns, use L1PathClassifierCV. The penalty is chosen on the "
    "rows that it is given, so evaluate it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One eigenproblem of the smaller side of a dense table, then O(n min(n, p)) a pass and some tens of passes "
    "for each penalty, in all folds at once; for a sparse table O(stored entries) a pass.",
    examples=lambda: [RidgePathClassifierCV(Cs=4, cv=2), RidgePathClassifierCV(Cs=3, cv=2, with_std=True)],
    aliases=["logistic regression", "LogisticRegressionCV"],
)
class RidgePathClassifierCV(LinearClassifierMixin, ClassifierMixin, RidgePathCV):
    """Logistic regression with a squared (L2) penalty that is chosen by cross-validation.

    Minimises ``||w||^2 / 2 + C sum_i loss_i`` for each ``C`` of a grid, with the log loss for two classes and the
    multinomial loss for more, as scikit-learn's ``LogisticRegression`` does. The intercept is not penalised.

    Parameters
    ----------
    Cs : int or array-like of float, default=10
        Weights of the loss to try, or their number: then in geometric order, from the weight at which the penalty is
        ten times the total variance of the columns, so that predictions do not depend on the unit of the table.
    eps : float, default=1e-8
        Weakest penalty over strongest, where ``Cs`` is a number.
    cv : int, cross-validation generator, iterable or None, default=5
        Folds; with a number, stratified; None for 5.
    scoring : str, callable or None, default=None
        What is compared; None for the log loss, weighted by ``sample_weight``.
    rule : {"best", "one_se"}, default="best"
        The penalty with the best mean score, or the strongest within one standard error of that.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn; "balanced" ones are those of the rows that a fold learns from.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    with_std : bool, default=False
        Whether to divide columns by their standard deviation; ``Cs`` then refer to the divided columns. Sparse tables
        stay sparse.
    tol : float, default=1e-3
        The fit at a penalty ends with the first Newton step that lowers the objective by no more than this share, or
        that leaves a relative gap of some hundredths of it by an estimate. The model that is kept is then refined to
        rounding.
    max_iter : int, default=100
        Newton steps at each penalty, at most.
    n_jobs : int or None, default=None
        Threads among which the folds are divided. One thread is often as fast: a pass over the table serves all folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    C_ : float
        The weight of the loss that was chosen, on the scale of scikit-learn's ``LogisticRegression``.
    C_best_ : float
        The one with the best mean score.
    Cs_ : ndarray of shape (n_points,)
        All that were tried, increasing.
    scores_ : ndarray of shape (n_folds, n_points)
        Score of each fold at each.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients at ``C_``, on all rows.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants.
    n_iter_ : ndarray of shape (n_points,)
        Newton steps at each.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    L1PathClassifierCV : Keeps few columns.
    RidgePathRegressorCV : For numbers.

    References
    ----------
    .. [1] le Cessie, S. and van Houwelingen, J. C. (1992). Ridge estimators in logistic regression. Applied Statistics
       41(1), 191-201.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fewer.learn import RidgePathClassifierCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RidgePathClassifierCV(with_std=True).fit(X, y)
    >>> model.scores_.shape, round(model.score(X, y), 2)
    ((5, 10), 1.0)
    """

    _parameter_constraints = {
        "Cs": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        Cs=10,
        *,
        eps=1e-8,
        cv=5,
        scoring=None,
        rule="best",
        class_weight=None,
        fit_intercept=True,
        with_std=False,
        tol=1e-3,
        max_iter=100,
        n_jobs=None,
    ):
        self.Cs = Cs
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.with_std = with_std
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, X, y, sample_weight, groups, params):
        present = slice(None) if sample_weight is None else sample_weight > 0
        self.classes_ = encoded_classes(y[present], type(self).__name__).classes
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        folds, score_params = self._routed(X, y, sample_weight, groups, params)
        weights = self._weights_of_sets(y, codes, sample_weight, folds)
        total = weights[:, 0].sum()
        weights = normalised(weights)
        loss = LogLoss(codes) if len(self.classes_) == 2 else SoftmaxLoss(codes)
        tables = self._tables(X, weights)
        unit = tables[0][0].unit
        penalties = self._penalties(self.Cs, total, unit, inverse=True)
        self.Cs_ = 1 / (penalties * unit * total)
        self._follow(X, y, loss, penalties, tables, folds, score_params, sample_weight)

    def _weights_of_sets(self, y, codes, sample_weight, folds: Sequence) -> np.ndarray:
        """Weights of the rows for the model on all rows (first column) and in each fold; every class is in each."""
        rows = np.ones(len(y)) if sample_weight is None else sample_weight
        weights = np.zeros((len(y), 1 + len(folds)))
        for number, train in enumerate([np.arange(len(y)), *(train for train, _ in folds)]):
            train = train[rows[train] > 0]
            absent = np.setdiff1d(np.arange(len(self.classes_)), codes[train])
            if absent.size:
                label = self.classes_.tolist()[absent[0]]
                raise ValueError(
                    f"{type(self).__name__} cannot learn class {label!r} in fold {number} of {len(folds)}, "
                    f"which holds out all its {np.count_nonzero(codes == absent[0])} rows. Leave the class out, join "
                    "it with another, or give cv folds that have every class on both sides."
                )
            of_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y[train], sample_weight=rows[train]
            )
            weights[train, number] = rows[train] * of_class[codes[train]]
            if not of_class.all():
                raise ValueError(f"class_weight must be positive for every class; got {self.class_weight!r}.")
        return weights

    def _unfitted_like(self, X) -> Any:
        model = super()._unfitted_like(X)
        model.classes_ = self.classes_
        return model

    def _losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            losses = np.logaddexp(0, np.where(codes == 1, -predictions[:, 0], predictions[:, 0]))
        else:
            decisions = predictions @ self._basis.T
            losses = np.logaddexp.reduce(decisions, axis=1) - decisions[np.arange(len(y)), codes]
        return np.minimum(losses, -np.log(np.finfo(float).eps))  # as scikit-learn's log_loss

    def _set_model(self, coef: np.ndarray, intercept: np.ndarray, dtype) -> None:
        if len(self.classes_) > 2:
            coef, intercept = coef @ self._basis.T, intercept @ self._basis.T
        self.coef_ = np.ascontiguousarray(coef.T, dtype=dtype)
        self.intercept_ = np.asarray(intercept, dtype=dtype)

    def _set_penalties(self, n_points: int, chosen: int, best: int) -> None:
        self.Cs_ = self.Cs_[:n_points]
        self.C_, self.C_best_ = float(self.Cs_[chosen]), float(self.Cs_[best])

    @property
    def _basis(self) -> np.ndarray:
        return sum_to_zero_basis(len(self.classes_))

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            Columns as in ``classes_``.
        """
        return np.log(self.predict_proba(X))

    @property
    def _chosen_penalties(self):
        return self.Cs_, self.C_, self.C_best_, "C: weight of the loss (the penalty gets weaker to the right)"


# Of a table that was rotated to its axes, the columns up to which leave-one-out has its eigenproblem.
_FEW = 1000


def left_out_path(
    table: Table, y: np.ndarray, weights: np.ndarray, penalties: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each penalty the coefficients, (size, 1), and the prediction of every row by the model without it."""
    root = np.sqrt(weights)[:, None]
    inner = table.rows[:, : table.size - table.fit_intercept].astype(np.float64, copy=False)
    mean, level = (weights @ inner, weights @ y) if table.fit_intercept else (np.zeros(inner.shape[1]), 0.0)
    weighted = root * (inner - mean)
    if np.ptp(weights) == 0:  # the table is on its principal axes
        values, axes, along = (weighted**2).sum(axis=0), np.eye(weighted.shape[1]), weighted
    else:
        values, axes = np.linalg.eigh(weighted.T @ weighted)
        along = weighted @ axes
    moments = along.T @ (root[:, 0] * (y - level))
    for penalty in penalties:
        shrunk = 1 / (np.maximum(values, 0.0) + penalty)
        coefs = axes @ (shrunk * moments)
        leverages = along**2 @ shrunk + (weights if table.fit_intercept else 0.0)
        fitted = inner @ coefs + (level - mean @ coefs)
        left_out = y - (y - fitted) / np.maximum(1 - leverages, np.finfo(float).eps)
        yield (np.append(coefs, level - mean @ coefs) if table.fit_intercept else coefs)[:, None], left_out


class _Predicted(RegressorMixin, BaseEstimator):
    """Predictions that are there already, for a scorer."""

    def predict(self, X):
        return X[:, 0]


@method(
    tasks=["regression"],
    when="A tuned linear baseline for a number to predict: all columns stay in the model, and correlated ones share "
    "their effect. For a short list of columns, use L1PathRegressorCV. The penalty is chosen on the rows that it is "
    "given, so evaluate it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One eigenproblem of the smaller side of a dense table, O(n p min(n, p)), then O(n min(n, p)) for each "
    "penalty; for a sparse table some tens of passes of O(stored entries), in all folds at once.",
    examples=lambda: [RidgePathRegressorCV(), RidgePathRegressorCV(alphas=4, cv=2, with_std=True)],
)
class RidgePathRegressorCV(RegressorMixin, RidgePathCV, LinearModel):
    """Ridge regression with the penalty chosen by leave-one-out or cross-validation.

    Minimises ``sum_i (y_i - x_i'w - b)^2 + alpha ||w||^2`` for each ``alpha`` of a grid, as scikit-learn's ``Ridge``
    does. The intercept is not penalised.

    Parameters
    ----------
    alphas : int or array-like of float, default=50
        Penalties to try, or their number: then in geometric order, from ten times the total variance of the columns
        (times the number of rows), so that predictions do not depend on the unit of the table.
    eps : float, default=1e-8
        Weakest penalty over strongest, where ``alphas`` is a number.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds; None for leave-one-out in closed form. Tables with more than 1,000 rows and 1,000 columns, and
        sparse ones of more than 10 million cells and 1,000 rows, get 5 folds.
    scoring : str, callable or None, default=None
        What is compared; None for the mean squared error, weighted by ``sample_weight``.
    rule : {"best", "one_se"}, default="best"
        The penalty with the best mean score, or the strongest within one standard error of that.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    with_std : bool, default=False
        Whether to divide columns by their standard deviation; ``alphas`` then refer to the divided columns. Sparse
        tables stay sparse.
    tol : float, default=1e-6
        With folds, the fit at a penalty ends with the first step that lowers the objective by no more than this share,
        or that leaves a relative gap of some hundredths of it by an estimate. The model that is kept is then refined to
        rounding.
    max_iter : int, default=100
        Such steps at each penalty, at most.
    n_jobs : int or None, default=None
        Threads among which the folds are divided. One thread is often as fast: a pass over the table serves all folds.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen, on the scale of scikit-learn's ``Ridge``.
    alpha_best_ : float
        The one with the best mean score.
    alphas_ : ndarray of shape (n_points,)
        All that were tried, decreasing.
    scores_ : ndarray of shape (n_folds, n_points)
        Score of each fold at each. By leave-one-out a row is a fold; with a ``scoring`` there is one score for all
        rows together.
    coef_ : ndarray of shape (n_features,)
        Coefficients at ``alpha_``, on all rows.
    intercept_ : float
        Constant.
    n_iter_ : ndarray of shape (n_points,)
        Steps at each; 1 in closed form.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    L1PathRegressorCV : Keeps few columns.
    RidgePathClassifierCV : For classes.

    References
    ----------
    .. [1] Hoerl, A. E. and Kennard, R. W. (1970). Ridge regression: biased estimation for nonorthogonal problems.
       Technometrics 12(1), 55-67.
    .. [2] Allen, D. M. (1974). The relationship between variable selection and data augmentation and a method for
       prediction. Technometrics 16(1), 125-127.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import RidgePathRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgePathRegressorCV().fit(X, y)
    >>> model.scores_.shape, round(model.score(X, y), 2)
    ((442, 50), 0.52)
    """

    _accepted = {**ACCEPTED, "y_numeric": True, "ensure_min_samples": 2}
    _parameter_constraints = {
        "alphas": [Interval(Integral, 2, None, closed="left"), "array-like"],
        **SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        alphas=50,
        *,
        eps=1e-8,
        cv=None,
        scoring=None,
        rule="best",
        fit_intercept=True,
        with_std=False,
        tol=1e-6,
        max_iter=100,
        n_jobs=None,
    ):
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.with_std = with_std
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, X, y, sample_weight, groups, params):
        y = np.asarray(y, dtype=np.float64)
        folds, score_params = self._routed(X, y, sample_weight, groups, params)
        rows = np.ones(len(y)) if sample_weight is None else sample_weight
        held = [np.isin(np.arange(len(y)), train) for train, _ in folds]
        weights = normalised(np.column_stack([rows, *(rows * train for train in held)]))
        tables = self._tables(X, weights, axes=self.cv is None)
        table = tables[0][0]
        penalties = self._penalties(self.alphas, rows.sum(), table.unit, inverse=False)
        self.alphas_ = penalties * table.unit * rows.sum()
        if self.cv is None and table.shift is None and table.size <= _FEW + 1:
            self._leave_one_out(X, y, table, weights[:, 0], penalties, score_params)
        else:
            self._follow(X, y, SquaredLoss(y), penalties, tables, folds, score_params, sample_weight)

    def _predicts_as(self, use):
        """With one penalty there is nothing to choose."""
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if isinstance(self.alphas, Integral) or np.size(self.alphas) != 1:
            return "more than one alpha"
        if self.with_std and not self.fit_intercept:
            return "with_std=True without an intercept"
        ridge = Ridge(float(np.ravel(self.alphas)[0]), fit_intercept=self.fit_intercept)
        return make_pipeline(StandardScaler(), ridge) if self.with_std else ridge

    def _leave_one_out(self, X, y, table: Table, weights: np.ndarray, penalties: np.ndarray, score_params) -> None:
        models, scores = [], []
        present = weights > 0
        scale = present.sum() * weights[present]
        with fit_steps(self, X, y, n_steps=len(penalties)) as after_step:
            for coefs, left_out in left_out_path(table, y, weights, penalties):
                models.append(coefs)
                if self.scoring is None:
                    scores.append(-(scale * (y - left_out)[present] ** 2))
                else:
                    scores.append([self._scorer()(_Predicted(), left_out[:, None], y, **score_params)])
                if after_step("penalty"):
                    break
            self._choose(np.array(scores).T, models, np.ones(len(models), dtype=int), table, X.dtype)

    def _losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (predictions[:, 0] - y) ** 2

    def _set_model(self, coef: np.ndarray, intercept: np.ndarray, dtype) -> None:
        self.coef_, self.intercept_ = coef[:, 0].astype(dtype), float(intercept[0])

    def _set_penalties(self, n_points: int, chosen: int, best: int) -> None:
        self.alphas_ = self.alphas_[:n_points]
        self.alpha_, self.alpha_best_ = float(self.alphas_[chosen]), float(self.alphas_[best])

    @property
    def _chosen_penalties(self):
        return self.alphas_, self.alpha_, self.alpha_best_, "alpha: weight of the penalty"
