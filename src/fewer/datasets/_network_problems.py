"""Problems whose columns are the nodes of a known directed network.

`make_changing_network`
    A series of zeros and ones whose dependencies change at known times.

    ``P(x_c(t) = 1) = logistic(strength * sum_p s_cp (2 x_p(t-1) - 1))`` over the parents p of column c in the epoch
    that row t belongs to, with random signs s for each set of parents, and 1/2 where there are none.

    Robinson, J. W. and Hartemink, A. J. (2010). Learning non-stationary dynamic Bayesian networks. Journal of Machine
    Learning Research 11, 3647-3680.

`make_class_trees`
    Classes that differ in the tree along which their columns depend on one another.

    Rows of the first class follow one random tree with random conditional probabilities; half the rows of each other
    class follow the same tree, and half a tree of their own.

`make_conditional_link`
    Three bits that say nothing about the class one by one: in class 0 the third agrees with the first, in class 1 it
    is its opposite, and both depend on the second in either class.

    Pernkopf, F. and Bilmes, J. A. (2010). Efficient heuristics for discriminative structure learning of Bayesian
    network classifiers. Journal of Machine Learning Research 11, 2323-2360.

`make_corral`
    ``(a0 and a1) or (b0 and b1)``, an irrelevant bit, and one that agrees with the class in three rows of four.

    John, G. H., Kohavi, R. and Pfleger, K. (1994). Irrelevant features and the subset selection problem. ICML, 121-129.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_FIRST_NETWORK = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (6, 3), (7, 3))
_CHANGES = ((6, 1), (7, 3), (7, 5), (1, 2), (0, 2), (6, 3))
_LENGTHS = (150, 200, 50, 20, 100, 100, 400)


def make_changing_network(
    lengths: Sequence[int] = _LENGTHS,
    edges: Sequence[tuple[int, int]] = _FIRST_NETWORK,
    changes: Sequence[tuple[int, int]] = _CHANGES,
    n_features: int = 10,
    strength: float = 2.2,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """A series of zeros and ones whose dependencies change at known times.

    Parameters
    ----------
    lengths : sequence of int, default=(150, 200, 50, 20, 100, 100, 400)
        Rows of each epoch.
    edges : sequence of (int, int), default=((0, 1), (1, 2), ...)
        Parent and child of each edge in the first epoch.
    changes : sequence of (int, int), default=((6, 1), (7, 3), ...)
        The edge that appears or vanishes at the start of each further epoch.
    n_features : int, default=10
        Columns; by default the last two never depend on others.
    strength : float, default=2.2
        Change of the log odds with each parent.
    random_state : int, RandomState instance or None, default=None
        Draws the signs and the rows.

    Returns
    -------
    problem : Problem
        ``truth`` holds ``transition_times``, the rows of X at which an epoch starts after the first, and ``networks``
        of shape (n_epochs, n_features, n_features), with an entry True at [epoch, parent, child].

    Examples
    --------
    >>> from fewer.datasets import make_changing_network
    >>> X, _, truth = make_changing_network(random_state=0)
    >>> X.shape, truth["transition_times"].tolist()
    ((1020, 10), [150, 350, 400, 420, 520, 620])
    """
    from sklearn.utils import check_random_state

    if len(lengths) != len(changes) + 1 or min(lengths) < 1:
        raise ValueError(
            f"There are {len(lengths)} lengths and {len(changes)} changes; each epoch but the first needs one change, "
            "and each at least one row."
        )
    if max(max(edge) for edge in (*edges, *changes)) >= n_features:
        raise ValueError(f"n_features={n_features} is less than the columns that edges and changes name.")
    rng = check_random_state(random_state)
    networks = np.zeros((len(lengths), n_features, n_features), dtype=bool)
    for edge in edges:
        networks[:, edge[0], edge[1]] = True
    for epoch, edge in enumerate(changes, start=1):
        networks[epoch:, edge[0], edge[1]] ^= True
    signs: dict[tuple[int, bytes], np.ndarray] = {}  # a set of parents that comes back acts as before
    X = np.empty((sum(lengths), n_features), dtype=np.int64)
    X[0] = rng.randint(2, size=n_features)
    epochs = np.repeat(np.arange(len(lengths)), lengths)
    for row in range(1, len(X)):
        network = networks[epochs[row]]
        log_odds = np.zeros(n_features)
        for child in range(n_features):
            parents = network[:, child]
            key = (child, parents.tobytes())
            if key not in signs:
                signs[key] = rng.choice([-1.0, 1.0], size=parents.sum())
            log_odds[child] = strength * signs[key] @ (2.0 * X[row - 1, parents] - 1)
        X[row] = rng.uniform(size=n_features) < 1 / (1 + np.exp(-log_odds))
    return Problem(X, None, {"transition_times": np.cumsum(lengths)[:-1], "networks": networks})


def make_class_trees(
    n_samples: int = 50_000,
    n_features: int = 10,
    n_classes: int = 5,
    n_levels: int = 10,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Classes that differ in the tree along which their columns depend on one another.

    Parameters
    ----------
    n_samples : int, default=50_000
        Rows: half of them of the first class, the others shared by the other classes.
    n_features : int, default=10
        Columns.
    n_classes : int, default=5
        Classes.
    n_levels : int, default=10
        Values of each column, 0, 1, ...
    random_state : int, RandomState instance or None, default=None
        Draws the trees, the probabilities and the rows.

    Returns
    -------
    problem : Problem
        ``truth`` holds ``adjacency`` of shape (n_classes, n_features, n_features), the tree of each class, with an
        entry True at [class, parent, child].

    Examples
    --------
    >>> from fewer.datasets import make_class_trees
    >>> X, y, truth = make_class_trees(n_samples=800, random_state=0)
    >>> X.shape, truth["adjacency"].sum(axis=(1, 2)).tolist()
    ((800, 10), [9, 9, 9, 9, 9])
    """
    from sklearn.utils import check_random_state

    if n_classes < 2 or n_levels < 2 or n_samples < 4 * n_classes:
        raise ValueError(
            f"n_classes={n_classes} and n_levels={n_levels} must be at least 2, and n_samples={n_samples} at least 4 "
            "for each class."
        )
    rng = check_random_state(random_state)
    adjacency = np.zeros((n_classes, n_features, n_features), dtype=bool)
    trees = []
    for label in range(n_classes):
        order = rng.permutation(n_features)
        parents = {int(order[place]): int(order[rng.randint(place)]) for place in range(1, n_features)}
        for child, parent in parents.items():
            adjacency[label, parent, child] = True
        tables = rng.uniform(size=(n_features, n_levels, n_levels))
        trees.append((order, parents, tables / tables.sum(axis=2, keepdims=True)))
    each = n_samples // 2 // (n_classes - 1)
    y = np.repeat(np.arange(n_classes), [n_samples - each * (n_classes - 1)] + [each] * (n_classes - 1))
    own_tree = rng.permutation(len(y)) % 2 == 0
    source = np.where(own_tree, y, 0)
    X = np.empty((len(y), n_features), dtype=np.int64)
    for label, (order, parents, tables) in enumerate(trees):
        rows = np.flatnonzero(source == label)
        for column in order:
            given = X[rows, parents[int(column)]] if int(column) in parents else np.zeros(len(rows), dtype=int)
            thresholds = tables[column].cumsum(axis=1)[given]
            X[rows, column] = (rng.uniform(size=(len(rows), 1)) > thresholds[:, :-1]).sum(axis=1)
    return Problem(X, y, {"adjacency": adjacency})


