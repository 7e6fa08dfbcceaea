"""Nearest neighbours that trust bad hubs less.

In spaces of many dimensions some rows are neighbours of very many others (hubs). A *bad* occurrence of a training row x
is a row of another class that has x among its k nearest; with ``BN_k(x)`` of these,

    w_k(x) = exp(-h_B(x)),   h_B(x) = (BN_k(x) - mean BN_k) / std BN_k

is the weight of the vote of x. Radovanovic, M., Nanopoulos, A. and Ivanovic, M. (2010). Hubs in space. JMLR 11,
2487-2531.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, validated
from fewer._kernels._neighbour_counts import (
    standard_scores,
    times_listed_badly,
)
from fewer._kernels._neighbours import (
    nearest_neighbours,
)
from fewer._kernels._one_thread import one_thread
from fewer._kernels._secondary_distances import secondary, usual_distances
from fewer.catalogue import method

_SMALL = 1 << 22
"""Distances below which waking threads takes longer than computing them."""


@method(
    tasks=["classification"],
    when="Nearest neighbours on many columns with overlapping classes, where a few rows are the neighbours of very "
    "many others. With few columns or clear classes it predicts as plain nearest neighbours do.",
    cost="O(n^2 p) to fit, O(n p) to predict a row",
    paper="hubs",
    examples=lambda: [
        HubnessWeightedKNeighborsClassifier(5),
        HubnessWeightedKNeighborsClassifier(5, correction="mutual_proximity"),
        HubnessWeightedKNeighborsClassifier(5, correction="local_scaling", weights="uniform"),
    ],
)
class HubnessWeightedKNeighborsClassifier(ClassifierMixin, BaseEstimator):
    """Nearest neighbours whose votes weigh less the more rows of other classes have them as neighbours.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that vote, and k of the occurrences.
    weights : {"bad_hubness", "uniform"}, default="bad_hubness"
        Weight of a training row: ``exp(-h_B)``, or 1.
    metric : str or callable, default="euclidean"
        Distance, as in ``sklearn.metrics.pairwise_distances``.
    metric_params : dict or None, default=None
        Further arguments of the metric.
    correction : {"local_scaling", "mutual_proximity"} or None, default=None
        Replace distances by ones that make near relations mutual, which removes most hubs. The distances between all
        training rows are then held in memory during ``fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    bad_occurrences_ : ndarray of shape (n_samples,)
        Training rows of another class that have each training row among their neighbours.
    sample_weights_ : ndarray of shape (n_samples,)
        Weight of the vote of each training row.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.evaluate.HubnessAnalyzer : Whether there are hubs, and why.

    Notes
    -----
    The weights are computed from the rows given to ``fit`` alone, so that cross-validation of this estimator is honest.
    If no row has a bad occurrence, or all have equally many, all weights are 1.

    References
    ----------
    .. [1] Radovanovic, M., Nanopoulos, A. & Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in
       high-dimensional data. Journal of Machine Learning Research 11, 2487-2531.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import HubnessWeightedKNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 50))
    >>> X[:, 0] += 3 * y
    >>> model = HubnessWeightedKNeighborsClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2])
    0.82
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"bad_hubness", "uniform"})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "correction": [StrOptions({"local_scaling", "mutual_proximity"}), None],
    }

    def __init__(
        self, n_neighbors=10, *, weights="bad_hubness", metric="euclidean", metric_params=None, correction=None
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.metric_params = metric_params
        self.correction = correction

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Count the bad occurrences of each training row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, self._codes = encoded_classes(y, type(self).__name__)
        if self.n_neighbors >= X.shape[0]:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be below the number of training rows, which is "
                f"n_samples = {X.shape[0]}."
            )
        self._rows = X
        if self.correction is None:
            neighbours = nearest_neighbours(X, self.n_neighbors, self.metric, self.metric_params)[0]
        else:
            distances = self._distances(X)
            self._usual = usual_distances(distances, self.correction, self.n_neighbors, own=True)
            distances = secondary(distances, self._usual, self._usual, self.correction)
            neighbours = nearest_neighbours(distances, self.n_neighbors, "precomputed")[0]
        self.bad_occurrences_ = times_listed_badly(neighbours, self._codes)
        scores = standard_scores(self.bad_occurrences_)
        self.sample_weights_ = np.exp(-scores) if self.weights == "bad_hubness" else np.ones(len(scores))
        return self

    def predict_proba(self, X):
        """Shares of the classes in the weighted vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        neighbours = self._neighbours_of(X)
        votes = np.zeros((len(neighbours), len(self.classes_)))
        rows = np.repeat(np.arange(len(neighbours)), self.n_neighbors)
        listed = neighbours.ravel()
        np.add.at(votes, (rows, self._codes[listed]), self.sample_weights_[listed])
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The class with the largest weighted vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _distances(self, X: Any) -> np.ndarray:
        """Distances to the training rows."""
        return pairwise_distances(X, self._rows, metric=self.metric, **(self.metric_params or {}))

    def _neighbours_of(self, X: Any) -> np.ndarray:
        if self.correction is None:
            search = NearestNeighbors(
                n_neighbors=self.n_neighbors, metric=self.metric, metric_params=self.metric_params
            ).fit(self._rows)
            with one_thread(when=X.shape[0] * self._rows.shape[0] < _SMALL):
                return search.kneighbors(X, return_distance=False)
        distances = self._distances(X)
        usual = usual_distances(distances, self.correction, self.n_neighbors)
        distances = secondary(distances, usual, self._usual, self.correction)
        return np.argsort(distances, axis=1, kind="stable")[:, : self.n_neighbors]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
