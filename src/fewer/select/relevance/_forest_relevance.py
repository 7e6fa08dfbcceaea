"""Does a column gain more than chance? Statistics of the splits of a forest, column by column.

For the splits on a column, D is the gain minus the gain expected of an irrelevant column in the same node. The test
asks whether its mean is above zero::

    tau = mean(D) sqrt(N) / sd(D),    p = P(t_{N-1} > tau)

D is taken over the nodes, or first averaged within each tree.

The chance level is in ``_chance_gain.py``; the trees are grown in ``fewer._kernels``.
"""

from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer._kernels._random_column_trees import (
    FORMULA_FOR_TWO_CLASSES,
    FORMULA_WITHOUT_TIES,
    GrownTree,
    grown_trees,
    ranked_columns,
)
from fewer.catalogue import method
from fewer.learn import RandomColumnForestClassifier
from fewer.select._select_top import CORRECTIONS, adjusted_p_values
from fewer.select._selector import Selector, ranks_of_order
from fewer.select.relevance._chance_gain import exact_chance_gain, midpoint_chance_gain


class Splits(NamedTuple):
    """Splits of some trees: the tree and column of each, its gain and its chance level (both weighted)."""

    tree: np.ndarray
    column: np.ndarray
    gain: np.ndarray
    chance: np.ndarray


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations of some values, for each column."""

    number: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


class GainTally(NamedTuple):
    """What the trees so far say about each column: gain and chance summed over splits, and the moments of D."""

    n_splits: np.ndarray
    gain: np.ndarray
    chance: np.ndarray
    of_nodes: Moments
    of_trees: Moments


class GainTest(NamedTuple):
    """For each column, mean gain, mean chance level, mean of D, number of splits, tau and the p-value."""

    mean_gain: np.ndarray
    expected_gain: np.ndarray
    difference: np.ndarray
    n_splits: np.ndarray
    statistic: np.ndarray
    pvalues: np.ndarray


def splits_of(trees: list[GrownTree], chance: str, weight: str | None) -> Splits:
    """All splits of some trees, with the chance level that was asked for."""
    inner = [tree.column >= 0 for tree in trees]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name)[split] for tree, split in zip(trees, inner, strict=True)])

    counts, gain, level = joined("counts"), joined("gain"), joined("chance")
    formula = np.isnan(level)
    n_rows = counts.sum(axis=1)
    if chance == "exact":
        level[formula] = exact_chance_gain(n_rows[formula], (n_rows - counts.max(axis=1))[formula])
    else:
        level[formula] = midpoint_chance_gain(n_rows[formula])
    weights = node_weights(counts, weight)
    numbers = np.repeat(np.arange(len(trees)), [split.sum() for split in inner])
    return Splits(numbers, joined("column"), gain * weights, level * weights)


def node_weights(counts: np.ndarray, weight: str | None) -> np.ndarray:
    """Weight of every node by its class counts (n_nodes, n_classes): 1, its rows, or the log2 of label arrangements."""
    n_rows = counts.sum(axis=1)
    if weight is None:
        return np.ones(len(counts))
    if weight == "n_samples":
        return n_rows.astype(float)
    return (gammaln(n_rows + 1) - gammaln(counts + 1).sum(axis=1)) / np.log(2)


def moments_by_group(values: np.ndarray, group: np.ndarray, n_groups: int) -> Moments:
    """Moments of the values of each group; zeros for groups without any."""
    number = np.bincount(group, minlength=n_groups)
    mean = np.bincount(group, values, n_groups) / np.maximum(number, 1)
    return Moments(number, mean, np.bincount(group, (values - mean[group]) ** 2, n_groups))


def merged(first: Moments, second: Moments) -> Moments:
    """Moments of the values of both, without the loss of digits of plain sums of squares."""
    number = first.number + second.number
    share = second.number / np.maximum(number, 1)
    gap = second.mean - first.mean
    squares = first.squares + second.squares + gap**2 * first.number * share
    return Moments(number, first.mean + gap * share, squares)


def empty_tally(n_columns: int) -> GainTally:
    """The tally before any tree."""
    nothing = np.zeros(n_columns)
    none = Moments(np.zeros(n_columns, dtype=int), nothing, nothing)
    return GainTally(np.zeros(n_columns, dtype=int), nothing, nothing, none, none)


def tally_with(tally: GainTally, splits: Splits) -> GainTally:
    """The tally with some more trees."""
    n_columns = len(tally.gain)
    difference = splits.gain - splits.chance
    of_nodes = moments_by_group(difference, splits.column, n_columns)
    pairs, groups = np.unique(splits.tree.astype(np.int64) * n_columns + splits.column, return_inverse=True)
    tree_means = moments_by_group(difference, groups, len(pairs)).mean
    of_trees = moments_by_group(tree_means, pairs % n_columns, n_columns)
    return GainTally(
        tally.n_splits + of_nodes.number,
        tally.gain + np.bincount(splits.column, splits.gain, n_columns),
        tally.chance + np.bincount(splits.column, splits.chance, n_columns),
        merged(tally.of_nodes, of_nodes),
        merged(tally.of_trees, of_trees),
    )


def gain_test(tally: GainTally, unit: str) -> GainTest:
    """The one-sided t-test of every column; p is 1 where D has no spread, or one value only."""
    n_splits = np.maximum(tally.n_splits, 1)
    tested = tally.of_trees if unit == "tree" else tally.of_nodes
    freedom = np.maximum(tested.number - 1, 1)
    spread = np.sqrt(tested.squares / freedom)
    testable = (tested.number >= 2) & (spread > 1e-12 * np.abs(tested.mean))
    statistic = np.zeros(len(spread))
    np.divide(tested.mean * np.sqrt(tested.number), spread, out=statistic, where=testable)
    pvalues = np.where(testable, stats.t.sf(statistic, freedom), 1.0)
    mean_gain, expected_gain = tally.gain / n_splits, tally.chance / n_splits
    return GainTest(mean_gain, expected_gain, mean_gain - expected_gain, tally.n_splits, statistic, pvalues)


SIGNIFICANCE_LEVELS = (0.05, 0.025, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""Levels that ``significance_level="oob"`` tries."""


