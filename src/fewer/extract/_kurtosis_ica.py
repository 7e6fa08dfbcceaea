"""Independent components in closed form from fourth moments (FOBI).

Rows are mixtures ``y = A x`` of independent sources x. After whitening, ``z = C^{-1/2} (y - mean)``, the mixing that is
left is a rotation, and the sources' axes are the eigenvectors of

    F = E[ ||z||^2 z z' ],    whose eigenvalues are  c + 2 + kappa_i

for c sources with excess kurtoses kappa_i. Two sources of equal kurtosis share an eigenvalue: only their span is found.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context, warn_caller
from fewer.catalogue import method
from fewer.extract._extractor import LinearExtractor


class Whitening(NamedTuple):
    mean: np.ndarray
    to_white: np.ndarray
    from_white: np.ndarray


class Rotation(NamedTuple):
    axes: np.ndarray
    eigenvalues: np.ndarray


def whitening(X: np.ndarray, n_components: int | None, rank_tol: float) -> Whitening:
    """Maps to and from uncorrelated coordinates of unit variance.

    Columns are scaled to unit variance first, so that their units make no difference. Then directions whose variance
    is below ``rank_tol`` times the largest are left out: dividing by it would blow up noise.
    """
    n_samples = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    if hasattr(X, "toarray"):  # a sparse table is not centred itself; its covariance is
        covariance = safe_sparse_dot(X.T, X, dense_output=True) / n_samples - np.outer(mean, mean)
    else:
        centred = X - mean
        covariance = centred.T @ centred / n_samples
    scales = np.sqrt(np.maximum(np.diag(covariance), 0))
    # What rounding leaves of a constant column is not worth scaling up.
    scales[scales <= np.finfo(X.dtype).eps * np.sqrt(n_samples) * np.abs(mean)] = 0
    inverse_scales = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    variances, directions = np.linalg.eigh(covariance * np.outer(inverse_scales, inverse_scales))
    variances, directions = variances[::-1], directions[:, ::-1]
    kept = variances > rank_tol * variances[0]
    if n_components is not None:
        kept[n_components:] = False
    sizes = np.sqrt(variances[kept])
    to_white = inverse_scales[:, None] * directions[:, kept] / sizes
    return Whitening(mean, to_white, (scales[:, None] * directions[:, kept] * sizes).T)


def kurtosis_axes(Z: np.ndarray) -> Rotation:
    """Axes of the independent sources in whitened coordinates ``Z``, as columns, by decreasing kurtosis."""
    squared_norms = np.einsum("ij,ij->i", Z, Z)
    weighted = (Z * squared_norms[:, None]).T @ Z / Z.shape[0]
    eigenvalues, axes = np.linalg.eigh(weighted)
    return Rotation(axes[:, ::-1], eigenvalues[::-1])


def indistinct_pairs(sources: np.ndarray, eigenvalues: np.ndarray, significance_level: float) -> np.ndarray:
    """Which neighbours in kurtosis are not significantly different: entry i is about sources i and i + 1.

    If two sources share a kurtosis, their block of F is a multiple of the identity plus chance, and chance alone
    separates its eigenvalues: by ``gap^2 = A^2 + B^2``, with ``A = F_ii - F_jj`` and ``B = 2 F_ij``. A row contributes
    to them

        a = ||s||^2 (s_i^2 - s_j^2) - (2 lambda_i - c) s_i^2 + (2 lambda_j - c) s_j^2,
        b = 2 s_i s_j (||s||^2 - 2 - (lambda_i + lambda_j) / 2),

    where the last terms are what whitening by the sample's own covariance takes away. With ``sigma^2`` the largest
    eigenvalue of the covariance of (A, B), ``P(gap > t) <= exp(-t^2 / (2 sigma^2))``.
    """
    n_samples, n_sources = sources.shape
    squared_norms = np.einsum("ij,ij->i", sources, sources)[:, None]
    upper, lower = sources[:, :-1], sources[:, 1:]
    slopes = 2 * eigenvalues - n_sources
    a = (squared_norms - slopes[:-1]) * upper**2 - (squared_norms - slopes[1:]) * lower**2
    b = 2 * upper * lower * (squared_norms - 2 - (eigenvalues[:-1] + eigenvalues[1:]) / 2)
    a -= a.mean(axis=0)
    b -= b.mean(axis=0)
    variance_a, variance_b, covariance = (
        np.einsum("ij,ij->j", *pair) / n_samples**2 for pair in ((a, a), (b, b), (a, b))
    )
    mean = (variance_a + variance_b) / 2
    largest = mean + np.sqrt(((variance_a - variance_b) / 2) ** 2 + covariance**2)
    return -np.diff(eigenvalues) < np.sqrt(-2 * np.log(significance_level) * largest)


@method(
    tasks=["unsupervised"],
    when="The columns mix a few independent sources (sensors, voices, artefacts) whose distributions differ in shape.",
    cost="O(n p^2 + p^3) time, one pass, no iterations; O(n k + p^2) memory",
    paper="slides",
    aliases=["ICA", "FOBI"],
)
class KurtosisICA(LinearExtractor):
    """Independent components in closed form, separated by their kurtosis.

    Parameters
    ----------
    n_components : int, default=None
        Number of sources. By default as many as there are directions with variance above ``rank_tol``; otherwise the
        sources are sought in the span of that many leading principal components of the standardised columns.
    rank_tol : float, default=1e-10
        Directions whose variance, after every column was scaled to unit variance, is below this share of the largest
        one are left out of the whitening.
    significance_level : float, default=0.001
        Level of the test that two components differ in kurtosis. A warning names those that do not.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The unmixing: a source is a row of this times the centred table's row.
    mixing_ : ndarray of shape (n_features, n_components)
        How much of each source every column holds.
    kurtosis_ : ndarray of shape (n_components,)
        Excess kurtosis of each component in the training table. Where the sources are independent it decreases, as the
        eigenvalues of F do.
    distinct_ : ndarray of bool of shape (n_components,)
        Whether the component differs in kurtosis from all others. Of those that do not, only their span is found.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    n_components_ : int
        Number of components found.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.decomposition.FastICA : Iterative; separates sources of equal kurtosis too, if at most one is normal.

    Notes
    -----
    Components have unit variance on the training table, and the largest loading of each (in absolute value, in
    ``mixing_``) is positive. Fourth moments are sensitive to outliers.

    References
    ----------
    .. [1] Cardoso, J.-F. (1989). Source separation using higher order moments. ICASSP 1989, 2109-2112.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_independent_sources
    >>> from fewer.extract import KurtosisICA
    >>> X, _, truth = make_independent_sources(n_samples=5000, random_state=0)
    >>> found = KurtosisICA().fit_transform(X)
    >>> correlations = np.abs(np.corrcoef(found.T, truth["sources"].T)[:3, 3:])
    >>> bool(correlations.max(axis=1).min() > 0.98)
    True
    """

    _nested = False  # sources of fewer principal directions are others

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "rank_tol": [Interval(Real, 0, 1, closed="left")],
        "significance_level": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, n_components=None, rank_tol=1e-10, significance_level=0.001):
        self.n_components = n_components
        self.rank_tol = rank_tol
        self.significance_level = significance_level

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the unmixing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = self._validated(X)
        if self.n_components is not None and self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} sources were asked of {X.shape[1]} columns; there can be at most as "
                "many sources as columns."
            )
        # Rounding alone leaves eigenvalues of this size where there is no variance.
        rank_tol = max(self.rank_tol, np.finfo(X.dtype).eps * max(X.shape))
        white = whitening(X, self.n_components, rank_tol)
        if white.to_white.shape[1] == 0:
            raise ValueError(
                "All columns are constant, so there are no components to find; drop them, or check the table."
            )
        Z = X @ white.to_white - white.mean @ white.to_white
        rotation = kurtosis_axes(Z)
        mixing = (rotation.axes.T @ white.from_white).T
        signs = np.sign(mixing[np.argmax(np.abs(mixing), axis=0), np.arange(mixing.shape[1])])
        axes = rotation.axes * signs

        self.mean_ = white.mean
        self.components_ = (white.to_white @ axes).T
        self.mixing_ = mixing * signs
        sources = Z @ axes
        self.kurtosis_ = np.mean(sources**4, axis=0) / np.mean(sources**2, axis=0) ** 2 - 3
        indistinct = indistinct_pairs(sources, rotation.eigenvalues, self.significance_level)
        self.distinct_ = ~(np.append(indistinct, False) | np.append(False, indistinct))
        self._warn_of_equal_kurtosis()
        return self

    def _warn_of_equal_kurtosis(self):
        shared = np.flatnonzero(~self.distinct_)
        if len(shared):
            names = ", ".join(str(i) for i in shared[:10]) + (", ..." if len(shared) > 10 else "")
            warn_caller(
                f"Components {names} do not differ significantly in kurtosis: only the space that they span "
                "is found, not the sources themselves. Use more rows, fewer n_components, or "
                "sklearn.decomposition.FastICA."
            )

    def inverse_transform(self, X):
        """Rows mixed again from their sources.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Sources.

        Returns
        -------
        X_mixed : ndarray of shape (n_samples, n_features)
            Rows in the columns of the training table.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.mixing_.T + self.mean_
