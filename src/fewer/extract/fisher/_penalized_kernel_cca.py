"""Canonical correlations of two tables in the spaces of kernels, with a ridge on either side.

With C_x and C_y the centred kernel matrices the weights of the rows solve

    (C_x + a_x I)^{-1} (C_y + a_y I)^{-1} C_y C_x W = W Lambda.

With ``C_x = U_x D_x U_x'`` and ``S_x = (D_x / (D_x + a_x))^{1/2}``, and the same for y, this is one singular value
decomposition, ``S_x U_x'U_y S_y = P Lambda^{1/2} Q'``, with ``W_x = U_x (D_x (D_x + a_x))^{-1/2} P``. With ridges on
both sides no eigenvectors are needed: for any factor ``C_y = F F'``, of few columns where the kernel is smooth,

    F'C_x (C_x + a_x I)^{-1} F G = (F'F + a_y I) G Lambda,    W_x = (C_x + a_x I)^{-1} F G,
                                                              W_y = (C_y + a_y I)^{-1} C_x W_x.

Weights are scaled so that each variate has unit variance.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, checked_array, fit_context, known_target, target_matrix
from fewer._kernels._numpy_lapack import generalized_eigh, solve_spd
from fewer.catalogue import method
from fewer.extract._centred_table import (
    centred_columns_times,
    centred_gram,
    centred_kernel,
    column_means,
    pivoted_factor,
    positive_eigenpairs,
    thin_svd,
)
from fewer.extract._extractor import Extractor, upright
from fewer.extract._kernel_functions import kernel_values, kernel_width


class View:
    """One of the two tables: eigenvectors of its centred kernel, and the way of new rows to their variates.

    A linear kernel needs no kernel matrix: rows go straight along directions.
    """

    rows: Any
    centred: np.ndarray | None
    coef: np.ndarray

    def __init__(self, X: Any, kernel: str | Callable, gamma: float | str, degree: float, coef0: float) -> None:
        self.kernel, self.degree, self.coef0 = kernel, degree, coef0
        self.gamma = kernel_width(X, kernel, gamma)
        self.linear = isinstance(kernel, str) and kernel == "linear"
        self.rows = X
        if self.linear:
            self.centre = column_means(X)
            self.centred = None
        else:
            K = self._kernel_with(X)
            self.centre = K.mean(axis=0)
            self.centred = centred_kernel(K)

    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Positive eigenvalues of the centred kernel, and their vectors."""
        if self.centred is None:
            return _linear_eigenpairs(self.rows, self.centre)
        return positive_eigenpairs(self.centred)

    def settle(self, weights: np.ndarray) -> None:
        """Take on the weights of the training rows, and forget what new rows do not need."""
        self.coef = centred_columns_times(self.rows, weights) if self.linear else weights
        if self.linear:
            self.rows = None
        self.centred = None

    def variates(self, X: Any) -> np.ndarray:
        if self.linear:
            return np.asarray(X @ self.coef) - self.centre @ self.coef
        return (self._kernel_with(X) - self.centre) @ self.coef

    def _kernel_with(self, X: Any) -> np.ndarray:
        return kernel_values(X, self.rows, self.kernel, self.gamma, self.degree, self.coef0, "PenalizedKernelCCA")


def _linear_eigenpairs(X: Any, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X):
        return positive_eigenpairs(centred_gram(X, mean))
    left, sizes, _ = thin_svd(X - mean)
    return sizes**2, left


class Canonical(NamedTuple):
    """Weights of the rows on either side, variates of unit variance, and their eigenvalues and correlations."""

    x: np.ndarray
    y: np.ndarray
    eigenvalues: np.ndarray
    correlations: np.ndarray

    @classmethod
    def scaled(
        cls, weights: tuple[np.ndarray, np.ndarray], variates: tuple[np.ndarray, np.ndarray], eigenvalues: np.ndarray
    ) -> "Canonical":
        """Weights divided by the standard deviations of their variates, which have mean 0."""
        x, y = variates
        spread_x, spread_y = (np.linalg.norm(each, axis=0) / np.sqrt(len(each)) for each in variates)
        correlations = np.einsum("ik,ik->k", x, y) / (len(x) * spread_x * spread_y)
        return cls(weights[0] / spread_x, weights[1] / spread_y, eigenvalues, correlations)


