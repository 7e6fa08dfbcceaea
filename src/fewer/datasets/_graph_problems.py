"""Tables whose columns depend on one another by a known graph.

`make_graph_gaussian`
    Normal rows whose precision matrix has the graph as its zeros: ``x ~ N(0, Omega^-1)``, all variances 1.

    Chain: ``Sigma_ij = rho^|i - j|``, whose inverse is tridiagonal. Random: a number of edges per column on average,
    with weights of both signs. Hubs: groups of columns, each tied to the first of its group.

`simulate_sparse_var`
    Series of an autoregressive model with few coefficients: ``x(t) = sum_k A_k x(t - k) + w(t)``, w standard normal.

    Entries ij and ji of the inverse spectrum ``Y_0 = I + sum_k A_k' A_k, ...`` are zero at all lags where series i and
    j are independent given the others.

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
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import toeplitz

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_graph_gaussian(
    n_samples: int = 200,
    n_features: int = 30,
    structure: Literal["chain", "random", "hubs"] = "random",
    *,
    degree: float = 3.0,
    rho: float = 0.5,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Normal rows whose columns depend on one another by a known graph.

    Parameters
    ----------
    n_samples : int, default=200
        Rows.
    n_features : int, default=30
        Columns.
    structure : {"chain", "random", "hubs"}, default="random"
        Each column tied to the next; pairs drawn at random; or groups tied to their first column.
    degree : float, default=3.0
        Edges of a column on average ("random"), or columns of a group beside its first ("hubs").
    rho : float, default=0.5
        Correlation of neighbours ("chain"), or how near the precision matrix is to a singular one, 0 to 1 (the others).
    random_state : int, RandomState instance or None, default=None
        Draws the graph, then the rows.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``adjacency``, ``precision`` and ``covariance``.

    Examples
    --------
    >>> from fewer.datasets import make_graph_gaussian
    >>> X, _, truth = make_graph_gaussian(100, 4, structure="chain", rho=0.4, random_state=0)
    >>> truth["adjacency"].astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    from sklearn.utils import check_random_state

    if not 0 <= rho < 1:
        raise ValueError(f"rho is {rho}; it must be at least 0 and below 1.")
    rng = check_random_state(random_state)
    edges = _drawn_edges(structure, n_features, degree, rng)
    if structure == "chain":
        covariance = toeplitz(rho ** np.arange(n_features))
    else:
        weights = np.where(edges, rng.uniform(0.5, 1.0, size=edges.shape) * rng.choice([-1, 1], size=edges.shape), 0.0)
        weights += weights.T
        largest = np.abs(np.linalg.eigvalsh(weights)).max(initial=0)
        covariance = np.linalg.inv(np.eye(n_features) + rho * weights / (largest or 1.0))
    scales = np.sqrt(np.diag(covariance))
    covariance /= np.outer(scales, scales)
    adjacency = (edges | edges.T) if rho > 0 else np.zeros_like(edges)
    precision = np.where(adjacency | np.eye(n_features, dtype=bool), np.linalg.inv(covariance), 0.0)
    X = rng.normal(size=(n_samples, n_features)) @ np.linalg.cholesky(covariance).T
    return Problem(X, None, {"adjacency": adjacency, "precision": precision, "covariance": covariance})


def _drawn_edges(structure: str, n_features: int, degree: float, rng) -> np.ndarray:
    """Pairs (i, j), i < j, that have an edge."""
    if structure == "chain":
        return np.eye(n_features, k=1, dtype=bool)
    edges = np.zeros((n_features, n_features), dtype=bool)
    if structure == "hubs":
        size = int(degree) + 1
        columns = np.arange(n_features)
        hubs = columns - columns % size
        edges[hubs, columns] = True
        return np.triu(edges, 1)
    if structure == "random":
        rows, columns = np.triu_indices(n_features, 1)
        wanted = min(round(n_features * degree / 2), len(rows))
        chosen = rng.choice(len(rows), wanted, replace=False)
        edges[rows[chosen], columns[chosen]] = True
        return edges
    raise ValueError(f"structure is {structure!r}; it must be 'chain', 'random' or 'hubs'.")


def simulate_sparse_var(
    n_samples: int = 512,
    n_features: int = 20,
    *,
    order: int = 2,
    n_nonzero: int = 10,
    value: float = 0.5,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Series of a stable autoregressive model with few coefficients, and their graph.

    Parameters
    ----------
    n_samples : int, default=512
        Points in time.
    n_features : int, default=20
        Series.
    order : int, default=2
        Rows back that a row depends on.
    n_nonzero : int, default=10
        Coefficients of each lag that are not zero, in the lower triangle with the diagonal.
    value : float, default=0.5
        Their size; signs are drawn.
    random_state : int, RandomState instance or None, default=None
        Draws coefficients until the roots of the model are below 0.95, then the series.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``adjacency``, ``ar_coef``, ``noise_cov`` and ``inverse_spectrum``.

    References
    ----------
    .. [1] Songsiri, J. and Vandenberghe, L. (2010). Topology selection in graphical models of autoregressive processes.
       Journal of Machine Learning Research 11, 2671-2705.

    Examples
    --------
    >>> from fewer.datasets import simulate_sparse_var
    >>> X, _, truth = simulate_sparse_var(100, 4, order=1, n_nonzero=3, random_state=0)
    >>> truth["ar_coef"].shape
    (1, 4, 4)
    """
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    rows, columns = np.tril_indices(n_features)
    if n_nonzero > len(rows):
        raise ValueError(f"n_nonzero={n_nonzero} is more than the {len(rows)} places of a lower triangle.")
    for _ in range(1000):
        coef = np.zeros((order, n_features, n_features))
        for lag in range(order):
            places = rng.choice(len(rows), n_nonzero, replace=False)
            coef[lag, rows[places], columns[places]] = value * rng.choice([-1, 1], n_nonzero)
        companion = np.eye(order * n_features, k=-n_features)
        companion[:n_features] = np.hstack(list(coef))
        if np.abs(np.linalg.eigvals(companion)).max() < 0.95:
            break
    else:
        raise ValueError("No stable model was drawn in 1000 tries: lower value or n_nonzero.")
    n_before = 200  # until where it started is forgotten
    series = rng.normal(size=(n_before + n_samples, n_features))
    for t in range(order, len(series)):
        for lag in range(order):
            series[t] += coef[lag] @ series[t - lag - 1]
    blocks = np.concatenate([np.eye(n_features)[None], -coef])
    spectrum = np.array(
        [
            (1 if lag == 0 else 2) * sum(blocks[i].T @ blocks[i + lag] for i in range(order + 1 - lag))
            for lag in range(order + 1)
        ]
    )
    linked = (spectrum != 0).any(axis=0)
    truth = {
        "adjacency": (linked | linked.T) & ~np.eye(n_features, dtype=bool),
        "ar_coef": coef,
        "noise_cov": np.eye(n_features),
        "inverse_spectrum": spectrum,
    }
    return Problem(series[n_before:], None, truth)


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
