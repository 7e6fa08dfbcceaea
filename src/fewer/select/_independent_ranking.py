"""Every column by itself: score them one by one and keep the best (the naive baseline).

``J(x_1), ..., J(x_p)``, and the M highest. Cheap, and blind to columns that repeat each other or are only useful
together.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fewer.catalogue import method
from fewer.select._ranking import places
from fewer.select.scores import fisher_score, single_column_score

SCORES: dict[str, Callable[..., np.ndarray]] = {"fisher": fisher_score}


@method(
    tasks=["classification"],
    when="As the baseline that any search has to beat, or with so many columns that only a glance at each is possible. "
    "It keeps columns that repeat each other, and drops those that are useful only together.",
    cost="O(n p) for the Fisher score; with an estimator, p cross-validations on one column each.",
    paper="slides",
)
class IndependentRanking(SelectorMixin, BaseEstimator):
    """Score every column by itself, and keep the best.

    Parameters
    ----------
    score_func : "fisher", estimator or callable, default="fisher"
        The Fisher score; the cross-validated score of an estimator that sees one column only; or a function
        ``(X, y) -> scores`` with one number for each column, higher for better.
    n_features_to_select : int, default=10
        Columns to keep; all of them if the table has no more.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``score_func`` is an estimator.
    scoring : str, callable or None, default=None
        What the folds are scored by, when ``score_func`` is an estimator; its own score by default.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each column.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best; of columns with the same score, the one with the lowest index comes first.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : Looks for columns that are good together.

    References
    ----------
    .. [1] Guyon, I. and Elisseeff, A. (2003). An introduction to variable and feature selection. Journal of Machine
       Learning Research 3, 1157-1182.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import IndependentRanking
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> IndependentRanking(n_features_to_select=2).fit(X, y).ranking_
    array([1, 2, 3, 4])
    """

    _parameter_constraints = {
        "score_func": [StrOptions(set(SCORES)), HasMethods(["fit"]), callable],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", StrOptions({"loo"})],
        "scoring": [str, callable, None],
    }

    def __init__(self, score_func="fisher", *, n_features_to_select=10, cv=5, scoring=None):
        self.score_func = score_func
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.scoring = scoring

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Score and rank the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validate_data(self, X, y)
        if self.score_func == "fisher":
            check_classification_targets(y)
            if len(np.unique(y)) < 2:
                raise ValueError("y has one class only, so no column can tell classes apart; at least two are needed.")
        scores = np.asarray(self._score_function()(X, y), dtype=float)
        if scores.shape != (X.shape[1],) or np.isnan(scores).any():
            raise ValueError(
                f"score_func must give a number for each of the {X.shape[1]} columns, and gave {scores!r}."
            )
        self.scores_ = scores
        self.ranking_ = places(scores)
        return self

    def _score_function(self) -> Callable[[Any, Any], np.ndarray]:
        if isinstance(self.score_func, str):
            return SCORES[self.score_func]
        if hasattr(self.score_func, "fit"):
            return partial(single_column_score, estimator=self.score_func, cv=self.cv, scoring=self.scoring)
        return self.score_func

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ <= self.n_features_to_select

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if hasattr(self.score_func, "fit"):
            tags.target_tags.required = get_tags(self.score_func).target_tags.required
        return tags
