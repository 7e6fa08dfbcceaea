"""Every column by itself: score them one by one and keep the best (the naive baseline).

``J(x_1), ..., J(x_p)``, and the M highest. Cheap, and blind to columns that repeat each other or are only useful
together.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context
from fewer.catalogue import method
from fewer.select._selector import Selector, places
from fewer.select.scores import Score, named_score, score_card, single_column_score
from fewer.select.scores._score_agreement import best_over_classes, score_function


@method(
    tasks=["classification", "regression"],
    when="As the baseline that any search has to beat, or with so many columns that only a glance at each is possible. "
    "It keeps columns that repeat each other, and drops those that are useful only together.",
    cost="That of the score, O(n p) for Fisher's; with an estimator, p cross-validations on one column each.",
    paper="slides",
)
class IndependentRanking(Selector):
    """Score every column by itself, and keep the best.

    Parameters
    ----------
    score_func : str, estimator or callable, default="fisher"
        Name of a score (``fewer.select.score_names()`` lists them); the cross-validated score of an estimator that sees
        one column only; or a function ``(X, y) -> scores`` with one number for each column, higher for better.
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``score_func`` is an estimator.
    scoring : str, callable or None, default=None
        What the folds are scored by, when ``score_func`` is an estimator; its own score by default.
    random_state : int, RandomState instance or None, default=None
        For scores in which chance plays a part.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each column; the best over the classes where there is one for each.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best; of columns with the same score, the one with the lowest index comes first.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SelectTop : More rules: a fraction, a test, a list for each class.
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
        "score_func": [str, HasMethods(["fit"]), callable],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", StrOptions({"loo"})],
        "scoring": [str, callable, None],
        "random_state": ["random_state"],
    }

    def __init__(self, score_func="fisher", *, n_features_to_select=10, cv=5, scoring=None, random_state=None):
        self.score_func = score_func
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Score and rank the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse if the score takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the score needs it.

        Returns
        -------
        self : object
            The fitted selector.
        """
        card = self._card()
        X, y = self._clean(X, y, card)
        scores = best_over_classes(self._score(X, y))
        if scores.shape != (X.shape[1],) or np.isnan(scores).any():
            raise ValueError(
                f"score_func must give a number for each of the {X.shape[1]} columns, and gave {scores!r}."
            )
        self.scores_ = scores
        self.ranking_ = places(scores)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        return self

    def _card(self) -> Score | None:
        """The card of the score, if it has one; a name that is not known is refused."""
        return score_card(named_score(self.score_func) if isinstance(self.score_func, str) else self.score_func)

    def _known_card(self) -> Score | None:
        try:
            return self._card()
        except ValueError:  # a name that is not known; fit says so
            return None

    @property
    def _takes_sparse(self) -> bool:
        card = self._known_card()
        return card is not None and card.sparse

    def _clean(self, X: Any, y: Any, card: Score | None) -> tuple[Any, Any]:
        if card is None:
            return self._validated(X, y, dtype="numeric", ensure_min_samples=1)
        return self._validated(X, y) if card.needs_y else (self._validated(X, "no_validation"), None)

    def _score(self, X: Any, y: Any) -> Any:
        if hasattr(self.score_func, "fit"):
            if is_classifier(self.score_func):
                encoded_classes(y, f"IndependentRanking by {type(self.score_func).__name__}")
            learner = {"estimator": self.score_func, "cv": self.cv, "scoring": self.scoring}
            return single_column_score(X, y, random_state=self.random_state, **learner)
        return score_function(self.score_func, self.random_state)(X, y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.score_func, "fit"):
            tags.target_tags.required = get_tags(self.score_func).target_tags.required
            return tags
        card = self._known_card()
        if card is not None:
            tags.target_tags.required = card.needs_y
            tags.input_tags.positive_only = card.not_negative
        return tags
