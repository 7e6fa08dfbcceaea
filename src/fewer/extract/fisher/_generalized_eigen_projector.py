"""Directions that go with a target, with any polynomial of the scatter in the denominator.

With ``Q = (X'X)^{1/2}`` and ``f(Q) = sum_j b_j Q^j``, b_j >= 0, maximise

    tr( A'X'YY'XA (A'f(Q)A)^{-1} ).

With ``X = U D V'`` and ``F = f(D)^{-1/2} D U'Y = U_F S V_F'`` the directions are ``A = V f(D)^{-1/2} U_F``.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._estimators import Interval, StrOptions, fit_context, target_matrix
from fewer.catalogue import method
from fewer.extract._centred_table import centred_gram, column_means, positive_eigenpairs, scatter, thin_svd
from fewer.extract._extractor import LinearExtractor, upright


class Projection(NamedTuple):
    """Directions (components, columns), by decreasing eigenvalue, and the eigenvalue of each."""

    directions: np.ndarray
    eigenvalues: np.ndarray


def generalized_projection(X: Any, mean: np.ndarray, Y: np.ndarray, f_coeffs: np.ndarray, tol: float) -> Projection:
    """Directions of a table less its mean, for targets Y."""
    n_rows, n_columns = X.shape
    left = right = None
    if not sparse.issparse(X):
        left, sizes, rows = thin_svd(X - mean)
        right, shares = rows.T, left.T @ Y
    elif n_columns <= n_rows:
        squares, right = positive_eigenpairs(scatter(X, mean))
        sizes = np.sqrt(squares)
        shares = right.T @ (X.T @ Y - np.outer(mean, Y.sum(axis=0))) / sizes[:, None]
    else:
        squares, left = positive_eigenpairs(centred_gram(X, mean))
        sizes, shares = np.sqrt(squares), left.T @ Y
    if not len(sizes):
        return Projection(np.zeros((0, n_columns)), np.zeros(0))
    lengths = 1 / np.sqrt(np.polynomial.polynomial.polyval(sizes, f_coeffs))
    vectors, strengths, _ = np.linalg.svd((lengths * sizes)[:, None] * shares, full_matrices=False)
    eigenvalues = strengths**2
    kept = eigenvalues > max(tol, np.finfo(np.float64).eps) * eigenvalues[0]
    coordinates = lengths[:, None] * vectors[:, kept]
    if right is not None:
        directions = right @ coordinates
    else:
        assert left is not None
        weights = left @ (coordinates / sizes[:, None])
        directions = X.T @ weights - np.outer(mean, weights.sum(axis=0))
    return Projection(np.asarray(directions).T, eigenvalues[kept])


@method(
    tasks=["classification", "regression"],
    when="You want to place a method between covariances with the target (as partial least squares) and correlations "
    "(as Fisher's directions), or to regularise it in another way than by a ridge.",
    cost="O(n p min(n, p)) time, O(n p) memory; sparse tables O(min(n, p)^2) memory",
    paper="rda-ridge",
    examples=lambda: [GeneralizedEigenProjector(), GeneralizedEigenProjector(f_coeffs=(1, 0.5), with_mean=False)],
    depends_on_scale="f_coeffs weigh powers of the columns against one another",
    depends_on_shift="with with_mean=False the means of the columns count",
)
class GeneralizedEigenProjector(LinearExtractor):
    """Directions that go with a target, between covariance and correlation.

    Parameters
    ----------
    f_coeffs : array-like of shape (degree + 1,), default=(1.0, 0.0, 1.0)
        Coefficients of f, from the constant on, none negative. ``(alpha, 0, 1)`` is a ridge, as in
        ``RegularizedFisher``; ``(0, 0, 1)`` is none; ``(1,)`` takes covariances, as partial least squares by one SVD.
    n_components : int, default=None
        Number of directions; by default all, at most as many as columns of the target or, of classes, one less.
    with_mean : bool, default=True
        Subtract the means from table and target first.
    target : {"auto", "classes", "numbers"}, default="auto"
        How one column of the target is read. "auto": as classes if it holds words, or at most 20
        different whole numbers.
    tol : float, default=1e-10
        Directions whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, orthonormal in f(Q), by decreasing eigenvalue; the largest entry of each is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        What each adds to the criterion.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table; zeros without ``with_mean``.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    RegularizedFisher : The ridge for classes, faster.
    sklearn.cross_decomposition.PLSSVD : The same as ``f_coeffs=(1,)`` with numbers as target.

    Notes
    -----
    Powers of Q are about sums over rows: the constant of f has the unit of a column to the power of the others, times
    the square root of the number of rows.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.extract import GeneralizedEigenProjector
    >>> X, y = load_diabetes(return_X_y=True)
    >>> GeneralizedEigenProjector(f_coeffs=(0.1, 0, 1)).fit_transform(X, y).shape
    (442, 1)
    """

    _parameter_constraints = {
        "f_coeffs": ["array-like"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "with_mean": ["boolean"],
        "target": [StrOptions({"auto", "classes", "numbers"})],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(self, f_coeffs=(1.0, 0.0, 1.0), n_components=None, with_mean=True, target="auto", tol=1e-10):
        self.f_coeffs = f_coeffs
        self.n_components = n_components
        self.with_mean = with_mean
        self.target = target
        self.tol = tol

    @property
    def _takes_sparse(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "GeneralizedEigenProjector":
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target; ``target`` sets how one column is read.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True)
        f_coeffs = self._checked_coefficients()
        Y = target_matrix(y, self.target, type(self).__name__, balanced=True).values
        mean = column_means(X) if self.with_mean else np.zeros(X.shape[1])
        found = generalized_projection(X, mean, Y - Y.mean(axis=0) if self.with_mean else Y, f_coeffs, self.tol)
        if not len(found.eigenvalues):
            raise ValueError(
                "No direction of the table goes with the target: one of them is constant, or they are unrelated."
            )
        n_kept = self._number_of_components(
            len(found.eigenvalues), "as many as columns of the table or of the target, of classes one less"
        )
        self.components_ = upright(found.directions[:n_kept]).astype(X.dtype)
        self.eigenvalues_ = found.eigenvalues[:n_kept]
        self.mean_ = mean.astype(X.dtype)
        return self

    def _checked_coefficients(self) -> np.ndarray:
        f_coeffs = np.asarray(self.f_coeffs, dtype=np.float64)
        if f_coeffs.ndim != 1 or not (f_coeffs >= 0).all() or not np.isfinite(f_coeffs).all() or not f_coeffs.any():
            raise ValueError(
                f"f_coeffs has to be a list of numbers, none negative and not all zero, such as (1, 0, 1); it is "
                f"{self.f_coeffs!r}."
            )
        return f_coeffs
