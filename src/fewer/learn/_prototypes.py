"""Classification by the nearest prototype: k-means in each class, and prototypes that learn (LVQ).

A row has the class of the prototype that is nearest to it. *Learning vector quantisation* visits rows in random order
and moves the nearest prototype m of row x, with a step eps that falls to 0:

    m <- m + eps (x - m)  if it has the class of x,      m <- m - eps (x - m)  otherwise.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, fit_context, fit_steps, validated
from fewer._kernels._arrays import read_only
from fewer._kernels._one_thread import one_thread
from fewer.catalogue import method

_FEW_ENTRIES = 1_000_000


def class_prototypes(X: np.ndarray, codes: np.ndarray, n_prototypes: int, random: np.random.RandomState):
    """Centres of k-means in each class, and their classes."""
    centres, owners = [], []
    for k in range(codes.max() + 1):
        own = X[codes == k]
        n_own = min(n_prototypes, len(np.unique(own, axis=0)))
        found = KMeans(n_own, n_init=3, random_state=random.randint(2**31 - 1)).fit(own)
        centres.append(found.cluster_centers_)
        owners.append(np.full(n_own, k))
    return np.vstack(centres), np.concatenate(owners)


@njit(cache=True, nogil=True)
def _learn_pass(X, codes, order, prototypes, owners, first_rate, last_rate):
    """Move prototypes along one pass over the rows; the step falls evenly."""
    for step in range(len(order)):
        row = X[order[step]]
        nearest, least = 0, np.inf
        for each in range(len(prototypes)):
            distance = 0.0
            for column in range(len(row)):
                distance += (row[column] - prototypes[each, column]) ** 2
            if distance < least:
                nearest, least = each, distance
        rate = first_rate + (last_rate - first_rate) * step / len(order)
        if owners[nearest] != codes[order[step]]:
            rate = -rate
        for column in range(len(row)):
            prototypes[nearest, column] += rate * (row[column] - prototypes[nearest, column])


class NearestPrototype(ClassifierMixin, BaseEstimator):
    """Base of the classifiers by the nearest prototype."""

    n_prototypes: int
    random_state: Any
    classes_: np.ndarray
    prototypes_: np.ndarray
    prototype_classes_: np.ndarray

    def _start(self, X: Any, y: Any):
        """The table about its mean in double precision, codes of classes, and prototypes of k-means."""
        X, y = validated(self, X, y, dtype=(np.float64, np.float32))
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        X = X.astype(np.float64)
        self._mean = X.mean(axis=0)
        random = check_random_state(self.random_state)
        with one_thread(when=X.size < _FEW_ENTRIES):
            return X - self._mean, codes, class_prototypes(X - self._mean, codes, self.n_prototypes, random), random

    def _keep(self, prototypes: np.ndarray, owners: np.ndarray) -> None:
        self.prototypes_ = prototypes + self._mean
        self.prototype_classes_ = self.classes_[owners]

    def predict(self, X):
        """Class of the nearest prototype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32)) - self._mean
        centres = self.prototypes_ - self._mean
        distances = np.einsum("ij,ij->i", centres, centres) - 2 * (X @ centres.T)
        return self.prototype_classes_[distances.argmin(axis=1)]


@method(
    tasks=["classification"],
    when="A baseline for classes that consist of several groups: the nearest of a few centres of each class decides.",
    cost="O(n k p) an iteration of k-means",
    paper="zhu-mixture-aspect",
    examples=lambda: [SeparateKMeansClassifier(2, random_state=0)],
)
class SeparateKMeansClassifier(NearestPrototype):
    """Classify by the nearest centre of k-means in each class.

    Parameters
    ----------
    n_prototypes : int, default=3
        Centres of each class; of a class with fewer distinct rows, as many as it has.
    random_state : int, RandomState instance or None, default=None
        Draws the starts of k-means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The centres, those of the first class first.
    prototype_classes_ : ndarray of shape (n_prototypes,)
        Class of each.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LVQClassifier : Moves the prototypes so that they classify better.
    fewer.latent.MixtureDiscriminantAnalysis : With a covariance and probabilities.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.learn import SeparateKMeansClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(SeparateKMeansClassifier(3, random_state=0).fit(X, y).score(X, y), 1)
    1.0
    """

    _parameter_constraints = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_prototypes=3, *, random_state=None):
        self.n_prototypes = n_prototypes
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the centres of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        _, _, (prototypes, owners), _ = self._start(X, y)
        self._keep(prototypes, owners)
        return self


@method(
    tasks=["classification"],
    when="A baseline of few prototypes that moves them towards the boundary between classes.",
    cost="O(n k p) a pass over the rows",
    paper="zhu-mixture-aspect",
    examples=lambda: [LVQClassifier(2, n_epochs=5, random_state=0)],
)
class LVQClassifier(CallbackSupportMixin, NearestPrototype):
    """Learning vector quantisation: prototypes that rows of their class attract, and others repel.

    Parameters
    ----------
    n_prototypes : int, default=3
        Prototypes of each class, which start from the centres of k-means.
    learning_rate : float, default=0.05
        First step, as a share of the way to the row; it falls evenly to 0.
    n_epochs : int, default=20
        Number of passes over the rows.
    random_state : int, RandomState instance or None, default=None
        Draws the starts of k-means and the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The prototypes, those of the first class first.
    prototype_classes_ : ndarray of shape (n_prototypes,)
        Class of each.
    n_iter_ : int
        Passes over the rows.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SeparateKMeansClassifier : Without learning.

    References
    ----------
    .. [1] Kohonen, T. (1990). The self-organizing map. Proceedings of the IEEE 78, 1464-1480.
    .. [2] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.learn import LVQClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LVQClassifier(3, random_state=0).fit(X, y).score(X, y), 1)
    1.0
    """

    _parameter_constraints = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_prototypes=3, *, learning_rate=0.05, n_epochs=20, random_state=None):
        self.n_prototypes = n_prototypes
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Move the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        centred, codes, (prototypes, owners), random = self._start(X, y)
        rates = self.learning_rate * np.linspace(1, 0, self.n_epochs + 1)
        arrays = (read_only(centred), read_only(codes))
        with fit_steps(self, X, y, n_steps=self.n_epochs) as after_step:
            for epoch in range(self.n_epochs):
                order = read_only(random.permutation(len(centred)))
                _learn_pass(*arrays, order, prototypes, read_only(owners), rates[epoch], rates[epoch + 1])
                self.n_iter_ = epoch + 1
                if after_step("pass"):
                    break
            self._keep(prototypes, owners)
        return self
