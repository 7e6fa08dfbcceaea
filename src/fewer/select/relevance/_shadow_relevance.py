"""Columns with higher importance than their shadows, shuffled copies that cannot be relevant.

Importances come from a forest on binned columns, or from any estimator that has them. In each round a column scores a
hit when its importance exceeds a percentile (by default the largest) of the shadows' importances. A column that is no
better than the best shadow would hit in at most half of the rounds, so the number of hits in r rounds is compared with
a binomial B(r, 1/2): far above, the column is confirmed; far below, it is rejected and takes part no longer.
"""

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import stats
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import holds_numbers
from fewer.select.relevance._binned_trees import binned_columns, tree_importances

N_BINS = 64
"""Bins of a column: a cut between two of 64 is as good as any, in trees of some levels."""
MIN_SHADOWS = 5
"""Shadows that a column has to beat at least, when few columns are left."""


def shadow_sources(n_active: int) -> np.ndarray:
    """Which active column each shadow is a copy of: every one once, or more often when they are few."""
    return np.resize(np.arange(n_active), max(n_active, MIN_SHADOWS))


class ForestImportances:
    """Mean decrease of impurity in a forest on binned columns; one call for each round."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        n_estimators: int,
        max_features: float | str,
        max_depth: int | None,
        min_samples_leaf: int,
        n_jobs: int | None,
        random_state: np.random.RandomState,
        weights: np.ndarray | None = None,
    ):
        """``y`` holds integers from 0 when there are classes, and numbers when ``n_classes`` is 0."""
        self.bins = binned_columns(X, N_BINS)
        self.weights = np.ones(len(y)) if weights is None else weights / weights.mean()
        centred = np.asarray(y, dtype=float) - np.average(y, weights=weights)
        self.target = centred / np.abs(centred).max()
        self.codes = y if n_classes > 2 else np.zeros(len(y), dtype=np.int64)
        self.n_classes = n_classes
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = np.iinfo(np.int64).max if max_depth is None else max_depth
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __call__(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.random_state.randint(np.iinfo(np.int32).max))
        shadows = rng.permuted(self.bins[active[shadow_sources(len(active))]], axis=1)
        seeds = rng.integers(np.iinfo(np.int64).max, size=self.n_estimators).astype(np.uint64)
        n_columns = len(active) + len(shadows)
        n_draws = int(np.sqrt(n_columns)) if self.max_features == "sqrt" else int(self.max_features * n_columns)

        def total(some_seeds: np.ndarray) -> np.ndarray:
            importances = np.zeros(n_columns)
            for seed in some_seeds:
                importances += tree_importances(
                    self.bins,
                    shadows,
                    active,
                    self.target,
                    self.codes,
                    self.weights,
                    self.n_classes,
                    max(n_draws, 1),
                    self.max_depth,
                    self.min_samples_leaf,
                    seed,
                )
            return importances

        # Always the same shares, whatever the number of threads: sums in another order would differ in the last digit.
        shares = np.array_split(seeds, min(8, len(seeds)))
        if effective_n_jobs(self.n_jobs) == 1:
            totals = [total(share) for share in shares]
        else:
            totals = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(total)(share) for share in shares)
        importances = np.sum(totals, axis=0) / self.n_estimators
        return importances[: len(active)], importances[len(active) :]


class EstimatorImportances:
    """``feature_importances_`` (or sizes of ``coef_``) of any estimator, fitted anew on columns and shadows."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        estimator: Any,
        random_state: np.random.RandomState,
        weights: np.ndarray | None = None,
    ):
        self.X = X
        self.y = y
        self.given = {} if weights is None else {"sample_weight": weights}
        self.estimator = estimator
        self.random_state = random_state

    def __call__(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = self.X[:, active]
        rng = np.random.default_rng(self.random_state.randint(np.iinfo(np.int32).max))
        shadows = rng.permuted(own[:, shadow_sources(len(active))], axis=0)
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.random_state.randint(np.iinfo(np.int32).max))
        estimator.fit(np.hstack([own, shadows]), self.y, **self.given)
        importances = importances_of(estimator)
        return importances[: len(active)], importances[len(active) :]


