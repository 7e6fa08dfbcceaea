"""Clusters through one another that are tight in two columns each, among rows that belong nowhere.

Rows of cluster c are standard normal in all columns but two, which are drawn for the cluster and have a standard
deviation of 0.1; all clusters are centred at 0, and grow in size from the first to the last. Noise is uniform over the
range of each column.

Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations. Subspace,
Latent Structure and Feature Selection, LNCS 3940, 163-172.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_subspace_clusters(
    n_samples: int = 10_450,
    n_features: int = 25,
    n_clusters: int = 19,
    n_tight: int = 2,
    spread: float = 0.1,
    noise: float = 0.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Clusters with the same centre, each of which is tight in a few columns of its own.

    Parameters
    ----------
    n_samples : int, default=10450
        Rows, those of noise included. The largest cluster is ten times as large as the smallest, and the others lie
        evenly between: 100, 150, ..., 1000 rows by default.
    n_features : int, default=25
        Columns.
    n_clusters : int, default=19
        Clusters.
    n_tight : int, default=2
        Columns in which a cluster is tight.
    spread : float, default=0.1
        Standard deviation in these; in all others it is 1.
    noise : float, default=0.0
        Share of the rows that belong to no cluster.
    random_state : int, RandomState instance or None, default=None
        Draws the tight columns, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is the cluster, from the smallest, 0, to the largest, and -1 for noise. ``truth`` holds ``tight``
        (n_clusters, n_tight), the columns in which each is tight.

    Notes
    -----
    No cluster can be seen by its mean, and none in a column alone that is tight for others too.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_subspace_clusters
    >>> X, y, truth = make_subspace_clusters(random_state=0)
    >>> np.bincount(y)[[0, 1, -1]], truth["tight"].shape
    (array([ 100,  150, 1000]), (19, 2))
    """
    from sklearn.utils import check_random_state

    if not 0 <= noise < 1:
        raise ValueError(f"noise={noise} must be at least 0 and less than 1.")
    if not 1 <= n_tight <= n_features:
        raise ValueError(f"n_tight={n_tight} must lie between 1 and n_features={n_features}.")
    n_noise = round(noise * n_samples)
    if n_clusters < 1 or n_samples - n_noise < n_clusters:
        raise ValueError(f"n_clusters={n_clusters} must be at least 1, and there must be a row for each.")
    rng = check_random_state(random_state)
    tight = np.array([np.sort(rng.permutation(n_features)[:n_tight]) for _ in range(n_clusters)])
    y = np.repeat(np.arange(n_clusters), _growing_sizes(n_samples - n_noise, n_clusters))
    X = rng.normal(size=(len(y), n_features))
    X[np.arange(len(y))[:, None], tight[y]] *= spread
    strays = rng.uniform(X.min(axis=0), X.max(axis=0), size=(n_noise, n_features))
    return Problem(np.vstack([X, strays]), np.append(y, np.full(n_noise, -1)), {"tight": tight})


def _growing_sizes(n_rows: int, n_clusters: int) -> np.ndarray:
    """Sizes that sum to the number of rows, the last ten times the first as far as whole numbers go."""
    shares = np.linspace(1, 10, n_clusters)
    ends = np.round(np.cumsum(shares) / shares.sum() * n_rows).astype(int)
    return np.diff(ends, prepend=0)
