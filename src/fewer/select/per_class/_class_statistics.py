"""Selectors by statistics of the classes: sums of squares, fold changes, and the means of a class against the rest.

The scores themselves are in ``scores/_class_means.py``.
"""

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import Interval, StrOptions
from fewer.catalogue import method
from fewer.select._selector import ranks_of_order
from fewer.select.per_class._per_class_selector import ClassRanking, PerClassSelector
from fewer.select.scores._class_means import fold_changes, for_each_class, signal_to_noise, variances
from fewer.select.scores._class_moments import ClassMoments, class_moments, ratio

if TYPE_CHECKING:
    import polars as pl


@method(
    tasks=["classification"],
    when="A baseline for selectors that rank for each class: one list, as long as theirs together. It favours columns "
    "that set the most distant classes apart, and may leave close classes without any.",
    cost="O(n p + p log p)",
    paper="mgs-committee",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
)
class BWRatioSelector(PerClassSelector):
    """Keep the columns with the largest ratio of the sums of squares between and within the classes.

    The score is ``sum_k n_k (m_k - m)^2 / sum_k sum_(i in k) (x_i - m_k)^2``. There is one list for all classes, of
    ``n_per_class`` times as many columns as there are classes, so that it compares with those of other selectors.

    Parameters
    ----------
    n_per_class : int, default=10
        Columns to keep, divided by the number of classes.
    log_transform : bool, default=False
        Whether the table holds raw positive values, whose logarithms are to be taken for scoring.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.
    min_score : float or None, default=None
        Smallest score of a column that is kept; None keeps as many as asked for.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Ratio of each column.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best; of equals, the one with the lowest index comes first.
    support_ : ndarray of bool of shape (n_features,)
        Whether each column is kept.
    n_per_class_ : int
        As asked for, at most as many as there are columns.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    bw_ratio_score : The score itself.
    OVEFoldChangeSelector : With columns for every class.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.
    .. [2] Dudoit, S., Fridlyand, J. and Speed, T. P. (2002). Comparison of discrimination methods for the
       classification of tumors using gene expression data. Journal of the American Statistical Association 97, 77-87.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import BWRatioSelector
    >>> wine = load("wine")
    >>> select = BWRatioSelector(n_per_class=1).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'od280/od315_of_diluted_wines', 'proline']
    """

    _parameter_constraints = {
        **PerClassSelector._parameter_constraints,
        "min_score": [Interval(Real, None, None, closed="neither"), None],
    }

    def __init__(self, n_per_class=10, *, log_transform=False, floor=None, min_score=None):
        self.n_per_class = n_per_class
        self.log_transform = log_transform
        self.floor = floor
        self.min_score = min_score

    def _ranked(self, X: Any, codes: np.ndarray) -> ClassRanking:
        moments = class_moments(X, codes)
        return ClassRanking.of_scores(ratio(moments.between, moments.within)[None, :])

    def _keep(self, ranked: ClassRanking) -> None:
        self.scores_, self.ranking_ = ranked.scores[0], ranks_of_order(ranked.orders[0])
        enters_at = -(-self.ranking_ // len(self.classes_))  # each step adds as many columns as there are classes
        self._enters_at = np.where(self._good_enough(ranked.scores)[0], enters_at, len(enters_at) + 1)
        self.support_ = self._enters_at <= self.n_per_class_

    def report_table(self) -> "pl.DataFrame":
        """The columns kept, best first.

        Returns
        -------
        table : polars.DataFrame
            A row for each column kept: its ``place``, ``column`` (its name, or its position) and ``score``.
        """
        import polars as pl

        best_first = np.argsort(self.ranking_)[: self.get_support().sum()].tolist()
        names = self._column_names()
        return pl.DataFrame(
            {
                "place": range(1, len(best_first) + 1),
                "column": [names[column] for column in best_first],
                "score": self.scores_[best_first],
            }
        )


@method(
    tasks=["classification"],
    when="Markers are wanted for each of several classes, columns that are high in one class and lower in every other, "
    "such as genes of a tissue type; each class gets the same number. Columns must share a unit, on the log scale or "
    "positive. Columns that are low in a class, or that separate groups of classes, are missed.",
    cost="O(n p) for the means and O(M p log p) to sort, for M classes",
    paper="mgs-committee",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
)
class OVEFoldChangeSelector(PerClassSelector):
    """Keep, for each class, the columns that exceed every other class by the largest fold change.

    The score of a column for class k is ``m_k - max_(l != k) m_l``, with class means m on the log scale. Every class
    gets the same number of columns, so that classes which are hard to tell from their neighbours are not starved by
    those that stand far apart.

    Parameters
    ----------
    n_per_class : int, default=10
        Columns to keep for each class. A column may be kept for several, so the union can be smaller than the sum.
    direction : {"up", "down", "both"}, default="up"
        Whether a class stands out by being higher than others, lower, or either.
    contrast : {"ove", "ovr-classes", "ovr-samples"}, default="ove"
        What a class is compared with: every other one, so the nearest counts; the mean of the other class means; or the
        mean of all rows of other classes, in which large classes count more.
    log_transform : bool, default=False
        Whether the table holds raw positive values, whose logarithms are to be taken for scoring. The columns
        themselves are kept as they are.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.
    min_score : float or None, default=None
        Smallest log fold change of a column that is kept for a class; 0 keeps only columns that stand out at all. None
        fills up every class.

    Attributes
    ----------
    class_scores_ : ndarray of shape (n_classes, n_features)
        Log fold change of each column for each class.
    ranking_per_class_ : ndarray of shape (n_classes, n_features)
        For each class, the columns from best to worst; of equals, the one with the lowest index first.
    selected_per_class_ : list of ndarray
        For each class, its columns among those kept, best first.
    support_ : ndarray of bool of shape (n_features,)
        Whether each column is kept: for one class at least.
    scores_ : ndarray of shape (n_features,)
        Best score of each column over the classes.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the best column of every class first, then the second best, ...
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
    fold_change_score : The score itself, for ``SelectTop(per_class=True)``.
    PUGOVRSVM : With a committee of support vector machines, one for each class.

    Notes
    -----
    Upwards against everyone, no two classes share a column with a positive score. The spread within the classes does
    not count: logarithms are expected to even it out, and standardised columns have lost the unit that the score
    compares.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> from fewer.select import OVEFoldChangeSelector
    >>> X, y, truth = make_gene_blocks(random_state=0)
    >>> select = OVEFoldChangeSelector(n_per_class=5).fit(X, y)
    >>> [sorted(columns.tolist()) for columns in select.selected_per_class_[:2]]
    [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    """

    _parameter_constraints = {
        **PerClassSelector._parameter_constraints,
        "direction": [StrOptions({"up", "down", "both"})],
        "contrast": [StrOptions({"ove", "ovr-classes", "ovr-samples"})],
        "min_score": [Interval(Real, None, None, closed="neither"), None],
    }

    def __init__(
        self, n_per_class=10, *, direction="up", contrast="ove", log_transform=False, floor=None, min_score=None
    ):
        self.n_per_class = n_per_class
        self.direction = direction
        self.contrast = contrast
        self.log_transform = log_transform
        self.floor = floor
        self.min_score = min_score

    def _ranked(self, X: Any, codes: np.ndarray) -> ClassRanking:
        moments = class_moments(X, codes)
        return ClassRanking.of_scores(
            fold_changes(moments.means, moments.counts, direction=self.direction, contrast=self.contrast)
        )

    def _more_columns(self) -> list[Any]:
        import polars as pl

        return [pl.col("score").exp().alias("fold_change")]


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
        Rank of each column, 1 for the best: the best column of every class first, then the second best, ...
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
        Rank of each column, 1 for the best: the best column of every class first, then the second best, ...
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
