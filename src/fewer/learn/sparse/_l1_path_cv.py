"""The penalty of a sparse linear model by cross-validation: one path in each fold, and the strongest penalty that is as
good.

The grid is the same in every fold on the scale of a mean loss: with fewer rows, the weight of each grows.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight

from fewer._estimators import encoded_classes, validated
from fewer.catalogue import method
from fewer.learn.sparse._l1_linear import ACCEPTED, L1LinearClassifier, L1LinearRegressor
from fewer.learn.sparse._l1_path import path_of, weight_grid
from fewer.learn.sparse._problem import L1Problem, with_fast_columns

_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "n_points": [Interval(Integral, 2, None, closed="left")],
    "eps": [Interval(Real, 0, 1, closed="neither")],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "rule": [StrOptions({"one_se", "best"})],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_jobs": [Integral, None],
}


def chosen_point(scores: np.ndarray, rule: str) -> tuple[int, int]:
    """The point to take and the best point, from scores of folds (rows) at penalties that get weaker to the right.

    "one_se" takes the first point whose mean is within one standard error of the best mean.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.70, 0.74], [0.5, 0.80, 0.80], [0.5, 0.60, 0.62]])
    >>> chosen_point(scores, "one_se"), chosen_point(scores, "best")
    ((1, 2), (2, 2))
    """
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    if rule == "best" or len(scores) < 2:
        return best, best
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(means >= means[best] - error)), best


class _L1PathCV(BaseEstimator):
    """What the two share: paths in folds, the choice, and the path on all rows up to it."""

    def _fitted_on(self, X, y, targets: list[np.ndarray], loss: str, weights: np.ndarray | None, stratify: bool):
        problem_of = self._problem_of(loss)
        rows = np.ones(X.shape[0]) if weights is None else weights
        problems = [problem_of(X, target, rows / rows.sum()) for target in targets]
        grids = [weight_grid(problem, self.n_points, self.eps) for problem in problems]
        grid = np.geomspace(min(grid[0] for grid in grids), max(grid[-1] for grid in grids), self.n_points)
        folds = list(check_cv(self.cv, y, classifier=stratify).split(X, y))
        if stratify:
            _refuse_folds_without_a_class(folds, y, rows, type(self).__name__)

        def fold_scores(train, test):
            coefs, intercepts = self._models(
                [problem_of(X[train], target[train], rows[train] / rows[train].sum()) for target in targets], grid
            )
            return self._scored(coefs, intercepts, X[test], y[test])

        with_threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
        self.scores_ = np.array(with_threads(delayed(fold_scores)(train, test) for train, test in folds))
        chosen, best = chosen_point(self.scores_, self.rule)
        coefs, intercepts = self._models(problems, grid[: chosen + 1])
        self.n_nonzero_ = np.count_nonzero(coefs.any(axis=1), axis=1)
        return grid, chosen, best, coefs[-1], intercepts[-1]

    def _problem_of(self, loss: str):
        def problem(X, target, weights):
            return L1Problem.of(
                loss, with_fast_columns(X), target, sample_weight=weights, fit_intercept=self.fit_intercept
            )

        return problem

    def _models(self, problems: list[L1Problem], grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (points, targets, columns) and constants (points, targets)."""
        every = np.stack([path_of(problem, grid, self.tol)[0].toarray() for problem in problems], axis=1)
        every = every.astype(problems[0].X.dtype, copy=False)
        if self.fit_intercept:
            return every[..., :-1], every[..., -1]
        return every, np.zeros(every.shape[:2], dtype=every.dtype)


