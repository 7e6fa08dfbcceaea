"""Discriminant directions in the space of a kernel, with a ridge there.

With C = HKH the directions are combinations of the training rows, ``z = W'(k_x - K1/n)``, and the ridge solution is

    W = (C + alpha I)^{-1} H E Pi^{-1/2} V,    Pi^{-1/2} E'C (C + alpha I)^{-1} E Pi^{-1/2} = V Gamma V'.

For the linear kernel they are those of ``RegularizedFisher``. The "legacy" solver has ``C^2 + alpha I`` for
``C^2 + alpha C``, an earlier regularisation that is no ridge in the space of the kernel.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context
from fewer.catalogue import method
from fewer.extract._centred_table import centred_kernel
from fewer.extract._extractor import Extractor, upright
from fewer.extract._kernel_functions import kernel_values, kernel_width
from fewer.extract.fisher._eigenproblem import (
    Discriminant,
    Groups,
    Products,
    Spectrum,
    cholesky_solution,
    discriminant_of_solution,
    left_out_on_average,
    rotation_of_factor,
    scores_matrix,
)
from fewer.extract.fisher._regularized_fisher import ProjectedClassifier


def kernel_directions(C: np.ndarray, groups: Groups, *, alpha: float, solver: str, tol: float) -> Discriminant:
    """Weights of the rows for each class (in place of G), and the rotation that makes them directions."""
    products = Products(C, scores_matrix(groups), by_columns=False)
    if solver == "evd" and alpha > 0:
        solution = cholesky_solution(products, alpha)
        if solution is not None:
            return discriminant_of_solution(products, solution, solution.weights, alpha, tol, groups)
    spectrum = Spectrum.of_products(products)
    if solver == "legacy":
        return _legacy_directions(spectrum, groups, alpha, tol)
    rotation = spectrum.rotation(alpha, tol)
    left_out = spectrum.left_out(alpha, rotation.vectors, groups)
    return Discriminant(spectrum.dual_coef(alpha), *rotation, left_out, spectrum.possible(alpha))


def _legacy_directions(spectrum: Spectrum, groups: Groups, alpha: float, tol: float) -> Discriminant:
    assert spectrum.left is not None
    regularised = spectrum.squares**2 + alpha
    F = (spectrum.squares / np.sqrt(regularised))[:, None] * spectrum.shares
    weights = spectrum.left @ ((spectrum.squares / regularised)[:, None] * spectrum.shares)
    possible = float((spectrum.squares**2 / regularised).max(initial=0))
    rotation = rotation_of_factor(F, tol, possible)
    shares, left = (spectrum.shares @ rotation.vectors) ** 2, alpha / regularised
    outside = np.maximum(1 - shares.sum(axis=0), 0)
    freedom = len(spectrum.left) - 1 - len(left) + left.sum()
    products, squares = outside + left @ shares, outside + left**2 @ shares
    left_out = left_out_on_average(products, squares, float(freedom), groups, rotation.vectors)
    return Discriminant(weights, *rotation, left_out, possible)


@method(
    tasks=["classification"],
    when="Up to some thousand rows and classes that no straight border separates, such as XOR or rings; otherwise "
    "RegularizedFisher, which is faster and has coefficients of the columns.",
    cost="O(n^2 p + n^3) time, O(n^2) memory",
    paper="rda-ridge",
    examples=lambda: [KernelRegularizedFisher(), KernelRegularizedFisher(kernel="linear", solver="svd")],
    depends_on_scale="with a kernel or a gamma that has a unit, alpha is added to values that change with it",
    depends_on_shift="with kernels of products, such as 'poly', values of the kernel depend on the origin",
)
class KernelRegularizedFisher(ProjectedClassifier, Extractor):
    """Curved directions that separate classes: Fisher's criterion with a ridge, in the space of a kernel.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; by default all, at most one less than classes.
    kernel : str or callable, default="rbf"
        Any kernel of ``sklearn.metrics.pairwise.pairwise_kernels``, a function of two rows, or "precomputed".
    gamma : float or "mean_distance", default="mean_distance"
        Width of the kernel, where it has one. "mean_distance" is one over the square of the mean distance between
        training rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    alpha : float, default=1.0
        The ridge, added to the eigenvalues of the centred kernel matrix. With 0 the pseudo-inverse is used.
    scaling : {"ridge", "orthonormal"}, default="ridge"
        Lengths of the directions, as in ``RegularizedFisher``.
    solver : {"evd", "svd", "legacy"}, default="evd"
        A Cholesky factor and a small eigenproblem; or all eigenvectors of the kernel matrix, with the same result; or
        an earlier regularisation of these, for comparisons.
    decision_rule : {"gaussian", "left_out", "centroid", "neighbour"}, default="gaussian"
        How ``predict`` classifies along the directions, as in ``RegularizedFisher``.
    tol : float, default=1e-10
        Directions whose eigenvalue is below this share of the largest are left out.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Weights of the training rows in each direction.
    eigenvalues_ : ndarray of shape (n_components,)
        Share of the regularised scatter along each direction that lies between classes, from 0 to 1.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows.
    kernel_means_ : ndarray of shape (n_samples,)
        Mean over the training rows of their kernel with each of them.
    gamma_ : float or None
        The width used; None where the kernel has none.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_components_ : int
        Number of directions.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    RegularizedFisher : The same for straight borders.
    fewer.learn.KernelRidgeClassifierLOO : A classifier that tunes its width and ridge.

    Notes
    -----
    With a small ``alpha`` the training rows of a class nearly coincide while new ones do not: look at new rows, and
    take ``decision_rule="left_out"`` for probabilities that allow for it.

    References
    ----------
    .. [1] Zhang, Z., Dai, G., Xu, C. and Jordan, M. I. (2010). Regularized discriminant analysis, ridge regression and
       beyond. Journal of Machine Learning Research 11, 2199-2228.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import KernelRegularizedFisher
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")
    >>> KernelRegularizedFisher(alpha=0.1).fit(X[:100], y[:100]).score(X[100:], y[100:])
    0.89
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"mean_distance"})],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"evd", "svd", "legacy"})],
        **ProjectedClassifier._decision_constraints,
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        kernel="rbf",
        gamma="mean_distance",
        degree=3,
        coef0=1,
        alpha=1.0,
        scaling="ridge",
        solver="evd",
        decision_rule="gaussian",
        tol=1e-10,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.scaling = scaling
        self.solver = solver
        self.decision_rule = decision_rule
        self.tol = tol

    @property
    def _takes_sparse(self) -> bool:
        return not (isinstance(self.kernel, str) and self.kernel in ("precomputed", "chi2", "additive_chi2"))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "KernelRegularizedFisher":
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; with ``kernel="precomputed"``, the kernel of all pairs of training rows.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, copy=True)
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        groups = Groups.of(codes, len(self.classes_))
        self.gamma_ = kernel_width(X, self.kernel, self.gamma)
        K = self._kernel_with(X, X)
        self.kernel_means_ = K.mean(axis=0)
        found = kernel_directions(centred_kernel(K), groups, alpha=float(self.alpha), solver=self.solver, tol=self.tol)
        if not len(found.eigenvalues):
            raise ValueError(
                "No direction in the space of this kernel separates the classes: they have the same mean. Check y, or "
                "use another kernel or gamma."
            )
        self.n_components_ = self._number_of_components(len(found.eigenvalues), "one less than classes at most")
        rotation, self.eigenvalues_ = found.rotation[:, : self.n_components_], found.eigenvalues[: self.n_components_]
        weights = (found.ridge_coef @ rotation).T
        if self.scaling == "orthonormal":
            weights /= np.sqrt(self.eigenvalues_)[:, None]
        turned = upright(weights)
        signs = np.where(np.einsum("kn,kn->k", turned, weights) < 0, -1, 1)
        self.dual_coef_ = np.ascontiguousarray(turned.T)
        self.X_fit_ = X
        self._learn_classes(rotation * signs, groups, X, found.left_out and found.left_out.turned(signs))
        self._warn_of_ridge(self.alpha, found.possible, groups, "of the kernel")
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The table along the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table; with ``kernel="precomputed"``, the kernel of its rows with the
            training rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each direction.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        # The weights of each direction sum to zero, so that one centring is enough.
        return ((self._kernel_with(X, self.X_fit_) - self.kernel_means_) @ self.dual_coef_).astype(X.dtype)

    def _kernel_with(self, X: Any, rows: Any) -> np.ndarray:
        who = type(self).__name__
        return kernel_values(X, rows, self.kernel, self.gamma_, self.degree, self.coef0, who, centred=True)
