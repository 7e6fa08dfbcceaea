"""One list for all classes: columns by the sum of squares between the classes over that within them."""

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import Interval
from fewer.catalogue import method
from fewer.select._ranking import places_of_order
from fewer.select.per_class._per_class_selector import ClassRanking, PerClassSelector
from fewer.select.scores._class_moments import class_moments, ratio

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
        Place of each column, 1 for the best; of equals, the one with the lowest index comes first.
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
        self.scores_, self.ranking_ = ranked.scores[0], places_of_order(ranked.orders[0])
        turns = -(-self.ranking_ // len(self.classes_))  # so many columns enter at each turn as there are classes
        self._turns = np.where(self._good_enough(ranked.scores)[0], turns, len(turns) + 1)
        self.support_ = self._turns <= self.n_per_class_

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
