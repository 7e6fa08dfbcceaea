"""A threshold on one column, a classifier to boost; and what classifiers of two classes that vote share.

With weights ``d_i`` of the rows and labels ``y_i`` of -1 and 1, choose column j and threshold t that maximise

    sum_i d_i y_i h(x_i),    h(x) = 1 if x_j < t, else -1,

which is to maximise the weighted sum of the labels of the rows below t. Optionally, the votes may be turned round. The
kernel takes columns as in ``_kernels._sorted_columns``: stored values ascending, with the row of each; what is not
stored is a block of zeros.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import StrOptions, check_sample_weight, encoded_classes, fit_context, validated
from fewer.catalogue import method


class TwoClassVote(ClassifierMixin, BaseEstimator):
    """Base: the second class where ``decision_function`` is positive, the first elsewhere."""

    classes_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _rows_and_labels(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """The table, a sparse one by columns, and 1.0 for rows of the second class, -1.0 for those of the first."""
        X, y = validated(self, X, y, dtype=(np.float64, np.float32), accept_sparse="csc")
        who = type(self).__name__
        self.classes_, codes = encoded_classes(y, who)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(self.classes_)} classes. Take sklearn.multiclass.OneVsRestClassifier({who}()) instead."
            )
        return X, 2.0 * codes - 1

    def decision_function(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes.
        """
        votes = self.decision_function(X)
        return self.classes_[(votes > 0).astype(int)]


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
        """The stumps on this many columns with the largest edges, for weights times labels; the best one first."""
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
    when="As a base estimator for boosting, or as a baseline for two classes: one column and one threshold.",
    cost="O(p n log n) time, O(n p) memory; for a sparse table, of what is stored",
    paper="subspace-clusters",
)
class ThresholdStump(TwoClassVote):
    """Classifier of two classes by a threshold on one column.

    Parameters
    ----------
    side : {"both", "below"}, default="both"
        Whether the second class may be on either side of the threshold, or must be below, as for distances to what is
        typical of it.

    Attributes
    ----------
    feature_ : int
        Index of the column.
    threshold_ : float
        Rows below are on one side; infinite, positive or negative, if one answer for all rows is the best.
    sign_ : int
        1 if the second class is below the threshold, -1 if it is not.
    edge_ : float
        Share of the weight of the rows that are classified correctly, minus that of the others.
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


# Edges that differ by less are equal: sums in another order must not choose another threshold.
_EQUAL = 1e-12


@njit(cache=True, nogil=True)
def best_cuts(values, rows, indptr, signed, both):
    """Of each sorted column: the values next to the best threshold, sign of the votes below, and edge.

    A stump votes ``sign`` for the rows below and ``-sign`` for the others; its edge is the sum of votes times signed
    weights. Without ``both`` the sign is always 1. Where the same vote for all is the best, both values are infinite.
    """
    n_columns, n_rows = indptr.size - 1, signed.size
    total = signed.sum()
    lower = np.full(n_columns, -np.inf if total < 0 else np.inf)
    upper = lower.copy()
    signs, edges = np.ones(n_columns, np.int64), np.full(n_columns, abs(total))
    for column in range(n_columns):
        place, end = indptr[column], indptr[column + 1]
        zeros_due = end - place < n_rows
        left_out = 0.0
        if zeros_due:
            left_out = total
            for stored in range(place, end):
                left_out -= signed[rows[stored]]
        below = 0.0
        while place < end or zeros_due:
            if zeros_due and (place == end or values[place] > 0):
                value = 0.0
                below += left_out
                zeros_due = False
            else:
                value = values[place]
                below += signed[rows[place]]
                place += 1
            if zeros_due and (place == end or values[place] > 0):
                following = 0.0
            elif place < end:
                following = values[place]
            else:
                break
            if value < following:
                edge = 2 * below - total
                sign = -1 if both and edge < 0 else 1
                if sign * edge > edges[column] + _EQUAL:
                    lower[column], upper[column] = value, following
                    signs[column], edges[column] = sign, sign * edge
    return lower, upper, signs, edges
