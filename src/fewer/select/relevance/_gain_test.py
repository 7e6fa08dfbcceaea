"""Does a column gain more than chance? Statistics of the splits of a forest, column by column.

For the splits on a column, D is the gain minus the gain expected of an irrelevant column in the same node. The test
asks whether its mean is above zero::

    tau = mean(D) sqrt(N) / sd(D),    p = P(t_{N-1} > tau)

D is taken over the nodes, or first averaged within each tree.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln

from fewer._kernels._random_column_trees import GrownTree
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
    pairs, places = np.unique(splits.tree.astype(np.int64) * n_columns + splits.column, return_inverse=True)
    tree_means = moments_by_group(difference, places, len(pairs)).mean
    of_trees = moments_by_group(tree_means, pairs % n_columns, n_columns)
    return GainTally(
        tally.n_splits + of_nodes.number,
        tally.gain + np.bincount(splits.column, splits.gain, n_columns),
        tally.chance + np.bincount(splits.column, splits.chance, n_columns),
        merged(tally.of_nodes, of_nodes),
        merged(tally.of_trees, of_trees),
    )


def gain_test(tally: GainTally, level: str) -> GainTest:
    """The one-sided t-test of every column; p is 1 where D has no spread, or one value only."""
    n_splits = np.maximum(tally.n_splits, 1)
    tested = tally.of_trees if level == "tree" else tally.of_nodes
    freedom = np.maximum(tested.number - 1, 1)
    spread = np.sqrt(tested.squares / freedom)
    testable = (tested.number >= 2) & (spread > 1e-12 * np.abs(tested.mean))
    statistic = np.zeros(len(spread))
    np.divide(tested.mean * np.sqrt(tested.number), spread, out=statistic, where=testable)
    pvalues = np.where(testable, stats.t.sf(statistic, freedom), 1.0)
    mean_gain, expected_gain = tally.gain / n_splits, tally.chance / n_splits
    return GainTest(mean_gain, expected_gain, mean_gain - expected_gain, tally.n_splits, statistic, pvalues)
