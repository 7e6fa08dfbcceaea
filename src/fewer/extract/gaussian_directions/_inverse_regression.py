"""Sliced inverse regression, sliced average variance estimation and principal Hessian directions.

In coordinates z without correlations and with unit variances, the directions are the leading eigenvectors of

    SIR    sum_k pi_k m_k m_k'          slices differ in their means; for classes this is linear discriminant analysis
    SAVE   sum_k pi_k (I - S_k)^2       slices differ from all rows, in variance above all; with equal covariances this
                                        is the matrix of SIR squared
    PHD    E[ (w - E w) z z' ]          a numeric target w, or its least-squares residual, is curved

with the share pi_k, mean m_k and covariance S_k of each slice. For normal columns the last is the mean Hessian of the
regression function, by Stein's lemma.
"""

from numbers import Integral

import numpy as np
from scipy import stats

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.extract._centred_table import rows_along, uncorrelated
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.gaussian_directions._moments import (
    SlicedExtractor,
    group_means,
    group_moments,
    save_kernel,
    warn_of_few_rows,
)


def slice_tests(eigenvalues: np.ndarray, n_rows: int, n_dims: int, n_slices: int) -> np.ndarray:
    """P-values: entry d of the hypothesis that no more than d directions matter (Li's chi-square, normal columns)."""
    beyond = np.cumsum(eigenvalues[::-1])[::-1]
    number = np.arange(len(eigenvalues))
    return stats.chi2.sf(n_rows * beyond, (n_dims - number) * (n_slices - number - 1))


@method(
    tasks=["classification", "regression"],
    when="A numeric target depends on a few directions of the columns, rising or falling along them (LDA for numbers).",
    cost="O(n p^2 + p^3) time, O(n^2 p) with more columns than rows; O(min(n, p) (n + p)) memory",
    paper="zhu-qda-save-cpc",
)
class SIR(SlicedExtractor):
    """Directions along which the means of classes, or of slices of a numeric target, differ most.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, at most one less than there are classes or slices; None for all.
    n_slices : int, default=None
        Number of slices of a numeric target. By default its values are classes if they are whole numbers with repeats,
        and are cut into ten slices otherwise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions; new columns are uncorrelated and have unit variance.
    scores_ : ndarray of shape (n_components,)
        Share of the variance along each direction that lies between the slices, decreasing.
    p_values_ : ndarray of shape (n_possible,)
        Entry d is the p-value of the hypothesis that no more than d directions matter, as if the columns were normal.
    classes_ : ndarray of shape (n_slices,)
        The classes, or the mean target of each slice.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, n_dimensions)
        From centred rows to uncorrelated coordinates of unit variance.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SAVE : Sees differences in spread too.
    PHD : Sees curvature, where a target rises to both sides.
    GaussianLRDiscriminant : Weighs differences in mean and spread by likelihood.

    References
    ----------
    .. [1] Li, K.-C. (1991). Sliced inverse regression for dimension reduction. Journal of the American Statistical
       Association 86, 316-327.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import SIR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> y = np.exp(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=2000)
    >>> model = SIR(1).fit(X, y)
    >>> np.abs(model.components_).round(1)
    array([[0.7, 0.7, 0. , 0. ]])
    >>> (model.p_values_[:2] < 0.01).tolist()
    [True, False]
    """

    def __init__(self, n_components=2, n_slices=None):
        self.n_components = n_components
        self.n_slices = n_slices

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, codes = self._sliced(X, y)
        coordinates = uncorrelated(X)
        n_dims, n_slices = coordinates.to.shape[1], len(self.classes_)
        warn_of_few_rows(X, n_dims)
        possible = min(n_dims, n_slices - 1)
        kept = self._number_of_components(possible, f"for {n_slices} slices in {n_dims} dimensions")
        priors, means = group_means(X, codes, coordinates)
        _, sizes, directions = np.linalg.svd(means * np.sqrt(priors)[:, None], full_matrices=False)
        eigenvalues = np.minimum(sizes[:possible] ** 2, 1)
        self.p_values_ = slice_tests(eigenvalues, X.shape[0], n_dims, n_slices)
        self.scores_ = eigenvalues[:kept]
        self._keep(coordinates, directions[:kept].T, X.dtype)
        return self


@method(
    tasks=["classification", "regression"],
    when="Slices of a target, or classes, differ in spread rather than in mean; far more rows than columns.",
    cost="O(n p^2 + c p^3) time for c slices; O(n p + c p^2) memory",
    paper="zhu-qda-save-cpc",
)
class SAVE(SlicedExtractor):
    """Directions along which classes, or slices of a numeric target, differ most from the whole, in spread above all.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, up to that of the columns; None for all.
    n_slices : int, default=None
        Number of slices of a numeric target. By default its values are classes if they are whole numbers with repeats,
        and are cut into ten slices otherwise.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions; new columns are uncorrelated and have unit variance.
    scores_ : ndarray of shape (n_components,)
        Eigenvalue of each direction, decreasing.
    classes_ : ndarray of shape (n_slices,)
        The classes, or the mean target of each slice.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, n_dimensions)
        From centred rows to uncorrelated coordinates of unit variance.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GaussianLRDiscriminant : Weighs differences in mean and spread by likelihood; use it for classification.
    SIR : Sees differences in mean only, and needs fewer rows.
    PHD : Sees curvature, for numeric targets.

    Notes
    -----
    A class much wider than the others draws SAVE along its width even where means separate the classes far better.

    References
    ----------
    .. [1] Cook, R. D. and Weisberg, S. (1991). Sliced inverse regression for dimension reduction: comment. Journal of
       the American Statistical Association 86, 328-332.

    Examples
    --------
    The target rises to both sides, so that no mean differs:

    >>> import numpy as np
    >>> from fewer.extract import SAVE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 4))
    >>> y = X[:, 2] ** 2 + 0.1 * rng.normal(size=5000)
    >>> np.abs(SAVE(1).fit(X, y).components_).round(1)
    array([[0., 0., 1., 0.]])
    """

    def __init__(self, n_components=2, n_slices=None):
        self.n_components = n_components
        self.n_slices = n_slices

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, codes = self._sliced(X, y)
        coordinates = uncorrelated(X)
        n_dims = coordinates.to.shape[1]
        warn_of_few_rows(X, n_dims)
        kept = self._number_of_components(n_dims, "the dimensions of the table")
        moments = group_moments(X, codes, coordinates)
        eigenvalues, directions = np.linalg.eigh(save_kernel(moments.covariances, moments.priors))
        self.scores_ = eigenvalues[::-1][:kept]
        self._keep(coordinates, directions[:, ::-1][:, :kept], X.dtype)
        return self