def importances_of(estimator: Any) -> np.ndarray:
    """One importance for each column, from what a fitted estimator offers."""
    if hasattr(estimator, "feature_importances_"):
        return np.asarray(estimator.feature_importances_, dtype=float)
    if hasattr(estimator, "coef_"):
        return np.linalg.norm(np.atleast_2d(estimator.coef_), axis=0)
    raise ValueError(
        f"{type(estimator).__name__} has no importances: after fit it has neither feature_importances_ nor coef_. Use "
        "a forest, boosted trees or a linear model, or leave estimator=None."
    )


Importances = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Contest(NamedTuple):
    """State after some rounds: the verdict on each column, its rounds, hits, and importance relative to shadows."""

    n_rounds: int
    confirmed: np.ndarray
    rejected: np.ndarray
    rounds: np.ndarray
    hits: np.ndarray
    total_score: np.ndarray

    @property
    def tentative(self) -> np.ndarray:
        """Columns without a verdict."""
        return ~(self.confirmed | self.rejected)

    @property
    def scores(self) -> np.ndarray:
        """Mean over rounds of the importance divided by the shadows' threshold."""
        return self.total_score / np.maximum(self.rounds, 1)

    @property
    def ranking(self) -> np.ndarray:
        """Places: the confirmed, the tentative, the rejected (last out first), each by score."""
        return ranks_of_order(np.lexsort((-self.scores, -self.rounds * self.rejected, self.rejected, ~self.confirmed)))


def shadow_rounds(
    importances: Importances,
    n_columns: int,
    *,
    max_iter: int,
    significance_level: float,
    percentile: float,
    correction: str | None,
) -> Iterator[Contest]:
    """The state after every round, until all columns have a verdict.

    ``importances`` gets the columns that take part, and gives theirs and the shadows'.
    """
    nothing, none = np.zeros(n_columns, dtype=int), np.zeros(n_columns, dtype=bool)
    state = Contest(0, none, none, nothing, nothing, np.zeros(n_columns))
    while state.n_rounds < max_iter and state.tentative.any():
        active = np.flatnonzero(~state.rejected)
        own, shadows = importances(active)
        threshold = float(np.percentile(shadows, percentile))
        took_part, hit, score = nothing.copy(), nothing.copy(), np.zeros(n_columns)
        took_part[active] = 1
        hit[active] = own > threshold
        score[active] = relative_to(own, threshold)
        state = state._replace(
            n_rounds=state.n_rounds + 1,
            rounds=state.rounds + took_part,
            hits=state.hits + hit,
            total_score=state.total_score + score,
        )
        state = with_verdicts(state, significance_level, correction)
        yield state


def relative_to(importances: np.ndarray, threshold: float) -> np.ndarray:
    """Importances divided by the threshold, within 0 and 1000 (a threshold of zero is beaten by anything positive)."""
    if threshold <= 0:
        return np.where(importances > 0, 1000.0, 0.0)
    return np.clip(importances / threshold, 0.0, 1000.0)


def with_verdicts(state: Contest, significance_level: float, correction: str | None) -> Contest:
    """The state after testing the columns that had no verdict, in both directions."""
    undecided = np.flatnonzero(state.tentative)
    hits, n_rounds = state.hits[undecided], state.n_rounds
    confirmed, rejected = state.confirmed.copy(), state.rejected.copy()
    confirmed[undecided] = significant(
        stats.binom.sf(hits - 1, n_rounds, 0.5), significance_level, correction, len(confirmed)
    )
    rejected[undecided] = significant(
        stats.binom.cdf(hits, n_rounds, 0.5), significance_level, correction, len(confirmed)
    )
    return state._replace(confirmed=confirmed, rejected=rejected)