def canonical_variates(
    x: View, y: View, alpha_x: float, alpha_y: float, tol: float, n_most: int | None
) -> Canonical | None:
    """The pairs of variates, the most correlated first, at most so many; None where one side is constant."""
    if alpha_x > 0 and alpha_y > 0 and x.centred is not None and y.centred is not None:
        try:
            return _by_factors(x.centred, y.centred, alpha_x, alpha_y, tol, n_most)
        except np.linalg.LinAlgError:  # ridges that are but rounding
            pass
    return _by_eigenvectors(x.eigenpairs(), y.eigenpairs(), alpha_x, alpha_y, tol)


def _by_eigenvectors(
    x: tuple[np.ndarray, np.ndarray], y: tuple[np.ndarray, np.ndarray], alpha_x: float, alpha_y: float, tol: float
) -> Canonical | None:
    (squares_x, vectors_x), (squares_y, vectors_y) = x, y
    if not len(squares_x) or not len(squares_y):
        return None
    shrunk_x = np.sqrt(squares_x / (squares_x + alpha_x))[:, None]
    shrunk_y = np.sqrt(squares_y / (squares_y + alpha_y))[:, None]
    P, sizes, Q = np.linalg.svd(shrunk_x * (vectors_x.T @ vectors_y) * shrunk_y.T, full_matrices=False)
    kept = sizes**2 > max(tol * sizes[0] ** 2, np.finfo(np.float64).eps ** 2)
    along_x, along_y = shrunk_x * P[:, kept], shrunk_y * Q[kept].T
    weights = vectors_x @ (along_x / squares_x[:, None]), vectors_y @ (along_y / squares_y[:, None])
    return Canonical.scaled(weights, (vectors_x @ along_x, vectors_y @ along_y), sizes[kept] ** 2)


def _by_factors(
    C_x: np.ndarray, C_y: np.ndarray, alpha_x: float, alpha_y: float, tol: float, n_most: int | None
) -> Canonical | None:
    F, _ = pivoted_factor(C_y)
    size = F.shape[1]
    if not size or not np.trace(C_x) > np.finfo(np.float64).eps:
        return None
    solved = solve_spd(_ridged(C_x, alpha_x), F)
    images = C_x @ solved
    between, within = F.T @ images, F.T @ F
    within.flat[:: size + 1] += alpha_y
    eigenvalues, G = generalized_eigh((between + between.T) / 2, within)
    eigenvalues, G = eigenvalues[::-1][:n_most], G[:, ::-1][:, :n_most]
    kept = eigenvalues > max(tol * eigenvalues[0], np.finfo(np.float64).eps ** 2)
    variates = images @ G[:, kept]
    y_weights = solve_spd(_ridged(C_y, alpha_y), variates)
    return Canonical.scaled((solved @ G[:, kept], y_weights), (variates, C_y @ y_weights), eigenvalues[kept])


def _ridged(C: np.ndarray, alpha: float) -> np.ndarray:
    """``C + alpha I``."""
    ridged = C.copy()
    ridged.flat[:: len(C) + 1] += alpha
    return ridged


