"""Labels that spread along a graph of similar rows: the harmonic function of few labelled rows.

With weights ``W_ij = exp(-gamma |x_i - x_j|^2)``, a diagonal of zeros and ``D`` the sums of its rows, every row without
a label takes the weighted mean of the others,

    f_U = (D_UU - W_UU)^-1 W_UL Y_L,

the probabilities that a random walk over the graph, which starts at the row, meets a label of each class first. A walk
is stopped at each step with probability 1e-10 and then takes the class shares of the labelled rows, which also defines
rows without any connection to a label.

Zhu, X., Ghahramani, Z. and Lafferty, J. (2003). Semi-supervised learning using Gaussian fields and harmonic functions.
ICML, 912-919.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context, validated
from fewer._kernels._numpy_lapack import solve_spd
from fewer.catalogue import method
from fewer.learn._partly_labelled import any_label, encoded_known, known_labels

_STOPPED = 1e-10
_NEAR = 7
"""Neighbour whose distance is the unit of the default width, as in self-tuning spectral clustering."""


def harmonic_function(weights: np.ndarray, known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Class probabilities of the rows without a label.

    Parameters
    ----------
    weights : ndarray of shape (n_samples, n_samples)
        Symmetric weights of the edges, with a diagonal of zeros.
    known : ndarray of bool of shape (n_samples,)
        Which rows have a label.
    labels : ndarray of shape (n_known, n_classes)
        Class of each of these as a row with one 1.

    Returns
    -------
    probabilities : ndarray of shape (n_samples - n_known, n_classes)
        Rows that sum to 1.

    Examples
    --------
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)  # four rows in line, labels at both ends
    >>> harmonic_function(path, np.array([True, False, False, True]), np.eye(2)).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    rest = ~known
    degrees = weights.sum(axis=1)[rest]
    # In units of the square roots of the sums the diagonal is 1, however far apart rows are.
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    system = -(scale[:, None] * weights[np.ix_(rest, rest)] * scale)
    system[np.diag_indices_from(system)] = 1 + _STOPPED
    connected = degrees > 0
    prior = labels.mean(axis=0)
    votes = scale[:, None] * (weights[np.ix_(rest, known)] @ labels)
    votes += _STOPPED * np.where(connected, np.sqrt(degrees), 1.0)[:, None] * prior
    found = solve_spd(system, votes) * np.where(connected, scale, 1.0)[:, None]
    found[~connected] = prior
    found = np.maximum(found, 0.0)
    return found / found.sum(axis=1, keepdims=True)


@method(
    tasks=["classification"],
    when="A few labelled rows and many without, where near rows are mostly of one class; hub_order says which rows to "
    "label first. At most some ten thousand rows.",
    cost="O(n^2 p + u^3) time and O(n^2) memory for n rows, u of them without a label",
    paper="hubs",
)
class HarmonicClassifier(ClassifierMixin, BaseEstimator):
    """Semi-supervised classifier in which rows without a label take the weighted mean of the rows around them.

    Parameters
    ----------
    gamma : float or None, default=None
        Weight of an edge: ``exp(-gamma |x_i - x_j|^2)``, where gamma is 1 / sigma^2. By default sigma is a third of
        the median distance to the 7th neighbour; with a much wider one all rows take the same mean.
    unlabeled_value : object, default=-1
        What y holds for rows without a label; None for missing values.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    gamma_ : float
        The width used.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Class probabilities of the rows given to ``fit``; 0 and 1 for those with a label.
    transduction_ : ndarray of shape (n_samples,)
        Their classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.evaluate.hub_order : Which rows to label first.
    AgreementClassifier : Semi-supervised, with a linear model for each of several views.

    Notes
    -----
    New rows take the mean of all rows of ``fit``, weighed by the same function of their distance. For the rows of
    ``fit`` themselves look at ``transduction_``. Columns should have one unit (``StandardScaler``).

    References
    ----------
    .. [1] Zhu, X., Ghahramani, Z. & Lafferty, J. (2003). Semi-supervised learning using Gaussian fields and harmonic
       functions. Proceedings of ICML, 912-919.
    .. [2] Radovanovic, M., Nanopoulos, A. & Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in
       high-dimensional data. Journal of Machine Learning Research 11, 2487-2531.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fewer.evaluate import hub_order
    >>> from fewer.learn import HarmonicClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> labelled = hub_order(X)[:15]
    >>> partly = np.full(150, -1)
    >>> partly[labelled] = y[labelled]
    >>> model = HarmonicClassifier().fit(X, partly)
    >>> round(float(np.mean(model.transduction_ == y)), 2)
    0.91
    """

    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "unlabeled_value": "no_validation",
    }

    def __init__(self, *, gamma=None, unlabeled_value=-1):
        self.gamma = gamma
        self.unlabeled_value = unlabeled_value

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Spread the labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, with labels and without.
        y : array-like of shape (n_samples,)
            Classes, and ``unlabeled_value`` where there is none.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        known, y = known_labels(self, y)
        X, y = validated(
            self,
            X,
            y if known.all() else np.where(known, y, any_label(y, known)),
            accept_sparse="csr",
            dtype=np.float64,
        )
        self.classes_, codes = encoded_known(self, y[known], all_known=bool(known.all()))
        # About the mean, where the products behind distances lose no digits.
        self._mean = np.zeros(X.shape[1]) if sparse.issparse(X) else X.mean(axis=0)
        self._rows = X if sparse.issparse(X) else X - self._mean
        squares = euclidean_distances(self._rows, squared=True)
        self.gamma_ = _usual_width(squares) if self.gamma is None else float(self.gamma)
        self.label_distributions_ = np.zeros((X.shape[0], len(self.classes_)))
        labels = np.eye(len(self.classes_))[codes]
        self.label_distributions_[known] = labels
        if not known.all():
            weights = np.exp(-self.gamma_ * squares)
            np.fill_diagonal(weights, 0.0)
            self.label_distributions_[~known] = harmonic_function(weights, known, labels)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def predict_proba(self, X):
        """Weighted means of the class probabilities of the rows given to ``fit``.

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
        if sparse.issparse(X) and not sparse.issparse(self._rows):
            X = X.toarray()
        rows = X if sparse.issparse(X) else X - self._mean
        squares = euclidean_distances(rows, self._rows, squared=True)
        return softmax(-self.gamma_ * squares, axis=1) @ self.label_distributions_

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _usual_width(squares: Any) -> float:
    """1 / sigma^2 for a third of the median distance to the 7th neighbour; to the farthest row if most are equal."""
    place = min(_NEAR, len(squares) - 1)
    near = np.median(np.partition(squares, place, axis=1)[:, place])
    unit = near if near > 0 else squares.max()
    return float(9 / unit) if unit > 0 else 1.0
