"""Kernel ridge machines whose hyper-parameters minimise the leave-one-out error in closed form.

Minimise ``||w||^2 / 2 + sum_i (y_i - w.phi(x_i) - b)^2 / (2 lam)``; for classes y = +-1, and the class is the sign of
w.phi(x) + b.
The kernel is ``exp(-eta ||x - x'||^2)``, or with one width for each column ``exp(-sum_d eta_d (x_d - x'_d)^2)``. Then

    theta = (log lam, log eta)  minimises  PRESS(theta) + hyper_penalty ||theta - start||^2.

The machine ``f(x) = sum_i a_i K(x_i, x) + b`` solves

    C [a; b] = [y; 0],    C = [[K + lam I, 1], [1', 0]].

With P the part of ``C^{-1}`` that belongs to the rows, ``a = P y``, and the residual of row i for the machine that
has not seen it is ``r_i = a_i / P_ii``. PRESS is the sum of their squares. Several targets are columns of y.

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

Cawley, G. C. & Talbot, N. L. C. (2003). Efficient leave-one-out cross-validation of kernel Fisher discriminant
classifiers. Pattern Recognition 36, 2585-2592.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, validated, warn_caller
from fewer._kernels._row_products import about_mean, squared_distances
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method


class BorderedSolution(NamedTuple):
    dual_coef: np.ndarray  # a, of the shape of y
    intercept: np.ndarray  # b, one for each target
    residuals: np.ndarray  # leave-one-out, of the shape of y
    row_inverse: np.ndarray  # P


def bordered_solution(K: np.ndarray, y: np.ndarray, alpha: float) -> BorderedSolution:
    """Solution of the bordered system, with its leave-one-out residuals: O(n^3), one Cholesky factor.

    Raises ``LinAlgError`` when ``alpha`` is too small beside K for the factor to exist in floating point.
    """
    inverse = _positive_definite_inverse(K, alpha)
    inverse_ones = inverse.sum(axis=0)
    total = inverse_ones.sum()
    row_inverse = inverse - np.outer(inverse_ones, inverse_ones / total)
    dual_coef = row_inverse @ y
    residuals = (dual_coef.T / np.diag(row_inverse)).T
    return BorderedSolution(dual_coef, inverse_ones @ y / total, residuals, row_inverse)


def _positive_definite_inverse(K: np.ndarray, alpha: float) -> np.ndarray:
    system = np.array(K, order="F")
    system.flat[:: len(system) + 1] += alpha
    factor, failed = linalg.lapack.dpotrf(system, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"K + {alpha:g} I is not positive definite in floating point.")
    lower, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse = lower + lower.T
    inverse.flat[:: len(inverse) + 1] /= 2
    return inverse


def press_sensitivity(solution: BorderedSolution) -> np.ndarray:
    """Symmetric S with ``dPRESS = sum(S * dM)`` for a change dM of ``K + lam I``.

    From ``dP = -P dM P``: ``dPRESS = 2 sum_i (r_i / P_ii) (r_i (P dM P)_ii - (P dM a)_i)``.
    """
    P = solution.row_inverse
    residuals = solution.residuals.reshape(len(P), -1)
    dual_coef = solution.dual_coef.reshape(len(P), -1)
    weighted = residuals / np.diag(P)[:, None]
    through_diagonal = 2 * (P * (weighted * residuals).sum(axis=1)) @ P
    through_coef = (P @ weighted) @ dual_coef.T
    return through_diagonal - through_coef - through_coef.T


class KernelSpectrum(NamedTuple):
    """Eigenvectors of a kernel matrix with what every regularisation shares: after O(n^3), each costs O(n^2)."""

    values: np.ndarray
    vectors: np.ndarray
    ones: np.ndarray  # the vector of ones, in these coordinates
    y: np.ndarray  # the targets, likewise, one column each

    @classmethod
    def of(cls, K: np.ndarray, y: np.ndarray) -> "KernelSpectrum":
        """Of the kernel matrix K and the targets y."""
        values, vectors = linalg.eigh(K, check_finite=False)
        # What rounding makes of a zero eigenvalue may be negative, and would matter beside a small regularisation.
        return cls(np.maximum(values, 0), vectors, vectors.sum(axis=0), vectors.T @ y.reshape(len(y), -1))

    def dual_coef(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, b) for each penalty: arrays of shape (n, n_targets, n_alphas) and (n_targets, n_alphas)."""
        damping = 1 / (self.values[:, None] + alphas)
        intercept = (self.y.T @ (damping * self.ones[:, None])) / (damping.T @ self.ones**2)
        coordinates = (self.y[:, :, None] - self.ones[:, None, None] * intercept) * damping[:, None, :]
        return np.tensordot(self.vectors, coordinates, axes=1), intercept

    def press(self, alphas: np.ndarray) -> np.ndarray:
        """PRESS for each regularisation."""
        damping = 1 / (self.values[:, None] + alphas)
        inverse_ones = self.vectors @ (damping * self.ones[:, None])
        diagonal = self.vectors**2 @ damping - inverse_ones**2 / (damping.T @ self.ones**2)
        dual_coef, _ = self.dual_coef(alphas)
        return ((dual_coef / diagonal[:, None, :]) ** 2).sum(axis=(0, 1))


