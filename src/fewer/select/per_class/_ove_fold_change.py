"""Columns that are higher in one class than in every other; the score is in ``scores/_fold_change.py``."""

from numbers import Real
from typing import Any

import numpy as np

from fewer._estimators import Interval, StrOptions
from fewer.catalogue import method
from fewer.select.per_class._per_class_selector import ClassRanking, PerClassSelector
from fewer.select.scores._class_moments import class_moments
from fewer.select.scores._fold_change import fold_changes


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
