"""How much of known clusters a clustering covers."""

from typing import Any

import numpy as np
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d


def cluster_coverage(y_true: Any, labels: Any, *, noise: Any = -1) -> float:
    """Share of the rows that are in a found cluster together with most of its kind.

    Each found cluster stands for the true one that has most rows in it, and these rows count. Many small clusters are
    not punished, so compare clusterings with the same number of them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True cluster of each row.
    labels : array-like of shape (n_samples,)
        Found cluster of each row.
    noise : int or str, default=-1
        What rows of no cluster are called, in either. They count among the rows, and never as covered.

    Returns
    -------
    coverage : float
        From 0 to 1.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

    Examples
    --------
    >>> from fewer.extract import cluster_coverage
    >>> cluster_coverage(["a", "a", "a", "b", "b", "noise"], [0, 0, 1, 1, 1, 1], noise="noise")
    0.6666666666666666
    """
    y_true, labels = column_or_1d(y_true), column_or_1d(labels)
    check_consistent_length(y_true, labels)
    if len(labels) == 0:
        raise ValueError("There are no rows, so that there is nothing to cover.")
    clustered = ~(_is(y_true, noise) | _is(labels, noise))
    if not clustered.any():
        return 0.0
    table = contingency_matrix(y_true[clustered], labels[clustered], sparse=True)
    return float(table.max(axis=0).sum() / len(labels))


def _is(labels: np.ndarray, noise: Any) -> np.ndarray:
    """Which labels are called so; text and numbers are never the same."""
    return np.array([label == noise for label in labels.tolist()], dtype=bool)
