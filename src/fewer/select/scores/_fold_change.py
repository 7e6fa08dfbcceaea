"""How much higher a class is than every other: fold changes, as differences of means on the log scale.

With m_k the mean of a column's logarithms in class k, ``exp(m_k - m_l)`` is the ratio of the geometric means of classes
k and l. The score of class k against everyone is ``m_k - max_(l != k) m_l``; downwards ``min_(l != k) m_l - m_k``; for
both, the larger of the two. Against the rest it is ``m_k`` minus one mean of all others, in which either each class or
each row counts the same.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167.
"""

from typing import Any, Literal

import numpy as np

from fewer.select.scores._class_moments import class_moments
from fewer.select.scores._score import column_score

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
