"""Scores of words: information, odds and Fisher index of their occurrence, and controls to compare them with.

A column occurs in a row when its count is above zero. With n rows, n_c of them of class c, and N_Fc rows of class c in
which column F occurs,

``P(F) = N_F / n``, ``P(C) = n_c / n``, ``P(F|C) = (N_Fc + s) / (n_c + 2 s)``,

where s > 0 keeps words that a class has never seen from having probability zero.

*Information gain, cross entropy, and the mean log ratio*: all three are zero for a word that is independent of the
class, and look at all classes together. The first counts presence and absence alike, so that with a rare class of
interest it prefers words that are frequent elsewhere.

*Odds ratio, bi-normal separation, Fisher index*: with ``p = P(F|class)`` and ``q = P(F|all others)``:

- odds ratio ``ln[p (1 - q) / ((1 - p) q)]``,
- bi-normal separation ``z(p) - z(q)``, with z the quantile function of the normal distribution,
- Fisher index ``(p - q)^2 / (p (1 - p) + q (1 - q))``.

The first two are signed: only words *of* the class rank high, which is what a rare class needs.

*Controls*: plain frequency, the weights of a linear model on all words, and chance.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit, ndtri, xlogy
from sklearn.utils import check_random_state

from fewer._kernels._occurrence import occurrence_counts
from fewer.select.scores._score import column_score


class Occurrence(NamedTuple):
    """How often the columns occur in the rows of each class.

    Attributes
    ----------
    counts : ndarray of shape (n_classes, n_features)
        Rows of the class in which the column occurs.
    class_sizes : ndarray of shape (n_classes,)
        Rows of the class.
    """

    counts: np.ndarray
    class_sizes: np.ndarray

    @property
    def n_rows(self) -> int:
        """Rows of all classes."""
        return int(self.class_sizes.sum())

    @property
    def totals(self) -> np.ndarray:
        """Rows in which each column occurs."""
        return self.counts.sum(axis=0)

    @property
    def priors(self) -> np.ndarray:
        """Share of the rows in each class."""
        return self.class_sizes / self.n_rows

    @property
    def varies(self) -> np.ndarray:
        """Whether a column occurs in some rows and not in others: any other tells nothing."""
        return (self.totals > 0) & (self.totals < self.n_rows)

    def probabilities(self, smoothing: float) -> np.ndarray:
        """Probability that a column occurs in a row of the class, ``(N_Fc + s) / (n_c + 2 s)``."""
        return (self.counts + smoothing) / (self.class_sizes[:, None] + 2 * smoothing)

    def one_against_the_rest(self, code: int) -> "Occurrence":
        """Two classes: all others, and then this one."""
        own, size = self.counts[code], self.class_sizes[code]
        return Occurrence(np.stack([self.totals - own, own]), np.array([self.n_rows - size, size]))


def occurrence(X: Any, codes: np.ndarray) -> Occurrence:
    """Occurrences in a table with classes 0, 1, ..."""
    n_classes = int(codes.max()) + 1
    return Occurrence(occurrence_counts(X, codes, n_classes), np.bincount(codes, minlength=n_classes))


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
    """Information of the presence of a column about the class; its absence does not count.

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


@column_score(tasks=("unsupervised",), sparse=True, not_negative=True)
def frequency_score(X: Any, y: Any = None) -> np.ndarray:
    """Sum of each column: how often a word occurs in all rows together.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts; none may be negative.
    y : Ignored
        Not used.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The sums.

    Examples
    --------
    >>> from fewer.select import frequency_score
    >>> frequency_score([[2, 1], [1, 0], [0, 1]])
    array([3., 2.])
    """
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()


@column_score(tasks=("classification",), sparse=True, for_each_class=True)
def svm_weight_score(X: Any, y: Any, *, C: float = 1.0, random_state: Any = None) -> np.ndarray:
    """Size of each column's weight in a linear support vector machine on all columns.

    Unlike the other scores of words, it sees all columns at once: of two that say the same, each gets about half.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; columns in about the same units.
    y : array-like of shape (n_samples,)
        Classes.
    C : float, default=1.0
        How much errors on training rows weigh against the size of the weights.
    random_state : int, RandomState instance or None, default=None
        Order in which the solver visits the rows, where it does.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        Absolute weights for each class, in sorted order, against all others.

    References
    ----------
    .. [1] Brank, J., Grobelnik, M., Milic-Frayling, N. and Mladenic, D. (2002). Feature selection using support vector
       machines. In Data Mining III, WIT Press, 261-273.

    Examples
    --------
    >>> from fewer.select import svm_weight_score
    >>> ham, spam = svm_weight_score([[2, 1], [1, 0], [0, 1], [0, 0]], ["spam", "spam", "ham", "ham"], random_state=0)
    >>> bool(spam[0] > spam[1])
    True
    """
    from sklearn.svm import LinearSVC

    weights = np.abs(LinearSVC(C=C, random_state=random_state).fit(X, y).coef_)
    return np.repeat(weights, 2, axis=0) if len(weights) == 1 else weights


@column_score(tasks=("unsupervised",), sparse=True)
def random_score(X: Any, y: Any = None, *, random_state: Any = None) -> np.ndarray:
    """Uniform random numbers: the control that every score has to beat.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table; only its width counts.
    y : Ignored
        Not used.
    random_state : int, RandomState instance or None, default=None
        Draws the numbers.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1.

    Examples
    --------
    >>> from fewer.select import random_score
    >>> random_score([[2, 1], [1, 0], [0, 1]], random_state=0).round(3)
    array([0.549, 0.715])
    """
    return check_random_state(random_state).uniform(size=X.shape[1])
