"""Partial least squares in the space of a kernel, or with a polynomial inner relation.

Kernel: with the centred kernel matrix K of the training rows, scores T (orthonormal) and ``u = Yc`` of each component,

    rotations  A = U (T'KU)^{-1},    scores of new rows  k_x A,    dual coefficients  D = A T'Y.

Polynomial: after each component of NIPALS, ``t = Xw`` and ``u = Yc``, a polynomial g of u on t is fitted, and
``Y <- Y - g(t) c'``. The table itself is deflated as in NIPALS, so that scores are orthogonal.

Rosipal, R. and Trejo, L. J. (2001). Kernel partial least squares regression in reproducing kernel Hilbert space.
Journal of Machine Learning Research 2, 97-123.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.extract._centred_table import centred_kernel
from fewer.extract._extractor import Extractor, LinearExtractor
from fewer.extract._kernel_functions import kernel_values, kernel_width
from fewer.learn.pls import CentredTable, Factors, Orthogonal, from_row_products, leading_pair, rounding


@method(
    tasks=["regression"],
    when="Up to some thousand rows and a target that is a curved function of the columns: kernel ridge with a number "
    "of components in place of the ridge, and these as new columns.",
    cost="O(n^2 (p + k)) time, O(n^2) memory",
    paper="pls",
    examples=lambda: [KernelPLS(), KernelPLS(4, kernel="poly", degree=2), KernelPLS(kernel="linear")],
    depends_on_scale="with a number for gamma the width is in the unit of the columns",
    depends_on_shift="with kernels of products, such as 'poly', values of the kernel depend on the origin",
)
class KernelPLS(CallbackSupportMixin, RegressorMixin, MultiOutputMixin, Extractor):
    """Partial least squares regression in the space of a kernel.

    Parameters
    ----------
    n_components : int, default=2
        Number of new columns; None for as many as the kernel has directions that go with the targets.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise``, a function of two rows, or "precomputed".
    gamma : float or "mean_distance", default="mean_distance"
        Width of the kernels that have one; by default one over the square of the mean distance between training rows.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant of "poly" and "sigmoid".
    with_mean : bool, default=True
        Whether the kernel is centred, with the means of the training rows.
    max_iter : int, default=500
        Maximum number of restarts of Lanczos' method for a component. It is needed only with more than 500 targets;
        otherwise an eigenproblem takes its place.
    tol : float, default=1e-12
        The method ends when its residual is below this share of the eigenvalue.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients of the kernel with each training row.
    dual_rotations_ : ndarray of shape (n_samples, n_components)
        From the kernel with the training rows to scores.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows, orthogonal and of length 1.
    y_loadings_ : ndarray of shape (n_targets, n_components)
        Coefficients of the targets on the scores.
    y_mean_ : float or ndarray of shape (n_targets,)
        Mean of the targets.
    kernel_means_ : ndarray of shape (n_samples,)
        Means of the kernel's columns, which are taken away; zeros with ``with_mean=False``.
    gamma_ : float or None
        The width used.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training table.
    n_components_ : int
        Number of components found.
    n_iter_ : int
        Steps of the fit, which callbacks see: one for each component, and 1 at least.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSRegressor : With straight relations; faster.
    PolynomialPLSRegressor : Straight scores and curved relations of the targets with them.
    fewer.evaluate.component_curve : How many components.

    Notes
    -----
    A smooth kernel runs out of directions: components that are not above rounding are left out, with a
    warning.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import KernelPLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> bool(KernelPLS(8, gamma=1.0).fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.97)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"mean_distance"})],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "with_mean": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        kernel="rbf",
        gamma="mean_distance",
        degree=3,
        coef0=1,
        with_mean=True,
        max_iter=500,
        tol=1e-12,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.with_mean = with_mean
        self.max_iter = max_iter
        self.tol = tol

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _takes_sparse(self) -> bool:
        return not (isinstance(self.kernel, str) and self.kernel in ("precomputed", "chi2", "additive_chi2"))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "KernelPLS":
        """Find the components and the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; with ``kernel="precomputed"``, the kernel of all pairs of training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True, y_numeric=True, copy=True)
        Y = np.asarray(y, dtype=np.float64)
        self._one_target = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        self.gamma_ = kernel_width(X, self.kernel, self.gamma)
        try:
            K = self._kernel_with(X, X)
        except MemoryError:
            raise MemoryError(
                f"The kernel of {X.shape[0]:,} rows with each other does not fit into memory. Use fewer rows, or "
                'LandmarkFeatures(method="F2") and then PLSRegressor, which need no such table.'
            ) from None
        self.kernel_means_ = K.mean(axis=0) if self.with_mean else np.zeros(len(K))
        K = centred_kernel(K) if self.with_mean else K
        wanted = len(Y) - 1 if self.n_components is None else min(self.n_components, len(Y) - 1)
        stopped = False
        with fit_steps(self, X, y, n_steps=wanted) as after_step:

            def watch(number: int) -> bool:
                nonlocal stopped
                stopped = after_step(f"component {number}")
                return stopped

            mean = Y.mean(axis=0)
            found = from_row_products(K, Y - mean, wanted, watch, self.max_iter, self.tol)
            self.n_components_ = found.t.shape[1]
            self.n_iter_ = max(self.n_components_, 1)
            if not stopped:
                self._number_of_components(self.n_components_, "for the kernel has no more that goes with y")
            # They sum to zero over the rows, so that one centring of new rows is enough; rounding must not change that.
            self.dual_rotations_ = found.rotations - (found.rotations.mean(axis=0) if self.with_mean else 0)
            self.x_scores_ = found.t.astype(X.dtype)
            self.y_loadings_ = found.y_loadings
            self.y_mean_ = float(mean[0]) if self._one_target else mean
            self.dual_coef_ = self._of_targets(self.dual_rotations_ @ found.y_loadings.T)
            self.X_fit_ = X
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; with ``kernel="precomputed"``, the kernel of its rows with the
            training rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each component.
        """
        check_is_fitted(self)
        X, scores = self._scores(X)
        return scores.astype(X.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """Targets of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; with ``kernel="precomputed"``, the kernel of its rows with the
            training rows.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        return self._of_targets(self._scores(X)[1] @ self.y_loadings_.T) + self.y_mean_

    def predict_path(self, X: Any) -> np.ndarray:
        """Targets of the rows after 1, 2, ... components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for ``predict``.

        Returns
        -------
        targets : ndarray of shape (n_components, n_samples) or (n_components, n_samples, n_targets)
            Predictions.
        """
        check_is_fitted(self)
        steps = self._scores(X)[1].T[:, :, None] * self.y_loadings_.T[:, None, :]
        return self._of_targets(np.cumsum(steps, axis=0)) + self.y_mean_

    def _scores(self, X: Any) -> tuple[Any, np.ndarray]:
        X = self._validated(X, reset=False)
        return X, (self._kernel_with(X, self.X_fit_) - self.kernel_means_) @ self.dual_rotations_

    def _kernel_with(self, X: Any, rows: Any) -> np.ndarray:
        who = type(self).__name__
        return kernel_values(X, rows, self.kernel, self.gamma_, self.degree, self.coef0, who, centred=self.with_mean)

    def _of_targets(self, values: np.ndarray) -> np.ndarray:
        return values[..., 0] if self._one_target else values


class CurvedFactors(NamedTuple):
    """The components; c of length 1 (targets, components); coefficients of each g (components, powers of t)."""

    factors: Factors
    y_weights: np.ndarray
    inner: np.ndarray


def curved_components(table: CentredTable, Y: np.ndarray, n_components: int, degree: int) -> CurvedFactors:
    """At most so many components; fewer where what is left of Y goes with nothing that is left of X."""
    found = Orthogonal(table, Y.shape[1], n_components)
    floor = rounding(table) * table.size * float(np.linalg.norm(Y))
    left, y_weights, inner = Y.copy(), [], []
    while found.n_found < n_components:
        S = table.back(found.without(left))
        if np.linalg.norm(S) <= floor:
            break
        weight, target = leading_pair(S)
        if found.add(weight, Y) is None:
            break
        score = found.last * found.last_length
        relation = Polynomial.fit(score, left @ target, degree)
        left -= np.outer(relation(score), target)
        y_weights.append(target)
        inner.append(np.pad(relation.convert().coef, (0, degree + 1))[: degree + 1])
    return CurvedFactors(
        found.factors(), np.reshape(y_weights, (-1, Y.shape[1])).T, np.reshape(inner, (-1, degree + 1))
    )


@method(
    tasks=["regression"],
    when="A target that is curved along a few linear directions of many columns that go together, and a map of these "
    "that can be read. A relation without any slope, such as y = x^2 around 0, is not found: take KernelPLS.",
    cost="O(n p (m + k) k) time for k components and m targets, O(n p) memory",
    paper="pls",
)
class PolynomialPLSRegressor(RegressorMixin, MultiOutputMixin, LinearExtractor):
    """Partial least squares with a polynomial of each score in place of a straight line.

    Parameters
    ----------
    n_components : int, default=2
        Number of new columns; None for as many as there are.
    degree : int, default=2
        Degree of the polynomials; with 1 it is PLSRegressor.
    scale : bool, default=False
        Whether columns and targets are scaled to unit variance.

    Attributes
    ----------
    inner_coef_ : ndarray of shape (n_components, degree + 1)
        Coefficients of the polynomial of each score, from the constant on.
    y_weights_ : ndarray of shape (n_targets, n_components)
        The combination of targets that each polynomial is for.
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of length 1; the largest entry of each is positive.
    x_loadings_ : ndarray of shape (n_features, n_components)
        How the columns go with the scores.
    x_rotations_ : ndarray of shape (n_features, n_components)
        From centred and scaled columns to scores.
    x_scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows, orthogonal to each other.
    components_ : ndarray of shape (n_components, n_features)
        The rotations as rows, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        Column means.
    n_components_ : int
        Number of components found.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PLSRegressor : With straight lines.
    KernelPLS : With curved scores.

    Notes
    -----
    Polynomials extrapolate badly outside of the range of the training rows.

    References
    ----------
    .. [1] Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. In Subspace,
       Latent Structure and Feature Selection, LNCS 3940, 34-51.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import PLSRegressor, PolynomialPLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=200)
    >>> X = np.outer(t, [1.0, -1.0, 0.5]) + 0.1 * rng.normal(size=(200, 3))
    >>> y = t + t**2
    >>> round(PLSRegressor(1).fit(X, y).score(X, y), 2), round(PolynomialPLSRegressor(1).fit(X, y).score(X, y), 2)
    (0.34, 0.99)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
    }

    def __init__(self, n_components=2, degree=2, scale=False):
        self.n_components = n_components
        self.degree = degree
        self.scale = scale

    @property
    def _takes_sparse(self) -> bool:
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "PolynomialPLSRegressor":
        """Find the components and their polynomials.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        Y = np.asarray(y, dtype=np.float64)
        self._one_target = Y.ndim == 1
        targets = CentredTable(Y.reshape(len(Y), -1), scale=self.scale)
        table = CentredTable(X, scale=self.scale)
        most = min(X.shape[0] - 1, X.shape[1])
        wanted = most if self.n_components is None else min(self.n_components, most)
        degree = min(self.degree, X.shape[0] - 1)
        found = curved_components(table, targets.values, wanted, degree)
        factors = found.factors
        self._number_of_components(factors.n_components, "for nothing is left of the table that goes with y")
        self.mean_ = table.mean.astype(X.dtype)
        self.components_ = np.ascontiguousarray((factors.rotations / table.scale[:, None]).T, dtype=X.dtype)
        self.x_weights_, self.x_loadings_, self.x_rotations_, self.x_scores_ = (
            part.astype(X.dtype) for part in (factors.weights, factors.x_loadings, factors.rotations, factors.scores)
        )
        self.y_weights_, self.inner_coef_ = found.y_weights.astype(X.dtype), found.inner
        self._y_mean, self._y_scale = targets.mean, targets.scale
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Targets of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions.
        """
        curved = self._curved(X)
        return self._of_targets(curved @ self.y_weights_.T * self._y_scale + self._y_mean)

    def predict_path(self, X: Any) -> np.ndarray:
        """Targets of the rows after 1, 2, ... components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        targets : ndarray of shape (n_components, n_samples) or (n_components, n_samples, n_targets)
            Predictions.
        """
        steps = self._curved(X).T[:, :, None] * self.y_weights_.T[:, None, :]
        return self._of_targets(np.cumsum(steps, axis=0) * self._y_scale + self._y_mean)

    def _curved(self, X: Any) -> np.ndarray:
        """``g(t)`` of each score."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        scores = np.asarray(X @ self.components_.T - self.mean_ @ self.components_.T, dtype=np.float64)
        return np.polynomial.polynomial.polyval(scores, self.inner_coef_.T, tensor=False)

    def _of_targets(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[..., 0] if self._one_target else predictions
