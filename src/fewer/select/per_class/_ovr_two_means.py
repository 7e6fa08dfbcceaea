"""Columns whose mean in one class is far from that of all other rows; the scores are in ``scores/_two_means.py``."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from fewer._estimators import Interval
from fewer.catalogue import method
from fewer.select.per_class._per_class_selector import ClassRanking, PerClassSelector
from fewer.select.scores._class_moments import ClassMoments, class_moments, ratio
from fewer.select.scores._two_means import for_each_class, signal_to_noise, variances


class TwoMeansSelector(PerClassSelector):
    """Ranks by a distance of two means; subclasses name it."""

    _parameter_constraints = {
        **PerClassSelector._parameter_constraints,
        "min_score": [Interval(Real, None, None, closed="neither"), None],
    }

    _statistic: Callable[[ClassMoments], np.ndarray]

    def __init__(self, n_per_class=10, *, log_transform=False, floor=None, min_score=None):
        self.n_per_class = n_per_class
        self.log_transform = log_transform
        self.floor = floor
        self.min_score = min_score

    def _ranked(self, X: Any, codes: np.ndarray) -> ClassRanking:
        scores = np.stack(for_each_class(class_moments(X, codes), type(self)._statistic))
        # Of two classes, each is the other's rest, and the distance is the same.
        return ClassRanking.of_scores(np.broadcast_to(scores, (len(self.classes_), X.shape[1])).copy())


@method(
    tasks=["classification"],
    when="A list of columns for each of several classes, where both directions count and columns may be in different "
    "units. Columns that set a whole group of classes apart fill the lists; see OVEFoldChangeSelector.",
    cost="O(n p) for the moments and O(M p log p) to sort, for M classes",
    paper="mgs-committee",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
)
class OVRSNRSelector(TwoMeansSelector):
    """Keep, for each class, the columns with the largest signal-to-noise ratio against all other rows.

    The score is ``|m_k - m_r| / (s_k + s_r)``, with means m and standard deviations s of class k and of the rest r.

    Parameters
    ----------
    n_per_class : int, default=10
        Columns to keep for each class. A column may be kept for several, so the union can be smaller than the sum.
    log_transform : bool, default=False
        Whether the table holds raw positive values, whose logarithms are to be taken for scoring.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.
    min_score : float or None, default=None
        Smallest score of a column that is kept for a class; None fills up every class.

    Attributes
    ----------
    class_scores_ : ndarray of shape (n_classes, n_features)
        Signal-to-noise ratio of each column for each class.
    ranking_per_class_ : ndarray of shape (n_classes, n_features)
        For each class, the columns from best to worst; of equals, the one with the lowest index first.
    selected_per_class_ : list of ndarray
        For each class, its columns among those kept, best first.
    support_ : ndarray of bool of shape (n_features,)
        Whether each column is kept: for one class at least.
    scores_ : ndarray of shape (n_features,)
        Best score of each column over the classes.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best, when the classes take turns.
    n_per_class_ : int
        Columns for each class, at most as many as there are.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    signal_to_noise_score : The score itself.
    OVRTStatSelector : In units of the standard error instead.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.
    .. [2] Golub, T. R. et al. (1999). Molecular classification of cancer: class discovery and class prediction by gene
       expression monitoring. Science 286, 531-537.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import OVRSNRSelector
    >>> wine = load("wine")
    >>> select = OVRSNRSelector(n_per_class=1).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['color_intensity', 'od280/od315_of_diluted_wines', 'proline']
    """

    _statistic = staticmethod(signal_to_noise)


def welch_statistic(two: ClassMoments) -> np.ndarray:
    """``|m_1 - m_0| / sqrt(s_1^2 / n_1 + s_0^2 / n_0)``, without its p-value."""
    return ratio(np.abs(two.means[1] - two.means[0]), np.sqrt((variances(two) / two.counts[:, None]).sum(axis=0)))


@method(
    tasks=["classification"],
    when="As OVRSNRSelector, by Welch's t statistic: better with classes of very different size, because a mean over "
    "few rows counts for less.",
    cost="O(n p) for the moments and O(M p log p) to sort, for M classes",
    paper="mgs-committee",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
)
class OVRTStatSelector(TwoMeansSelector):
    """Keep, for each class, the columns with the largest Welch t statistic against all other rows.

    The score is ``|m_k - m_r| / sqrt(s_k^2 / n_k + s_r^2 / n_r)``, with means m, standard deviations s and sizes n of
    class k and of the rest r.

    Parameters
    ----------
    n_per_class : int, default=10
        Columns to keep for each class. A column may be kept for several, so the union can be smaller than the sum.
    log_transform : bool, default=False
        Whether the table holds raw positive values, whose logarithms are to be taken for scoring.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.
    min_score : float or None, default=None
        Smallest score of a column that is kept for a class; None fills up every class.

    Attributes
    ----------
    class_scores_ : ndarray of shape (n_classes, n_features)
        Absolute t statistic of each column for each class.
    ranking_per_class_ : ndarray of shape (n_classes, n_features)
        For each class, the columns from best to worst; of equals, the one with the lowest index first.
    selected_per_class_ : list of ndarray
        For each class, its columns among those kept, best first.
    support_ : ndarray of bool of shape (n_features,)
        Whether each column is kept: for one class at least.
    scores_ : ndarray of shape (n_features,)
        Best score of each column over the classes.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best, when the classes take turns.
    n_per_class_ : int
        Columns for each class, at most as many as there are.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    welch_score : The score itself, with p-values.
    OVRSNRSelector : In units of the standard deviations instead.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import OVRTStatSelector
    >>> wine = load("wine")
    >>> select = OVRTStatSelector(n_per_class=1).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['color_intensity', 'od280/od315_of_diluted_wines', 'proline']
    """

    _statistic = staticmethod(welch_statistic)
