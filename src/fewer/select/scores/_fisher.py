"""Spread of the class means over the spread within the classes: Fisher's score of a column.

``sum_c n_c (m_cj - m_j)^2 / sum_c n_c s_cj^2``, with class means m_cj and variances s_cj^2 (divisor n_c).
"""

import numpy as np

from fewer.select.scores._score import column_score


@column_score(tasks=("classification",))
def fisher_score(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spread of the class means over the spread within the classes, for each column.

    ``sum_c n_c (m_cj - m_j)^2 / sum_c n_c s_cj^2``, with class means m_cj and variances s_cj^2 (divisor n_c).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Table.
    y : ndarray of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a constant column, infinite for one that is constant within each class but not over all.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import fisher_score
    >>> fisher_score(np.array([[0.0, 0.0], [2.0, 1.0], [4.0, 0.0], [6.0, 1.0]]), np.array([0, 0, 1, 1]))
    array([4., 0.])
    """
    mean = X.mean(axis=0)
    between, within = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for label in np.unique(y):
        rows = X[y == label]
        between += len(rows) * (rows.mean(axis=0) - mean) ** 2
        within += ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / within, 0.0)