def significant(pvalues: np.ndarray, significance_level: float, correction: str | None, n_columns: int) -> np.ndarray:
    """Which p-values are at most significance_level, after correction for the number of columns."""
    if correction == "bonferroni":
        return pvalues * n_columns <= significance_level
    if correction == "fdr":
        return stats.false_discovery_control(pvalues) <= significance_level
    return pvalues <= significance_level


@method(
    tasks=["classification", "regression"],
    when="All relevant columns are wanted, for insight rather than for the smallest model, and a target of classes or "
    "numbers depends on them in unknown ways. It keeps columns that repeat each other, and takes a forest for each of "
    "some dozens of rounds.",
    cost="O(R T n sqrt(p) depth) for R rounds of T trees; O(n p) memory, one byte for each value.",
    paper="rf-relevance",
    examples=lambda: [ShadowRelevanceSelector(10, max_iter=20)],
    aliases=["Boruta", "shadow features", "shadow columns"],
)
class ShadowRelevanceSelector(CallbackSupportMixin, Selector):
    """Keep the columns that are more important to a forest than shuffled copies of the columns.

    In every round, each column gets a shadow, a shuffled copy that cannot be relevant, and a forest is grown on columns
    and shadows together. A column scores a hit when it is more important than the best shadow. By a binomial test on
    their hits, columns are confirmed or rejected, until all have a verdict or the rounds are over.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees in each round.
    max_iter : int, default=100
        Rounds at most.
    significance_level : float, default=0.05
        Level of the tests.
    percentile : float, default=100
        Percentile of the shadows' importances that a column has to exceed; 100 is the best shadow. Lower values find
        weaker columns, and more irrelevant ones.
    correction : {None, "bonferroni", "fdr"}, default="bonferroni"
        Correction for the number of columns.
    keep_tentative : bool, default=False
        Whether to keep columns that have no verdict at the end.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression,
        everything else for classes.
    estimator : estimator or None, default=None
        Gives importances, by ``feature_importances_`` or ``coef_``; fitted anew in each round. None grows a forest
        on columns in 64 bins, which is many times faster than scikit-learn's, and is what the next three parameters are
        for.
    max_features : float or "sqrt", default="sqrt"
        Share of the columns and shadows that are tried at each node, or their square root.
    max_depth : int or None, default=5
        Depth of the trees.
    min_samples_leaf : int, default=1
        Rows that a leaf must have; with weights, the sum of these over their mean.
    n_jobs : int or None, default=None
        Threads that grow trees, when there is no ``estimator``.
    random_state : int, RandomState instance or None, default=None
        Shuffles the shadows and draws the trees.

    Attributes
    ----------
    confirmed_ : ndarray of shape (n_features,)
        Columns that beat the shadows.
    tentative_ : ndarray of shape (n_features,)
        Columns without a verdict.
    rejected_ : ndarray of shape (n_features,)
        Columns that do not.
    support_ : ndarray of shape (n_features,)
        Columns kept: the confirmed, and the tentative if asked for; the first of the ranking if there are none.
    hits_ : ndarray of shape (n_features,)
        Rounds in which each column was above the shadows.
    n_rounds_ : ndarray of shape (n_features,)
        Rounds in which each column took part.
    scores_ : ndarray of shape (n_features,)
        Importance divided by that of the best shadow (or the percentile), averaged over the rounds.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: confirmed, tentative, rejected (the last rejected first), each by score.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ForestRelevanceSelector : One forest and no shuffling, for classes.

    Notes
    -----
    The rounds shuffle the shadows, not the rows of the table: like any test on one sample, they confirm what the sample
    shows, and an association that is there by chance may be confirmed with many rounds.

    Importances are decreases of impurity, which favour columns with many distinct values. An irrelevant column has its
    own shadow's chances, but with ``percentile=100`` columns of few levels compete with the best shadow of all.

    References
    ----------
    .. [1] Kursa, M. B. and Rudnicki, W. R. (2010). Feature selection with the Boruta package. Journal of Statistical
       Software 36(11), 1-13.

    Examples
    --------
    >>> from fewer.datasets import make_friedman_classes
    >>> from fewer.select import ShadowRelevanceSelector
    >>> X, y, truth = make_friedman_classes(n_samples=1000, random_state=0)
    >>> selector = ShadowRelevanceSelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 2, 3, 4])
    >>> selector.fit(X, truth["response"]).get_support(indices=True)  # the same as regression
    array([0, 1, 2, 3, 4])
    """

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "significance_level": [Interval(Real, 0, 1, closed="neither")],
        "percentile": [Interval(Real, 0, 100, closed="right")],
        "correction": [StrOptions({"bonferroni", "fdr"}), None],
        "keep_tentative": ["boolean"],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "estimator": [HasMethods(["fit"]), None],
        "max_features": [Interval(Real, 0, 1, closed="right"), StrOptions({"sqrt"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        max_iter=100,
        significance_level=0.05,
        percentile=100,
        correction="bonferroni",
        keep_tentative=False,
        task="auto",
        estimator=None,
        max_features="sqrt",
        max_depth=5,
        min_samples_leaf=1,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.significance_level = significance_level
        self.percentile = percentile
        self.correction = correction
        self.keep_tentative = keep_tentative
        self.task = task
        self.estimator = estimator
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Let the columns compete with their shadows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, which stay with the target where shadows are shuffled. None for all alike.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        is_class = self.task == "classification" or (self.task == "auto" and not holds_numbers(y))
        X, y, weights = self._weighted(X, y, sample_weight)
        importances = self._importances(X, y, check_random_state(self.random_state), weights, is_class=is_class)
        rounds = shadow_rounds(
            importances,
            X.shape[1],
            max_iter=self.max_iter,
            significance_level=self.significance_level,
            percentile=self.percentile,
            correction=self.correction,
        )
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:
            for contest in rounds:
                if after_step("round", partial(self._attributes, contest)):
                    break
            self._set(self._attributes(contest))
        if not self._wanted(contest).any():
            warn_caller(
                f"No column is confirmed after {self.n_iter_} rounds, so the first of the ranking is kept. Either none "
                "is relevant, or more rounds (max_iter) or trees (n_estimators) are needed."
            )
        return self

    def _importances(
        self,
        X: np.ndarray,
        y: np.ndarray,
        random_state: np.random.RandomState,
        weights: np.ndarray | None,
        *,
        is_class: bool,
    ) -> Importances:
        """A function for the importances of columns and shadows, after a check of the target."""
        target, n_classes = y, 0
        if is_class:
            classes, target = encoded_classes(y, "ShadowRelevanceSelector")
            n_classes = len(classes)
        else:
            target = np.asarray(y, dtype=float)
            if np.ptp(target) == 0:
                raise ValueError("y is constant, so no column can be relevant for it.")
        if self.estimator is not None:
            return EstimatorImportances(X, y, self.estimator, random_state, weights)
        return ForestImportances(
            X,
            target,
            n_classes,
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            random_state=random_state,
            weights=weights,
        )

    def _wanted(self, contest: Contest) -> np.ndarray:
        return contest.confirmed | contest.tentative if self.keep_tentative else contest.confirmed

    def _attributes(self, contest: Contest) -> dict[str, Any]:
        support = self._wanted(contest)
        return {
            "confirmed_": contest.confirmed,
            "tentative_": contest.tentative,
            "rejected_": contest.rejected,
            "support_": support if support.any() else contest.ranking == 1,
            "hits_": contest.hits,
            "n_rounds_": contest.rounds,
            "scores_": contest.scores,
            "ranking_": contest.ranking,
            "n_iter_": contest.n_rounds,
        }
