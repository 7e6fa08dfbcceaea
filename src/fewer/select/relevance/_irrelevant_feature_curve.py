"""What irrelevant columns cost a learner: error and tree size with more and more columns of noise.

A majority of n independent votes, each right with probability p, is right with probability ``P = sum_{i >= n/2} C(n, i)
p^i (1-p)^(n-i)``, as Rogers and Gunn write it: a draw counts as right when n is even.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import checked_array
from fewer._figures import Result
from fewer.learn import RandomColumnForestClassifier

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