@method(
    tasks=["classification", "regression"],
    when="Two sets of columns about the same rows, such as genes and symptoms, and you want what they have in common, "
    "curved relations included.",
    cost="O(n^2 p + n^3) time and O(n^2) memory; with linear kernels O(n p min(n, p)) time, O(n p) memory",
    paper="rda-ridge",
    examples=lambda: [PenalizedKernelCCA(), PenalizedKernelCCA(kernels="linear", alpha_x=0.0, alpha_y=0.0)],
    depends_on_scale="with a kernel or a gamma that has a unit, the ridges are added to values that change with it",
    depends_on_shift="with kernels of products, such as 'poly', values of the kernel depend on the origin",
)
class PenalizedKernelCCA(Extractor):
    """What two tables about the same rows have in common: canonical correlations with kernels and ridges.

    Parameters
    ----------
    n_components : int, default=None
        Number of pairs of variates; by default all that are possible.
    alpha_x : float, default=1.0
        Ridge of the table, added to the eigenvalues of its centred kernel matrix. With 0 the pseudo-inverse is used.
    alpha_y : float, default=1.0
        Ridge of the target, likewise.
    kernels : str, callable or pair of these, default="rbf"
        Kernel of the table and of the target, or one for both: any of ``sklearn.metrics.pairwise.pairwise_kernels``,
        or a function of two rows.
    gamma : float or "mean_distance", default="mean_distance"
        Width of the kernels that have one. "mean_distance" is one over the square of the mean distance between rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    target : {"auto", "classes", "numbers"}, default="auto"
        How one column of the target is read. "auto": as classes if it holds words, or at most 20
        different whole numbers.
    tol : float, default=1e-10
        Pairs whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues, decreasing; without ridges the squares of the canonical correlations.
    correlations_ : ndarray of shape (n_components,)
        Correlation of each pair of variates over the training rows. It is optimistic for new rows, the more so with
        small ridges.
    x_coef_ : ndarray of shape (n_samples, n_components) or (n_features, n_components)
        Weights of the training rows in each variate of the table; with a linear kernel, of the columns.
    y_coef_ : ndarray of shape (n_samples, n_components) or (n_targets, n_components)
        The same for the target.
    classes_ : ndarray of shape (n_classes,) or None
        The labels, where the target is classes.
    n_components_ : int
        Number of pairs.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.cross_decomposition.CCA : Linear, without ridges.

    Notes
    -----
    With a flexible kernel and no ridge any two tables are perfectly correlated over the training rows: choose the
    ridges by held-out rows.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import PenalizedKernelCCA
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=400)
    >>> X = np.column_stack([np.cos(angle), rng.normal(size=400)])
    >>> Y = np.column_stack([np.sin(angle), rng.normal(size=400)])
    >>> model = PenalizedKernelCCA(n_components=1, alpha_x=0.1, alpha_y=0.1).fit(X[:200], Y[:200])
    >>> u, v = model.transform(X[200:]), model.transform_y(Y[200:])
    >>> bool(np.corrcoef(u[:, 0], v[:, 0])[0, 1] > 0.9), bool(abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1]) < 0.1)
    (True, True)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha_x": [Interval(Real, 0, None, closed="left")],
        "alpha_y": [Interval(Real, 0, None, closed="left")],
        "kernels": [StrOptions(set(PAIRWISE_KERNEL_FUNCTIONS)), callable, tuple, list],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"mean_distance"})],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "target": [StrOptions({"auto", "classes", "numbers"})],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        alpha_x=1.0,
        alpha_y=1.0,
        kernels="rbf",
        gamma="mean_distance",
        degree=3,
        coef0=1,
        target="auto",
        tol=1e-10,
    ):
        self.n_components = n_components
        self.alpha_x = alpha_x
        self.alpha_y = alpha_y
        self.kernels = kernels
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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
    def fit(self, X: Any, y: Any) -> "PenalizedKernelCCA":
        """Find the pairs of variates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The other table about the same rows. ``target`` sets how one column is read.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, multi_output=True, copy=True)
        Y, self.classes_ = target_matrix(y, self.target, type(self).__name__, balanced=False)
        x_kernel, y_kernel = self._kernel_pair()
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        x, y = View(X, x_kernel, **options), View(Y, y_kernel, **options)
        found = canonical_variates(x, y, float(self.alpha_x), float(self.alpha_y), self.tol, self.n_components)
        if found is None or not len(found.eigenvalues):
            raise ValueError("The two tables have nothing in common: the columns of one of them are constant.")
        self.n_components_ = self._number_of_components(
            len(found.eigenvalues), "as many as the smaller of the two tables has directions"
        )
        x.settle(found.x[:, : self.n_components_])
        y.settle(found.y[:, : self.n_components_])
        signs = np.where(np.einsum("ik,ik->k", upright(x.coef.T).T, x.coef) < 0, -1, 1)
        x.coef, y.coef = np.ascontiguousarray(signs * x.coef), np.ascontiguousarray(signs * y.coef)
        self._x, self._y = x, y
        self.x_coef_, self.y_coef_ = x.coef, y.coef
        self.eigenvalues_ = found.eigenvalues[: self.n_components_]
        self.correlations_ = found.correlations[: self.n_components_]
        return self

    def _kernel_pair(self) -> tuple[Any, Any]:
        pair = self.kernels if isinstance(self.kernels, (tuple, list)) else (self.kernels, self.kernels)
        known = [callable(each) or each in PAIRWISE_KERNEL_FUNCTIONS for each in pair]
        if len(pair) != 2 or not all(known):
            raise ValueError(
                f"kernels is one kernel or a pair of them, such as ('rbf', 'linear'); it is {self.kernels!r}. Known by "
                f"name are {', '.join(sorted(PAIRWISE_KERNEL_FUNCTIONS))}."
            )
        return tuple(pair)

    def transform(self, X: Any) -> np.ndarray:
        """Variates of the table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each variate.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._x.variates(X).astype(X.dtype)

    def transform_y(self, y: Any) -> np.ndarray:
        """Variates of the other table.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Rows of the other table.

        Returns
        -------
        y_new : ndarray of shape (n_samples, n_components)
            One column for each variate.
        """
        check_is_fitted(self)
        y = checked_array(y, type(self).__name__, ensure_2d=False, dtype=None)
        return self._y.variates(known_target(y, self.classes_))
