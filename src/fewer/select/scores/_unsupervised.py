"""Scores without a target: the variance, and the Laplacian score.

The Laplacian score is high for a column that keeps the neighbourhoods of the rows: rows i and j that are among each
other's nearest neighbours get the weight ``S_ij = exp(-|x_i - x_j|^2 / t)``; with ``d = S 1`` and f a column less its
mean under the weights d, He, Cai and Niyogi's score is ``L = f'(diag(d) - S) f / f' diag(d) f``, small for a column
that changes slowly along the neighbourhoods. Here it is ``1 - L = f'S f / f' diag(d) f``, so that higher is better.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from fewer.select.scores._class_moments import class_moments
from fewer.select.scores._score import column_score


@column_score(tasks=("unsupervised",), sparse=True)
def variance_score(X: Any, y: None = None) -> np.ndarray:
    """Variance of each column (divisor n); needs no target.

    Only columns of the same unit can be compared by it: scale them by what they mean, not to unit variance.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : Ignored
        Not used.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Exactly zero for a constant column.

    Examples
    --------
    >>> from fewer.select import variance_score
    >>> variance_score([[1, 5], [3, 5]])
    array([1., 0.])
    """
    return class_moments(X, np.zeros(X.shape[0], dtype=np.int64)).squares[0] / X.shape[0]


_ENTRIES_AT_ONCE = 1 << 22


@column_score(tasks=("unsupervised",), sparse=True)
def laplacian_score(X: Any, y: None = None, *, n_neighbors: int = 5, bandwidth: float | None = None) -> np.ndarray:
    """One less the Laplacian score: how smoothly each column changes along the neighbourhoods of the rows.

    The published score is better when it is lower; this is one less that, so higher is better here as everywhere. It
    finds columns that keep the clusters or the manifold that all columns together show, and needs no target. Columns
    should have comparable units, since they make the neighbourhoods.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : Ignored
        Not used.
    n_neighbors : int, default=5
        Nearest rows that a row is joined with.
    bandwidth : float or None, default=None
        The t of the weights ``exp(-distance^2 / t)``; by default the mean squared distance of rows that are joined.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        At most 1; minus infinity for a constant column, which keeps every neighbourhood and has no information.

    References
    ----------
    .. [1] He, X., Cai, D. and Niyogi, P. (2005). Laplacian score for feature selection. Advances in Neural Information
       Processing Systems 18.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import laplacian_score
    >>> rng = np.random.default_rng(0)
    >>> clusters = np.repeat([0.0, 8.0], 50)
    >>> X = np.column_stack([clusters, clusters, np.zeros(100)]) + rng.normal(size=(100, 3))
    >>> np.argmin(laplacian_score(X))
    np.int64(2)
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be 1 or more, got {n_neighbors}.")
    return smoothness(X, neighbourhood_weights(X, min(n_neighbors, X.shape[0] - 1), bandwidth))


def neighbourhood_weights(X: Any, n_neighbors: int, bandwidth: float | None) -> sparse.csr_array:
    """Symmetric weights ``exp(-distance^2 / bandwidth)`` of rows of which one is among the nearest of the other."""
    n_rows = X.shape[0]
    distances, neighbours = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors()
    squares = distances.astype(float) ** 2
    if bandwidth is None:
        bandwidth = float(squares.mean()) or 1.0
    weights = sparse.csr_array(
        (np.exp(-squares / bandwidth).ravel(), neighbours.ravel(), np.arange(n_rows + 1) * n_neighbors),
        shape=(n_rows, n_rows),
    )
    return weights.maximum(weights.T).tocsr()


def smoothness(X: Any, weights: sparse.csr_array) -> np.ndarray:
    """``f'S f / f' diag(S 1) f`` of each column f, less its weighted mean; minus infinity for a constant one."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    across, along = sparse_forms(X, weights, degrees) if sparse.issparse(X) else dense_forms(X, weights, degrees)
    constant = variance_score(X) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(constant | (along <= 0), -np.inf, across / along)


def dense_forms(X: np.ndarray, weights: sparse.csr_array, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``f'S f`` and ``f' diag(S 1) f``, a block of columns at a time."""
    n_rows, n_columns = X.shape
    across, along = np.empty(n_columns), np.empty(n_columns)
    at_once = max(1, _ENTRIES_AT_ONCE // n_rows)
    for start in range(0, n_columns, at_once):
        columns = slice(start, start + at_once)
        block = X[:, columns].astype(float)
        block -= degrees @ block / degrees.sum()
        across[columns] = np.einsum("ij,ij->j", block, weights @ block)
        along[columns] = degrees @ block**2
    return across, along


def sparse_forms(X: Any, weights: sparse.csr_array, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same from stored entries alone: the weighted mean m takes ``m^2 sum(degrees)`` from both."""
    X = sparse.csr_array(X, dtype=float)
    of_means = (degrees @ X) ** 2 / degrees.sum()
    across = np.asarray(X.multiply(weights @ X).sum(axis=0)).ravel()
    return across - of_means, degrees @ X.multiply(X).tocsr() - of_means
