"""A threshold on one column: the weakest learner there is, and a part to boost.

With weights ``d_i`` of the rows and labels ``y_i`` of -1 and 1, choose column j and threshold t that maximise

    sum_i d_i y_i h(x_i),    h(x) = 1 if x_j < t, else -1,

which is to maximise the weighted sum of the labels of the rows below t. Optionally, the votes may be turned round.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import StrOptions, check_sample_weight, fit_context, validated
from fewer._kernels._best_stump import best_cuts
from fewer.catalogue import method
from fewer.learn._two_class_vote import TwoClassVote


class Stump(NamedTuple):
    """Votes ``sign`` where the column is below the threshold, ``-sign`` elsewhere."""

    column: int
    threshold: float
    sign: int
    edge: float

    def votes(self, X: Any) -> np.ndarray:
        """The vote on each row, -1.0 or 1.0; a sparse table is best given by columns."""
        column = X[:, [self.column]].toarray().ravel() if sparse.issparse(X) else X[:, self.column]
        return np.where(column < np.float64(self.threshold), float(self.sign), float(-self.sign))


class StumpFinder:
    """Finds the best stump for any weights of the same rows: columns are sorted once, of sparse ones what is stored."""

    def __init__(self, X: Any, side: str) -> None:
        if sparse.issparse(X):
            X = X.tocsc(copy=True)
            X.sum_duplicates()
            X.eliminate_zeros()
            order = np.lexsort((X.data, np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))))
            self._values, self._rows = X.data[order].astype(np.float64), X.indices[order].astype(np.int64)
            self._starts = X.indptr.astype(np.int64)
        else:
            columns = np.ascontiguousarray(X.T, dtype=np.float64)
            rows = np.argsort(columns, axis=1, kind="stable")
            self._values, self._rows = np.take_along_axis(columns, rows, axis=1).ravel(), rows.ravel()
            self._starts = len(X) * np.arange(X.shape[1] + 1)
        self._both = side == "both"

    def best(self, signed: np.ndarray, n_stumps: int = 1) -> list[Stump]:
        """The stumps on so many columns with the largest edges, for weights times labels; the best one first."""
        lower, upper, signs, edges = best_cuts(self._values, self._rows, self._starts, signed, self._both)
        # Equal up to rounding is equal, and then the first column is taken.
        order = np.argsort(-np.round(edges, 12), kind="stable")[:n_stumps]
        return [Stump(int(j), threshold_between(lower[j], upper[j]), int(signs[j]), float(edges[j])) for j in order]


def threshold_between(lower: float, upper: float) -> float:
    """A number above the first and up to the second; infinite if these are."""
    middle = 0.5 * lower + 0.5 * upper
    return float(middle if middle > lower else upper)


@method(
    tasks=["classification"],
    when="A part for boosting, or the simplest rule there is for two classes: one column and one threshold.",
    cost="O(p n log n) time, O(n p) memory; for a sparse table, of what is stored",
    paper="subspace-clusters",
)
class ThresholdStump(TwoClassVote):
    """Tells two classes apart by a threshold on one column.

    Parameters
    ----------
    side : {"both", "below"}, default="both"
        Whether the second class may be on either side of the threshold, or must be below, as for distances to what is
        typical of it.

    Attributes
    ----------
    feature_ : int
        Place of the column.
    threshold_ : float
        Rows below are on one side; infinite, positive or negative, if one answer for all rows is the best.
    sign_ : int
        1 if the second class is below the threshold, -1 if it is not.
    edge_ : float
        Share of the weight of the rows that is told right less that told wrong.
    classes_ : ndarray of shape (2,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LPBoost : A weighted vote of such thresholds.
    sklearn.tree.DecisionTreeClassifier : With ``max_depth=1`` a threshold by impurity, for any number of classes.

    References
    ----------
    .. [1] Savu-Krohn, C. and Auer, P. (2006). A simple feature extraction for high dimensional image representations.
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 163-172.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.learn import ThresholdStump
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> stump = ThresholdStump().fit(X, y)
    >>> stump.feature_names_in_[stump.feature_], round(stump.threshold_, 1), round(stump.score(X, y), 3)
    ('worst radius', 16.8, 0.923)
    """

    _parameter_constraints = {"side": [StrOptions({"both", "below"})]}

    def __init__(self, side="both"):
        self.side = side

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ThresholdStump":
        """Find column and threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; by default all are equal.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._rows_and_labels(X, y)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = weights > 0
        found = StumpFinder(X[kept], self.side).best((labels * weights / weights.sum())[kept])[0]
        return self._settled(found)

    def _settled(self, stump: Stump) -> "ThresholdStump":
        self.feature_, self.threshold_, self.sign_, self.edge_ = stump
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The vote on each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        votes : ndarray of shape (n_samples,)
            1 for the second class, -1 for the first.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=(np.float64, np.float32), accept_sparse="csc", reset=False)
        return Stump(self.feature_, self.threshold_, self.sign_, self.edge_).votes(X)
