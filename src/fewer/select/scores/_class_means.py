"""Scores by the means of the classes: variance between and within classes, a class against the rest, fold changes.

*Fisher's score, the BW ratio, and the F statistic*: with class means m_cj, overall means m_j and sizes n_c, ``B_j =
sum_c n_c (m_cj - m_j)^2`` and ``W_j = sum_c sum_(i in c) (x_ij - m_cj)^2``. The score is ``B_j / W_j``; the F statistic
of an analysis of variance is ``(B_j / (K - 1)) / (W_j / (n - K))``. All three give the same order.

*Signal to noise, and Welch's t*: with means m, standard deviations s (divisor n - 1) and sizes n of the class (1) and
of all other rows (0): signal to noise is ``|m_1 - m_0| / (s_1 + s_0)``, Welch's statistic ``|m_1 - m_0| / sqrt(s_1^2 /
n_1 + s_0^2 / n_0)``. A class with a single row has no spread of its own; it is given that of the other rows.

*Fold changes*: with m_k the mean of a column's logarithms in class k, ``exp(m_k - m_l)`` is the ratio of the geometric
means of classes k and l. The score of class k against everyone is ``m_k - max_(l != k) m_l``; downwards ``min_(l != k)
m_l - m_k``; for both, the larger of the two. Against the rest it is ``m_k`` minus one mean of all others, in which
either each class or each row counts the same.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.special import fdtrc, stdtr

from fewer.select.scores._class_moments import ClassMoments, class_moments, ratio
from fewer.select.scores._score import ColumnScores, column_score


@column_score(tasks=("classification",), sparse=True)
def fisher_score(X: Any, y: np.ndarray, *, sample_weight: Any = None) -> np.ndarray:
    """Spread of the class means over the spread within the classes, for each column.

    ``sum_c n_c (m_cj - m_j)^2 / sum_c n_c s_cj^2``, with class means m_cj and variances s_cj^2 (divisor n_c).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

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
    moments = class_moments(X, y, sample_weight)
    return ratio(moments.between, moments.within)


@column_score(tasks=("classification",), sparse=True)
def bw_ratio_score(X: Any, y: np.ndarray, *, sample_weight: Any = None) -> np.ndarray:
    """Sum of squares between the classes over the sum of squares within them, for each column.

    The same numbers as :func:`fisher_score`, under the name that they have in the analysis of gene expressions.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

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
    moments = class_moments(X, y, sample_weight)
    return ratio(moments.between, moments.within)


@column_score(tasks=("classification",), sparse=True, p_values=True)
def anova_score(X: Any, y: np.ndarray, *, sample_weight: Any = None) -> ColumnScores:
    """F statistic of a one-way analysis of variance, for each column.

    ``(B_j / (K - 1)) / (W_j / (n - K))`` with the sums of squares between and within the K classes. The p-value is
    that of equal means, for normal columns with the same variance in each class.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows; a row of weight 2 counts as two rows. None for all alike.

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
    moments = class_moments(X, y, sample_weight)
    n_classes, n_rows = len(moments.counts), moments.counts.sum()
    freedom = n_rows - n_classes
    if freedom <= 0:  # every row is a class of its own: nothing to compare with
        return ColumnScores(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    scores = ratio(moments.between / (n_classes - 1), moments.within / freedom)
    return ColumnScores(scores, fdtrc(n_classes - 1, freedom, scores))


def variances(two: ClassMoments) -> np.ndarray:
    """Variances (divisor n - 1) of the two groups; a single row has that of the other group."""
    found = two.squares / np.maximum(two.counts - 1, 1)[:, None]
    for group in (0, 1):
        if two.counts[group] == 1:
            found[group] = found[1 - group]
    return found


def signal_to_noise(two: ClassMoments) -> np.ndarray:
    """``|m_1 - m_0| / (s_1 + s_0)``."""
    return ratio(np.abs(two.means[1] - two.means[0]), np.sqrt(variances(two)).sum(axis=0))


def welch(two: ClassMoments) -> ColumnScores:
    """Welch's statistic, and its two-sided p-value with the degrees of freedom of Welch and Satterthwaite."""
    parts = variances(two) / two.counts[:, None]
    total = parts.sum(axis=0)
    statistic = ratio(np.abs(two.means[1] - two.means[0]), np.sqrt(total))
    p_values = 2 * stdtr(welch_freedom(parts, two.counts), -statistic)
    return ColumnScores(statistic, np.where(np.isnan(p_values), 1.0, p_values))


def welch_freedom(parts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Degrees of freedom of Welch and Satterthwaite; those of the other group where one is a single row."""
    total = parts.sum(axis=0)
    if counts.min() == 1:
        return np.full(total.shape, counts.max() - 1.0)
    n_free = counts[:, None] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (parts**2 / n_free).sum(axis=0)
    return np.where(np.isfinite(freedom), freedom, counts.sum() - 2)


def for_each_class(moments: ClassMoments, statistic: Callable[[ClassMoments], Any]) -> list[Any]:
    """The statistic of each class against the rest; once for two classes, where both are the same."""
    n_classes = len(moments.counts)
    return [statistic(moments.against_rest(code)) for code in (range(n_classes) if n_classes > 2 else [1])]


@column_score(tasks=("classification",), sparse=True, for_each_class=True)
def signal_to_noise_score(X: Any, y: np.ndarray) -> np.ndarray:
    """Distance of the class means over the sum of the standard deviations, for each column.

    ``|m_1 - m_0| / (s_1 + s_0)`` for a class (1) against all other rows (0), with standard deviations of divisor n - 1.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,) or (n_classes, n_features)
        One number for each column with two classes, and a row for each class against the rest with more. Zero for a
        constant column.

    References
    ----------
    .. [1] Golub, T. R. et al. (1999). Molecular classification of cancer: class discovery and class prediction by gene
       expression monitoring. Science 286, 531-537.

    Examples
    --------
    >>> from fewer.select import signal_to_noise_score
    >>> signal_to_noise_score([[0, 0], [2, 1], [4, 0], [6, 1]], ["well", "well", "ill", "ill"]).round(3)
    array([1.414, 0.   ])
    """
    found = for_each_class(class_moments(X, y), signal_to_noise)
    return np.stack(found) if len(found) > 1 else found[0]


@column_score(tasks=("classification",), sparse=True, p_values=True, for_each_class=True)
def welch_score(X: Any, y: np.ndarray) -> ColumnScores:
    """Absolute value of Welch's t statistic, for each column.

    ``|m_1 - m_0| / sqrt(s_1^2 / n_1 + s_0^2 / n_0)`` for a class (1) against all other rows (0). It compares means, and
    lets the variances differ. P-values are two-sided, with the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,) or (n_classes, n_features)
        One number for each column with two classes, and a row for each class against the rest with more. Zero for a
        constant column.
    p_values : ndarray of the same shape
        Their p-values.

    References
    ----------
    .. [1] Welch, B. L. (1947). The generalization of Student's problem when several different population variances
       are involved. Biometrika 34, 28-35.

    Examples
    --------
    >>> from fewer.select import welch_score
    >>> scores, p_values = welch_score([[0, 0], [2, 1], [4, 0], [6, 1]], ["well", "well", "ill", "ill"])
    >>> scores.round(3), p_values.round(3)
    (array([2.828, 0.   ]), array([0.106, 1.   ]))
    """
    found = for_each_class(class_moments(X, y), welch)
    if len(found) == 1:
        return found[0]
    return ColumnScores(*(np.stack(part) for part in zip(*found, strict=True)))


Direction = Literal["up", "down", "both"]
Contrast = Literal["ove", "ovr-classes", "ovr-samples"]


def highest_of_others(means: np.ndarray) -> np.ndarray:
    """For each class (row) and column, the largest mean of any other class."""
    second, first = np.partition(means, len(means) - 2, axis=0)[-2:]
    owner = means.argmax(axis=0)
    return np.where(np.arange(len(means))[:, None] == owner, second, first)


def mean_of_others(means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For each class (row) and column, the mean of all other classes, each counted by its weight."""
    # About the first class, so that adding up and taking away costs no digits on columns with a large mean.
    apart = means - means[0]
    total = weights @ apart
    return means[0] + (total - weights[:, None] * apart) / (weights.sum() - weights)[:, None]


