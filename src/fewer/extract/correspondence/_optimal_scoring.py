"""Linear discriminant analysis as a regression on scores of the classes, with any regression in it.

Scores theta of the classes and directions are sought that fit each other: with the indicators Y of the classes, and
what a regression on the columns makes of them, ``Yhat = S Y``, the scores are the eigenvectors of

    Y'Yhat theta = alpha^2 Y'Y theta,

without the constant one, and the directions are ``B theta`` with the coefficients B [1]_. Least squares gives LDA, a
penalty ``b' Omega b`` penalised discriminant analysis, and a regression on transformed columns a flexible one. Along
the directions, classes are normal with one covariance, which gives the probabilities.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import HasMethods, Interval, encoded_classes, fit_context, warn_caller
from fewer.catalogue import method
from fewer.extract._centred_table import uncorrelated
from fewer.extract._extractor import Extractor


class NormalClasses(NamedTuple):
    """Shares and centroids of classes, and a map of scores to where all of them have covariance I."""

    priors: np.ndarray
    centroids: np.ndarray
    to_unit: np.ndarray

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Of each class, for each row of scores."""
        rows, centres = scores @ self.to_unit, self.centroids @ self.to_unit
        # |row|^2 is the same for all classes and left out.
        joint = rows @ centres.T - 0.5 * np.sum(centres**2, axis=1)
        with np.errstate(divide="ignore"):  # a class without counts has probability 0
            joint = joint + np.log(self.priors)
        joint -= joint.max(axis=1, keepdims=True)
        odds = np.exp(joint)
        return odds / odds.sum(axis=1, keepdims=True)


def normal_classes(priors: np.ndarray, centroids: np.ndarray, within: np.ndarray) -> NormalClasses:
    """Normal classes of one covariance; where it is flat, as when a fit was perfect, a little is added.

    Where all scores are the same, as when the classes have one mean, the probabilities are the priors.
    """
    variances, axes = np.linalg.eigh(within)
    spread = np.trace(within) + np.sum(priors @ centroids**2)
    least = 1e-10 * spread if spread > 0 else 1.0
    return NormalClasses(priors, centroids, axes / np.sqrt(np.maximum(variances, least)))


_FLAT = 1e-6


def linear_coefficients(X: Any, Y: np.ndarray, penalty: Any) -> tuple[np.ndarray, np.ndarray]:
    """Column means, and the coefficients that minimise ``||Y - X B||^2 + tr(B' Omega B)``, all centred.

    ``penalty`` is lambda for ``Omega = lambda I``, the diagonal of Omega, or Omega.
    """
    if np.ndim(penalty) == 0:
        coordinates = uncorrelated(X, ridge=float(penalty or 0) / X.shape[0])
        return coordinates.mean, coordinates.to @ (coordinates.to.T @ _products(X, Y, coordinates.mean) / X.shape[0])
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    centred = (X.toarray() if sparse.issparse(X) else X) - mean
    omega = np.diag(penalty) if np.ndim(penalty) == 1 else np.asarray(penalty, dtype=np.float64)
    squares = centred.T @ centred + omega
    return mean, np.linalg.lstsq(squares, centred.T @ Y, rcond=1e-12)[0]


