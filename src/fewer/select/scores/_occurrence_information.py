"""What the occurrence of a word tells about the class: information gain, cross entropy, and the mean log ratio.

All three are zero for a word that is independent of the class, and look at all classes together. The first counts
presence and absence alike, so that with a rare class of interest it prefers words that are frequent elsewhere.
"""

from typing import Any

import numpy as np
from scipy.special import xlogy

from fewer.select.scores._occurrence import Occurrence, occurrence
from fewer.select.scores._score import column_score


def cross_entropy(found: Occurrence) -> np.ndarray:
    """``P(F) sum_i P(C_i|F) ln(P(C_i|F) / P(C_i))``."""
    n = found.n_rows
    # P(F) P(C|F) is the joint share N_Fc / n, so that a word which never occurs needs no division by zero.
    joint = found.counts / n
    expected = found.priors[:, None] * np.maximum(found.totals, 1) / n
    return np.maximum(xlogy(joint, joint / expected).sum(axis=0), 0.0)


def complement(found: Occurrence) -> Occurrence:
    """The same for the absence of each column."""
    return Occurrence(found.class_sizes[:, None] - found.counts, found.class_sizes)


def information_gain(found: Occurrence) -> np.ndarray:
    """Cross entropy of the word and of its absence."""
    return cross_entropy(found) + cross_entropy(complement(found))


def mean_log_ratio(found: Occurrence, smoothing: float) -> np.ndarray:
    """``sum_i P(C_i) ln(P(F|C_i) / P(F))``, which is never above zero.

    P(F) is ``sum_i P(C_i) P(F|C_i)``: with smoothing a little more than the share of rows, so that the value stays at
    or below zero for rare words too.
    """
    probabilities = found.probabilities(smoothing)
    overall = found.priors @ probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = found.priors @ np.log(probabilities / overall)
    return np.where(found.varies, ratios, 0.0)


@column_score(tasks=("classification",), sparse=True, not_negative=True)
def info_gain_score(X: Any, y: Any) -> np.ndarray:
    """Mutual information of the class and of whether the column is above zero, in nats.

    ``P(F) sum_i P(C_i|F) ln(P(C_i|F) / P(C_i))`` plus the same for the absence of F.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a column that is independent of the class, or that occurs in all rows or in none.

    References
    ----------
    .. [1] Yang, Y. and Pedersen, J. O. (1997). A comparative study on feature selection in text categorization. ICML,
       412-420.

    Examples
    --------
    >>> from fewer.select import info_gain_score
    >>> info_gain_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"]).round(3)
    array([0.693, 0.   ])
    """
    return information_gain(occurrence(X, y))


@column_score(tasks=("classification",), sparse=True, not_negative=True)
def cross_entropy_score(X: Any, y: Any) -> np.ndarray:
    """What the presence of a column tells about the class; its absence does not count.

    ``P(F) sum_i P(C_i|F) ln(P(C_i|F) / P(C_i))``, the first half of the information gain.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a column that is independent of the class, or that occurs in all rows or in none.

    References
    ----------
    .. [1] Koller, D. and Sahami, M. (1997). Hierarchically classifying documents using very few words. ICML, 170-178.

    Examples
    --------
    >>> from fewer.select import cross_entropy_score
    >>> cross_entropy_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"]).round(3)
    array([0.347, 0.   ])
    """
    return cross_entropy(occurrence(X, y))


@column_score(tasks=("classification",), sparse=True, not_negative=True)
def occurrence_mutual_info_score(X: Any, y: Any, *, smoothing: float = 1.0, absolute: bool = True) -> np.ndarray:
    """Mean over the classes of the log ratio between a column's probability in the class and overall.

    ``|sum_i P(C_i) ln(P(F|C_i) / P(F))|``, which text retrieval calls mutual information; for the mutual information of
    Shannon see :func:`info_gain_score`. The sum itself is never positive, and is zero for a column that is independent
    of the class: ranked by it, noise would come first, hence the absolute value.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.
    smoothing : float, default=1.0
        Added to every count of presence and of absence. With 0, a column that is missing in one class is infinite.
    absolute : bool, default=True
        Whether to drop the sign.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Zero for a column that is independent of the class, or that occurs in all rows or in none.

    References
    ----------
    .. [1] Mladenic, D. and Grobelnik, M. (2003). Feature selection on hierarchy of web documents. Decision Support
       Systems 35, 45-87.

    Examples
    --------
    >>> from fewer.select import occurrence_mutual_info_score
    >>> occurrence_mutual_info_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"]).round(3)
    array([0.144, 0.   ])
    """
    ratios = mean_log_ratio(occurrence(X, y), smoothing)
    return np.abs(ratios) if absolute else ratios
