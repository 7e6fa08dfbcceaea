"""PCA that keeps as many directions as a chosen reconstruction error needs.

A row is rebuilt from its first m coordinates, ``x_hat = sum_{i<=m} y_i u_i + sum_{i>m} E[y_i] u_i``. The mean squared
error of that is the sum of the discarded eigenvalues of the covariance, so the smallest sufficient m is read off them:

    m = min { m : sum_{i>m} lambda_i / sum_i lambda_i < epsilon }.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.extract._centred_table import column_means, scatter
from fewer.extract._extractor import LinearExtractor, upright

# Up to here the covariance matrix of a sparse table is cheaper to decompose whole than by Lanczos steps.
_FEW_COLUMNS = 1000
# Inner products square the condition number: a direction with less than this share of the largest variance is inexact.
_SOUND = 1e-9


def discarded_ratios(eigenvalues: np.ndarray, total: float | None = None) -> np.ndarray:
    """Share of the variance that is lost when 0, 1, 2, ... leading directions are kept.

    ``total`` is the sum of all eigenvalues, where only the leading ones are at hand.
    """
    total = float(np.sum(eigenvalues)) if total is None else total
    if total <= 0:
        return np.zeros(len(eigenvalues) + 1)
    lost = total - np.concatenate([[0.0], np.cumsum(eigenvalues, dtype=np.float64)])
    return np.clip(lost / total, 0.0, 1.0)


def smallest_rank(eigenvalues: np.ndarray, epsilon: float, total: float | None = None) -> int | None:
    """Smallest number of directions that loses a share below ``epsilon``, at least one; None if these are too few."""
    enough = np.flatnonzero(discarded_ratios(eigenvalues, total)[1:] < epsilon)
    return int(enough[0]) + 1 if len(enough) else None


class Directions(NamedTuple):
    """Leading directions of a table as rows, the variance along each (divisor n - 1), and the column means."""

    components: np.ndarray
    variances: np.ndarray
    mean: np.ndarray


def directions_by_rows(X: np.ndarray) -> Directions:
    """All directions of a table with fewer rows than columns, from the n x n matrix of inner products of its rows.

    An eigenvalue below the rounding error of the largest is left out, and its direction with it.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    eigenvalues, rows = np.linalg.eigh(centred @ centred.T)
    eigenvalues, rows = eigenvalues[::-1], rows[:, ::-1]
    sound = eigenvalues > max(eigenvalues[0], 0) * _SOUND
    components = upright((rows[:, sound] / np.sqrt(eigenvalues[sound])).T @ centred)  # scikit-learn's convention
    return Directions(components.astype(X.dtype), eigenvalues[sound] / (len(X) - 1), mean.astype(X.dtype))


def directions_by_columns(X: np.ndarray) -> Directions:
    """All directions of a table with few columns, from their covariances about the means.

    scikit-learn subtracts products of means from products of columns instead, and columns with a mean of 1e6 standard
    deviations lose all digits but four.
    """
    mean = column_means(X)
    eigenvalues, columns = np.linalg.eigh(scatter(X, mean))
    return Directions(upright(columns[:, ::-1].T), np.maximum(eigenvalues[::-1], 0) / (len(X) - 1), mean)


