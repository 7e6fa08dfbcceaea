"""The rules that turn scores into a choice: the best k, a fraction, or all that pass a test.

Scores and rules combine freely: the score is a function ``(X, y) -> scores``, or the cross-validated score of an
estimator that sees one column only; every rule works for one list of columns, or for one list for each class, whose
union is kept.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context, warn_caller
from fewer.catalogue import method
from fewer.select._selector import (
    Selector,
    class_orders,
    class_ranks,
    n_among_first,
    ranks,
    ranks_by_best_class,
    ranks_of_order,
)
from fewer.select.scores import Score, named_score, score_card, score_names, single_column_score

CORRECTIONS = ("fdr", "holm", "bonferroni")
RULES = ("n_features_to_select", "fraction", "significance_level")


def over_all_classes(p_values: np.ndarray) -> np.ndarray:
    """One p-value for each column, if there is one for each class: the smallest, times their number (Bonferroni)."""
    if p_values.ndim == 1:
        return p_values
    return np.minimum(p_values.min(axis=0) * len(p_values), 1.0)


def scores_and_p_values(given: Any, n_columns: int) -> tuple[np.ndarray, np.ndarray | None]:
    """What a score function gave, as arrays; a column without a number is the worst."""
    raw_scores, raw_p_values = given if isinstance(given, tuple) else (given, None)
    scores = np.asarray(raw_scores)
    scores = scores.astype(float if scores.dtype.kind != "f" else scores.dtype)
    if scores.ndim not in (1, 2) or scores.shape[-1] != n_columns:
        raise ValueError(
            f"score_func must give a number for each of the {n_columns} columns (or a row of them for each class), and "
            f"gave an array of shape {scores.shape}."
        )
    scores = np.where(np.isnan(scores), -np.inf, scores)
    if raw_p_values is None:
        return scores, None
    p_values = np.asarray(raw_p_values, dtype=float)
    return scores, np.where(np.isnan(p_values), 1.0, p_values)


def one_versus_rest(function: Callable[..., Any], X: Any, codes: np.ndarray) -> Any:
    """The scores of each class against all others, a row for each class."""
    given = [function(X, (codes == code).astype(int)) for code in range(codes.max() + 1)]
    if isinstance(given[0], tuple):
        return tuple(np.stack(part) for part in zip(*given, strict=True))
    return np.stack(given)


@method(
    tasks=["classification", "regression", "unsupervised"],
    when="A quick first cut of a wide table, a baseline for anything slower, or a list with a bound on false "
    "discoveries. Each column is judged by itself: columns that repeat each other are all kept, and those that are "
    "useful only together are missed.",
    cost="That of the score, O(n p) for most, and O(p log p) to sort.",
    aliases=["SelectKBest", "filter"],
)
class SelectTop(Selector):
    """Keep the columns with the best scores: the first k, a fraction, or all that pass a test.

    Give one of ``n_features_to_select``, ``fraction`` and ``significance_level``; without any, ten columns are kept.

    Parameters
    ----------
    score_func : str, callable or estimator, default="fisher"
        Name of a score (``fewer.select.score_names()`` lists them), or a function ``(X, y)`` that gives a number for
        each column, higher for better; or a row of numbers for each class; or either with p-values, as scikit-learn's
        score functions do. Options of a score go in with ``functools.partial``. An estimator is cross-validated on
        each column by itself.
    n_features_to_select : int or None, default=None
        Columns to keep; all of them, with a warning, if the table has fewer.
    fraction : float or None, default=None
        Share of the columns to keep, at least one.
    significance_level : float or None, default=None
        Keep the columns whose p-value, corrected for the number of columns, is at most this. If there is none, the best
        one is kept, with a warning.
    correction : {"fdr", "holm", "bonferroni"} or None, default="fdr"
        What ``significance_level`` bounds: the false discovery rate, which is the expected share of useless columns
        among those kept ("fdr", by Benjamini and Hochberg); the probability of keeping any useless column ("holm", or
        "bonferroni", which keeps fewer); or the p-value of each column by itself (None).
    per_class : bool, default=False
        Apply the rule to each class, against all others, and keep the union. Scores that are not for each class by
        themselves are computed for one class against the rest.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``score_func`` is an estimator.
    scoring : str, callable or None, default=None
        Score of the folds, when ``score_func`` is an estimator; its own score by default.
    random_state : int, RandomState instance or None, default=None
        For random scores, and to shuffle the folds of an estimator when ``cv`` is a number.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of each column; the best over the classes where there is one for each.
    class_scores_ : ndarray of shape (n_classes, n_features) or None
        Scores for each class, where there are.
    pvalues_ : ndarray of shape (n_features,) or None
        P-values, where the score has them; the smallest over the classes, times the number of classes.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best; of equals, the one with the lowest index comes first. With
        ``significance_level`` by p-value; with ``per_class`` the best column of every class, then the second best, ...
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : Looks for columns that are good together.

    References
    ----------
    .. [1] Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful
       approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300.
    .. [2] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
       Statistics 6, 65-70.
    .. [3] Guyon, I. and Elisseeff, A. (2003). An introduction to variable and feature selection. Journal of Machine
       Learning Research 3, 1157-1182.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import SelectTop
    >>> wine = load("wine")
    >>> select = SelectTop("fisher", n_features_to_select=3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'od280/od315_of_diluted_wines', 'proline']

    Relief with ten neighbours finds the two columns whose parity is the class:

    >>> from functools import partial
    >>> import numpy as np
    >>> from fewer.select import relief_score
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 5))
    >>> relief = partial(relief_score, n_neighbors=10)
    >>> SelectTop(relief, n_features_to_select=2, random_state=0).fit(X, X[:, 1] ^ X[:, 3]).get_support()
    array([False,  True, False,  True, False])

    The accuracy of a classifier that sees one column only:

    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> SelectTop(LinearDiscriminantAnalysis(), n_features_to_select=1).fit(wine.X, wine.y).scores_.max().round(2)
    np.float64(0.8)
    """

    _parameter_constraints = {
        "score_func": [str, callable, HasMethods(["fit"])],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), None],
        "fraction": [Interval(Real, 0, 1, closed="right"), None],
        "significance_level": [Interval(Real, 0, 1, closed="both"), None],
        "correction": [StrOptions(set(CORRECTIONS)), None],
        "per_class": ["boolean"],
        "cv": ["cv_object", StrOptions({"loo"})],
        "scoring": [str, callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        score_func="fisher",
        *,
        n_features_to_select=None,
        fraction=None,
        significance_level=None,
        correction="fdr",
        per_class=False,
        cv=5,
        scoring=None,
        random_state=None,
    ):
        self.score_func = score_func
        self.n_features_to_select = n_features_to_select
        self.fraction = fraction
        self.significance_level = significance_level
        self.correction = correction
        self.per_class = per_class
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Score, rank and choose the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse if the score takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the score needs it.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, for scores that take them; a row of weight 2 counts as two rows.

        Returns
        -------
        self : object
            The fitted selector.
        """
        self._check_one_rule()
        function, card = self._score_function()
        X, y = self._clean(X, y, card)
        X, y, weights = self._weighted(X, y, sample_weight)
        if sample_weight is not None and y is not None and y.dtype.kind in "iu":
            y = encoded_classes(y, "SelectTop").codes  # rows of weight zero may have been all of a class
        if weights is not None:
            if not self._takes_weights:
                able = ", ".join(name for name in score_names() if SelectTop(name)._takes_weights)
                raise ValueError(f"This score takes no sample_weight; scores that do are {able}.")
            function = partial(function, sample_weight=weights)
        given = one_versus_rest(function, X, y) if self._in_turn_by_classes(card) else function(X, y)
        scores, p_values = scores_and_p_values(given, X.shape[1])
        if self.per_class and scores.ndim == 1:  # of two classes, each is the rest of the other
            scores = np.stack([scores, scores])
            p_values = None if p_values is None else np.stack([p_values, p_values])
        self._choose(scores, p_values)
        return self

    @property
    def _takes_weights(self) -> bool:
        """Whether the score uses weights of the rows."""
        card = None if self._by_estimator else self._score_function()[1]
        return card is not None and card.weights

    @property
    def _by_estimator(self) -> bool:
        return hasattr(self.score_func, "fit")

    def _check_one_rule(self) -> None:
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"Give one of {', '.join(RULES)}; {' and '.join(given)} were given.")

    def _score_function(self) -> tuple[Callable[..., Any], Score | None]:
        """A function that takes the table as validated here, and the card of the score if it has one."""
        if self._by_estimator:
            options = {"estimator": self.score_func, "cv": self.cv, "scoring": self.scoring}
            return partial(single_column_score, **options, random_state=self.random_state), None
        function = named_score(self.score_func) if isinstance(self.score_func, str) else self.score_func
        card = score_card(function)
        if card is None:
            return function, None
        options = function.keywords if isinstance(function, partial) else {}
        if card.random:
            options = {"random_state": self.random_state} | options
        return partial(card.function, **options), card

    def _clean(self, X: Any, y: Any, card: Score | None) -> tuple[Any, Any]:
        """Table and target as the score wants them."""
        sparse: Any = "csc" if card is not None else ("csr", "csc")
        sparse = sparse if get_tags(self).input_tags.sparse else False
        if y is None or (card is not None and not card.needs_y):
            X = self._validated(X, "no_validation", accept_sparse=sparse)
        else:
            X, y = self._validated(X, y, accept_sparse=sparse)
        if card is not None:
            X, y = card.check_signs(X), card.clean_target(y)
        if self._by_estimator and is_classifier(self.score_func):
            encoded_classes(y, f"SelectTop by {type(self.score_func).__name__}")
        if self.per_class:
            if y is None:
                raise ValueError(self._why_not_per_class(card))
            y = encoded_classes(y, "per_class=True").codes
        return X, y

    @staticmethod
    def _why_not_per_class(card: Score | None) -> str:
        if card is not None and not card.needs_y:
            return (
                f"per_class=True asks for columns for each class, and the score {card.name!r} does not look at classes."
            )
        return "per_class=True asks for columns for each class: it requires y to be passed, but the target y is None."

    def _in_turn_by_classes(self, card: Score | None) -> bool:
        return self.per_class and not (card is not None and card.for_each_class)

    def _choose(self, scores: np.ndarray, p_values: np.ndarray | None) -> None:
        """Set scores, ranks and how many are kept."""
        self.class_scores_ = scores if scores.ndim == 2 else None
        self.scores_ = scores if scores.ndim == 1 else scores.max(axis=0)
        self.pvalues_ = None if p_values is None else over_all_classes(p_values)
        if self.significance_level is None:
            self._choose_by_number(scores)
        elif p_values is None:
            raise ValueError(
                f"significance_level={self.significance_level} needs p-values, and this score has none; take a score "
                f"with p-values ({', '.join(score_names(p_values=True))}), or give n_features_to_select or fraction."
            )
        elif self.per_class:
            self._choose_by_test(adjusted_p_values(p_values, self.correction).min(axis=0), over_all_classes(p_values))
        else:
            p_values = over_all_classes(p_values)
            self._choose_by_test(adjusted_p_values(p_values, self.correction), p_values)

    def _choose_by_number(self, scores: np.ndarray) -> None:
        n_columns = scores.shape[-1]
        k = min(10, n_columns)
        if self.fraction is not None:
            k = max(1, round(self.fraction * n_columns))
        elif self.n_features_to_select is not None:
            k = self._number_to_keep(n_columns)
        if k < n_columns and (scores == scores.flat[0]).all():
            warn_caller(
                f"All {n_columns} columns have the same score, {scores.flat[0]:.3g}, so the first ones are kept: the "
                "columns are constant, or not of the kind that the score is for."
            )
        if self.per_class:
            self.ranking_ = ranks_by_best_class(class_ranks(class_orders(scores)), scores)
            self.n_features_to_select_ = n_among_first(scores, k)
        else:
            self.ranking_ = ranks(self.scores_)
            self.n_features_to_select_ = k

    def _choose_by_test(self, adjusted: np.ndarray, p_values: np.ndarray) -> None:
        self.ranking_ = ranks_of_order(np.lexsort((np.arange(len(adjusted)), -self.scores_, p_values, adjusted)))
        n_passed = int((adjusted <= self.significance_level).sum())
        if n_passed == 0:
            warn_caller(
                f"No column passes significance_level={self.significance_level} (smallest corrected p-value: "
                f"{adjusted.min():.3g}); the best one is kept."
            )
        self.n_features_to_select_ = max(n_passed, 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self._by_estimator:
            of_estimator = get_tags(self.score_func)
            tags.target_tags.required = of_estimator.target_tags.required
            tags.input_tags.sparse = of_estimator.input_tags.sparse
            return tags
        try:
            _, card = self._score_function()
        except ValueError:
            card = None
        tags.target_tags.required = card.needs_y if card is not None else False
        tags.input_tags.sparse = card.sparse if card is not None else True
        tags.input_tags.positive_only = card.not_negative if card is not None else False
        return tags


def adjusted_p_values(p_values: np.ndarray, correction: str | None) -> np.ndarray:
    """P-values that account for the number of columns, along the last axis.

    "fdr" bounds the expected share of useless columns among those kept (Benjamini and Hochberg); "holm", and less
    sharply "bonferroni", the probability that any useless one is kept; None takes them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> adjusted_p_values(np.array([0.01, 0.02, 0.5]), "holm")
    array([0.03, 0.04, 0.5 ])
    """
    if correction is None:
        return p_values
    if correction == "fdr":
        return false_discovery_control(p_values, axis=-1, method="bh")
    m = p_values.shape[-1]
    if correction == "bonferroni":
        return np.minimum(p_values * m, 1.0)
    order = np.argsort(p_values, axis=-1)
    stepped = np.take_along_axis(p_values, order, axis=-1) * np.arange(m, 0, -1)
    stepped = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted
