"""Sliced inverse regression: directions along which the means of classes, or of slices of a numeric target, differ.

In coordinates z without correlations and with unit variances, the directions are the leading eigenvectors of

    sum_k pi_k m_k m_k',

with the share pi_k and mean m_k of each slice [1]_; for classes this is linear discriminant analysis.
"""

import numpy as np
from scipy import linalg, stats

from fewer._estimators import fit_context
from fewer.catalogue import method
from fewer.extract._uncorrelated import uncorrelated
from fewer.extract.gaussian_directions._moments import group_means, warn_of_few_rows
from fewer.extract.gaussian_directions._sliced_extractor import SlicedExtractor


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
        Number of slices of a numeric target. By default its values are classes if they are whole numbers that come
        again and again, and are cut into ten slices otherwise.

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
        _, sizes, directions = linalg.svd(means * np.sqrt(priors)[:, None], full_matrices=False, check_finite=False)
        eigenvalues = np.minimum(sizes[:possible] ** 2, 1)
        self.p_values_ = slice_tests(eigenvalues, X.shape[0], n_dims, n_slices)
        self.scores_ = eigenvalues[:kept]
        self._keep(coordinates, directions[:kept].T, X.dtype)
        return self
