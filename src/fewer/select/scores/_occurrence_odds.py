"""How much more often a word occurs in one class than in all others: odds ratio, bi-normal separation, Fisher index.

With ``p = P(F|class)`` and ``q = P(F|all others)``:

- odds ratio ``ln[p (1 - q) / ((1 - p) q)]``,
- bi-normal separation ``z(p) - z(q)``, with z the quantile function of the normal distribution,
- Fisher index ``(p - q)^2 / (p (1 - p) + q (1 - q))``.

The first two are signed: only words *of* the class rank high, which is what a rare class needs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logit, ndtri

from fewer.select.scores._occurrence import Occurrence, occurrence
from fewer.select.scores._score import column_score

Pair = Callable[[np.ndarray, np.ndarray], np.ndarray]


def log_odds_ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """``ln[p (1 - q) / ((1 - p) q)]``."""
    return logit(p) - logit(q)


def normal_separation(p: np.ndarray, q: np.ndarray, clip: float) -> np.ndarray:
    """Distance of the two probabilities on the scale of the normal distribution."""
    return ndtri(np.clip(p, clip, 1 - clip)) - ndtri(np.clip(q, clip, 1 - clip))


def fisher_index(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Squared difference over the sum of the variances."""
    return (p - q) ** 2 / (p * (1 - p) + q * (1 - q))


def against_the_rest(found: Occurrence, smoothing: float, compare: Pair) -> np.ndarray:
    """The comparison for each class, a row each; zero for a column that occurs in all rows or in none.

    Smoothing alone would say that a word which occurs nowhere is likelier in the smaller class.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = []
        for code in range(len(found.class_sizes)):
            q, p = found.one_against_the_rest(code).probabilities(smoothing)
            rows.append(np.where(found.varies, compare(p, q), 0.0))
    return np.stack(rows)


@column_score(tasks=("classification",), sparse=True, not_negative=True, for_each_class=True)
def odds_ratio_score(X: Any, y: Any, *, smoothing: float = 1.0) -> np.ndarray:
    """Logarithm of the ratio of the odds that a column occurs: in one class, and in all others.

    ``ln[P(F|pos) (1 - P(F|neg)) / ((1 - P(F|pos)) P(F|neg))]``. Signed: high for columns that speak for the class, low
    for those that speak against it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.
    smoothing : float, default=1.0
        Added to every count of presence and of absence. With 0, a column that is missing in one class is infinite.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        For each class, in sorted order, against all others.

    Notes
    -----
    With a rare class, words that occur in very few rows score high, because smoothing adds more to the rate of the
    smaller class. Leave out words that occur in few rows (``min_df`` of :class:`fewer.select.TextFeatureScorer`).

    References
    ----------
    .. [1] Mladenic, D. and Grobelnik, M. (1999). Feature selection for unbalanced class distribution and naive Bayes.
       ICML, 258-267.

    Examples
    --------
    >>> from fewer.select import odds_ratio_score
    >>> ham, spam = odds_ratio_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"])
    >>> spam.round(3)
    array([2.197, 0.   ])
    """
    return against_the_rest(occurrence(X, y), smoothing, log_odds_ratio)


@column_score(tasks=("classification",), sparse=True, not_negative=True, for_each_class=True)
def bns_score(X: Any, y: Any, *, smoothing: float = 1.0, clip: float = 5e-4, absolute: bool = False) -> np.ndarray:
    """Bi-normal separation: how far apart the rates of occurrence are, on the scale of the normal distribution.

    ``z(P(F|pos)) - z(P(F|neg))``, with z the inverse of the normal distribution function.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.
    smoothing : float, default=1.0
        Added to every count of presence and of absence.
    clip : float, default=5e-4
        Rates are kept between this and one minus this, because z of 0 and of 1 is infinite.
    absolute : bool, default=False
        Whether to drop the sign, so that columns which speak against a class rank high too.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        For each class, in sorted order, against all others.

    References
    ----------
    .. [1] Forman, G. (2003). An extensive empirical study of feature selection metrics for text classification. Journal
       of Machine Learning Research 3, 1289-1305.

    Examples
    --------
    >>> from fewer.select import bns_score
    >>> ham, spam = bns_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"])
    >>> spam.round(3)
    array([1.349, 0.   ])
    """
    scores = against_the_rest(occurrence(X, y), smoothing, lambda p, q: normal_separation(p, q, clip))
    return np.abs(scores) if absolute else scores


@column_score(tasks=("classification",), sparse=True, not_negative=True, for_each_class=True)
def occurrence_fisher_score(X: Any, y: Any, *, smoothing: float = 1.0) -> np.ndarray:
    """Fisher index of occurrence: the squared difference of two rates over the sum of their variances.

    ``(P(F|pos) - P(F|neg))^2 / sum_c P(F|c) (1 - P(F|c))``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other values that are zero where a column does not occur; none may be negative.
    y : array-like of shape (n_samples,)
        Classes.
    smoothing : float, default=1.0
        Added to every count of presence and of absence.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        For each class, in sorted order, against all others.

    References
    ----------
    .. [1] Chakrabarti, S., Dom, B., Agrawal, R. and Raghavan, P. (1998). Scalable feature selection, classification and
       signature generation for organizing large text databases into hierarchical topic taxonomies. The VLDB Journal 7,
       163-178.

    Examples
    --------
    >>> from fewer.select import occurrence_fisher_score
    >>> ham, spam = occurrence_fisher_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"])
    >>> spam.round(3)
    array([0.667, 0.   ])
    """
    return against_the_rest(occurrence(X, y), smoothing, fisher_index)
