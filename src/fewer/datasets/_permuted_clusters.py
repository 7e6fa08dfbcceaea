"""Two clusters that show in a few columns; the others have the same values, but each in a random order.

Row i of cluster c (-1 or +1) has ``x_ij = c delta + e_ij`` with standard normal e. Every column beyond the first few is
then permuted by itself, so that it keeps its two humps and tells nothing about the cluster.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_permuted_clusters(
    n_samples: int = 100,
    n_features: int = 203,
    n_relevant: int = 3,
    delta: float = 2.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two clusters in a few columns, among many columns of the same shape that know nothing of them.

    Parameters
    ----------
    n_samples : int, default=100
        Rows; the first half is the first cluster.
    n_features : int, default=203
        Columns.
    n_relevant : int, default=3
        Columns in which the clusters show: the first ones.
    delta : float, default=2.0
        The clusters' means are at minus and plus this, in standard deviations.
    random_state : int, RandomState instance or None, default=None
        Draws the noise, then the permutations.

    Returns
    -------
    problem : Problem
        ``y`` is the cluster, 0 or 1. ``truth`` holds ``support``, a mask of the relevant columns.

    Notes
    -----
    A method that looks at one column at a time, without the clusters, cannot tell the columns apart.

    References
    ----------
    .. [1] Wolf, L. and Bileschi, S. (2005). Combining variable selection with dimensionality reduction. MIT CSAIL
       technical report 2005-019. The clusters of their recipe are too close to be found; here they are further apart.

    Examples
    --------
    >>> from fewer.datasets import make_permuted_clusters
    >>> X, y, truth = make_permuted_clusters(random_state=0)
    >>> X.shape, int(truth["support"].sum())
    ((100, 203), 3)
    """
    from sklearn.utils import check_random_state

    if not 0 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant={n_relevant} must lie between 0 and n_features={n_features}.")
    if n_samples < 2:
        raise ValueError(f"n_samples={n_samples}: two clusters need at least two rows.")
    rng = check_random_state(random_state)
    y = (np.arange(n_samples) >= n_samples // 2).astype(int)
    X = rng.normal(size=(n_samples, n_features)) + delta * (2 * y - 1)[:, None]
    for column in range(n_relevant, n_features):
        X[:, column] = rng.permutation(X[:, column])
    return Problem(X, y, {"support": np.arange(n_features) < n_relevant})
