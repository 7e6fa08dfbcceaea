"""Every subset of a size, or of any size: ``argmax_Y J(Y)`` without a short cut.

There are ``C(p, M)`` subsets of M of p columns and ``2^p - 1`` of any size, so this is for few columns, and for finding
out how much a sequential search misses.
"""

from math import comb
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fewer.catalogue import method
from fewer.select.objectives._nearest_neighbour import NearestNeighbourObjective
from fewer.select.objectives._objective import Subset, SubsetScorer
from fewer.select.searches._sequential_search import as_objective, objective_tags, validated


def best_subset(scorer: SubsetScorer, size: int, best_with: np.ndarray) -> tuple[Subset, float]:
    """The subset of this size with the highest objective; of equals the first in alphabetical order of indices.

    ``best_with``, the highest objective seen so far of any subset with a column, is kept up to date. Subsets are walked
    through like the leaves of a tree: all that share their first ``size - 1`` columns are candidates
    of one step, which is what incremental objectives are fast at.
    """
    n_columns = len(best_with)
    best: tuple[Subset, float] = ((), -np.inf)

    def walk(first: int) -> None:
        nonlocal best
        missing = size - len(scorer.subset)
        if missing == 1:
            candidates = np.arange(first, n_columns)
            scores = np.asarray(scorer.score_added(candidates), dtype=float)
            if np.isnan(scores).any():
                unclear = (*scorer.subset, int(candidates[np.isnan(scores)][0]))
                raise ValueError(
                    f"The objective is not a number for columns {unclear}; subsets need numbers to compare."
                )
            leader = int(np.argmax(scores))
            best_with[candidates] = np.maximum(best_with[candidates], scores)
            best_with[scorer.subset] = np.maximum(best_with[scorer.subset], scores[leader])
            if scores[leader] > best[1]:
                best = ((*scorer.subset, int(candidates[leader])), float(scores[leader]))
            return
        for column in range(first, n_columns - missing + 1):
            scorer.add(column)
            walk(column + 1)
            scorer.remove(column)

    walk(0)
    return best


@method(
    tasks=["classification", "regression"],
    when="There are few columns, say up to 20, and it matters to have the best subset and not just a good one; or to "
    "see how much a sequential search misses. The winning score is optimistic, the more so the more subsets compete.",
    cost="O(p! / (k! (p - k)!)) evaluations of the objective for k of p columns, O(2^p) for all sizes.",
    paper="slides",
    examples=lambda: [ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=2)],
)
class ExhaustiveSearch(CallbackSupportMixin, SelectorMixin, BaseEstimator):
    """Score every subset of the columns, and keep the best.

    Parameters
    ----------
    objective : estimator, objective or callable
        What to maximise, as in :class:`SequentialSearch`.
    n_features_to_select : int or "best", default="best"
        Columns to keep; "best" tries all sizes, and keeps the subset with the highest objective (of equals the
        smallest).
    limit : int, default=100_000
        Refuse to start when there are more subsets than this.
    cv : int, "loo", splitter or iterable, default=5
        Folds, when ``objective`` is an estimator.
    scoring : str, callable or None, default=None
        What the folds are scored by, when ``objective`` is an estimator; its own score by default.
    n_jobs : int or None, default=None
        How many subsets are tried side by side. It never changes the result.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are dealt into folds, when ``cv`` is a number.

    Attributes
    ----------
    subset_path_ : dict of int to tuple of int
        The best subset of every size that was tried.
    path_scores_ : dict of int to float
        Their objectives.
    n_evaluations_ : int
        How many subsets were scored.
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        Highest objective of any subset that holds the column.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: the columns kept come first, and each group stands in the order of ``scores_``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SequentialSearch : Far fewer evaluations, and often the same subset.

    References
    ----------
    .. [1] Cover, T. M. and Van Campenhout, J. M. (1977). On the possible orderings in the measurement selection
       problem. IEEE Transactions on Systems, Man, and Cybernetics 7, 657-661.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> from fewer.select import ExhaustiveSearch, NearestNeighbourObjective
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> search = ExhaustiveSearch(NearestNeighbourObjective(), n_features_to_select=2).fit(X, y)
    >>> search.subset_path_[2], search.n_evaluations_
    ((0, 3), 6)
    """

    _parameter_constraints = {
        "objective": [HasMethods(["start"]), HasMethods(["fit"]), callable],
        "n_features_to_select": [Interval(Integral, 1, None, closed="left"), StrOptions({"best"})],
        "limit": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", StrOptions({"loo"})],
        "scoring": [str, callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        objective,
        *,
        n_features_to_select="best",
        limit=100_000,
        cv=5,
        scoring=None,
        n_jobs=None,
        random_state=None,
    ):
        self.objective = objective
        self.n_features_to_select = n_features_to_select
        self.limit = limit
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Score all subsets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse, or with holes, if the objective takes that.
        y : array-like of shape (n_samples,), default=None
            Target, as the objective needs it.

        Returns
        -------
        self : object
            The fitted selector.
        """
        objective = as_objective(self.objective, cv=self.cv, scoring=self.scoring)
        X, y = validated(self, objective, X, y)
        n_columns = X.shape[1]
        sizes = self._sizes(n_columns)
        fitting = self._init_callback_context(max_subtasks=len(sizes))
        fitting.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self.subset_path_, self.path_scores_ = {}, {}
        self.scores_ = np.full(n_columns, -np.inf)
        with objective.start(X, y, n_jobs=self.n_jobs, random_state=self.random_state) as scorer:
            for size in sizes:
                step = fitting.subcontext(task_name=f"subsets-of-{size}")
                step.call_on_fit_task_begin(estimator=self, X=X, y=y)
                self.subset_path_[size], self.path_scores_[size] = best_subset(scorer, size, self.scores_)
                if step.call_on_fit_task_end(estimator=self, X=X, y=y):
                    break
        self.n_evaluations_ = sum(comb(n_columns, size) for size in self.subset_path_)
        self.n_features_to_select_ = min(self.path_scores_, key=lambda size: (-self.path_scores_[size], size))
        kept = self._get_support_mask()
        self.ranking_ = np.empty(n_columns, dtype=int)
        self.ranking_[np.lexsort((np.arange(n_columns), -self.scores_, ~kept))] = np.arange(1, n_columns + 1)
        fitting.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _sizes(self, n_columns: int) -> list[int]:
        """The sizes to try, if there are not too many subsets."""
        size = self.n_features_to_select
        if size != "best" and size > n_columns:
            raise ValueError(
                f"n_features_to_select={size} columns cannot be kept of a table with n_features={n_columns}."
            )
        sizes = list(range(1, n_columns + 1)) if size == "best" else [size]
        count = 2**n_columns - 1 if size == "best" else comb(n_columns, size)
        if count > self.limit:
            what = "of any size" if size == "best" else f"of {size} columns"
            raise ValueError(
                f"A table with n_features={n_columns} has {_in_words(count)} subsets {what}, more than "
                f"limit={self.limit:,}. Choose fewer columns beforehand, use SequentialSearch, or raise the limit."
            )
        return sizes

    def _get_support_mask(self):
        check_is_fitted(self, "n_features_to_select_")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[list(self.subset_path_[self.n_features_to_select_])] = True
        return mask

    def __sklearn_tags__(self):
        return objective_tags(
            super().__sklearn_tags__(), as_objective(self.objective, cv=self.cv, scoring=self.scoring)
        )


def _in_words(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"{float(count):.2e}" if count < 10**300 else "more than 1e300"
