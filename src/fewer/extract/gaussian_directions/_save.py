"""Sliced average variance estimation: directions along which slices differ from the whole, in spread above all.

In coordinates z without correlations and with unit variances, the directions are the leading eigenvectors of

    sum_k pi_k (I - S_k)^2,

with the share pi_k and covariance S_k of each slice [1]_. With equal covariances that is LDA's kernel squared.
"""

from scipy import linalg

from fewer._estimators import fit_context
from fewer.catalogue import method
from fewer.extract._uncorrelated import uncorrelated
from fewer.extract.gaussian_directions._criteria import save_kernel
from fewer.extract.gaussian_directions._moments import group_moments, warn_of_few_rows
from fewer.extract.gaussian_directions._sliced_extractor import SlicedExtractor


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
        Number of slices of a numeric target. By default its values are classes if they are whole numbers that come
        again and again, and are cut into ten slices otherwise.

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
    A class much wider than the others draws SAVE along its width even where means tell the classes apart far better.

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
        eigenvalues, directions = linalg.eigh(save_kernel(moments.covariances, moments.priors), check_finite=False)
        self.scores_ = eigenvalues[::-1][:kept]
        self._keep(coordinates, directions[:, ::-1][:, :kept], X.dtype)
        return self