@method(
    tasks=["classification"],
    when="A sparse linear classifier, and no idea how strong the penalty should be. Its choice is made on the rows it "
    "is given, so judge it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One path in each fold: O(n p) a pass, few passes at each of the penalties.",
    paper="l1-comparison",
    examples=lambda: [L1PathClassifierCV(n_points=4, cv=2)],
)
class L1PathClassifierCV(LinearClassifierMixin, ClassifierMixin, _L1PathCV):
    """Sparse logistic regression or squared-hinge machine with the penalty chosen by cross-validation.

    Parameters
    ----------
    loss : {"log", "squared_hinge"}, default="log"
        Loss of the predictions.
    n_points : int, default=50
        Penalties to try, in geometric order from the one at which the first column enters.
    eps : float, default=1e-2
        Weakest penalty over strongest.
    cv : int, cross-validation generator or iterable, default=5
        Folds; with a number, stratified.
    scoring : str, callable or None, default=None
        What is compared; None for the log loss with "log", and for accuracy with "squared_hinge".
    rule : {"one_se", "best"}, default="one_se"
        The strongest penalty whose mean score is within one standard error of the best, or the best itself.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-3
        As in :func:`~fewer.learn.l1_path`.
    n_jobs : int or None, default=None
        Folds at the same time, in threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    C_ : float
        The weight of the loss that was chosen, on the scale of :class:`~fewer.learn.L1LinearClassifier`.
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
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero, for any class.
    n_nonzero_ : ndarray
        Columns in the model on all rows, at each weight up to ``C_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    L1LinearClassifier : For a given penalty.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33(1).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import L1PathClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1PathClassifierCV(n_points=20, eps=1e-3).fit(scale(X), y)
    >>> model.C_ <= model.C_best_, len(model.support_) < 20
    (True, True)
    """

    _parameter_constraints = {"loss": [StrOptions({"log", "squared_hinge"})], **_SHARED_CONSTRAINTS}

    def __init__(
        self,
        loss="log",
        *,
        n_points=50,
        eps=1e-2,
        cv=5,
        scoring=None,
        rule="one_se",
        fit_intercept=True,
        tol=1e-3,
        n_jobs=None,
    ):
        self.loss = loss
        self.n_points = n_points
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Follow a path in each fold, choose the penalty, and fit on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; columns on comparable scales.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows in the fits; scores of folds are not weighted.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validated(self, X, y, **(ACCEPTED | {"accept_sparse": "csr"}))
        weights = _row_weights(sample_weight, X)
        present = slice(None) if weights is None else weights > 0
        self.classes_, _ = encoded_classes(y[present], type(self).__name__)
        targets = [np.where(y == label, 1.0, -1.0) for label in self.classes_]
        grid, chosen, best, self.coef_, self.intercept_ = self._fitted_on(
            X, y, targets[1:] if len(targets) == 2 else targets, self.loss, weights, stratify=True
        )
        self.Cs_ = grid / (X.shape[0] if weights is None else weights.sum())
        self.C_, self.C_best_ = float(self.Cs_[chosen]), float(self.Cs_[best])
        self.support_ = np.flatnonzero(self.coef_.any(axis=0))
        return self

    def _scored(self, coefs, intercepts, X, y):
        model = L1LinearClassifier(self.loss)
        model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
        scoring = self.scoring or ("neg_log_loss" if self.loss == "log" else "accuracy")
        scorer = check_scoring(clone(model), scoring)
        scores = []
        for model.coef_, model.intercept_ in zip(coefs, intercepts, strict=True):
            scores.append(-_log_loss(model, X, y) if scoring == "neg_log_loss" else scorer(model, X, y))
        return scores

    @available_if(lambda self: self.loss == "log")
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            With more than two classes, those of each against the rest, made to sum to one.
        """
        scores = expit(self.decision_function(X))
        if scores.ndim == 1:
            return np.column_stack([1 - scores, scores])
        return scores / np.maximum(scores.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def plot(self):
        """Mean score with its standard error against the penalty, and what was chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        return _cv_figure(self.Cs_, self.scores_, self.C_, self.C_best_, len(self.support_), "C: weight of the loss")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _log_loss(model, X, y) -> float:
    """Mean log loss; a class that a fold lacks does not matter, as it would to scikit-learn's function."""
    probabilities = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(probabilities, np.finfo(float).tiny)).mean())


def _refuse_folds_without_a_class(folds, y: np.ndarray, weights: np.ndarray, who: str) -> None:
    """No model can be learnt for a class that a fold holds out whole."""
    classes, counts = np.unique(y[weights > 0], return_counts=True)
    for number, (train, _) in enumerate(folds, start=1):
        learnt = y[train][weights[train] > 0]
        for label, count in zip(classes.tolist(), counts, strict=True):
            if not (learnt == label).any():
                rows = "its only row" if count == 1 else f"all its {count} rows"
                raise ValueError(
                    f"{who} cannot learn class {label!r} in fold {number} of {len(folds)}, which holds out {rows}. "
                    "Leave the class out, join it with another, or give cv folds that have every class on both sides."
                )