@method(
    tasks=["unsupervised"],
    when="You want fewer columns that rebuild the old ones within a stated error, and PCA to choose how many.",
    cost="O(n p min(n, p)) time; sparse tables by Lanczos steps, O(nnz m) a step",
    paper="slides",
    aliases=["PCA", "principal component analysis"],
)
class ReconstructionPCA(LinearExtractor):
    """Principal components, as many as the reconstruction error asks for.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions to keep. By default ``epsilon`` decides.
    epsilon : float, default=0.05
        Keep the smallest number of directions that loses a share of the variance below this. Not used when
        ``n_components`` is given.
    random_state : int, RandomState instance or None, default=None
        Draws the starting vector of the Lanczos solver for sparse tables; dense tables have no randomness.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, orthonormal, by decreasing variance.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each direction, with divisor ``n_samples - 1`` as in scikit-learn.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as shares of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred table.
    noise_variance_ : float
        Mean variance along the discarded directions.
    reconstruction_error_ : float
        Mean over the training rows of the squared distance to their reconstruction: the discarded eigenvalues of the
        covariance with divisor ``n_samples``, summed.
    discarded_ratio_ : float
        Share of the total variance that is lost.
    discarded_ratios_ : ndarray
        That share for 0, 1, 2, ... directions, as far as they were computed: the curve to choose from.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    n_components_ : int
        Number of directions kept.
    n_samples_ : int
        Number of rows seen in ``fit``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.decomposition.PCA : Chooses by the variance kept instead, and takes no sparse table when it chooses.
    KurtosisICA : Directions that are independent, not only uncorrelated.

    References
    ----------
    .. [1] Jolliffe, I. T. (2002). Principal Component Analysis, 2nd edition, chapter 6. Springer.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian
    >>> from fewer.extract import ReconstructionPCA
    >>> X, _, _ = make_gaussian(n_samples=1000, random_state=0)
    >>> pca = ReconstructionPCA(epsilon=0.05).fit(X)
    >>> pca.n_components_
    2
    >>> bool(pca.discarded_ratio_ < 0.05)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_components=None, epsilon=0.05, random_state=None):
        self.n_components = n_components
        self.epsilon = epsilon
        self.random_state = random_state

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the directions.

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
        most = min(X.shape[0] - 1, X.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} directions were asked of a table with {X.shape[0]} rows and "
                f"{X.shape[1]} columns, which has at most {most} (taking off the mean costs one of the rows)."
            )
        found, total = (self._fit_sparse if sparse.issparse(X) else self._fit_dense)(X)
        ratios = discarded_ratios(found.variances, total)
        kept = self.n_components or smallest_rank(found.variances, self.epsilon, total) or len(found.variances)

        self.n_samples_ = X.shape[0]
        self.mean_ = found.mean
        self.components_ = found.components[:kept].copy()
        self.explained_variance_ = found.variances[:kept].astype(X.dtype)
        self.explained_variance_ratio_ = self.explained_variance_ / (total or 1.0)
        self.singular_values_ = np.sqrt(self.explained_variance_ * (self.n_samples_ - 1))
        self.discarded_ratios_ = ratios
        self.discarded_ratio_ = float(ratios[kept])
        self.reconstruction_error_ = self.discarded_ratio_ * total * (self.n_samples_ - 1) / self.n_samples_
        n_discarded = min(X.shape) - kept
        self.noise_variance_ = self.discarded_ratio_ * total / n_discarded if n_discarded else 0.0
        return self

    def _fit_dense(self, X):
        if X.shape[0] < X.shape[1]:
            total = float(X.var(axis=0, ddof=1, dtype=np.float64).sum())
            found = directions_by_rows(X)
            wanted = self.n_components or smallest_rank(found.variances, self.epsilon, total)
            if wanted and wanted <= len(found.variances):
                return found, total
        # The covariance route squares the condition number; in single precision that costs the small eigenvalues.
        tall = X.shape[0] >= X.shape[1]
        found = directions_by_columns(X) if tall and X.dtype == np.float64 else _directions(PCA(svd_solver="full"), X)
        return found, float(found.variances.sum(dtype=np.float64))

    def _fit_sparse(self, X):
        """Double the number of directions until they lose little enough; the total variance is known beforehand."""
        n_samples, n_features = X.shape
        _, variances = mean_variance_axis(X, axis=0)
        total = float(variances.sum(dtype=np.float64)) * n_samples / (n_samples - 1)
        most = min(n_samples, n_features) - 1
        n_tried = self.n_components or 16
        while n_features > _FEW_COLUMNS and n_tried < most:
            found = _directions(PCA(n_tried, svd_solver="arpack", random_state=self.random_state), X)
            if self.n_components or smallest_rank(found.variances, self.epsilon, total):
                return found, total
            n_tried *= 2
        if n_features <= max(_FEW_COLUMNS, n_samples):
            return _directions(PCA(svd_solver="covariance_eigh"), X), total
        # More columns than rows: centring leaves at most n - 1 directions, and these are all of them.
        return _directions(PCA(most, svd_solver="arpack", random_state=self.random_state), X), total

    def inverse_transform(self, X):
        """Rows rebuilt from their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        X_rebuilt : ndarray of shape (n_samples, n_features)
            Rows in the columns of the training table.
        """
        check_is_fitted(self)
        return np.asarray(X) @ self.components_ + self.mean_


def _directions(pca, X):
    with np.errstate(invalid="ignore"):  # a table without variance has no shares of it
        pca.fit(X)
    return Directions(pca.components_, pca.explained_variance_, pca.mean_)
