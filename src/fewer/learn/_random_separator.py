"""A classifier without learning: random planes, until one is a little better than chance.

If a plane through the origin separates the classes with margin gamma, a random one h on its side errs on a share of
``1/2 - gamma / pi`` of the rows on average, and so with probability Omega(gamma) on less than ``1/2 - gamma / 4``. On a
sample, ``1/2 - gamma / 6`` is asked for.
"""

import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_sample_weight,
    encoded_classes,
    fit_context,
    validated,
    warn_caller,
)
from fewer.catalogue import method

_AT_ONCE = 16
"""Planes that are tried by one product with the table."""
_MISS = 1e-3
"""Chance that "auto" leaves of finding none where there are some."""


class Separator(NamedTuple):
    normal: np.ndarray
    error: float
    n_tries: int


def random_separator(
    X: Any, positive: np.ndarray, weights: np.ndarray, *, enough: float, max_tries: int, rng: np.random.RandomState
) -> Separator:
    """The first random plane whose error is at most ``enough``, or the best of all; weights sum to 1."""
    best = Separator(np.zeros(X.shape[1]), np.inf, 0)
    for start in range(0, max_tries, _AT_ONCE):
        normals = rng.normal(size=(_AT_ONCE, X.shape[1]))[: max_tries - start]
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        errors = weights @ ((X @ normals.T >= 0) != positive[:, None])
        good = np.flatnonzero(errors <= enough)
        place = good[0] if len(good) else errors.argmin()
        if errors[place] < best.error:
            best = Separator(normals[place], float(errors[place]), start + int(place) + 1)
        if len(good):
            return best
    return best._replace(n_tries=max_tries)


def tries_enough(gamma: float) -> int:
    """So many tries that all fail with a chance below 1 in 1,000, if there is a margin gamma.

    The mean error of planes on the right side leaves a share ``2 gamma (1 / pi - 1 / 6)`` of them that are good enough,
    at least, and every second plane is on that side.
    """
    return math.ceil(-math.log(_MISS) / (gamma * (1 / math.pi - 1 / 6)))


@method(
    tasks=["classification"],
    when="A weak learner for boosting that costs one product with the table for each try, or a baseline: where it "
    "separates the classes, no learning is needed. Alone, its accuracy is hardly above chance.",
    cost="O(n p / gamma) time, O(n + p) memory",
    paper="random-projection",
    depends_on_shift="the plane goes through the origin",
)
class RandomSeparatorClassifier(ClassifierMixin, BaseEstimator):
    """A random plane through the origin that does a little better than chance.

    Parameters
    ----------
    gamma : float, default=0.1
        Margin by which some plane through the origin is expected to separate the classes, between 0 and 1; a random one
        is taken as soon as its training error is ``1/2 - gamma / 6`` or less.
    max_tries : int or "auto", default="auto"
        Largest number of planes to try; if none is good enough, the best is taken, with a warning. With "auto", this
        happens with a probability of at most 0.001.
    random_state : int, RandomState instance or None, default=None
        Draws the planes.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Normal of the plane, of length 1; rows on its side are of the second class.
    error_ : float
        Share of the training weight on the wrong side.
    n_tries_ : int
        Planes tried.
    classes_ : ndarray of shape (2,)
        The labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.extract.margin_report : The margin of a linear model.

    Notes
    -----
    The plane goes through the origin: centre the columns first, or add one of ones.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from fewer.learn import RandomSeparatorClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 20))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> weak = RandomSeparatorClassifier(gamma=0.2)
    >>> strong = AdaBoostClassifier(weak, n_estimators=60, random_state=0).fit(X[:500], y[:500])
    >>> strong.score(X[500:], y[500:]) > 0.8
    True
    """

    _parameter_constraints = {
        "gamma": [Interval(Real, 0, 1, closed="right")],
        "max_tries": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    def __init__(self, gamma=0.1, *, max_tries="auto", random_state=None):
        self.gamma = gamma
        self.max_tries = max_tries
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RandomSeparatorClassifier":
        """Try random planes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            One of two classes for each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported: one plane has two sides, and y has "
                f"{len(self.classes_)} classes. Use sklearn.multiclass.OneVsRestClassifier."
            )
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        max_tries = tries_enough(self.gamma) if self.max_tries == "auto" else self.max_tries
        enough = 0.5 - self.gamma / 6
        rng = check_random_state(self.random_state)
        found = random_separator(X, codes == 1, weights / weights.sum(), enough=enough, max_tries=max_tries, rng=rng)
        if found.error > enough:
            warn_caller(
                f"None of {max_tries:,} random planes had a training error of {enough:.3g} or less, as a margin of "
                f"gamma={self.gamma:g} would make likely; the best has {found.error:.3g}. Centre the columns, lower "
                "gamma, or raise max_tries.",
                ConvergenceWarning,
            )
        self.coef_, self.error_, self.n_tries_ = found.normal[None, :], found.error, found.n_tries
        if np.unique(X @ found.normal >= 0).size == 1:
            warn_caller(
                "All rows lie on one side of the plane, so that one class is predicted for all: it goes through the "
                "origin, and the columns lie far from it. Bring them to mean 0 (StandardScaler)."
            )
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """On which side of the plane rows are, and how far from it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        distances : ndarray of shape (n_samples,)
            Distance from the plane, below 0 on the side of the first class.
        """
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return X @ self.coef_[0]

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes.
        """
        second = self.decision_function(X) >= 0
        return self.classes_[second.astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class: the plane's share of right answers in training, for the side that a row is on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            One column for each class.
        """
        second = np.where(self.decision_function(X) >= 0, 1 - self.error_, self.error_)
        return np.column_stack([1 - second, second])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
