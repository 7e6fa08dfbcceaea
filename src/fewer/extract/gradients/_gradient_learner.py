"""A function and its gradient, learnt together from all pairs of rows; ``_pair_problem`` has the equations.

The mean outer product of gradients is kept as a thin factor: ``Gamma = (1/n) sum_i F(x_i) F(x_i)' = T'T`` with T of
rank rows, so that Gamma itself, columns x columns, need not be formed. Its entry (s, t) is large where the target
changes with columns s and t together. Classes are learnt each against the others.
"""

from collections.abc import Iterator
from functools import partial
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer._kernels._numpy_lapack import largest_eigh, solve_spd
from fewer._kernels._row_products import squared_distances
from fewer.catalogue import method
from fewer.extract._centred_table import RowSpace, median_distance, row_space
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.gradients._pair_problem import (
    MOST_UNKNOWNS,
    Iterate,
    PairProblem,
    Spectrum,
    conjugate_gradients,
    direct_solutions,
    in_step,
    newton_solutions,
)

_MOST_SMALL_CLASSES = 10
_ROWS_OF_A_CLASS = 5


class Targets(NamedTuple):
    """What functions are fitted to, one a row; the classes if these are signs, else None; what was taken from numbers.

    Two classes have one function, +1 for the second; more have one each.
    """

    values: np.ndarray
    classes: np.ndarray | None
    offset: float


def targets_of(y: np.ndarray, loss: str, who: str = "GradientLearner") -> Targets:
    """Numbers about their mean for the squared loss; classes as signs for the logistic one, and if y holds names.

    What is refused, is so in the name of ``who``.
    """
    if loss == "squared" and holds_numbers(y):
        numbers = y.astype(float)
        return Targets((numbers - numbers.mean())[None], None, float(numbers.mean()))
    classes, codes = encoded_classes(y, who, otherwise=lambda: ", or let loss='squared'")
    told = classes[1:] if len(classes) == 2 else classes
    signs = np.where(classes[codes] == told[:, None], 1.0, -1.0)
    return Targets(signs, classes, 0.0)


def holds_numbers(y: np.ndarray) -> bool:
    """Whether y can be read as numbers."""
    if y.dtype.kind not in "OUS":
        return True
    return y.dtype.kind == "O" and all(isinstance(value, (int, float, np.number)) for value in y)


def holds_quantity(y: np.ndarray) -> bool:
    """Whether y is something that is measured rather than classes: fractions, or whole numbers of very many kinds."""
    if not holds_numbers(y):
        return False
    n_kinds = len(np.unique(y))
    many_kinds = n_kinds > _MOST_SMALL_CLASSES and len(y) < _ROWS_OF_A_CLASS * n_kinds
    return many_kinds or type_of_target(y).startswith("continuous")


NO_GRADIENT = "The gradient is 0 everywhere: y is constant, or the penalties are too large for it."


class OuterProduct(NamedTuple):
    """Eigenvalues of Gamma that are more than rounding, decreasing, and unit eigenvectors as rows."""

    eigenvalues: np.ndarray
    directions: np.ndarray

    @property
    def diagonal(self) -> np.ndarray:
        """How much the target changes with each column: the diagonal of Gamma."""
        return self.eigenvalues @ self.directions**2

    @property
    def matrix(self) -> np.ndarray:
        """Gamma."""
        return (self.directions.T * self.eigenvalues) @ self.directions


def outer_product(slopes: np.ndarray, axes: np.ndarray) -> OuterProduct:
    """Of gradients (functions, rows, r) along axes (columns, r) of the span of the rows, added up over functions."""
    n_rows, rank = slopes.shape[1:]
    slopes = slopes.reshape(-1, rank)
    _, sizes, turn = np.linalg.svd(slopes / np.sqrt(n_rows), full_matrices=False)
    kept = sizes > max(sizes[0] * np.finfo(float).eps * max(slopes.shape), np.finfo(float).tiny)
    return OuterProduct(sizes[kept] ** 2, turn[kept] @ axes.T)


def leading_directions(slopes: np.ndarray, axes: np.ndarray, n_directions: int | None) -> np.ndarray:
    """The first of the directions alone (directions, columns), from products of the slopes."""
    n_rows, rank = slopes.shape[1:]
    if n_directions is None:
        return outer_product(slopes, axes).directions
    slopes = slopes.reshape(-1, rank)
    eigenvalues, turn = largest_eigh(slopes.T @ slopes / n_rows, min(n_directions, rank))
    kept = eigenvalues > max(eigenvalues[-1] * np.finfo(float).eps * max(slopes.shape), np.finfo(float).tiny)
    return turn[:, kept][:, ::-1].T @ axes.T


