"""What irrelevant columns do to trees: the information gain that they reach by chance, and the error that they cost.

A node of n rows, m of them from the smaller of two classes, is cut where the gain is largest. When the column has
nothing to do with the class, every order of the labels is equally likely, and the expected gain depends on n and m
alone. It is smallest with a single minority row and largest for two equal halves::

    lower(n) = 1/n - (n-1)/n log2((n-1)/n),    upper(n) ~ (n/2)^-0.82

Rogers and Gunn take the middle of the two for every m. The exact value follows by counting lattice paths.

*Kernels*: row by row, the number k of minority rows seen so far is a path from (0, 0) to (n, m), all paths equally
likely. The best gain is at most t when the path stays on the cells (i, k) whose gain is at most t. One pass over the
cells carries the probability of that for many t at once.

*Error with columns of noise*: a majority of n independent votes, each right with probability p, is right with
probability ``P = sum_{i >= n/2} C(n, i) p^i (1-p)^(n-i)``, as Rogers and Gunn write it: a draw counts as right when n
is even.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer._kernels._random_column_trees import size_times_log_size
from fewer.learn import RandomColumnForestClassifier

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


SMALL = 40
"""Up to this many rows, every (n, m) is worked out from all possible gains."""
LARGEST = 2560
"""Beyond this many rows, n times the expected gain is continued as a line in log log n."""
_SIZES = np.round(SMALL * 2 ** np.arange(0, np.log2(LARGEST / SMALL) + 0.5, 0.5)).astype(int)
_N_SHARES = 13
_FEW_GAINS = 4000  # so many gains or fewer are all told apart
_N_LEVELS = 320
_HIGHEST_LEVEL = 40.0  # times 1/n bits: the best gain exceeds it with a probability of about n e^-27


def chance_gain_bounds(n_rows: "ArrayLike") -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the gain that an irrelevant column reaches by chance in a node with two classes.

    Parameters
    ----------
    n_rows : array-like of int
        Rows in the node, at least 2.

    Returns
    -------
    lower : ndarray of float
        Expected gain in bits with one row of the smaller class; exact for even n, and within 1/n^2 for odd n.
    upper : ndarray of float
        Expected gain with two equal classes, by Rogers and Gunn's approximation: within 4% for n up to 50, and too high
        for larger nodes (by a tenth at 100 rows, by a third at 500).

    See Also
    --------
    exact_chance_gain : Without approximation, for any sizes of the two classes.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.select import chance_gain_bounds
    >>> [bound.round(3) for bound in chance_gain_bounds([2, 10, 100])]
    [array([1.   , 0.237, 0.024]), array([1.   , 0.267, 0.04 ])]
    """
    n = np.asarray(n_rows, dtype=float)
    if np.any(n < 2):
        raise ValueError(f"A node needs at least 2 rows to be split; n_rows has {n.min():g}.")
    return 1 / n - (n - 1) / n * np.log2((n - 1) / n), (n / 2) ** -0.82


def midpoint_chance_gain(n_rows: "ArrayLike") -> np.ndarray:
    """Gain that an irrelevant column reaches by chance, as the middle of its two bounds.

    Parameters
    ----------
    n_rows : array-like of int
        Rows in the node, at least 2.

    Returns
    -------
    gain : ndarray of float
        Bits.

    Examples
    --------
    >>> from fewer.select import midpoint_chance_gain
    >>> midpoint_chance_gain([2, 10, 100]).round(3)
    array([1.   , 0.252, 0.032])
    """
    lower, upper = chance_gain_bounds(n_rows)
    return (lower + upper) / 2