def _products(X: Any, Y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return np.asarray(X.T @ Y, dtype=np.float64) - np.outer(mean, Y.sum(axis=0))


def class_scores(fitted: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues alpha^2 and scores theta (classes, axes) of the fitted indicators, without the constant scores."""
    sums = np.zeros((len(counts), len(counts)))
    np.add.at(sums, codes, fitted)
    roots = np.sqrt(counts)
    between = sums / np.outer(roots, roots)
    constant = roots / np.linalg.norm(roots)
    free = np.eye(len(counts)) - np.outer(constant, constant)
    eigenvalues, vectors = np.linalg.eigh(free @ (between + between.T) @ free / 2)
    order = np.argsort(-eigenvalues)[: len(counts) - 1]
    return eigenvalues[order], vectors[:, order] * np.sqrt(counts.sum()) / roots[:, None]


@method(
    tasks=["classification"],
    when="LDA with a penalty of your own (smooth curves, images, many columns), or on splines of the columns.",
    cost="O(n p^2) time, O(n^2 p) with more columns than rows; otherwise that of the regressor",
    paper="zhu-cca-lda",
    aliases=["LDA"],
)
class OptimalScoringLDA(ClassifierMixin, Extractor):
    """Discriminant directions by regression on scores of the classes: LDA, penalised or flexible.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; by default as many as there are, one less than classes at most.
    estimator : regressor, default=None
        Any of scikit-learn's that takes several targets; a pipeline with splines gives flexible discriminant analysis.
        By default least squares, with the penalty.
    penalty : float, array-like of shape (n_features,) or (n_features, n_features), default=None
        Of the default regressor: lambda of a ridge, one for each column, or a matrix, such as one that penalises
        differences between neighbouring columns of curves.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions; classes have unit variance along them, on average. Only of regressors with ``coef_``.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of the variance of each class score that the regression explains, decreasing.
    class_scores_ : ndarray of shape (n_classes, n_components)
        Scores of the classes, of unit variance.
    class_means_ : ndarray of shape (n_classes, n_components)
        Means of the classes along the directions.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Their shares.
    estimator_ : regressor or None
        The fitted regressor, if one was given.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CanonicalCorrespondenceAnalysis : The same for tables of counts.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Without penalties and regressors of one's own.

    References
    ----------
    .. [1] Hastie, T., Tibshirani, R. and Buja, A. (1994). Flexible discriminant analysis by optimal scoring. Journal of
       the American Statistical Association 89, 1255-1270.
    .. [2] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapter 3.

    Examples
    --------
    A ring around a disc, which LDA cannot see:

    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from fewer.extract import OptimalScoringLDA
    >>> X, y = make_circles(500, factor=0.5, noise=0.05, random_state=0)
    >>> flexible = OptimalScoringLDA(estimator=make_pipeline(PolynomialFeatures(2), Ridge()))
    >>> round(OptimalScoringLDA().fit(X, y).score(X, y)), flexible.fit(X, y).score(X, y)
    (0, 1.0)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "penalty": [Interval(Real, 0, None, closed="left"), "array-like", None],
    }

    def __init__(self, n_components=None, estimator=None, penalty=None):
        self.n_components = n_components
        self.estimator = estimator
        self.penalty = penalty

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Find scores and directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse if the regressor takes it.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        counts = np.bincount(codes)
        indicators = np.eye(len(counts))[codes]
        self._fit_regression(X, indicators)
        eigenvalues, scores = class_scores(self._fitted(X), codes, counts)
        possible = max(int(np.sum(eigenvalues > 1e-10)), 1)
        kept = self._number_of_components(possible, f"for {len(counts)} classes in {X.shape[1]} columns")
        self.eigenvalues_ = eigenvalues[:kept]
        self.class_scores_ = scores[:, :kept] * self._signs(scores[:, :kept])
        self._keep(self._fitted(X) @ self.class_scores_, codes, counts)
        return self

    def _predicts_as(self, use):
        """Without a penalty this is linear discriminant analysis, unless columns are collinear within classes."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        if self.estimator is not None or self.penalty is not None or self.n_components is not None:
            return "an estimator, a penalty or n_components"
        return LinearDiscriminantAnalysis() if use == "search" else "collinear columns, which it treats in its own way"

    def _signs(self, scores: np.ndarray) -> np.ndarray:
        """Signs that make the largest coefficient of each direction positive; or the largest score of a class."""
        directions = scores.T if self.estimator_ is not None else (self._coefficients @ scores).T
        sizes = np.abs(directions).max(axis=1, keepdims=True)
        # Scores of two classes are equal but for rounding, which must not decide.
        first = np.argmax(np.abs(directions) > (1 - 1e-8) * sizes, axis=1)
        return np.where(directions[np.arange(len(directions)), first] < 0, -1.0, 1.0)

    def _fit_regression(self, X: Any, indicators: np.ndarray) -> None:
        self.estimator_ = None
        if self.estimator is not None:
            if self.penalty is not None:
                raise ValueError("Give an estimator or a penalty, not both: the estimator has its own.")
            self.estimator_ = self._fitted_estimator(X, indicators)
            self.mean_ = np.asarray(X.mean(axis=0)).ravel().astype(X.dtype)
            return
        if np.ndim(self.penalty) and np.shape(self.penalty) not in ((X.shape[1],), (X.shape[1],) * 2):
            raise ValueError(
                f"penalty has shape {np.shape(self.penalty)}, and X has {X.shape[1]} columns: give a number, one for "
                "each column, or a square matrix of them."
            )
        mean, self._coefficients = linear_coefficients(X, indicators - indicators.mean(axis=0), self.penalty)
        self.mean_ = mean.astype(X.dtype)

    def _fitted_estimator(self, X: Any, indicators: np.ndarray) -> Any:
        name = type(self.estimator).__name__
        if is_classifier(self.estimator):
            raise ValueError(
                f"estimator={name}() predicts classes, and numbers are needed: a regression on scores of the classes. "
                "Take a regressor, such as Ridge() or KNeighborsRegressor()."
            )
        try:
            return clone(self.estimator).fit(X, indicators)
        except ValueError as error:
            if get_tags(self.estimator).target_tags.multi_output:
                raise
            raise ValueError(
                f"estimator={name}() could not be fitted to {indicators.shape[1]} targets at once, one for each class "
                f"({error}). If it takes one only, wrap it: MultiOutputRegressor({name}())."
            ) from error

    def _fitted(self, X: Any) -> np.ndarray:
        """What the regression makes of the indicators of the classes."""
        if self.estimator_ is not None:
            return np.asarray(self.estimator_.predict(X), dtype=np.float64)
        return np.asarray(X @ self._coefficients, dtype=np.float64) - self.mean_ @ self._coefficients

    def _keep(self, along: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> None:
        """Centre and scale: the average class has unit variance along each direction."""
        self._offset = along.mean(axis=0)
        along = along - self._offset
        means = np.zeros((len(counts), along.shape[1]))
        np.add.at(means, codes, along)
        means /= counts[:, None]
        apart = along - means[codes]
        spread = np.sqrt(np.mean(apart**2, axis=0))
        flat = spread <= _FLAT * along.std(axis=0)
        if flat.any():
            warn_caller(
                f"The regression fits the classes exactly along {flat.sum()} directions ({len(codes)} rows): each "
                "class is one point there, and that will not hold for the next rows. Set penalty, or have fewer "
                "columns."
            )
        scale = np.where(flat, np.maximum(along.std(axis=0), np.finfo(float).tiny), spread)
        self._turn = self.class_scores_ / scale
        self._offset = self._offset / scale
        self.class_means_ = means / scale
        self.priors_ = counts / counts.sum()
        apart = apart / scale
        within = apart.T @ apart / len(codes)
        self._classes_along_axes = normal_classes(self.priors_, self.class_means_, within)

    def transform(self, X):
        """The table along the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return (self._fitted(X) @ self._turn - self._offset).astype(X.dtype)

    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._classes_along_axes.probabilities(self._fitted(X) @ self._turn - self._offset)

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    @property
    def components_(self) -> np.ndarray:
        regressor = self.estimator_
        coefficients = self._coefficients if regressor is None else np.asarray(regressor.coef_).T
        return (coefficients @ self._turn).T.astype(self.mean_.dtype)

    @property
    def n_components_(self) -> int:  # type: ignore[override]  # a fact about class_scores_ rather than one more to set
        return self.class_scores_.shape[1]

    @property
    def _takes_sparse(self) -> bool:
        return self.estimator is None or get_tags(self.estimator).input_tags.sparse

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