_LONELY_SHARE = 0.1
_ENOUGH_NEIGHBOURS = 0.05
_UNSOLVABLE, _SOLVABLE = 1e12, 1e8
"""Equations that are so many times as large as their penalties lose all digits, and are solved with ease."""


def _tells_classes(learner: "GradientLearner") -> bool:
    return learner.loss == "logistic" or getattr(learner, "classes_", None) is not None


def _tells_probabilities(learner: "GradientLearner") -> bool:
    return learner.loss == "logistic"


@method(
    tasks=["classification", "regression"],
    when="You want to know how the target changes when each column does, row by row: which columns matter where, also "
    "where the effect is nonlinear. For a few hundreds or thousands of rows, with any number of columns.",
    cost="O(n p min(n, p)) once, then O(n^2 min(n, p)) for each of some tens of steps; O(n^2 + n p) memory",
    paper="learning-gradients",
    examples=lambda: [GradientLearner(tol=1e-8), GradientLearner(loss="logistic")],
    depends_on_scale="alpha_grad penalises slopes, whose unit is the inverse of that of the columns",
)
class GradientLearner(CallbackSupportMixin, LinearExtractor):
    """A smooth function of the columns together with its gradient.

    The value at one row is predicted from every row nearby by a step along the gradient; function and gradient are
    those for which these predictions are best.

    Parameters
    ----------
    loss : {"squared", "logistic"}, default="squared"
        "squared" for numbers (names of classes are taken as -1 and 1), "logistic" for classes. Of three classes or
        more, each is learnt against the others.
    joint : bool, default=True
        Whether the function is learnt together with the gradient. Otherwise the target itself stands for the function
        at the neighbours, which is cheaper and gives nearly the same directions, and the function is a kernel ridge
        regression of its own. For the squared loss only.
    alpha_f : float, default=1e-4
        Penalty of the function's squared norm. Useful values are from 1e-6 to 1e-2.
    alpha_grad : float, default=1e-4
        Penalty of the gradient's squared norm.
    weight_bandwidth : "median" or float, default="median"
        How far neighbours reach: rows at a distance d count ``exp(-d^2 / (2 weight_bandwidth^2))``. By default the
        median distance of two rows.
    kernel : {"rbf"} or callable, default="rbf"
        Kernel of the functions: ``exp(-d^2 / (2 kernel_bandwidth^2))``, or a function of two tables that gives the
        matrix of a positive kernel.
    kernel_bandwidth : "median" or float, default="median"
        Width of the kernel. By default the median distance of two rows.
    solver : {"cg", "direct"}, default="cg"
        Conjugate gradients, or the factors of the whole matrix, of n r unknowns for rank r. The latter is exact to
        rounding, and for at most 5,000 unknowns; larger problems are solved by "cg".
    tol : float, default=1e-6
        Residual at which the solver stops, relative to the right-hand side.
    max_iter : int, default=500
        Maximum number of steps.
    n_components : int or None, default=2
        How many new columns ``transform`` gives: the table along the directions in which the target changes most, as by
        :class:`GradientOuterProduct`; None for as many as there are. It makes no difference to the function.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Weights of the kernel at the training rows in the function; with three classes or more, of each class.
    gradient_coef_ : ndarray of shape (n_samples, n_features) or (n_classes, n_samples, n_features)
        The same of the gradient.
    gradients_ : ndarray of shape (n_samples, n_features) or (n_classes, n_samples, n_features)
        The gradient at the training rows.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, the one with the largest change of the target first.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    n_components_ : int
        Number of directions: fewer than asked for where the target changes along fewer.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training table.
    classes_ : ndarray of shape (n_classes,) or None
        The classes, if y holds such.
    weight_bandwidth_ : float
        Reach of the neighbours.
    kernel_bandwidth_ : float
        Width of the kernel.
    intercept_ : float
        What is added to the function: the mean of a numeric target.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GradientOuterProduct : Directions along which the target changes, and a ranking of columns.
    GradientDiffusionMap : New, nonlinear coordinates that follow the target.
    GradientGraph : Which columns act on the target together.

    Notes
    -----
    Over a wide neighbourhood a curved function looks flat: lower ``weight_bandwidth`` where the slope may change its
    sign, as long as rows have neighbours.

    A gradient is a change for one unit of a column: standardise the columns first if their units differ.

    Tables of more columns than rows are worked on in the span of their rows, where all differences between rows lie.

    References
    ----------
    .. [1] Wu, Q., Guinney, J., Maggioni, M. and Mukherjee, S. (2010). Learning gradients: predictive models that infer
       geometry and statistical dependence. Journal of Machine Learning Research 11, 2175-2198.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import GradientLearner
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    >>> model = GradientLearner(weight_bandwidth=0.4, alpha_f=1e-6, alpha_grad=1e-6).fit(X, X[:, 0] ** 2)
    >>> model.gradient([[-0.5, 0, 0], [0.5, 0, 0]]).round() + 0
    array([[-1.,  0.,  0.],
           [ 1.,  0.,  0.]])
    """

    _parameter_constraints = {
        "loss": [StrOptions({"squared", "logistic"})],
        "joint": ["boolean"],
        "alpha_f": [Interval(Real, 0, None, closed="neither")],
        "alpha_grad": [Interval(Real, 0, None, closed="neither")],
        "weight_bandwidth": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"rbf"}), callable],
        "kernel_bandwidth": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"cg", "direct"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        loss="squared",
        *,
        joint=True,
        alpha_f=1e-4,
        alpha_grad=1e-4,
        weight_bandwidth="median",
        kernel="rbf",
        kernel_bandwidth="median",
        solver="cg",
        tol=1e-6,
        max_iter=500,
        n_components=2,
    ):
        self.loss = loss
        self.joint = joint
        self.alpha_f = alpha_f
        self.alpha_grad = alpha_grad
        self.weight_bandwidth = weight_bandwidth
        self.kernel = kernel
        self.kernel_bandwidth = kernel_bandwidth
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_components = n_components

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn the function and its gradient.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Numbers or classes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self.loss == "logistic" and not self.joint:
            raise ValueError("joint=False is for loss='squared': a function value has no meaning for classes.")
        X, y = self._validated(X, y, copy=True)  # kept, so it must not change with the user's
        targets = targets_of(y, self.loss)
        space = row_space(X)
        if space.rows.shape[1] == 0:
            raise ValueError("All columns are constant, so there is no gradient; check the table.")
        problem = self._problem(X, space)
        with fit_steps(self, X, y, n_steps=self.max_iter) as after_step:
            spectrum = problem.spectrum()
            solutions = [self._solutions(problem, spectrum, target) for target in targets.values]
            for rounds, (coefficients, error) in enumerate(in_step(solutions, self.tol), start=1):
                attributes = partial(self._attributes, X, space, targets, problem, coefficients, rounds)
                stopped = after_step("step", attributes)
                if stopped or error <= self.tol or rounds == self.max_iter:
                    break
            if error > self.tol and not stopped:
                warn_caller(
                    f"After {rounds} steps {error:.1e} of the equations is left, and tol={self.tol} is asked for: "
                    "raise max_iter, or alpha_f and alpha_grad, which makes the problem easier.",
                    ConvergenceWarning,
                )
            for name, value in attributes().items():
                setattr(self, name, value)
        if self.n_components != signature(type(self)).parameters["n_components"].default:
            self._number_of_components(len(self.components_), "along which the target changes")
        return self

    def _problem(self, X: Any, space: RowSpace) -> PairProblem:
        """The equations without a target, with the widths that they are written with."""
        n_rows, rank = space.rows.shape
        distances = squared_distances(space.rows, space.rows)
        median = median_distance(distances)
        self.weight_bandwidth_ = median if self.weight_bandwidth == "median" else float(self.weight_bandwidth)
        self.kernel_bandwidth_ = median if self.kernel_bandwidth == "median" else float(self.kernel_bandwidth)
        weights = np.exp(-distances / (2 * self.weight_bandwidth_**2))
        self._warn_of_lonely_rows(weights, rank)
        if callable(self.kernel):
            kernel = np.asarray(self.kernel(X, X), dtype=float)
        elif self.kernel_bandwidth_ == self.weight_bandwidth_:
            kernel = weights
        else:
            kernel = np.exp(-distances / (2 * self.kernel_bandwidth_**2))
        alpha_grad = self._usable_penalty(float(np.vdot(weights, distances)) / n_rows**2, median)
        penalties = n_rows**2 * np.append([self.alpha_f] * self.joint, [alpha_grad] * rank)
        return PairProblem(space.rows, kernel, weights, penalties, self.joint)

    def _usable_penalty(self, size: float, median: float) -> float:
        """The penalty of the gradient, or a larger one where equations of this size are too large for it."""
        if size <= _UNSOLVABLE * self.alpha_grad:
            return self.alpha_grad
        usable = size / _SOLVABLE
        warn_caller(
            f"alpha_grad={self.alpha_grad:g} is too small for columns in this unit, with a median distance of "
            f"{median:.2g} between rows: no digits of the solution would be left, and alpha_grad={usable:.2g} is used. "
            "Scale the columns (StandardScaler), or raise alpha_grad.",
            ConvergenceWarning,
        )
        return usable

    def _solutions(self, problem: PairProblem, spectrum: Spectrum, target: np.ndarray) -> Iterator[Iterate]:
        """Better and better coefficients for one target."""
        direct = self.solver == "direct" and len(problem.rows) * len(problem.penalties) <= MOST_UNKNOWNS
        solve = direct_solutions if direct else conjugate_gradients
        if self.loss == "logistic":
            return newton_solutions(problem, target, spectrum, solve)
        wanted = target[:, None] if self.joint else target[:, None] - target
        return solve(problem, problem.gathered(problem.weights * wanted), spectrum)

    def _attributes(
        self,
        X: Any,
        space: RowSpace,
        targets: Targets,
        problem: PairProblem,
        coefficients: np.ndarray,
        n_steps: int,
    ) -> dict[str, Any]:
        if self.joint:
            dual, fields = coefficients[:, :, 0], coefficients[:, :, 1:]
        else:
            ridge = problem.kernel + len(problem.kernel) * self.alpha_f * np.eye(len(problem.kernel))
            dual, fields = solve_spd(ridge, targets.values.T).T, coefficients
        slopes = problem.kernel @ fields
        directions = leading_directions(slopes, space.axes, self.n_components)
        arrays = {
            "dual_coef_": dual[0] if len(dual) == 1 else dual,
            "components_": (upright(directions) if len(directions) else directions).astype(X.dtype, copy=False),
            "mean_": space.mean.astype(X.dtype, copy=False),
            "_mean": space.mean,
            "_axes": space.axes,
            "_rows": space.rows,
            "_fields": fields,
            "_slopes": slopes,
        }
        # In one order in memory, so that a model that is saved and loaded rounds alike.
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()} | {
            "X_fit_": X,
            "classes_": targets.classes,
            "intercept_": targets.offset,
            "n_iter_": n_steps,
        }

    def _warn_of_lonely_rows(self, weights: np.ndarray, rank: int) -> None:
        """Where hardly any neighbour counts, the gradient is 0 for want of them."""
        n_rows = len(weights)
        needed = min(rank + 1, _ENOUGH_NEIGHBOURS * n_rows)
        lonely = np.mean(weights.sum(axis=1) - 1 < needed)
        if lonely > _LONELY_SHARE:
            warn_caller(
                f"{lonely:.0%} of the rows have neighbours that count for less than {needed:.3g} rows together within "
                f"weight_bandwidth={self.weight_bandwidth_:.3g}: gradients there tend to 0. Set a larger one."
            )

    @property
    def gradient_coef_(self) -> np.ndarray:
        """Weights of the kernel at the training rows in the gradient."""
        return self._in_columns(self._fields)

    @property
    def gradients_(self) -> np.ndarray:
        """The gradient at the training rows."""
        return self._in_columns(self._slopes)

    def _in_columns(self, fields: np.ndarray) -> np.ndarray:
        """Vectors in the span of the rows as such of the columns; without the first axis if there is one function."""
        found = (fields @ self._axes.T).astype(self.X_fit_.dtype, copy=False)
        return found[0] if len(found) == 1 else found

    def _kernel_to(self, X: Any) -> np.ndarray:
        """Kernel between rows of a table and the training rows."""
        if callable(self.kernel):
            return np.asarray(self.kernel(X, self.X_fit_), dtype=float)
        return np.exp(-squared_distances(X, self.X_fit_) / (2 * self.kernel_bandwidth_**2))

    def _along_and_slopes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows along the axes of the span, and the gradients there (functions, rows, axes)."""
        along = RowSpace(self._mean, self._axes, self._rows).along(X)
        return along, self._kernel_to(X) @ self._fields

    def gradient(self, X):
        """The gradient at rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        gradients : ndarray of shape (n_samples, n_features) or (n_classes, n_samples, n_features)
            How much the function grows for one unit of each column; with three classes or more, of each class.
        """
        check_is_fitted(self)
        return self._in_columns(self._kernel_to(self._validated(X, reset=False)) @ self._fields)

    def _function(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._kernel_to(self._validated(X, reset=False)) @ self.dual_coef_.T + self.intercept_

    @available_if(_tells_classes)
    def decision_function(self, X):
        """The function of each class at rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive for the second.
        """
        return self._function(X)

    @available_if(_tells_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes at rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The logistic function of each class's function; of three classes or more, normalised to a sum of 1.
        """
        ours = expit(self._function(X))
        if ours.ndim == 1:
            return np.column_stack([1 - ours, ours])
        return ours / ours.sum(axis=1, keepdims=True)

    def predict(self, X):
        """Values of the function, or the most likely classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Numbers or classes, as in training.
        """
        found = self._function(X)
        if self.classes_ is None:
            return found
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]

    def score(self, X, y):
        """How well the target is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        y : array-like of shape (n_samples,)
            True numbers or classes.

        Returns
        -------
        score : float
            R^2 of numbers, share of classes that are right.
        """
        predicted = self.predict(X)
        return float(r2_score(y, predicted) if self.classes_ is None else accuracy_score(y, predicted))

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _validated(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        return super()._validated(X, y, **({"accept_sparse": "csr", "order": "C"} | options))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.loss == "logistic":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags
