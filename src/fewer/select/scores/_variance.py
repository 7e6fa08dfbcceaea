"""How much a column varies, without looking at any target."""

from typing import Any

import numpy as np

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