def _row_weights(sample_weight, X) -> np.ndarray | None:
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _cv_figure(places: np.ndarray, scores: np.ndarray, chosen: float, best: float, n_columns: int, words: str) -> Any:
    from fewer._figures import BLUE, GREEN, GREY, line, new_figure, translucent

    means, errors = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    figure = new_figure(x=words, y="score on held-out rows", title=f"{n_columns} columns are kept")
    figure.add_scatter(
        x=np.r_[places, places[::-1]], y=np.r_[means + errors, (means - errors)[::-1]], fill="toself",
        fillcolor=translucent(BLUE), line={"width": 0}, name="one standard error", hoverinfo="skip",
    )  # fmt: skip
    figure.add_trace(line("mean of the folds", places, means, BLUE))
    figure.update_xaxes(type="log")
    marks = {best: ("best", {"color": GREY, "dash": "dot"}, "left"), chosen: ("chosen", {"color": GREEN}, "right")}
    for place, (word, style, side) in marks.items():
        figure.add_vline(x=place, line=style)
        # On a logarithmic axis a text stands at the logarithm of its place.
        figure.add_annotation(
            x=np.log10(place), y=1, yref="paper", text=word, showarrow=False, xanchor=side, yanchor="bottom"
        )
    return figure


@method(
    tasks=["regression"],
    when="A sparse linear regression, and no idea how strong the penalty should be. Its choice is made on the rows it "
    "is given, so judge it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One path in each fold: O(n p) a pass, few passes at each of the penalties.",
    paper="l1-comparison",
    examples=lambda: [L1PathRegressorCV(n_points=4, cv=2)],
)
class L1PathRegressorCV(RegressorMixin, LinearModel, _L1PathCV):
    """The Lasso with the penalty chosen by cross-validation.

    Parameters
    ----------
    n_points : int, default=50
        Penalties to try, in geometric order from the one at which the first column enters.
    eps : float, default=1e-2
        Weakest penalty over strongest.
    cv : int, cross-validation generator or iterable, default=5
        Folds.
    scoring : str, callable or None, default=None
        What is compared; None for the mean squared error.
    rule : {"one_se", "best"}, default="one_se"
        The strongest penalty whose mean score is within one standard error of the best, or the best itself.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-3
        As in :func:`~fewer.learn.l1_path`.
    n_jobs : int or None, default=None
        Folds at the same time, in threads.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen, on the scale of :class:`~fewer.learn.L1LinearRegressor`.
    alpha_best_ : float
        The one with the best mean score.
    alphas_ : ndarray of shape (n_points,)
        All that were tried, decreasing.
    scores_ : ndarray of shape (n_folds, n_points)
        Score of each fold at each.
    coef_ : ndarray of shape (n_features,)
        Coefficients at ``alpha_``, on all rows.
    intercept_ : float
        Constant.
    support_ : ndarray of shape (n_selected,)
        Columns with a coefficient that is not zero.
    n_nonzero_ : ndarray
        Columns in the model on all rows, at each penalty down to ``alpha_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    L1LinearRegressor : For a given penalty.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2010). Regularization paths for generalized linear models via
       coordinate descent. Journal of Statistical Software 33(1).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import L1PathRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> L1PathRegressorCV().fit(X, y).support_
    array([1, 2, 3, 6, 8, 9])
    """

    _parameter_constraints = dict(_SHARED_CONSTRAINTS)

    def __init__(
        self, *, n_points=50, eps=1e-2, cv=5, scoring=None, rule="one_se", fit_intercept=True, tol=1e-3, n_jobs=None
    ):
        self.n_points = n_points
        self.eps = eps
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Follow a path in each fold, choose the penalty, and fit on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; columns on comparable scales.
        y : array-like of shape (n_samples,)
            Numbers to predict.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows in the fits; scores of folds are not weighted.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validated(self, X, y, y_numeric=True, ensure_min_samples=2, **(ACCEPTED | {"accept_sparse": "csr"}))
        weights = _row_weights(sample_weight, X)
        grid, chosen, best, coefs, intercepts = self._fitted_on(
            X, y, [np.asarray(y, dtype=np.float64)], "squared", weights, stratify=False
        )
        self.coef_, self.intercept_ = coefs[0], float(intercepts[0])
        self.alphas_ = 1 / grid
        self.alpha_, self.alpha_best_ = float(self.alphas_[chosen]), float(self.alphas_[best])
        self.support_ = np.flatnonzero(self.coef_)
        return self

    def _scored(self, coefs, intercepts, X, y):
        model = L1LinearRegressor()
        model.n_features_in_ = X.shape[1]
        scorer = check_scoring(clone(model), self.scoring or "neg_mean_squared_error")
        scores = []
        for coef, intercept in zip(coefs, intercepts, strict=True):
            model.coef_, model.intercept_ = coef[0], float(intercept[0])
            scores.append(scorer(model, X, y))
        return scores

    def plot(self):
        """Mean score with its standard error against the penalty, and what was chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        return _cv_figure(
            self.alphas_,
            self.scores_,
            self.alpha_,
            self.alpha_best_,
            len(self.support_),
            "alpha: price of coefficients",
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