# How far the search may go from its start, on the log scale: beyond, the kernel is flat or the identity.
_REACH = 12.0


def gaussian_kernel(X: np.ndarray, gamma: float | np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """``exp(-sum_d gamma_d (x_d - z_d)^2)`` for all pairs of rows of X and Z, or of X alone."""
    widths = np.sqrt(gamma)
    rows = X * widths
    return np.exp(-squared_distances(rows, rows if Z is None else Z * widths))


class PressCriterion:
    """PRESS, with its penalty and gradient, as a function of ``theta = log(hyper-parameters / start)``.

    ``theta[0]`` moves the regularisation, ``theta[1]`` the width of the kernel; with ``ard``, ``theta[1:]`` move the
    width of each column.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, alpha: float, gamma: np.ndarray, ard: bool, penalty: float
    ) -> None:
        (X,) = about_mean(X)
        self.X, self.y, self.alpha, self.gamma, self.ard, self.penalty = X, y, alpha, gamma, ard, penalty
        self.n_hyperparameters = 1 + (X.shape[1] if ard else 1)
        # With one width the weighted distances are the same throughout.
        self._distances = None if ard else squared_distances(X * np.sqrt(gamma), X * np.sqrt(gamma))

    def hyperparameters(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Regularisation, and the width of each column."""
        return float(self.alpha * np.exp(theta[0])), self.gamma * np.exp(theta[1:])

    def kernel(self, theta: np.ndarray) -> np.ndarray:
        if self._distances is None:
            return gaussian_kernel(self.X, self.gamma * np.exp(theta[1:]))
        return np.exp(-np.exp(theta[1]) * self._distances)

    def press(self, theta: np.ndarray) -> float:
        try:
            solution = bordered_solution(self.kernel(theta), self.y, self.hyperparameters(theta)[0])
        except np.linalg.LinAlgError:
            return np.inf  # such a small regularisation cannot be solved for, so it is not chosen either
        return float((solution.residuals**2).sum())

    def __call__(self, theta: np.ndarray) -> float:
        return self.press(theta) + self.penalty * float(theta @ theta)

    def with_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The criterion and its gradient in theta, at O(n^3 + n^2 p)."""
        K, (alpha, gamma) = self.kernel(theta), self.hyperparameters(theta)
        solution = bordered_solution(K, self.y, alpha)
        sensitivity = press_sensitivity(solution)
        through_kernel = sensitivity * K
        if self._distances is None:
            # sum_ij S_ij (x_i - x_j)^2 for each column, by matrix products.
            X = self.X
            squares = 2 * (through_kernel.sum(axis=0) @ X**2 - np.einsum("ij,ij->j", X, through_kernel @ X))
            by_width = -gamma * squares
        else:
            by_width = np.array([-np.exp(theta[1]) * np.sum(through_kernel * self._distances)])
        gradient = np.r_[alpha * np.trace(sensitivity), by_width]
        value = float((solution.residuals**2).sum()) + self.penalty * float(theta @ theta)
        return value, gradient + 2 * self.penalty * theta


class Selection(NamedTuple):
    theta: np.ndarray
    path: np.ndarray  # theta before the first iteration and after each
    values: np.ndarray  # the criterion there
    converged: bool


def minimised(
    criterion: PressCriterion,
    solver: str,
    *,
    max_iter: int,
    tol: float,
    on_step: Callable[[np.ndarray], bool] = lambda theta: False,
) -> Selection:
    """Where the criterion is smallest, searched from theta = 0; ``on_step`` may return True to stop."""
    start = np.zeros(criterion.n_hyperparameters)
    path, values = [start], [criterion(start)]
    scale = 1 / criterion.y.size  # tolerances are then about the mean squared residual

    def step(intermediate_result):
        path.append(np.array(intermediate_result.x))
        values.append(float(intermediate_result.fun) / scale)
        if on_step(path[-1]):
            raise StopIteration

    options: dict = {"maxiter": max_iter}
    if solver == "nelder-mead":
        options["maxiter"] += 1  # scipy counts the first simplex as an iteration
        corners = np.vstack([start, np.eye(len(start))])  # first steps by a factor of e
        options |= {"initial_simplex": corners, "xatol": tol, "fatol": tol, "adaptive": True, "maxfev": np.inf}
        name, objective, gradient = "Nelder-Mead", lambda theta: scale * criterion(theta), None
    else:
        options |= {"gtol": tol / 10, "ftol": tol * 1e-6, "maxfun": np.inf}
        name, gradient = "L-BFGS-B", True

        def objective(theta):
            value, slope = criterion.with_gradient(theta)
            return scale * value, scale * slope

    found = minimize(
        objective,
        start,
        jac=gradient,
        method=name,
        bounds=[(-_REACH, _REACH)] * len(start),
        callback=step,
        options=options,
    )
    return Selection(found.x, np.array(path), np.array(values), bool(found.success))


def best_penalty(spectrum: KernelSpectrum, alpha: float, penalty: float) -> float:
    """``log(lam / alpha)`` with the least criterion for one kernel: a grid first, as there may be several minima."""

    def criterion(offsets):
        return spectrum.press(alpha * np.exp(offsets)) + penalty * offsets**2

    grid = np.linspace(-_REACH, _REACH, 97)
    values = criterion(grid)
    best = int(np.argmin(values))
    bracket = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(lambda offset: criterion(np.array([offset]))[0], bounds=bracket, method="bounded")
    return float(refined.x if refined.fun < values[best] else grid[best])


class _KernelRidgeLOO(CallbackSupportMixin, BaseEstimator):
    """What classifier and regressor share: the search for hyper-parameters, and the machine there."""

    _parameter_constraints = {
        "kernel": [StrOptions({"rbf", "ard"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"}), "array-like"],
        "select": [StrOptions({"press", "alpha"}), None],
        "solver": [StrOptions({"nelder-mead", "lbfgs"})],
        "hyper_penalty": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kernel="rbf",
        alpha=1.0,
        gamma="scale",
        select="press",
        solver="nelder-mead",
        hyper_penalty=0.0,
        early_stopping=False,
        max_iter=1000,
        tol=1e-3,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.select = select
        self.solver = solver
        self.hyper_penalty = hyper_penalty
        self.early_stopping = early_stopping
        self.max_iter = max_iter
        self.tol = tol

    def _fit_to(self, X, y, targets: np.ndarray, unit: float = 1.0, **known):
        """Search and solve for the targets, which are in the given unit; ``known`` are attributes besides."""
        criterion = PressCriterion(
            X, targets, float(self.alpha), self._starting_gamma(X), self.kernel == "ard", float(self.hyper_penalty)
        )
        known |= {"X_fit_": X}
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:
            selection = self._selection(
                criterion, lambda theta: after_step("search", lambda: self._solved(criterion, theta, unit) | known)
            )
            for name, value in (self._solved(criterion, selection.theta, unit) | known).items():
                setattr(self, name, value)
            steps = [criterion.hyperparameters(theta) for theta in selection.path]
            self.selection_path_ = {
                "alpha": np.array([alpha for alpha, _ in steps]),
                "gamma": np.array([self._public_gamma(gamma) for _, gamma in steps]),
                "press": unit**2 * (selection.values - criterion.penalty * (selection.path**2).sum(axis=1)),
            }
            self.n_iter_ = max(len(selection.path) - 1, 1)
        return self

    def _starting_gamma(self, X):
        """The given width for each column."""
        if isinstance(self.gamma, str):
            variance = X.var()
            return np.full(X.shape[1], 1 / (X.shape[1] * variance) if variance > 0 else 1.0)
        gamma = np.asarray(self.gamma, dtype=float)
        if gamma.ndim == 0:
            return np.full(X.shape[1], gamma)
        if self.kernel != "ard":
            raise ValueError("gamma has several values, one for each column: that is kernel='ard'.")
        if gamma.shape != (X.shape[1],) or not (np.isfinite(gamma) & (gamma > 0)).all():
            raise ValueError(
                f"gamma of shape {gamma.shape} must hold one positive number for each of the columns of X."
            )
        return gamma

    def _public_gamma(self, gamma):
        return gamma if self.kernel == "ard" else float(gamma[0])

    def _selection(self, criterion, on_step):
        start = np.zeros(criterion.n_hyperparameters)
        if self.select is None:
            return Selection(start, start[None, :], np.array([criterion(start)]), True)
        if self.select == "alpha":
            spectrum = KernelSpectrum.of(criterion.kernel(start), criterion.y)
            chosen = start.copy()
            chosen[0] = best_penalty(spectrum, criterion.alpha, criterion.penalty)
            on_step(chosen)
            return Selection(chosen, np.array([start, chosen]), np.array([criterion(start), criterion(chosen)]), True)
        selection = minimised(criterion, self.solver, max_iter=self.max_iter, tol=self.tol, on_step=on_step)
        if not self.early_stopping and not selection.converged and len(selection.path) > self.max_iter:
            moved = np.abs(selection.path[-1] - selection.path[-2]).max()
            warn_caller(
                f"The search for hyper-parameters has not converged after {self.max_iter} iterations: PRESS is "
                f"{criterion.press(selection.theta):.6g}, and the last step changed a hyper-parameter by "
                f"{np.expm1(moved):.2%}. Raise max_iter or tol"
                + (", or use solver='lbfgs'." if self.solver == "nelder-mead" else "."),
                ConvergenceWarning,
            )
        return selection

    def _solved(self, criterion, theta, unit):
        """The fitted attributes that belong to a point of the search."""
        alpha, gamma = criterion.hyperparameters(theta)
        try:
            solution = bordered_solution(criterion.kernel(theta), criterion.y, alpha)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"alpha={alpha:g} is too small for this kernel: equal or nearly equal rows leave nothing to solve. "
                "Raise alpha."
            ) from None
        return {
            "dual_coef_": unit * solution.dual_coef,
            "intercept_": unit * (float(solution.intercept) if criterion.y.ndim == 1 else solution.intercept),
            "loo_residuals_": unit * solution.residuals,
            "press_": unit**2 * float((solution.residuals**2).sum()),
            "hyperparameters_": {"alpha": alpha, "gamma": self._public_gamma(gamma)},
        }

    def _values(self, X):
        check_is_fitted(self)
        X = validated(self, X, dtype=np.float64, reset=False)
        return gaussian_kernel(X, self.hyperparameters_["gamma"], self.X_fit_) @ self.dual_coef_ + self.intercept_


@method(
    tasks=["classification"],
    when="Up to a few thousand rows, smooth class borders, and no validation set to spare: it tunes itself. With few "
    "rows keep kernel='rbf'; one width for each column ('ard') over-fits the selection.",
    cost="O(n^3) time for each step of the search, O(n^2) memory",
    paper="selection-bias",
    examples=lambda: [KernelRidgeClassifierLOO(tol=0.1)],
    depends_on_scale="with a number for gamma the search starts from a width in the unit of the columns",
    depends_on_shift="gamma='scale' is from the variance of all entries, that of the columns' means included",
)
class KernelRidgeClassifierLOO(ClassifierMixin, _KernelRidgeLOO):
    """Kernel ridge classifier that tunes itself by exact leave-one-out residuals.

    Parameters
    ----------
    kernel : {"rbf", "ard"}, default="rbf"
        Gaussian kernel with one width for all columns, or with one for each.
    alpha : float, default=1.0
        Penalty (lam above), where the search starts.
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Width eta of the kernel, where the search starts. "scale" is ``1 / (n_features * X.var())``. One for each column
        only with ``kernel="ard"``.
    select : {"press", "alpha"} or None, default="press"
        What leave-one-out residuals choose: all hyper-parameters; the regularisation alone, for which one
        eigendecomposition serves; or nothing.
    solver : {"nelder-mead", "lbfgs"}, default="nelder-mead"
        The simplex search of the paper, or descent by the gradient, which is the better choice for ``kernel="ard"``
        with more than a few columns.
    hyper_penalty : float, default=0.0
        Weight of the squared distance from the start, on the log scale, that is added to PRESS. It lowers the variance
        of the choice.
    early_stopping : bool, default=False
        Whether ``max_iter`` is to end the search before it converges, so that it does not overfit; no warning is given.
    max_iter : int, default=1000
        Iterations of the search at most.
    tol : float, default=1e-3
        Tolerance of the search, for the logarithms of the hyper-parameters and for the mean squared residual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Weights of the training rows; with more than two classes one column for each class against the rest.
    intercept_ : float or ndarray of shape (n_classes,)
        Intercept, likewise.
    loo_residuals_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Target (+1 or -1) minus the value given by the machine that has not seen the row.
    press_ : float
        Sum of the squares of these. It was optimised, so it is no estimate of performance.
    hyperparameters_ : dict
        The chosen ``"alpha"`` and ``"gamma"`` (an array with ``kernel="ard"``), ready for ``set_params``.
    selection_path_ : dict
        Arrays ``"alpha"``, ``"gamma"`` and ``"press"`` along the search, the start first.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training rows.
    n_iter_ : int
        Iterations of the search; 1 where there was none.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.linear_model.RidgeClassifierCV : The same idea for a linear machine.
    fewer.evaluate.NestedEvaluation : How good the machine and its choice of hyper-parameters are together.

    Notes
    -----
    Hyper-parameters stay within a factor of ``exp(12)`` of where they start. All columns count alike in ``"rbf"``, so
    bring them to comparable units first. Other ways to a choice of less variance: ``select="alpha"``, which has one
    hyper-parameter, and ``sklearn.ensemble.BaggingClassifier`` around this one, which averages over resamples.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> from fewer.datasets import make_four_gaussians
    >>> from fewer.learn import KernelRidgeClassifierLOO
    >>> X, y, _ = make_four_gaussians(n_samples=64, random_state=0)
    >>> model = KernelRidgeClassifierLOO().fit(X, y)
    >>> X_new, y_new, _ = make_four_gaussians(n_samples=4096, random_state=1)
    >>> bool(model.score(X_new, y_new) > 0.8)
    True
    """

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose the hyper-parameters and solve for the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2, copy=True)
        self.classes_, codes = encoded_classes(y, "KernelRidgeClassifierLOO")
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        if len(self.classes_) == 2:
            targets = targets[:, 1]
        return self._fit_to(X, y, targets, classes_=self.classes_)

    def decision_function(self, X):
        """Values whose sign, or whose largest, is the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Near -1 and +1 for the two classes; with more of them, one column for each class against the rest.
        """
        return self._values(X)

    def decision_path(self, X, alphas):
        """Values for several regularisations with the chosen kernel, from one eigendecomposition.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.
        alphas : array-like of shape (n_regs,)
            Regularisations, positive.

        Returns
        -------
        values : ndarray of shape (n_samples, n_regs) or (n_samples, n_classes, n_regs)
            What ``decision_function`` would give after a fit with each of them.
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=np.float64, reset=False)
        gamma, alpha = self.hyperparameters_["gamma"], self.hyperparameters_["alpha"]
        K = gaussian_kernel(self.X_fit_, gamma)
        targets = np.sign(K @ self.dual_coef_ + alpha * self.dual_coef_ + self.intercept_)
        dual_coef, intercept = KernelSpectrum.of(K, targets).dual_coef(np.asarray(alphas, dtype=float))
        values = np.tensordot(gaussian_kernel(X, gamma, self.X_fit_), dual_coef, axes=1) + intercept
        return values[:, 0] if targets.ndim == 1 else values

    def predict(self, X):
        """Labels of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


@method(
    tasks=["regression"],
    when="Up to a few thousand rows and a number that changes smoothly with the columns: it tunes itself, without a "
    "validation set. With few rows keep kernel='rbf'.",
    cost="O(n^3) time for each step of the search, O(n^2) memory",
    paper="selection-bias",
    examples=lambda: [KernelRidgeRegressorLOO(tol=0.1)],
    depends_on_scale="with a number for gamma the search starts from a width in the unit of the columns",
    depends_on_shift="gamma='scale' is from the variance of all entries, that of the columns' means included",
)
class KernelRidgeRegressorLOO(RegressorMixin, _KernelRidgeLOO):
    """Kernel ridge regression that tunes itself by exact leave-one-out residuals.

    Parameters
    ----------
    kernel : {"rbf", "ard"}, default="rbf"
        Gaussian kernel with one width for all columns, or with one for each.
    alpha : float, default=1.0
        Penalty (lam above), where the search starts.
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Width eta of the kernel, where the search starts. "scale" is ``1 / (n_features * X.var())``. One for each column
        only with ``kernel="ard"``.
    select : {"press", "alpha"} or None, default="press"
        What leave-one-out residuals choose: all hyper-parameters; the regularisation alone, for which one
        eigendecomposition serves; or nothing.
    solver : {"nelder-mead", "lbfgs"}, default="nelder-mead"
        The simplex search of the paper, or descent by the gradient, which is the better choice for ``kernel="ard"``
        with more than a few columns.
    hyper_penalty : float, default=0.0
        Weight of the squared distance from the start, on the log scale, that is added to PRESS. It lowers the variance
        of the choice.
    early_stopping : bool, default=False
        Whether ``max_iter`` is to end the search before it converges, so that it does not overfit; no warning is given.
    max_iter : int, default=1000
        Iterations of the search at most.
    tol : float, default=1e-3
        Tolerance of the search, for the logarithms of the hyper-parameters and for the mean squared residual over the
        variance of y.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        Weights of the training rows.
    intercept_ : float
        Intercept.
    loo_residuals_ : ndarray of shape (n_samples,)
        Target minus the prediction of the machine that has not seen the row.
    press_ : float
        Sum of the squares of these. It was optimised, so it is no estimate of performance.
    hyperparameters_ : dict
        The chosen ``"alpha"`` and ``"gamma"`` (an array with ``kernel="ard"``), ready for ``set_params``.
    selection_path_ : dict
        Arrays ``"alpha"``, ``"gamma"`` and ``"press"`` along the search, the start first.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training rows.
    n_iter_ : int
        Iterations of the search; 1 where there was none.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.kernel_ridge.KernelRidge : With given hyper-parameters, and without an intercept.
    RidgePathRegressorCV : The same idea for a linear model.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import KernelRidgeRegressorLOO
    >>> X = np.random.default_rng(0).uniform(-3, 3, (100, 1))
    >>> model = KernelRidgeRegressorLOO().fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose the hyper-parameters and solve for the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers to predict.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2, copy=True)
        level, unit = float(np.mean(y)), float(np.std(y)) or 1.0
        self._fit_to(X, y, (y - level) / unit, unit)
        self.intercept_ += level
        return self

    def predict(self, X):
        """Numbers for the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            A prediction for each row.
        """
        return self._values(X)
