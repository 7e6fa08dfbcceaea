"""Where the auxiliary variable starts: hardly depending on the rows, or from clusters of them.

What is random is drawn for the columns of the table, so that it does not depend on how the axes of the span come out.
"""

import warnings

import numpy as np
from sklearn.cluster import KMeans

from fewer.extract.information._bound import polar

Softmax = tuple[np.ndarray, np.ndarray]
"""Weights v_j of (states, coordinates), and b_j."""

_SMALL = 0.3
"""Standard deviation of the weights at random, for a table of unit variance."""
_SOFTER = 3.0
"""Variance of a cluster at the start, as a multiple of what it is."""


def random_states(Z: np.ndarray, axes: np.ndarray, n_aux: int, rng: np.random.RandomState) -> Softmax:
    """Small random weights of the columns, in coordinates of the span: states are about as likely for all rows."""
    typical = np.sqrt(np.sum(Z**2) / (len(Z) * len(axes)))
    return _SMALL * rng.normal(size=(n_aux, len(axes))) @ axes / typical, _SMALL * rng.normal(size=n_aux)


def random_directions(n_components: int, axes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Orthonormal directions in the coordinates of the span."""
    return polar(rng.normal(size=(n_components, len(axes))) @ axes)


def clustered_states(Z: np.ndarray, n_aux: int, rng: np.random.RandomState) -> Softmax:
    """The softmax of round clusters around the centres c of k-means, ``exp((2 c'z - |c|^2) / (2 variance))``.

    The variance is more than that of the clusters: rows between two centres, which may go either way, move the softmax.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer distinct rows than clusters: some centres are the same then
        found = KMeans(min(n_aux, len(Z)), n_init=1, random_state=rng).fit(Z)
    variance = _SOFTER * max(found.inertia_ / Z.size, 1e-6 * np.mean(Z**2))
    centres = found.cluster_centers_
    return -centres / variance, np.sum(centres**2, axis=1) / (2 * variance)
