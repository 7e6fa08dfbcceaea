"""Spread of the class means against the spread within the classes: Fisher's score, the BW ratio, and the F statistic.

With class means m_cj, overall means m_j and sizes n_c, ``B_j = sum_c n_c (m_cj - m_j)^2`` and
``W_j = sum_c sum_(i in c) (x_ij - m_cj)^2``. The score is ``B_j / W_j``; the F statistic of an analysis of variance is
``(B_j / (K - 1)) / (W_j / (n - K))``. All three give the same order.
"""

from typing import Any

import numpy as np
from scipy.special import fdtrc

from fewer.select.scores._class_moments import class_moments, ratio
from fewer.select.scores._score import ColumnScores, column_score


@column_score(tasks=("classification",), sparse=True)
def fisher_score(X: Any, y: np.ndarray) -> np.ndarray:
    """Spread of the class means over the spread within the classes, for each column.

    ``sum_c n_c (m_cj - m_j)^2 / sum_c n_c s_cj^2``, with class means m_cj and variances s_cj^2 (divisor n_c).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
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
    moments = class_moments(X, y)
    return ratio(moments.between, moments.within)


@column_score(tasks=("classification",), sparse=True)
def bw_ratio_score(X: Any, y: np.ndarray) -> np.ndarray:
    """Sum of squares between the classes over the sum of squares within them, for each column.

    The same numbers as :func:`fisher_score`, under the name that they have in the analysis of gene expressions.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a constant column, infinite for one that is constant within each class but not over all.

    References
    ----------
    .. [1] Dudoit, S., Fridlyand, J. and Speed, T. P. (2002). Comparison of discrimination methods for the
       classification of tumors using gene expression data. Journal of the American Statistical Association 97, 77-87.

    Examples
    --------
    >>> from fewer.select import bw_ratio_score
    >>> bw_ratio_score([[0, 0], [2, 1], [4, 0], [6, 1]], ["well", "well", "ill", "ill"])
    array([4., 0.])
    """
    moments = class_moments(X, y)
    return ratio(moments.between, moments.within)


@column_score(tasks=("classification",), sparse=True, p_values=True)
def anova_score(X: Any, y: np.ndarray) -> ColumnScores:
    """F statistic of a one-way analysis of variance, for each column.

    ``(B_j / (K - 1)) / (W_j / (n - K))`` with the sums of squares between and within the K classes. The p-value is
    that of equal means, for normal columns with the same variance in each class.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        F statistics; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        Their p-values; one for a constant column.

    Examples
    --------
    >>> from fewer.select import anova_score
    >>> scores, p_values = anova_score([[0, 0], [2, 1], [4, 0], [6, 1]], ["well", "well", "ill", "ill"])
    >>> scores, p_values.round(3)
    (array([8., 0.]), array([0.106, 1.   ]))
    """
    moments = class_moments(X, y)
    n_classes, n_rows = len(moments.counts), moments.counts.sum()
    freedom = n_rows - n_classes
    if freedom == 0:  # every row is a class of its own: nothing to compare with
        return ColumnScores(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    scores = ratio(moments.between / (n_classes - 1), moments.within / freedom)
    return ColumnScores(scores, fdtrc(n_classes - 1, freedom, scores))