def ranking_by_relevance(test: GainTest, rule: str) -> np.ndarray:
    """Place of each column from 1: by mean difference, or by p-value and then by the statistic."""
    keys = (-test.difference,) if rule == "threshold" else (-test.difference, -test.statistic, test.pvalues)
    return ranks_of_order(np.lexsort(keys))


@method(
    tasks=["classification"],
    when="All relevant columns are wanted, also those that matter only together, for the price of one forest. "
    "It keeps columns that repeat each other; and with very many trees any chance association of the table becomes "
    "significant, so let significance_level='oob' choose a strict level there.",
    cost="O(T n log(n) depth) for T trees, whatever the number of columns p; O(n p) memory for the ranks.",
    paper="rf-relevance",
    examples=lambda: [ForestRelevanceSelector(20)],
)
class ForestRelevanceSelector(CallbackSupportMixin, Selector):
    """Keep the columns whose splits in a random forest gain more information than chance.

    Every node of every tree is split on one random column, at the cut with the largest information gain. An irrelevant
    column gains something too, by chance: how much follows from the size of the node. A t-test tells whether a column
    gains more than that on average. A second forest is then grown on the columns kept.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees of each forest.
    significance_level : float or "oob", default=0.05
        Level of the test. "oob" tries levels from 0.05 to 1e-9 and takes the one whose refitted forest has the lowest
        out-of-bag error (of equals the strictest).
    method : {"test", "threshold"}, default="test"
        Keep columns with a p-value below ``significance_level``, or all that gain more than chance on average.
    chance : {"midpoint", "exact"}, default="midpoint"
        Gain expected by chance: the midpoint of Rogers and Gunn's bounds, which depends on the size of the node alone;
        or the exact value for its class counts. The midpoint is too low for balanced nodes of 10 to 1000 rows (by a
        tenth at 100), too high for larger or unbalanced ones, and too high for columns with few distinct values, which
        have fewer cuts to choose from. "exact" shuffles the labels of nodes with ties, so that nothing is held against
        such columns. Nodes with more than two classes are always done by shuffling.
    weight : {None, "n_samples", "log_arrangements"}, default=None
        Weight of a node, for gain and chance level alike: none, its rows, or the log2 of the number of ways to arrange
        its labels. Weights make the test far more powerful when relevant columns are few among many, because large
        nodes are the ones that tell. They need ``chance="exact"``: the errors of the midpoint would be weighted, too,
        and many irrelevant columns kept.
    correction : {"fdr", "holm", "bonferroni"} or None, default=None
        Correction for the number of columns, as in :class:`SelectTop`. Without one, about ``significance_level`` times
        the number of irrelevant columns are kept.
    unit : {"node", "tree"}, default="node"
        What is counted as an observation: every split on a column, or the mean of its splits in a tree.
    min_samples_leaf : int, default=1
        Rows that a leaf must have. The midpoint does not know of it, so "exact" goes better with more than one.
    refit : bool, default=True
        Whether to grow the forest on the columns kept. ``significance_level="oob"`` does so in any case.
    n_jobs : int or None, default=None
        Threads that grow trees.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and the columns.

    Attributes
    ----------
    mean_gain_ : ndarray of shape (n_features,)
        Mean (weighted) information gain of the splits on each column, in bits.
    expected_gain_ : ndarray of shape (n_features,)
        Mean gain that an irrelevant column would have had in the same nodes.
    gain_diff_ : ndarray of shape (n_features,)
        Their difference: the size of the effect.
    pvalues_ : ndarray of shape (n_features,)
        P-value of each column; 1 where it was split fewer than two times.
    adjusted_pvalues_ : ndarray of shape (n_features,)
        The same after the correction.
    n_nodes_ : ndarray of shape (n_features,)
        Splits on each column.
    significance_level_ : float
        Level used.
    oob_errors_ : dict of float to float
        Out-of-bag error of the refitted forest at each level tried; empty when ``significance_level`` is a number.
    support_ : ndarray of shape (n_features,)
        Whether each column is kept.
    scores_ : ndarray of shape (n_features,)
        ``-log10`` of the p-value for the test (at most 323), ``gain_diff_`` for the threshold.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the most relevant.
    forest_ : RandomColumnForestClassifier or None
        The forest on the columns kept, which predicts from what ``transform`` gives.
    oob_score_ : float
        Its accuracy on the rows that a tree did not see. Optimistic, since all rows chose the columns. NaN without a
        forest.
    n_iter_ : int
        Trees behind the statistics; fewer than ``n_estimators`` when a callback stopped the fit.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    ShadowRelevanceSelector : Compares with shuffled copies of the columns instead; for regression too.
    exact_chance_gain : The chance level.

    Notes
    -----
    **P-values are conditional on the table.** All trees share its rows, so the test treats as new evidence what is the
    same evidence again: an association that the sample has by chance becomes significant once there are enough trees.
    With 100 trees the share of rejections on pure noise is about ``significance_level``; with thousands of trees, lower
    it (or let "oob" choose it), use ``unit="tree"``, and look at ``gain_diff_``.

    Columns that are constant in a node are drawn again there. Below a split, the same column gains less than chance,
    since its best cut is taken; so the test is cautious when columns are few.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.datasets import make_simple_relevance
    >>> from fewer.select import ForestRelevanceSelector
    >>> X, y, truth = make_simple_relevance(random_state=0)
    >>> selector = ForestRelevanceSelector(significance_level=0.001, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    """

    _takes_sparse = True
    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "significance_level": [Interval(Real, 0, 1, closed="neither"), StrOptions({"oob"})],
        "method": [StrOptions({"test", "threshold"})],
        "chance": [StrOptions({"midpoint", "exact"})],
        "weight": [StrOptions({"n_samples", "log_arrangements"}), None],
        "correction": [StrOptions(set(CORRECTIONS)), None],
        "unit": [StrOptions({"node", "tree"})],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        significance_level=0.05,
        method="test",
        chance="midpoint",
        weight=None,
        correction=None,
        unit="node",
        min_samples_leaf=1,
        refit=True,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.significance_level = significance_level
        self.method = method
        self.chance = chance
        self.weight = weight
        self.correction = correction
        self.unit = unit
        self.min_samples_leaf = min_samples_leaf
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Grow the forest and test the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y, accept_sparse=("csc", "csr"), ensure_min_samples=1)
        if self.method == "threshold" and self.significance_level == "oob":
            raise ValueError(
                "significance_level='oob' chooses the level of the test, and method='threshold' makes no test: use "
                "method='test'."
            )
        classes, codes = encoded_classes(y, "ForestRelevanceSelector")
        levels = SIGNIFICANCE_LEVELS if self.significance_level == "oob" else (self.significance_level,)
        random_state = check_random_state(self.random_state)
        with fit_steps(self, X, y, n_steps=self.n_estimators + len(levels)) as after_step:
            tally, n_trees = empty_tally(X.shape[1]), 0
            for trees in self._trees(X, codes, len(classes), random_state):
                tally = tally_with(tally, splits_of(trees, self.chance, self.weight))
                n_trees += len(trees)
                so_far = partial(self._relevance, tally, n_trees, levels[0])
                if any(after_step("tree", so_far) for _ in trees):
                    break
            seed = random_state.randint(np.iinfo(np.int32).max)
            trials: dict[float, dict[str, Any]] = {}
            for significance_level in levels:
                trial = self._relevance(tally, n_trees, significance_level)
                same = [known for known in trials.values() if np.array_equal(known["support_"], trial["support_"])]
                forest = same[0]["forest_"] if same else self._refitted(X, y, trial["support_"], n_trees, seed)
                trial |= {"forest_": forest, "oob_score_": forest.oob_score_ if forest is not None else float("nan")}
                trials[significance_level] = trial
                if after_step("refit", partial(dict, trial)):
                    break
            best = max(reversed(trials.values()), key=lambda trial: np.nan_to_num(trial["oob_score_"], nan=-1.0))
            best["oob_errors_"] = (
                {a: 1 - t["oob_score_"] for a, t in trials.items()} if self.significance_level == "oob" else {}
            )
            self._set(best)
        if not self._passes(self.adjusted_pvalues_, self.gain_diff_, self.significance_level_).any():
            warn_caller(
                "No column gains more than chance, so the one that comes nearest is kept. Either none is relevant, or "
                "the test needs more trees: raise n_estimators, or significance_level."
            )
        return self

    def _trees(self, X: Any, codes: np.ndarray, n_classes: int, random_state: np.random.RandomState):
        return grown_trees(
            ranked_columns(X),
            codes,
            n_classes=n_classes,
            n_columns=X.shape[1],
            n_estimators=self.n_estimators,
            min_leaf=self.min_samples_leaf,
            chance_rule=FORMULA_WITHOUT_TIES if self.chance == "exact" else FORMULA_FOR_TWO_CLASSES,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def _relevance(self, tally: GainTally, n_trees: int, significance_level: float) -> dict[str, Any]:
        """What the trees say at a level, as attributes."""
        test = gain_test(tally, self.unit)
        corrected = adjusted_p_values(test.pvalues, self.correction)
        ranking = ranking_by_relevance(test, self.method)
        support = self._passes(corrected, test.difference, significance_level)
        if not support.any():
            support = ranking == 1
        smallest = np.finfo(float).smallest_subnormal
        by_threshold = self.method == "threshold"
        return {
            "mean_gain_": test.mean_gain,
            "expected_gain_": test.expected_gain,
            "gain_diff_": test.difference,
            "pvalues_": test.pvalues,
            "adjusted_pvalues_": corrected,
            "n_nodes_": test.n_splits,
            "significance_level_": significance_level,
            "support_": support,
            "scores_": test.difference if by_threshold else -np.log10(np.maximum(test.pvalues, smallest)),
            "ranking_": ranking,
            "n_iter_": n_trees,
        }

    def _passes(self, pvalues: np.ndarray, difference: np.ndarray, significance_level: float) -> np.ndarray:
        return difference > 0 if self.method == "threshold" else pvalues < significance_level

    def _refitted(self, X: Any, y: np.ndarray, support: np.ndarray, n_trees: int, seed: int):
        if not self.refit and self.significance_level != "oob":
            return None
        forest = RandomColumnForestClassifier(
            n_trees, min_samples_leaf=self.min_samples_leaf, n_jobs=self.n_jobs, random_state=seed
        )
        return forest.fit(X[:, support], y)
