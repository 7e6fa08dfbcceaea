"""Mixture discriminant analysis: every class is a mixture of normal sub-classes with one covariance for all.

    p_k(x) = sum_r pi_kr phi(x; mu_kr, Sigma),        P(k | x) ~ prior_k p_k(x).

The directions along which the sub-classes differ most, in the metric of Sigma, are the discriminant coordinates: more
than one even for two classes.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, fit_context, known_codes, validated
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, LatentModel, climb, row_weights
from fewer.latent.mixtures._class_mixture import (
    Mixture,
    Recipe,
    Rows,
    centred_rows,
    class_log_probabilities,
    discriminant_directions,
    drawn_rows,
    em_step,
    log_densities,
    n_distinct,
    pooled_covariance,
    rows_of,
    settled,
    starting_subclasses,
)


class ClassMixture(ClassifierMixin, LatentModel):
    """Base of the normal mixtures with classes: predictions, densities, and projections."""

    reg_covar: float
    classes_: np.ndarray
    means_: np.ndarray
    covariance_: np.ndarray
    weights_: np.ndarray
    class_given_component_: np.ndarray
    scalings_: np.ndarray
    xbar_: np.ndarray

    def _keep_mixture(self, mixture: Mixture) -> Mixture:
        """Set what all of these models have."""
        offset = self._offset
        mixture = settled(mixture, offset, self._unit)
        self._covariance_type = mixture.covariance_type
        self.weights_, self.means_ = mixture.weights, mixture.means
        self.covariance_, self.class_given_component_ = mixture.covariances, mixture.labels
        self.xbar_ = self.weights_ @ (self.means_ - offset) + offset
        centred = self.means_ - self.xbar_
        self.scalings_, sizes = discriminant_directions(centred, self.weights_, pooled_covariance(mixture))
        self.explained_variance_ratio_ = sizes / max(sizes.sum(), 1e-300)
        self.score_type_ = "log-likelihood"
        return mixture

    def _in_units_of_the_table(self, found: Climb, rows: Rows) -> Climb:
        """The log-likelihoods of rows that were fitted in units of ``_unit``, as densities of the table's columns."""
        return found._replace(path=found.path - rows.total * rows.X.shape[1] * np.log(self._unit))

    def _mixture(self) -> Mixture:
        """The fitted mixture about the mean of the table, which keeps digits where columns are far from zero."""
        centred = self.means_ - self.xbar_
        return Mixture(self.weights_, centred, self.covariance_, self.class_given_component_, self._covariance_type)

    def _centred(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32))
        return X.astype(np.float64) - self.xbar_

    def predict_log_proba(self, X):
        """Log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return class_log_probabilities(self._centred(X), self._mixture())[0]

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """The most likely class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X, y=None, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        return ClassifierMixin.score(self, X, y, sample_weight=sample_weight)

    def score_samples(self, X, y=None):
        """Log-density of each row, or with ``y`` of the row and its class together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Classes.

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
            In nats.
        """
        probabilities, densities = class_log_probabilities(self._centred(X), self._mixture())
        if y is None:
            return densities
        codes = known_codes(y, self.classes_, len(densities))
        return densities + probabilities[np.arange(len(codes)), codes]

    def responsibilities(self, X):
        """Probabilities of the components, given the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_mixture_components)
            They sum to 1.
        """
        densities = log_densities(self._centred(X), self._mixture())
        shares = np.exp(densities - densities.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def project(self, X):
        """Coordinates of rows along the directions in which the components differ most.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_directions)
            Within components they have variance 1 and are uncorrelated.
        """
        return self._centred(X) @ self.scalings_

    def sample(self, n_samples=1, random_state=None):
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        X, codes = drawn_rows(self._mixture(), n_samples, check_random_state(random_state))
        return X + self.xbar_, self.classes_[codes]


@method(
    tasks=["classification"],
    when="Classes that consist of several groups, or curve, where LDA has one mean for each; and a map of the groups. "
    "Not for many columns with few rows: the covariance has to be estimated.",
    cost="O(n k p + n p^2 + p^3) time an iteration, for k sub-classes",
    paper="zhu-mixture-aspect",
    examples=lambda: [
        MixtureDiscriminantAnalysis(2, n_init=1, max_iter=30, tol=1e-4),
        MixtureDiscriminantAnalysis(2, n_components=2, shrinkage=1.0, n_init=2, max_iter=30, tol=1e-4),
    ],
)
class MixtureDiscriminantAnalysis(ClassMixture):
    """Discriminant analysis with several normal sub-classes in each class.

    Parameters
    ----------
    n_subclasses : int or array-like of shape (n_classes,), default=3
        Number of sub-classes of each class, in the order of ``classes_``; of a class with fewer distinct rows, as
        many as it has.
    n_components : int, default=None
        Number of discriminant directions: the means of sub-classes are kept in a space of this dimension during the
        fit, and the number of columns from ``transform``. By default there is no such restriction, and all are given.
    shrinkage : float, default=0.0
        Pulls the sub-classes of a class towards its mean, as if its rows had been seen this many more times in each: 0
        is MDA, and infinity linear discriminant analysis.
    reg_covar : float, default=1e-6
        Added to the variances, as a share of the mean variance of a column.
    n_init : int, default=5
        Number of starts, each from k-means inside of the classes; the one with the largest objective is kept.
    max_iter : int, default=200
        Maximum number of iterations of EM.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Share of each class.
    means_ : ndarray of shape (n_subclasses, n_features)
        Mean of each sub-class, those of the first class first, by decreasing weight.
    covariance_ : ndarray of shape (n_features, n_features)
        Covariance within sub-classes.
    weights_ : ndarray of shape (n_subclasses,)
        Share of all rows in each sub-class.
    class_given_component_ : ndarray of shape (n_subclasses, n_classes)
        1 for the class of each sub-class, and 0 elsewhere.
    scalings_ : ndarray of shape (n_features, n_directions)
        Directions along which sub-classes differ, most first, with unit variance within them.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        Share of the variance between sub-classes along each.
    xbar_ : ndarray of shape (n_features,)
        Mean of the table.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood, less what ``reg_covar`` and ``shrinkage`` cost, at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters: of the means, their weights within classes, and the covariance.
    n_components_ : int
        Number of columns that ``transform`` gives.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SharedMixtureDiscriminant : Components that classes share.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : One mean for each class.

    References
    ----------
    .. [1] Hastie, T. and Tibshirani, R. (1996). Discriminant analysis by Gaussian mixtures. Journal of the Royal
       Statistical Society B 58, 155-176.
    .. [2] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import MixtureDiscriminantAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) + 4 * rng.choice([-1, 1], size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> MixtureDiscriminantAnalysis(2, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _size_parameter = "n_subclasses"
    _parameter_constraints = {
        "n_subclasses": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_subclasses=3,
        *,
        n_components=None,
        shrinkage=0.0,
        reg_covar=1e-6,
        n_init=5,
        max_iter=200,
        tol=1e-6,
        random_state=None,
    ):
        self.n_subclasses = n_subclasses
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the sub-classes of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        centred, self._offset, self._unit = centred_rows(X, weights)
        Y = sparse.csc_array((weights, (np.arange(len(X)), codes)), shape=(len(X), len(self.classes_)))
        rows = rows_of(centred, Y, np.zeros(len(X)))
        recipe = Recipe("tied", self.reg_covar, float(self.shrinkage), self.n_components)
        wanted = self._wanted(len(self.classes_))
        numbers = np.array([n_distinct(centred[codes == k], each) for k, each in enumerate(wanted)])
        self.priors_ = np.asarray(Y.sum(axis=0)).ravel() / weights.sum()

        def run(random, on_step):
            start = starting_subclasses(rows, numbers, recipe, random)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            found = climb(start, lambda state: em_step(rows, recipe, state), **limits)
            return self._in_units_of_the_table(found, rows)

        return self._fit_starts(run, X, y)

    def _wanted(self, n_classes: int) -> np.ndarray:
        wanted = np.asarray(self.n_subclasses, dtype=np.int64)
        if wanted.ndim and wanted.shape != (n_classes,):
            raise ValueError(f"n_subclasses has {wanted.size} entries, and there are {n_classes} classes.")
        if (wanted < 1).any():
            raise ValueError("n_subclasses must be at least 1 for every class.")
        return np.full(n_classes, 1) * wanted

    def _keep(self, state: Mixture) -> None:
        mixture = self._keep_mixture(state)
        if self.n_components is not None:
            self.scalings_ = self.scalings_[:, : self.n_components]
            self.explained_variance_ratio_ = self.explained_variance_ratio_[: self.n_components]
        self.n_components_ = self.scalings_.shape[1]
        n_means, p = mixture.means.shape
        self.n_parameters_ = n_means - len(self.classes_) + p * n_means + p * (p + 1) // 2

    def transform(self, X):
        """Coordinates of rows along the directions in which sub-classes differ most.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Within sub-classes they have variance 1 and are uncorrelated.
        """
        found = self.project(X)
        return found.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