def exact_chance_gain(n_rows: "ArrayLike", n_minority: "ArrayLike") -> np.ndarray:
    """Expected gain of the best cut when two classes are in random order and no values are tied.

    Parameters
    ----------
    n_rows : array-like of int
        Rows in the node, at least 2.
    n_minority : array-like of int
        Rows of the smaller class (or of either: the other gives the same), at least 1.

    Returns
    -------
    gain : ndarray of float
        Bits. Exact up to 40 rows; interpolated between exact values up to 2560 (within 0.5%), continued beyond
        (within 2% at 100,000 rows).

    Examples
    --------
    >>> from fewer.select import exact_chance_gain
    >>> exact_chance_gain(4, 2)  # of the six orders, two separate the classes and gain 1 bit, the others 0.311
    array(0.54085...)
    >>> exact_chance_gain([100, 100, 100], [1, 10, 50]).round(3)
    array([0.024, 0.034, 0.037])
    """
    n, m = np.broadcast_arrays(np.asarray(n_rows, dtype=np.int64), np.asarray(n_minority, dtype=np.int64))
    m = np.minimum(m, n - m)
    if np.any(m < 1):
        raise ValueError("A node with one class only has nothing to gain: n_minority must be from 1 to n_rows - 1.")
    pairs, places = np.unique(n.ravel() * 2**32 + m.ravel(), return_inverse=True)
    sizes, minorities = pairs >> 32, pairs & (2**32 - 1)
    gains = np.empty(len(pairs))
    small = sizes <= SMALL
    if small.any():
        gains[small] = _small_table()[sizes[small], minorities[small]]
    if not small.all():
        gains[~small] = _interpolated(sizes[~small], minorities[~small])
    return gains[places].reshape(n.shape)


def expected_best_gain(n_rows: int, n_minority: int) -> float:
    """Expected gain of the best cut, from all possible gains if they are few, from a fine grid of levels else."""
    xlogx = size_times_log_size(n_rows)
    if n_rows * (n_minority + 1) <= _FEW_GAINS:
        gains = np.sort(all_cut_gains(n_rows, n_minority, xlogx))
        levels = gains[np.append(np.diff(gains) > 1e-12, True)]  # the largest of gains that differ by rounding only
        values = levels
    else:
        entropy = (xlogx[n_rows] - xlogx[n_minority] - xlogx[n_rows - n_minority]) / n_rows
        levels = np.linspace(0, min(entropy, _HIGHEST_LEVEL / n_rows), _N_LEVELS)
        values = np.append(levels[0], (levels[1:] + levels[:-1]) / 2)
    probabilities = best_gain_distribution(n_rows, n_minority, levels + 1e-14, xlogx)
    return float(np.diff(probabilities, prepend=0.0) @ values)


