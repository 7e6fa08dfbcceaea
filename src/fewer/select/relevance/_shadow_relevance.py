"""All columns that beat their own shuffled copies, as a selector; the rounds are in ``_shadow_rounds.py``."""

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.select._selector import Selector
from fewer.select.relevance._shadow_importances import EstimatorImportances, ForestImportances
from fewer.select.relevance._shadow_rounds import Contest, Importances, contest_rounds
from fewer.select.scores._score import holds_numbers


@method(
    tasks=["classification", "regression"],
    when="All relevant columns are wanted, for insight rather than for the smallest model, and a target of classes or "
    "numbers depends on them in unknown ways. It keeps columns that repeat each other, and takes a forest for each of "
    "some dozens of rounds.",
    cost="O(R T n sqrt(p) depth) for R rounds of T trees; O(n p) memory, one byte for each value.",
    paper="rf-relevance",
    examples=lambda: [ShadowRelevanceSelector(10, max_iter=20)],
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
    alpha : float, default=0.05
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
        What tells importances, by ``feature_importances_`` or ``coef_``; fitted anew in each round. None grows a forest
        on columns in 64 bins, which is many times faster than scikit-learn's, and is what the next three parameters are
        for.
    max_features : float or "sqrt", default="sqrt"
        Share of the columns and shadows that are tried at each node, or their square root.
    max_depth : int or None, default=5
        Depth of the trees.
    min_samples_leaf : int, default=1
        Rows that a leaf must have.
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
        Place of each column, 1 for the best: confirmed, tentative, rejected (the last rejected first), each by score.
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
        "alpha": [Interval(Real, 0, 1, closed="neither")],
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
        alpha=0.05,
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
        self.alpha = alpha
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
    def fit(self, X, y):
        """Let the columns compete with their shadows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        importances = self._importances(X, y, check_random_state(self.random_state))
        rounds = contest_rounds(
            importances,
            X.shape[1],
            max_iter=self.max_iter,
            alpha=self.alpha,
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

    def _importances(self, X: np.ndarray, y: np.ndarray, random_state: np.random.RandomState) -> Importances:
        """What tells importances of columns and shadows, after a look at the target."""
        target, n_classes = y, 0
        if self.task == "classification" or (self.task == "auto" and not holds_numbers(y)):
            classes, target = encoded_classes(y, "ShadowRelevanceSelector")
            n_classes = len(classes)
        else:
            target = np.asarray(y, dtype=float)
            if np.ptp(target) == 0:
                raise ValueError("y is constant, so no column can be relevant for it.")
        if self.estimator is not None:
            return EstimatorImportances(X, y, self.estimator, random_state)
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
