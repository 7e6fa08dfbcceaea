"""Selection, its unbiased evaluation and the final model in one estimator. For the estimates see ``cross_index``."""

from collections.abc import Callable
from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer._estimators import HasMethods, Interval, StrOptions, check_y, fit_context, validated
from fewer.catalogue import method
from fewer.evaluate.curves._fold_scores import Job, Selected, columns_of, fit_selector, fitted_learner
from fewer.evaluate.curves._selection_curve import checked_sizes, curve_of, folds_for, scored_folds
from fewer.evaluate.curves._subset_path import inner_scores
from fewer.evaluate.protocol._selection import check_selector
from fewer.evaluate.protocol._table import check_complete, check_suits
from fewer.select import SelectTop


@method(
    tasks=["classification", "regression", "evaluation"],
    when="You want one estimator that selects, estimates the benefit without bias, and predicts with the columns kept.",
    cost="O(R K + 1) fits of the selector for R repeats of K folds, whatever the number of sizes",
    paper="less-biased",
    examples=lambda: [NestedSelectionCV(SelectTop(), RidgeClassifier(), cv=2)],
    depends_on_scale="the estimator and the selector inside may do so; this also goes for the origin",
)
class NestedSelectionCV(MetaEstimatorMixin, BaseEstimator):
    """Choose the number of columns by nested cross-validation, with an unbiased estimate of the benefit.

    The selector runs without each outer fold in turn; the subsets of all sizes are scored on the fold; cross-indexing
    estimates the best size and its benefit. Then the selector runs on all rows, and the estimator is fitted on its
    subset of that size.

    Parameters
    ----------
    selector : selector, or pipeline that ends with one
        As for :func:`selection_curve`. Its own cross-validation, if it has one, is the inner loop.
    estimator : estimator
        Classifier, regressor or pipeline that uses the columns.
    sizes : iterable of int or None, default=None
        Numbers of columns to try, as for :func:`selection_curve`.
    cv : int, splitter or iterable, default=5
        The outer folds. A number makes shuffled folds, stratified for a classifier.
    n_repeats : int, default=1
        How often the folds are drawn anew.
    method : {"A", "B", "outer"}, default="A"
        How the size is chosen; see :func:`cross_index`.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.
    n_jobs : int or None, default=None
        Worker processes that share the folds; None for this process alone. It never changes the result.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    best_size_ : int
        Number of columns kept.
    best_subset_ : ndarray of shape (n_selected,)
        Positions of the columns kept, among those that the selector chose from.
    best_names_ : ndarray of shape (n_selected,)
        Their names, when the table has names, or steps before the selector make them.
    score_ : float
        Estimated score with the best size.
    full_score_ : float
        Score with all columns, on the same folds.
    benefit_ : float
        ``score_ - full_score_``.
    benefit_interval_ : tuple of two floats or None
        95% confidence interval of the benefit; None when ``method="outer"``.
    estimates_ : dict of str to CrossIndex
        All three estimates: "outer", "A" and "B".
    optimism_ : dict of str to float
        How much higher than A's score the largest outer mean ("outer") is and, where the selector keeps the scores that
        guided it, the largest of these ("inner").
    curve_ : SelectionCurve
        Scores of all sizes on all folds.
    scores_ : ndarray of shape (n_repeats, n_folds, n_sizes)
        The scores of ``curve_``.
    sizes_ : ndarray of shape (n_sizes,)
        Their sizes.
    fast_route_ : FastRoute
        Whether the sizes of a fold shared the closed form of the estimator (``taken``), or why it was fitted for each
        (``reason``).
    selector_ : selector
        Fitted on all rows.
    estimator_ : estimator
        Fitted on the columns kept.
    classes_ : ndarray of shape (n_classes,)
        The classes, when the estimator is a classifier.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    selection_curve : The evaluation alone, on any engine.

    Notes
    -----
    All estimates are of models trained on ``1 - 1 / n_folds`` of the rows, and so a little too low; for the benefit
    this cancels.

    References
    ----------
    .. [1] Reunanen, J. (2006). Less biased measurement of feature selection benefits. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 198-208.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import NestedSelectionCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = NestedSelectionCV(SelectKBest(), GaussianNB(), n_repeats=3, random_state=0).fit(X, y)
    >>> model.scores_.shape
    (3, 5, 13)
    >>> bool(model.score_ <= model.estimates_["outer"].score)
    True
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    # Groups are for our own folds, not for a meta-estimator around this one to hand on.
    __metadata_request__fit = {"groups": UNUSED}

    _parameter_constraints = {
        "selector": [HasMethods(["fit"])],
        "estimator": [HasMethods(["fit", "predict"])],
        "sizes": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), list, tuple],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"A", "B", "outer"})],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        selector,
        estimator,
        *,
        sizes=None,
        cv=5,
        n_repeats=1,
        method="A",
        scoring=None,
        n_jobs=None,
        random_state=None,
    ):
        self.selector = selector
        self.estimator = estimator
        self.sizes = sizes
        self.cv = cv
        self.n_repeats = n_repeats
        self.method = method
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, groups=None):
        """Evaluate the selection, select on all rows, and fit the estimator on the columns kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Target.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together in the folds.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_selector(self.selector)
        X, y = self._validated(X, y)
        repeats = folds_for(
            self.estimator,
            X,
            y,
            cv=self.cv,
            n_repeats=self.n_repeats,
            groups=groups,
            random_state=self.random_state,
        )
        job = Job(X, y, self.selector, self.estimator, checked_sizes(self.sizes), self.scoring)
        engine = None if self.n_jobs == 1 else self.n_jobs
        # A model made of half a study would not be the one asked for.
        found = scored_folds(repeats, job, engine=engine, only_all=True)
        curve = curve_of(found, repeats, learner=self.estimator, scoring=self.scoring)
        self.curve_, self.scores_, self.sizes_ = curve, curve.scores, curve.sizes
        self.fast_route_ = curve.fast_route
        self.estimates_ = {name: curve.cross_index(name) for name in ("outer", "A", "B")}
        chosen = self.estimates_[self.method]
        self.score_, self.full_score_, self.benefit_ = chosen.score, chosen.full_score, chosen.benefit
        self.benefit_interval_ = chosen.interval

        selected, table = fit_selector(self.selector, X, y)
        self._before, self.selector_ = selected.before, selected.selector
        self.best_size_ = min(int(chosen.nearest_size), selected.path.n_features)
        self.best_subset_ = selected.path.columns(self.best_size_)
        names = self._names_to_choose_from()
        if names is not None:
            self.best_names_ = names[self.best_subset_]
        elif hasattr(self, "best_names_"):
            del self.best_names_
        self.estimator_ = fitted_learner(self.estimator, table, y, self.best_subset_)
        if is_classifier(self.estimator):
            self.classes_ = np.unique(y)
        self.optimism_ = self._optimism(selected)
        return self

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        tags = get_tags(self).input_tags
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        target = np.asarray(y)
        if target.ndim == 1 and target.dtype == object:  # scikit-learn would fail to sort words and gaps
            check_complete(target)
        if hasattr(X, "columns"):  # a frame goes to the selector as it is, which may use its names and kinds
            X = validate_data(self, X, skip_check_array=True)
            y = check_y(y, multi_output=False, y_numeric=False, estimator=self)
        else:
            X, y = validated(
                self,
                X,
                y,
                accept_sparse=("csr", "csc") if tags.sparse else False,
                ensure_all_finite="allow-nan" if tags.allow_nan else True,
                ensure_min_samples=2,
            )
        if is_classifier(self.estimator):
            check_classification_targets(y)
            if len(np.unique(y)) < 2:
                raise ValueError("y has one class only, and a classifier needs two or more.")
        y = np.asarray(y)
        check_suits(y, self.estimator)
        return X, y

    def _names_to_choose_from(self) -> np.ndarray | None:
        """Names of the columns that the selector chose from; None where there are none."""
        if self._before is None:
            return getattr(self, "feature_names_in_", None)
        try:
            return np.asarray(self._before.get_feature_names_out(), dtype=object)
        except (AttributeError, ValueError):  # a step that does not name what it makes
            return None

    def _optimism(self, selected: Selected) -> dict[str, float]:
        unbiased = self.estimates_["A"].score
        optimism = {"outer": self.estimates_["outer"].score - unbiased}
        believed = inner_scores(selected.selector)
        if believed:
            optimism["inner"] = float(max(believed.values())) - unbiased
        return optimism

    def _kept(self, X: Any) -> Any:
        """The columns kept, of a table like that of fit."""
        check_is_fitted(self)
        if hasattr(X, "columns"):
            X = validate_data(self, X, skip_check_array=True, reset=False)
        else:
            tags = get_tags(self).input_tags
            X = validated(
                self,
                X,
                reset=False,
                accept_sparse=("csr", "csc") if tags.sparse else False,
                ensure_all_finite="allow-nan" if tags.allow_nan else True,
            )
        if self._before is not None:
            X = self._before.transform(X)
        return columns_of(X, self.best_subset_)

    def predict(self, X):
        """Predictions with the columns kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes or values.
        """
        kept = self._kept(X)
        return self.estimator_.predict(kept)

    @property
    def predict_proba(self):
        """Probabilities of the classes with the columns kept: call it with a table, where the estimator can."""
        return self._asked_of_the_estimator("predict_proba")

    @property
    def decision_function(self):
        """Decision values with the columns kept: call it with a table, where the estimator can."""
        return self._asked_of_the_estimator("decision_function")

    def _asked_of_the_estimator(self, name: str) -> Callable[[Any], np.ndarray]:
        """A method of the estimator that takes all columns; an ``AttributeError`` when the estimator has none."""
        getattr(self.estimator, name)

        def answer(X: Any) -> np.ndarray:
            kept = self._kept(X)
            return getattr(self.estimator_, name)(kept)

        return answer

    def score(self, X, y):
        """Score of the fitted model on other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        score : float
            By ``scoring``, or the estimator's own.
        """
        kept = self._kept(X)
        return check_scoring(self.estimator_, scoring=self.scoring)(self.estimator_, kept, y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner, chooser = get_tags(self.estimator), get_tags(self.selector)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse and chooser.input_tags.sparse
        tags.input_tags.allow_nan = _takes_missing(self.selector) and (
            _has_steps_before(self.selector) or _takes_missing(self.estimator)
        )
        tags.input_tags.positive_only = inner.input_tags.positive_only or chooser.input_tags.positive_only
        return tags


def _has_steps_before(selector: Any) -> bool:
    """Whether the selector and the estimator get what other steps made of the table."""
    return isinstance(selector, Pipeline) and len(selector.steps) > 1


def _takes_missing(estimator: Any) -> bool:
    """Whether an estimator takes missing values: a pipeline does when its first step does."""
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return bool(steps) and _takes_missing(steps[0])
    return bool(get_tags(estimator).input_tags.allow_nan)