def make_conditional_link(n_samples: int = 1000, random_state: "int | RandomState | None" = None) -> Problem:
    """Three bits of which two agree in one class and disagree in the other.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        Classes 0 and 1. ``truth`` holds ``edge``, the columns (0, 2) whose dependence tells the classes apart, and
        ``rates``, the share of rows that naive Bayes, the generative tree and the best rule classify right.

    Examples
    --------
    >>> from fewer.datasets import make_conditional_link
    >>> X, y, truth = make_conditional_link(random_state=0)
    >>> X.shape, truth["edge"]
    ((1000, 3), (0, 2))
    """
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    first, coin, other = (rng.randint(2, size=n_samples) for _ in range(3))
    second = np.where(rng.uniform(size=n_samples) < 0.5, first, coin)
    part = rng.uniform(size=n_samples)
    third = np.where(part < 0.3, np.where(y == 0, first, 1 - first), np.where(part < 0.8, second, other))
    rates = {"naive Bayes": 0.5, "generative tree": 0.575, "best": 0.65}
    return Problem(np.column_stack([first, second, third]), y, {"edge": (0, 2), "rates": rates})


def make_corral() -> Problem:
    """Two pairs of bits, an irrelevant bit, and one that agrees with the class in three rows of four.

    Returns
    -------
    problem : Problem
        All 32 settings of five bits, four times each; always the same 128 rows. The class is ``(a0 and a1) or (b0 and
        b1)``. ``truth`` holds ``support``, True for the four bits that decide it.

    Examples
    --------
    >>> from fewer.datasets import make_corral
    >>> X, y, truth = make_corral()
    >>> X.shape, int(y.sum()), float((X[:, 5] == y).mean())
    ((128, 6), 56, 0.75)
    """
    bits = np.repeat(np.array(list(product((0, 1), repeat=5))), 4, axis=0)
    y = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    hint = np.where(np.arange(len(y)) % 4 == 3, 1 - y, y)
    names = ("a0", "a1", "b0", "b1", "irrelevant", "hint")
    return Problem(np.column_stack([bits, hint]), y, {"support": np.arange(6) < 4}, names)
