"""Tables whose columns depend on one another by a known graph.

`make_graph_gaussian`
    Normal rows whose precision matrix has the graph as its zeros: ``x ~ N(0, Omega^-1)``, all variances 1.

    Chain: ``Sigma_ij = rho^|i - j|``, whose inverse is tridiagonal. Random: a number of edges per column on average,
    with weights of both signs. Hubs: groups of columns, each tied to the first of its group.
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
