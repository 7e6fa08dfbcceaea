"""How far apart the means of a class and of the rest are, in units of their spread: signal to noise, and Welch's t.

With means m, standard deviations s (divisor n - 1) and sizes n of the class (1) and of all other rows (0): signal to
noise is ``|m_1 - m_0| / (s_1 + s_0)``, Welch's statistic ``|m_1 - m_0| / sqrt(s_1^2 / n_1 + s_0^2 / n_0)``. A class
with a single row has no spread of its own; it is given that of the other rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import stdtr

from fewer.select.scores._class_moments import ClassMoments, class_moments, ratio
from fewer.select.scores._score import ColumnScores, column_score


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
