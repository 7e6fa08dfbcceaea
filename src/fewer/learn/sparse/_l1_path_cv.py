"""The penalty of a sparse linear model by cross-validation: one path in each fold, and the strongest penalty that is as
good.

The grid is the same in every fold on the scale of a mean loss: with fewer rows, the weight of each grows.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from fewer._estimators import (
    Interval,
    LinearClassifierMixin,
    LinearModel,
    StrOptions,
    encoded_classes,
    fit_context,
    raise_for_params,
    routing_enabled,
    safe_indexing,
    validated,
)
from fewer.catalogue import method
from fewer.learn._linear import OneVsRestProbabilities, choice_figure, chosen_point, one_vs_rest_targets, row_weights
from fewer.learn.sparse._l1_linear import ACCEPTED, L1LinearClassifier, L1LinearRegressor
from fewer.learn.sparse._l1_path import path_of, warn_of_violations, weight_grid
from fewer.learn.sparse._problem import L1Problem, prepared

_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "l1_ratio": [Interval(Real, 0, 1, closed="right")],
    "n_alphas": [Interval(Integral, 2, None, closed="left")],
    "eps": [Interval(Real, 0, 1, closed="neither")],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "rule": [StrOptions({"one_se", "best"})],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "n_jobs": [Integral, None],
}


# Of the tolerance, for the model that is kept: it should not depend on the way that led to it.
_LAST = 1e-3


class _L1PathCV(BaseEstimator):
    """What the two share: paths in folds, the choice, and the path on all rows up to it."""

    # The splitter uses them, not the model.
    __metadata_request__fit = {"groups": UNUSED}
    _accepted: dict[str, Any] = {**ACCEPTED, "accept_sparse": "csr"}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, groups=None, **params):
        """Follow a path in each fold, choose the penalty, and fit on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; columns on comparable scales.
        y : array-like of shape (n_samples,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows in the fits; scores of folds are weighted only by a scorer that requests it.
        groups : array-like of shape (n_samples,) or None, default=None
            Group of each row, for the splitter; rows of a group stay in one fold.
        **params : dict
            With scikit-learn's metadata routing, what the splitter and the scorer request.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, **self._accepted)
        self._fit(X, y, row_weights(X, y, sample_weight), groups, params)
        return self

    def plot(self):
        """Mean score with its standard error against the penalty, and what was chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        penalties, chosen, best, axis = self._penalties
        title = f"{len(self.support_)} columns are kept"
        return choice_figure(penalties, self.scores_, chosen, best, axis, title)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def get_metadata_routing(self):
        """Where metadata go: ``groups`` to the splitter, and what a scorer asks for to the scorer.

        Returns
        -------
        routing : MetadataRouter
            As in scikit-learn.
        """
        splitter = GroupKFold() if _is_number(self.cv) else check_cv(self.cv)
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=check_scoring(self, self._scoring_or_default()),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )

    def _folds(self, X, y, sample_weight, groups, params, stratify: bool):
        """Rows to learn from and to score on, and what goes to the scorer; with groups, ``cv`` as a number keeps each
        together."""
        if routing_enabled():
            given = params | {"groups": groups, "sample_weight": sample_weight}
            given = {name: value for name, value in given.items() if value is not None}
            routed = process_routing(self, "fit", **given) if given else None
            to_split, to_score = (routed.splitter.split, routed.scorer.score) if routed else ({}, {})
        else:
            raise_for_params(params, self, "fit")
            to_split, to_score = ({} if groups is None else {"groups": groups}), {}
        if groups is not None and _is_number(self.cv):
            splitter = (StratifiedGroupKFold if stratify else GroupKFold)(5 if self.cv is None else self.cv)
        else:
            splitter = check_cv(self.cv, y, classifier=stratify)
        return list(splitter.split(X, y, **to_split)), to_score

    def _fitted_on(self, X, y, targets: list[np.ndarray], loss: str, sample_weight, groups, params, stratify: bool):
        def problems_on(rows):
            """A problem for each target, with the weights of the rows brought to the sum 1."""
            part, weights = X[rows], self._weights_of(y[rows], None if sample_weight is None else sample_weight[rows])
            weights = np.ones(part.shape[0]) if weights is None else weights
            table, weights = prepared(part, weights, self.fit_intercept), weights / weights.sum()
            return [
                L1Problem.of(
                    loss, table, target[rows], sample_weight=weights, fit_intercept=self.fit_intercept,
                    l1_ratio=self.l1_ratio,
                )
                for target in targets
            ]  # fmt: skip

        problems = problems_on(slice(None))
        grids = [weight_grid(problem, self.n_alphas, self.eps) for problem in problems]
        grid = np.geomspace(min(grid[0] for grid in grids), max(grid[-1] for grid in grids), self.n_alphas)
        folds, to_score = self._folds(X, y, sample_weight, groups, params, stratify)
        if stratify:
            _refuse_folds_without_a_class(folds, y, sample_weight, type(self).__name__)

        def fold_scores(train, test):
            coefs, intercepts, violations = self._models(problems_on(train), grid)
            asked = {name: safe_indexing(value, test) for name, value in to_score.items()}
            return self._scored(coefs, intercepts, X[test], y[test], asked), violations

        with_threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
        scores, violations = zip(*with_threads(delayed(fold_scores)(*fold) for fold in folds), strict=True)
        self.scores_ = np.array(scores)
        chosen, best = chosen_point(self.scores_, self.rule)
        coefs, intercepts, last = self._models(problems, grid[: chosen + 1], _LAST * self.tol)
        warn_of_violations(np.concatenate([*violations, last]), self.tol)
        self.n_nonzero_ = np.count_nonzero(coefs.any(axis=1), axis=1)
        return grid, chosen, best, coefs[-1], intercepts[-1]

    def _weights_of(self, y, sample_weight) -> np.ndarray | None:
        return sample_weight

    def _models(
        self, problems: list[L1Problem], grid: np.ndarray, last_tol: float | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients (points, targets, columns), constants (points, targets), and how far each is from optimal."""
        paths = [path_of(problem, grid, self.tol, last_tol=last_tol) for problem in problems]
        dtype = problems[0].X.dtype
        coefs = np.stack([path.coefs.toarray() for path in paths], axis=1).astype(dtype, copy=False)
        intercepts = np.stack([path.intercepts for path in paths], axis=1).astype(dtype, copy=False)
        return coefs, intercepts, np.concatenate([path.violations for path in paths])


def _is_number(cv: Any) -> bool:
    return cv is None or isinstance(cv, Integral)


@method(
    tasks=["classification"],
    when="A sparse linear classifier, whose penalty cross-validation should choose. The choice is made on the "
    "rows it is given, so evaluate it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One path in each fold: O(n p) a pass, few passes at each of the penalties.",
    paper="l1-comparison",
    examples=lambda: [L1PathClassifierCV(n_alphas=4, cv=2)],
    aliases=["lasso", "elastic net", "LassoCV"],
)
class L1PathClassifierCV(OneVsRestProbabilities, LinearClassifierMixin, ClassifierMixin, _L1PathCV):
    """Sparse logistic regression or squared-hinge machine with the penalty chosen by cross-validation.

    Parameters
    ----------
    loss : {"log", "squared_hinge"}, default="log"
        Loss of the predictions.
    n_alphas : int, default=50
        Penalties to try, in geometric order from the one at which the first column enters.
    eps : float, default=1e-2
        Weakest penalty over strongest.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, above 0 and at most 1; the rest are squares (elastic net).
    cv : int, cross-validation generator or iterable, default=5
        Folds; with a number, stratified, and along ``groups`` where they are given.
    scoring : str, callable or None, default=None
        What is compared; None for the log loss with "log", and for accuracy with "squared_hinge".
    rule : {"one_se", "best"}, default="one_se"
        The strongest penalty whose mean score is within one standard error of the best, or the best itself.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-3
        As in :func:`~fewer.learn.l1_path`; the chosen model is fit to a thousandth of it.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the fits, as in scikit-learn; "balanced" counts the rows that a fold learns from.
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
    Cs_ : ndarray of shape (n_alphas,)
        All that were tried, increasing.
    scores_ : ndarray of shape (n_folds, n_alphas)
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

    Notes
    -----
    With an intercept, offsets of the columns change nothing, and neither does one factor for the whole table while
    ``l1_ratio`` is 1: the grid of penalties follows the table. Factors that differ between columns do change the model,
    for the columns share one penalty.

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
    >>> model = L1PathClassifierCV(n_alphas=20, eps=1e-3).fit(scale(X), y)
    >>> model.C_ <= model.C_best_, len(model.support_) < 20
    (True, True)
    """

    _parameter_constraints = {
        "loss": [StrOptions({"log", "squared_hinge"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **_SHARED_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="log",
        *,
        n_alphas=50,
        eps=1e-2,
        l1_ratio=1.0,
        cv=5,
        scoring=None,
        rule="one_se",
        fit_intercept=True,
        tol=1e-3,
        class_weight=None,
        n_jobs=None,
    ):
        self.loss = loss
        self.class_weight = class_weight
        self.n_alphas = n_alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    def _fit(self, X, y, rows, groups, params):
        present = slice(None) if rows is None else rows > 0
        self.classes_, _ = encoded_classes(y[present], type(self).__name__)
        grid, chosen, best, self.coef_, self.intercept_ = self._fitted_on(
            X, y, one_vs_rest_targets(y, self.classes_), self.loss, rows, groups, params, stratify=True
        )
        weights = self._weights_of(y, rows)
        self.Cs_ = grid / (X.shape[0] if weights is None else weights.sum())
        self.C_, self.C_best_ = float(self.Cs_[chosen]), float(self.Cs_[best])
        self.support_ = np.flatnonzero(self.coef_.any(axis=0))

    def _weights_of(self, y, sample_weight):
        return row_weights(y, y, sample_weight, self.class_weight)

    def _scoring_or_default(self):
        return self.scoring or ("neg_log_loss" if self.loss == "log" else "accuracy")

    def _scored(self, coefs, intercepts, X, y, asked):
        model = L1LinearClassifier(self.loss)
        model.classes_, model.n_features_in_ = self.classes_, X.shape[1]
        scoring = self._scoring_or_default()
        scorer = check_scoring(clone(model), scoring)
        plain = scoring == "neg_log_loss" and not asked
        scores = []
        for model.coef_, model.intercept_ in zip(coefs, intercepts, strict=True):
            scores.append(-_log_loss(model, X, y) if plain else scorer(model, X, y, **asked))
        return scores

    @property
    def _penalties(self):
        return self.Cs_, self.C_, self.C_best_, "C: weight of the loss"


def _log_loss(model, X, y) -> float:
    """Mean log loss; a class that a fold lacks does not matter, as it would to scikit-learn's function."""
    probabilities = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.maximum(probabilities, np.finfo(float).tiny)).mean())


def _refuse_folds_without_a_class(folds, y: np.ndarray, sample_weight: np.ndarray | None, who: str) -> None:
    """No model can be learnt for a class that a fold holds out whole."""
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
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


@method(
    tasks=["regression"],
    when="A sparse linear regression, whose penalty cross-validation should choose. The choice is made on the "
    "rows it is given, so evaluate it from outside: in a pipeline, by NestedEvaluation or in a study.",
    cost="One path in each fold: O(n p) a pass, few passes at each of the penalties.",
    paper="l1-comparison",
    examples=lambda: [L1PathRegressorCV(n_alphas=4, cv=2)],
    aliases=["lasso", "elastic net", "LassoCV"],
)
class L1PathRegressorCV(RegressorMixin, _L1PathCV, LinearModel):
    """The Lasso with the penalty chosen by cross-validation.

    Parameters
    ----------
    n_alphas : int, default=50
        Penalties to try, in geometric order from the one at which the first column enters.
    eps : float, default=1e-2
        Weakest penalty over strongest.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, above 0 and at most 1; the rest are squares (elastic net).
    cv : int, cross-validation generator or iterable, default=5
        Folds; a number makes them along ``groups`` where they are given.
    scoring : str, callable or None, default=None
        What is compared; None for the mean squared error.
    rule : {"one_se", "best"}, default="one_se"
        The strongest penalty whose mean score is within one standard error of the best, or the best itself.
    fit_intercept : bool, default=True
        Whether to add a constant, which is not penalised.
    tol : float, default=1e-3
        As in :func:`~fewer.learn.l1_path`; the chosen model is fit to a thousandth of it.
    n_jobs : int or None, default=None
        Folds at the same time, in threads.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen, on the scale of :class:`~fewer.learn.L1LinearRegressor`.
    alpha_best_ : float
        The one with the best mean score.
    alphas_ : ndarray of shape (n_alphas,)
        All that were tried, decreasing.
    scores_ : ndarray of shape (n_folds, n_alphas)
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

    Notes
    -----
    With an intercept, offsets of the columns change nothing, and neither does one factor for the whole table while
    ``l1_ratio`` is 1: the grid of penalties follows the table. Factors that differ between columns do change the model,
    for the columns share one penalty.

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
    _accepted = {**_L1PathCV._accepted, "y_numeric": True, "ensure_min_samples": 2}

    def __init__(
        self,
        *,
        n_alphas=50,
        eps=1e-2,
        l1_ratio=1.0,
        cv=5,
        scoring=None,
        rule="one_se",
        fit_intercept=True,
        tol=1e-3,
        n_jobs=None,
    ):
        self.n_alphas = n_alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    def _fit(self, X, y, rows, groups, params):
        grid, chosen, best, coefs, intercepts = self._fitted_on(
            X, y, [np.asarray(y, dtype=np.float64)], "squared", rows, groups, params, stratify=False
        )
        self.coef_, self.intercept_ = coefs[0], float(intercepts[0])
        self.alphas_ = 1 / grid
        self.alpha_, self.alpha_best_ = float(self.alphas_[chosen]), float(self.alphas_[best])
        self.support_ = np.flatnonzero(self.coef_)

    def _scoring_or_default(self):
        return self.scoring or "neg_mean_squared_error"

    def _scored(self, coefs, intercepts, X, y, asked):
        model = L1LinearRegressor()
        model.n_features_in_ = X.shape[1]
        scorer = check_scoring(clone(model), self._scoring_or_default())
        scores = []
        for coef, intercept in zip(coefs, intercepts, strict=True):
            model.coef_, model.intercept_ = coef[0], float(intercept[0])
            scores.append(scorer(model, X, y, **asked))
        return scores

    @property
    def _penalties(self):
        return self.alphas_, self.alpha_, self.alpha_best_, "alpha: strength of the penalty"