def curvature_tests(eigenvalues: np.ndarray, n_rows: int, variance: float) -> np.ndarray:
    """P-values: entry d of the hypothesis that no more than d directions matter (Li's chi-square, normal columns)."""
    beyond = np.cumsum(eigenvalues[::-1] ** 2)[::-1]
    left = len(eigenvalues) - np.arange(len(eigenvalues))
    return stats.chi2.sf(n_rows * beyond / (2 * variance), left * (left + 1) / 2)


@method(
    tasks=["regression"],
    when="A numeric target bends along a few directions: valleys, ridges and saddles that a linear model cannot see.",
    cost="O(n p^2 + p^3) time; O(n p) memory",
    paper="zhu-qda-save-cpc",
)
class PHD(LinearExtractor):
    """Directions along which a numeric target bends most: principal Hessian directions.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, up to that of the columns; None for all.
    response : {"residuals", "y"}, default="residuals"
        Whether the residual of least squares is used, which is more reliable where there is a linear trend too, or the
        target itself.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions; new columns are uncorrelated and have unit variance.
    scores_ : ndarray of shape (n_components,)
        Mean curvature along each direction, in absolute value, decreasing.
    eigenvalues_ : ndarray of shape (n_components,)
        The same with its sign: positive where the target bends upwards.
    p_values_ : ndarray of shape (n_dimensions,)
        Entry d is the p-value of the hypothesis that no more than d directions matter, as if the columns were normal.
        Not valid with ``response="y"`` where there is a linear trend.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, n_dimensions)
        From centred rows to uncorrelated coordinates of unit variance.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SIR : Sees trends, which this one does not.
    SAVE : Sees both, with enough rows.

    Notes
    -----
    A target that is linear in the columns bends nowhere: directions are then noise, which a large ``p_values_[0]``
    shows, and SIR finds the one that matters.

    References
    ----------
    .. [1] Li, K.-C. (1992). On principal Hessian directions for data visualization and dimension reduction: another
       application of Stein's lemma. Journal of the American Statistical Association 87, 1025-1039.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import PHD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 4))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=5000)
    >>> model = PHD(2).fit(X, y)
    >>> np.abs(model.components_).round(1)
    array([[0.7, 0.7, 0. , 0. ],
           [0.7, 0.7, 0. , 0. ]])
    >>> model.eigenvalues_.round(0)
    array([-1.,  1.])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "response": [StrOptions({"residuals", "y"})],
    }

    def __init__(self, n_components=2, response="residuals"):
        self.n_components = n_components
        self.response = response

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, y_numeric=True)
        coordinates = uncorrelated(X)
        kept = self._number_of_components(coordinates.to.shape[1], "the dimensions of the table")
        Z = rows_along(X, coordinates)
        weights = self._weights(Z, np.asarray(y, dtype=np.float64))
        mean_curvature = ((Z * weights[:, None].astype(Z.dtype)).T @ Z).astype(np.float64) / len(Z)
        eigenvalues, directions = np.linalg.eigh(mean_curvature)
        order = np.argsort(-np.abs(eigenvalues), kind="stable")
        self.p_values_ = curvature_tests(eigenvalues[order], len(Z), float(weights.var()))
        self.eigenvalues_ = eigenvalues[order][:kept]
        self.mean_ = coordinates.mean.astype(X.dtype)
        self.whitening_ = coordinates.to.astype(X.dtype)
        self.components_ = upright((coordinates.to @ directions[:, order[:kept]]).T).astype(X.dtype)
        return self

    def _weights(self, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The centred target, without its trend if so asked."""
        centred = y - y.mean()
        if not np.ptp(y):
            raise ValueError(f"y is {y[0]:g} in every row, so there is nothing to find directions for.")
        if self.response == "y":
            return centred
        residuals = centred - Z @ np.linalg.lstsq(Z, centred, rcond=None)[0]
        if residuals.std() <= 1e-6 * centred.std():
            raise ValueError(self._why_nothing_is_left(Z))
        return residuals - residuals.mean()

    @staticmethod
    def _why_nothing_is_left(Z: np.ndarray) -> str:
        fits = f"Least squares fits y exactly ({Z.shape[0]} rows, {Z.shape[1]} dimensions), so that"
        if Z.shape[1] >= Z.shape[0] - 1:
            return f"{fits} no residuals are left to find directions for; have more rows, or PCA as the step before."
        return (
            f"{fits} nothing is curved: y is linear in the columns. SIR(n_components=1), or a linear model, finds the "
            "one direction that it depends on."
        )

    @property
    def scores_(self) -> np.ndarray:
        return np.abs(self.eigenvalues_)

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