@cache
def _small_table() -> np.ndarray:
    table = np.full((SMALL + 1, SMALL // 2 + 1), np.nan)
    for n_rows in range(2, SMALL + 1):
        for n_minority in range(1, n_rows // 2 + 1):
            table[n_rows, n_minority] = expected_best_gain(n_rows, n_minority)
    return table


@cache
def _curve(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Log of the minority relative to that of a half, from 0 to 1, and n times the expected gain there."""
    half = n_rows // 2
    minorities = np.unique(np.round(half ** np.linspace(0, 1, _N_SHARES)).astype(int))
    gains = np.array([n_rows * expected_best_gain(n_rows, int(m)) for m in minorities])
    return np.log(minorities) / np.log(half), gains


def _interpolated(n_rows: np.ndarray, n_minority: np.ndarray) -> np.ndarray:
    """Expected gain by interpolation in log log n (in which it ends up a line), along a constant log m / log(n/2)."""
    n_needed = 1 + min(int(np.searchsorted(_SIZES, n_rows.max())), len(_SIZES) - 1)
    sizes = _SIZES[: max(n_needed, 2)]
    share = np.log(n_minority) / np.log(n_rows // 2)
    at_sizes = np.array([np.interp(share, *_curve(int(size))) for size in sizes])
    after = np.clip(np.searchsorted(sizes, n_rows), 1, len(sizes) - 1)
    place, grid = np.log(np.log(n_rows)), np.log(np.log(sizes))
    weight = (place - grid[after - 1]) / (grid[after] - grid[after - 1])
    everywhere = np.arange(len(n_rows))
    before = at_sizes[after - 1, everywhere]
    return (before + weight * (at_sizes[after, everywhere] - before)) / n_rows


@njit(cache=True, nogil=True)
def cut_gain(n_rows, n_minority, place, seen, xlogx):
    """Gain in bits of the cut after ``place`` rows, ``seen`` of them from the minority."""
    rest, unseen = n_rows - place, n_minority - seen
    value = xlogx[n_rows] - xlogx[n_minority] - xlogx[n_rows - n_minority]
    value -= xlogx[place] - xlogx[seen] - xlogx[place - seen]
    value -= xlogx[rest] - xlogx[unseen] - xlogx[rest - unseen]
    return max(value, 0.0) / n_rows


@njit(cache=True, nogil=True)
def all_cut_gains(n_rows, n_minority, xlogx):
    """Gains of all possible cuts."""
    gains = np.empty(n_rows * (n_minority + 1))
    n_gains = 0
    for place in range(1, n_rows):
        for seen in range(max(0, place - n_rows + n_minority), min(place, n_minority) + 1):
            gains[n_gains] = cut_gain(n_rows, n_minority, place, seen, xlogx)
            n_gains += 1
    return gains[:n_gains]


@njit(cache=True, nogil=True)
def best_gain_distribution(n_rows, n_minority, levels, xlogx):
    """Probability that the best gain is at most each of the levels, which ascend."""
    n_levels = levels.size
    paths = np.zeros((n_minority + 1, n_levels))
    paths[0] = 1.0
    lowest = highest = 0  # between them are all paths that are still on cells with a gain below the highest level
    for place in range(1, n_rows):
        rows_left = n_rows - place + 1
        highest = min(highest + 1, n_minority)
        before, lowest = lowest, max(lowest, place - n_rows + n_minority)
        last_open, first_open = -1, n_minority + 1
        for seen in range(highest, lowest - 1, -1):
            blocked = np.searchsorted(levels, cut_gain(n_rows, n_minority, place, seen, xlogx))
            stay = (rows_left - (n_minority - seen)) / rows_left
            step = (n_minority - seen + 1) / rows_left
            paths[seen, :blocked] = 0.0
            if seen == 0:
                for level in range(blocked, n_levels):
                    paths[0, level] *= stay
            else:
                for level in range(blocked, n_levels):
                    paths[seen, level] = paths[seen, level] * stay + paths[seen - 1, level] * step
            if blocked < n_levels:
                last_open, first_open = max(last_open, seen), seen
        paths[before:lowest] = 0.0
        lowest, highest = first_open, last_open
    total = np.zeros(n_levels)
    for seen in range(lowest, highest + 1):
        total += paths[seen]
    return total


if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class IrrelevantFeatureCurve(Result):
    """Error and tree size for every number of noise columns; made by :func:`irrelevant_feature_curve`.

    Attributes
    ----------
    n_noise : ndarray of shape (n_sizes,)
        Columns of noise added.
    errors : ndarray of shape (n_sizes, n_repeats)
        One minus the score on the rows held out.
    tree_sizes : ndarray of shape (n_sizes, n_repeats)
        Mean number of nodes of a tree, leaves included; NaN for learners that are no trees.
    """

    n_noise: np.ndarray
    errors: np.ndarray
    tree_sizes: np.ndarray

    def __repr__(self) -> str:
        rows = [
            f"{n:>6} noise columns: error {error:.4f}, tree size {size:.1f}"
            for n, error, size in zip(self.n_noise, self.errors.mean(axis=1), self.tree_sizes.mean(axis=1), strict=True)
        ]
        return "\n".join(["IrrelevantFeatureCurve", *rows])


def irrelevant_feature_curve(
    X: "ArrayLike",
    y: "ArrayLike",
    estimator: Any = None,
    *,
    n_noise: Iterable[int] = range(0, 31, 5),
    n_repeats: int = 10,
    test_size: float = 0.1,
    random_state: "int | RandomState | None" = None,
) -> IrrelevantFeatureCurve:
    """Add uniform noise columns to a table, and see what becomes of error and tree size.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Target.
    estimator : estimator, default=None
        Learner; a :class:`fewer.learn.RandomColumnForestClassifier` by default.
    n_noise : iterable of int, default=range(0, 31, 5)
        Numbers of noise columns to add.
    n_repeats : int, default=10
        Random splits into training and test rows, the same for every number of columns.
    test_size : float, default=0.1
        Share of the rows held out.
    random_state : int, RandomState instance or None, default=None
        Draws splits, noise and, where it has such a parameter, the learner.

    Returns
    -------
    curve : IrrelevantFeatureCurve
        Errors and tree sizes.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.datasets import make_simple_relevance
    >>> from fewer.select import irrelevant_feature_curve
    >>> X, y, truth = make_simple_relevance(random_state=0)
    >>> curve = irrelevant_feature_curve(X[:, :2], y, n_noise=[0, 30], n_repeats=3, random_state=0)
    >>> bool(curve.tree_sizes[1].mean() > 2 * curve.tree_sizes[0].mean())
    True
    """
    table = checked_array(X, "irrelevant_feature_curve", dtype=[np.float64, np.float32])
    target = np.asarray(y)
    sizes = np.array(list(n_noise), dtype=int)
    if len(sizes) == 0 or sizes.min() < 0 or n_repeats < 1:
        raise ValueError("n_noise must hold numbers of columns, 0 or more each, and n_repeats must be at least 1.")
    rng = check_random_state(random_state)
    estimator = RandomColumnForestClassifier() if estimator is None else estimator
    noise = rng.uniform(size=(len(table), sizes.max())).astype(table.dtype)
    by_class = type_of_target(target) in ("binary", "multiclass")
    splitter = (StratifiedShuffleSplit if by_class else ShuffleSplit)(
        n_repeats, test_size=test_size, random_state=rng.randint(np.iinfo(np.int32).max)
    )
    splits = list(splitter.split(table, target))
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_repeats)
    errors, tree_sizes = np.empty((len(sizes), n_repeats)), np.empty((len(sizes), n_repeats))
    for place, size in enumerate(sizes):
        widened = np.hstack([table, noise[:, :size]])
        for repeat, (train, test) in enumerate(splits):
            model = clone(estimator)
            if "random_state" in model.get_params(deep=False):
                model.set_params(random_state=int(seeds[repeat]))
            model.fit(widened[train], target[train])
            errors[place, repeat] = 1 - model.score(widened[test], target[test])
            tree_sizes[place, repeat] = mean_tree_size(model)
    return IrrelevantFeatureCurve(sizes, errors, tree_sizes)


def mean_tree_size(model: Any) -> float:
    """Nodes of a fitted tree, or of the trees of a forest on average; NaN when it is neither."""
    if hasattr(model, "tree_sizes_"):
        return float(np.mean(model.tree_sizes_))
    trees = np.ravel(getattr(model, "estimators_", [model]))
    counts = [tree.tree_.node_count for tree in trees if hasattr(tree, "tree_")]
    return float(np.mean(counts)) if counts else float("nan")


def majority_vote_convergence(p: "ArrayLike", n: "ArrayLike") -> np.ndarray:
    """Probability that at least half of n independent votes are right.

    How fast a forest converges on a row depends on the margin ``2 p - 1`` that a single tree has there. Irrelevant
    columns shrink it, so more trees are needed for the same error.

    Parameters
    ----------
    p : array-like of float
        Probability that one tree is right, from 0 to 1.
    n : array-like of int
        Trees, at least 1. An even number counts a draw as right; odd numbers compare fairly.

    Returns
    -------
    probability : ndarray of float
        In the shape of ``p`` and ``n`` broadcast together.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.select import majority_vote_convergence
    >>> majority_vote_convergence(0.6, [1, 11, 101]).round(3)  # a margin of 0.2
    array([0.6  , 0.753, 0.979])
    """
    p, n = np.asarray(p, dtype=float), np.asarray(n)
    if np.any((p < 0) | (p > 1)):
        raise ValueError("p must be probabilities, from 0 to 1.")
    if np.any(n < 1) or np.any(n != np.floor(n)):
        raise ValueError("n must be whole numbers of trees, at least 1.")
    return stats.binom.sf(np.ceil(n / 2) - 1, n, p)
