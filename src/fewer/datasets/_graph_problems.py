"""Tables whose columns depend on one another by a known graph.

`make_graph_gaussian`
    Normal rows whose precision matrix has the graph as its zeros: ``x ~ N(0, Omega^-1)``, all variances 1.

    Chain: ``Sigma_ij = rho^|i - j|``, whose inverse is tridiagonal. Random: a number of edges per column on average,
    with weights of both signs. Hubs: groups of columns, each tied to the first of its group.

`simulate_sparse_var`
    Series of an autoregressive model with few coefficients: ``x(t) = sum_k A_k x(t - k) + w(t)``, w standard normal.

    Entries ij and ji of the inverse spectrum ``Y_0 = I + sum_k A_k' A_k, ...`` are zero at all lags where series i and
    j are independent given the others.
"""

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