def fold_changes(means: np.ndarray, counts: np.ndarray, *, direction: str, contrast: str) -> np.ndarray:
    """Log fold change of each class (row) and column, given the class means on the log scale."""
    if direction == "both":
        ways = (fold_changes(means, counts, direction=way, contrast=contrast) for way in ("up", "down"))
        return np.maximum(*ways)
    sign = 1.0 if direction == "up" else -1.0
    means = sign * means
    if contrast == "ove":
        return means - highest_of_others(means)
    return means - mean_of_others(means, counts if contrast == "ovr-samples" else np.ones(len(counts)))


@column_score(tasks=("classification",), sparse=True, for_each_class=True)
def fold_change_score(X: Any, y: np.ndarray, *, direction: Direction = "up", contrast: Contrast = "ove") -> np.ndarray:
    """Log fold change of each class against every other, for each column.

    ``m_k - max_(l != k) m_l`` with the class means m of columns that are on the log scale: how much higher the column
    is in class k than in the class next to it. Spread within the classes does not count.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table, on the log scale. Do not standardise it: the units are the score.
    y : array-like of shape (n_samples,)
        Classes.
    direction : {"up", "down", "both"}, default="up"
        Whether a class stands out by being higher than others, lower, or either.
    contrast : {"ove", "ovr-classes", "ovr-samples"}, default="ove"
        What a class is compared with: every other one, so the nearest counts; the mean of the other class means; or the
        mean of all rows of other classes, in which large classes count more.

    Returns
    -------
    scores : ndarray of shape (n_classes, n_features)
        ``exp(score)`` is the ratio of the geometric means. Upwards against everyone, at most one class of a column is
        above zero.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.select import fold_change_score
    >>> fold_change_score([[5, 1], [3, 4], [1, 4]], ["ewing", "burkitt", "neural"])  # in the order of the names
    array([[-2.,  0.],
           [ 2., -3.],
           [-4.,  0.]])
    """
    for name, given, known in (
        ("direction", direction, ("up", "down", "both")),
        ("contrast", contrast, ("ove", "ovr-classes", "ovr-samples")),
    ):
        if given not in known:
            raise ValueError(f"{name}={given!r} is not one of {', '.join(map(repr, known))}.")
    moments = class_moments(X, y)
    return fold_changes(moments.means, moments.counts, direction=direction, contrast=contrast)
