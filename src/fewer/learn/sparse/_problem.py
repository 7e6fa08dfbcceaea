"""A linear model with a loss of its predictions and a penalty on its coefficients, as one object for all solvers.

``f(w) = sum_i c_i loss(y_i, z_i) + sum_j penalty_j (|w_j| + ridge w_j^2 / 2)``, with ``z = X w``. An intercept is the
last coefficient, for a column of ones, with penalty zero. All solvers minimise this, and nothing else. The duality gap
bounds how far a model can be from the minimum, by a point of the dual problem made from the slopes of its losses.

Table and target are prepared for the solvers: without offsets, in a unit near 1, in an order that is fast to read;
``Units`` leads back to the user's. With an intercept, ``X w + b`` and ``(X - 1 c') w + (b + c'w)`` are one model for
every ``c``. Columns far from zero are nearly multiples of the constant, so ``c_j`` is their mean. Columns near zero are
left as they are: a table that needs nothing is not copied, and a sparse column stays sparse. Sparse columns are centred
where the mean exceeds the standard deviation; more than half of such a column is stored, so that to store all of it
takes at most twice the memory. One power of two divides the whole table, and one the target of the squared loss. That
only multiplies the weight of the loss: ``|w| + C loss(X w)`` is ``(|u| + C s loss(X u / s)) / s`` with ``u = s w``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer.learn.sparse._columns import DenseColumns, SparseColumns, dense_weighted_squares
from fewer.learn.sparse._kernels import (
    CURVATURE_BOUNDS,
    LOG,
    SQUARED,
    SQUARED_HINGE,
    loss_and_derivatives,
    optimality_gaps,
    total_loss,
)

# Means beyond this share of the standard deviation are subtracted.
_DENSE_OFFSET, _SPARSE_OFFSET = 0.1, 1.0
_ROWS_ENOUGH, _ENTRIES_ENOUGH = 2000, 1000
_USUAL_UNITS = 10  # as powers of two, either way


def columns_of(X) -> np.ndarray | tuple:
    """The table in the form that the kernels read: Fortran order, or the arrays of its CSC form.

    For every other kind of array they would be compiled anew, which takes long. So read-only arrays come as if they
    could be written, and a table of one column or row, which is in C and Fortran order at once, comes as CSC.
    """
    if not sparse.issparse(X) and X.flags.c_contiguous and X.flags.f_contiguous:
        X = with_short_indices(sparse.csc_array(X))
    if sparse.issparse(X):
        return _as_if_writable(X.data), _as_if_writable(X.indices), _as_if_writable(X.indptr), X.shape[0]
    return _as_if_writable(X)


def _as_if_writable(array: np.ndarray) -> np.ndarray:
    """The same memory; for kernels that read it only."""
    if array.flags.writeable:
        return array
    memory = dict(array.__array_interface__)
    memory["data"] = (memory["data"][0], False)
    return np.asarray(SimpleNamespace(__array_interface__=memory, owner=array))


def with_fast_columns(X):
    """The table as the solvers want it: dense in Fortran order, or CSC; numbers of 32 bits stay so."""
    if sparse.issparse(X):
        X = X.tocsc()
        if not X.has_canonical_format:
            X = X.copy()  # what the user gave stays as it is
            X.sum_duplicates()
        return with_short_indices(X)
    return np.asfortranarray(X)


def with_short_indices(X):
    """The same sparse table with indices of 32 bits, for which the kernels are compiled, where they suffice."""
    largest = np.iinfo(np.int32).max
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(*X.shape, X.nnz) > largest:
        return X
    parts = X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return type(X)(parts, shape=X.shape)


class Prepared(NamedTuple):
    """``(table - centres) / unit``; no centres where nothing is subtracted."""

    X: np.ndarray | sparse.csc_array
    centres: np.ndarray | None
    unit: float


def prepared(X, weights: np.ndarray | None, centred: bool) -> Prepared:
    """The table for the solvers, with offsets taken out if there is an intercept to take them up."""
    fast, centres = with_fast_columns(X), None
    if centred:
        named, means = (_sparse_offsets if sparse.issparse(fast) else _dense_offsets)(fast, weights)
        if named.size:
            centres = np.zeros(X.shape[1], dtype=fast.dtype)
            centres[named] = means
            if sparse.issparse(fast):
                fast = _sparse_shifted(fast, named, centres)
            else:
                fast = np.subtract(fast, centres, out=None if np.may_share_memory(fast, X) else fast)
            centres = centres.astype(np.float64)
    entries = fast.data if sparse.issparse(fast) else fast.T.ravel()
    unit = unit_of(entries[:: max(entries.size // _ENTRIES_ENOUGH, 1)])
    return Prepared(fast if unit == 1.0 else fast * (1 / unit), centres, unit)


def prepared_target(y: np.ndarray, weights: np.ndarray, centred: bool) -> tuple[np.ndarray, float, float]:
    """Numbers to predict without their mean, if there is an intercept, and in a unit near 1; the mean and the unit."""
    centre = float(weights @ y / weights.sum()) if centred else 0.0
    rest = y - centre
    rest[np.abs(rest) <= 8 * np.finfo(float).eps * abs(centre)] = 0.0  # a constant target has nothing to predict
    unit = unit_of(rest)
    return rest / unit, centre, unit


def unit_of(values: np.ndarray) -> float:
    """A power of two near the median of the numbers that are not zero; 1 if that is near enough.

    >>> import numpy as np
    >>> unit_of(np.array([0.0, 2e12, -3e12, 5e12])) == 2.0**41, unit_of(np.array([0.5, 20.0]))
    (True, 1.0)
    """
    sizes = np.abs(values[values != 0.0])
    exponent = round(float(np.log2(np.median(sizes)))) if sizes.size else 0
    return 2.0**exponent if abs(exponent) > _USUAL_UNITS else 1.0


def _dense_offsets(X: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Columns with an offset, and their means. Some of the rows tell which these are."""
    step = max(X.shape[0] // _ROWS_ENOUGH, 1)
    means, squares = moments(X if step == 1 else np.asfortranarray(X[::step]), None)
    named = np.flatnonzero(means**2 > _DENSE_OFFSET**2 * (squares - means**2))
    if named.size and (step > 1 or weights is not None):
        means, _ = moments(X, weights)
    return named, _constants_kept(means[named], X[0, named])


def moments(X, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means of the columns and of their squares, of a table with fast columns."""
    shares = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    table = columns_of(X)
    if isinstance(table, tuple):
        sparse_table = sparse.csc_array(X).astype(np.float64)
        return shares @ sparse_table, shares @ (sparse_table * sparse_table)
    means, squares = np.empty(X.shape[1]), np.empty(X.shape[1])
    DenseColumns(table).products(shares, means)
    dense_weighted_squares(table, np.arange(X.shape[1]), shares, squares)
    return means, squares


def _sparse_offsets(X: sparse.csc_array, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    full = np.flatnonzero(2 * np.diff(X.indptr) > X.shape[0])
    means, squares = moments(X[:, full], weights)
    offset = means**2 > _SPARSE_OFFSET**2 * (squares - means**2)
    return full[offset], _constants_kept(means[offset], X.data[X.indptr[full[offset]]])


def _constants_kept(means: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The means, of constant columns without the rounding of their sums."""
    return np.where(np.abs(first - means) <= 1e-13 * np.abs(means), first, means)


def _sparse_shifted(X: sparse.csc_array, named: np.ndarray, centres: np.ndarray) -> sparse.csc_array:
    n_rows = X.shape[0]
    starts = np.zeros(X.shape[1] + 1, dtype=np.int32)
    starts[named + 1] = n_rows
    offsets = np.repeat(centres[named], n_rows), np.tile(np.arange(n_rows, dtype=np.int32), named.size)
    return with_fast_columns(X - type(X)((*offsets, np.cumsum(starts, dtype=np.int64)), shape=X.shape))


LOSSES = {"log": LOG, "squared_hinge": SQUARED_HINGE, "squared": SQUARED}


def smallest_subgradient(gradient: np.ndarray, coefficients: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """The sub-gradient of least absolute value, coordinate by coordinate; zero everywhere only at the minimum."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalties, 0.0)
    return np.where(coefficients == 0, at_zero, gradient + penalties * np.sign(coefficients))


class Units(NamedTuple):
    """From the solvers' coefficients and objectives to those of the user's table and target."""

    centres: np.ndarray | None = None
    target_centre: float = 0.0
    target: float = 1.0
    coefficient: float = 1.0
    objective: float = 1.0

    def originals(self, coefs: Any, constants: Any) -> tuple[Any, Any]:
        """Coefficients and intercepts for the user's table: of one model, or of several in rows, dense or sparse."""
        coefs = self.coefficient * coefs
        shift = 0.0 if self.centres is None else coefs @ self.centres
        return coefs, self.target_centre + self.target * constants - shift

    def prepared(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """The other way."""
        shift = 0.0 if self.centres is None else float(coef @ self.centres)
        return coef / self.coefficient, (intercept + shift - self.target_centre) / self.target


@dataclass(frozen=True, eq=False)
class L1Problem:
    """What is minimised."""

    loss: str
    X: np.ndarray | sparse.csc_array
    y: np.ndarray
    weights: np.ndarray
    penalties: np.ndarray
    ridge: float
    units: Units

    @classmethod
    def of(cls, loss, X, y, *, C=1.0, sample_weight=None, fit_intercept=False, l1_ratio=1.0) -> "L1Problem":
        """The problem ``l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2 + C sum of losses``.

        It is divided by ``l1_ratio``, so that every column has the penalty 1. The table may be prepared already.
        """
        table = X if isinstance(X, Prepared) else prepared(X, sample_weight, fit_intercept)
        n_rows, n_columns = table.X.shape
        weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        target, centre, unit = np.array(y, dtype=np.float64), 0.0, 1.0
        if loss == "squared":
            target, centre, unit = prepared_target(target, weights, fit_intercept)
        penalties = np.ones(n_columns + fit_intercept)
        penalties[n_columns:] = 0.0
        coefficient = unit / table.unit
        return cls(
            loss, table.X, target, (C * unit * table.unit / l1_ratio) * weights, penalties,
            coefficient * (1 - l1_ratio) / l1_ratio,
            Units(table.centres, centre, unit, coefficient, coefficient * l1_ratio),
        )  # fmt: skip

    def original(self, coefficients: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for the user's table."""
        n_columns = self.X.shape[1]
        return self.units.originals(coefficients[:n_columns], float(coefficients[-1]) if self.fit_intercept else 0.0)

    def scaled(self, factor: float) -> "L1Problem":
        """The same with the loss multiplied by a factor."""
        return replace(self, weights=factor * self.weights)

    @property
    def code(self) -> int:
        return LOSSES[self.loss]

    @cached_property
    def columns(self):
        return columns_of(self.X)

    @cached_property
    def wide_columns(self):
        """The same in 64 bits, for kernels that take long to compile and seldom run."""
        return columns_of(self.X.astype(np.float64, copy=False))

    @cached_property
    def table(self) -> DenseColumns | SparseColumns:
        """The columns, for solvers that take some at a time."""
        return DenseColumns(self.columns) if isinstance(self.columns, np.ndarray) else SparseColumns(*self.columns)

    @property
    def size(self) -> int:
        """Number of coefficients, with the intercept."""
        return self.penalties.size

    @property
    def fit_intercept(self) -> bool:
        return self.size > self.X.shape[1]

    @property
    def curvature_bound(self) -> float:
        return CURVATURE_BOUNDS[self.code]

    def predictions(self, coefficients: np.ndarray) -> np.ndarray:
        """``z = X w``, with the intercept."""
        coef = coefficients[: self.X.shape[1]]
        inner = np.asarray(self.X @ coef, dtype=np.float64) if coef.any() else np.zeros(self.X.shape[0])
        return inner + coefficients[-1] if self.fit_intercept else inner

    def transposed(self, rows: np.ndarray) -> np.ndarray:
        """``X' v``, with the sum of ``v`` for the intercept."""
        inner = self.X.T @ rows
        return np.append(inner, rows.sum()) if self.fit_intercept else np.asarray(inner, dtype=np.float64)

    def penalty(self, coefficients: np.ndarray, columns: np.ndarray | None = None) -> float:
        """What the coefficients cost: all, or those of some columns."""
        penalties = self.penalties if columns is None else self.penalties[columns]
        total = float(penalties @ np.abs(coefficients))
        return total + 0.5 * self.ridge * float(penalties @ coefficients**2) if self.ridge else total

    def add_ridge(self, slopes: np.ndarray, coefficients: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Add the slopes of the ridge to those of the loss, in place."""
        if self.ridge:
            slopes += self.ridge * (self.penalties if columns is None else self.penalties[columns]) * coefficients
        return slopes

    def loss_of(self, predictions: np.ndarray) -> float:
        return total_loss(self.code, self.y, self.weights, predictions)

    def objective(self, coefficients: np.ndarray, predictions: np.ndarray | None = None) -> float:
        """``f`` at these coefficients."""
        predictions = self.predictions(coefficients) if predictions is None else predictions
        return self.loss_of(predictions) + self.penalty(coefficients)

    def slopes(self, predictions: np.ndarray) -> np.ndarray:
        """Derivative of every row's loss."""
        return self.slopes_and_curvatures(predictions)[0]

    def slopes_and_curvatures(self, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of every row's loss."""
        first, second = np.empty_like(predictions), np.empty_like(predictions)
        loss_and_derivatives(self.code, self.y, self.weights, predictions, first, second)
        return first, second

    def gradient(self, coefficients: np.ndarray, predictions: np.ndarray | None = None) -> np.ndarray:
        """Gradient of the smooth part: the loss, and the ridge where there is one."""
        predictions = self.predictions(coefficients) if predictions is None else predictions
        return self.add_ridge(self.transposed(self.slopes(predictions)), coefficients)

    def subgradient(self, coefficients: np.ndarray) -> np.ndarray:
        """The smallest sub-gradient of ``f``."""
        return smallest_subgradient(self.gradient(coefficients), coefficients, self.penalties)

    def violation(self, coefficients: np.ndarray, gradient: np.ndarray) -> float:
        """Sum of the absolute values of the smallest sub-gradient."""
        return optimality_gaps(gradient, coefficients, self.penalties, np.empty(self.size))[0]

    @cached_property
    def rarer_share(self) -> float:
        """Share of the rarer class, by weight; 1 when the target is a number."""
        if self.loss == "squared":
            return 1.0
        positive = self.weights[self.y > 0].sum() / self.weights.sum()
        return float(min(positive, 1 - positive))

    @cached_property
    def null_start(self) -> np.ndarray:
        """Coefficients of the model without columns: zeros, and the best constant where there is one."""
        start = np.zeros(self.size)
        if not self.fit_intercept:
            return start
        shares = self.weights / self.weights.sum()
        if self.loss == "squared":
            start[-1] = shares @ self.y
        else:
            positive = shares[self.y > 0].sum()
            start[-1] = np.log(positive / (1 - positive)) if self.loss == "log" else 2 * positive - 1
        return start

    @cached_property
    def null_gradient(self) -> np.ndarray:
        return self.gradient(self.null_start)

    @cached_property
    def null_objective(self) -> float:
        """The objective of the model without columns, to which duality gaps are compared."""
        return self.objective(self.null_start)

    @cached_property
    def null_violation(self) -> float:
        """Sum of the absolute sub-gradients of the model without columns."""
        return self.violation(self.null_start, self.null_gradient)

    @cached_property
    def weighted_sums(self) -> np.ndarray:
        """``X' c`` of the rows' weights ``c``."""
        return self.transposed(self.weights)

    def absolute_tolerance(self, tol: float) -> float:
        """The duality gap at which a solver may stop, for a share of the objective of the model without columns."""
        return tol * self.null_objective


def duality_gap(
    problem: L1Problem,
    coefficients: np.ndarray,
    predictions: np.ndarray,
    *,
    objective: float | None = None,
    gradient: np.ndarray | None = None,
) -> float:
    """``f(w) - f*`` is at most this. Objective and gradient of the smooth part, where known, need not be found again.

    The slopes, made to sum to zero for an intercept, and brought back to where no column exceeds its penalty, are a
    point of the dual; its value is a lower bound of the minimum. With a ridge, columns may exceed their penalties, at
    the price of ``excess^2 / (2 ridge)``: the better of the two points counts.
    """
    dual = -problem.slopes(predictions)
    products = None
    if gradient is not None:
        products = problem.add_ridge(-gradient, coefficients)  # of the loss alone
    if problem.fit_intercept:
        dual, products = _summing_to_zero(problem, dual, products)
    if products is None:
        products = problem.transposed(dual)
    excesses = np.abs(products[: problem.X.shape[1]])
    largest = float(excesses.max(initial=0.0))
    value = _dual_value(problem, dual / max(largest, 1.0))
    if problem.ridge and largest > 1.0:
        price = float(np.square(np.maximum(excesses - 1.0, 0.0)).sum()) / (2 * problem.ridge)
        value = max(value, _dual_value(problem, dual) - price)
    objective = problem.objective(coefficients, predictions) if objective is None else objective
    return max(objective - value, 0.0)


def _summing_to_zero(
    problem: L1Problem, dual: np.ndarray, products: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """A point of the dual with an intercept, and its products with the columns if they are easily told."""
    if problem.loss == "squared":
        shift = dual.sum() / problem.weights.sum()
        return dual - shift * problem.weights, None if products is None else products - shift * problem.weighted_sums
    positive, negative = dual[dual > 0].sum(), -dual[dual < 0].sum()
    even = min(positive, negative)
    return np.where(dual > 0, dual * (even / max(positive, 1e-300)), dual * (even / max(negative, 1e-300))), None


def _dual_value(problem: L1Problem, dual: np.ndarray) -> float:
    rows = problem.weights > 0
    weights, y = problem.weights[rows], problem.y[rows]
    shares = y * dual[rows] / weights
    if problem.loss == "log":
        shares = np.clip(shares, 0.0, 1.0)
        inner = shares * np.log(np.maximum(shares, 1e-300)) + (1 - shares) * np.log(np.maximum(1 - shares, 1e-300))
        return float(-weights @ inner)
    if problem.loss == "squared_hinge":
        return float(weights @ (shares - shares**2 / 4))
    residuals = dual[rows] / weights
    return float(weights @ (y * residuals - residuals**2 / 2))


OnIteration = Callable[[np.ndarray, np.ndarray], bool]


class Solution(NamedTuple):
    coefficients: np.ndarray
    predictions: np.ndarray
    objective: float
    gap: float
    violation: float
    n_iter: int
    converged: bool


class Goal:
    """A duality gap to come down to, looked at when the sub-gradients have become small enough to expect it.

    Near the minimum the gap falls with the sum of absolute sub-gradients, at most with its square; ``look_at`` is the
    sum with which the square would reach the goal.
    """

    def __init__(self, problem: L1Problem, tol: float):
        self.problem, self.tol = problem, tol
        self.gap = np.inf
        self.look_at = max(problem.null_violation, 1.0) * self._share(problem.null_objective)

    def _share(self, gap: float) -> float:
        return 0.5 if gap <= 0.0 else min(0.5, float(np.sqrt(self.tol / gap)))

    def reached(
        self,
        w: np.ndarray,
        z: np.ndarray,
        gradient: np.ndarray,
        violation: float,
        objective: float | None = None,
    ) -> bool:
        """Whether the gap is there."""
        if violation > self.look_at:
            return False
        self.gap = duality_gap(self.problem, w, z, objective=objective, gradient=gradient)
        self.look_at = self._share(self.gap) * violation
        return self.gap <= self.tol

    def reached_from(self, w: np.ndarray, z: np.ndarray) -> bool:
        """The same for a solver without gradient and sub-gradients at hand."""
        gradient = self.problem.gradient(w, z)
        return self.reached(w, z, gradient, self.problem.violation(w, gradient))

    def solution(self, w: np.ndarray, z: np.ndarray, n_iter: int, gradient: np.ndarray | None = None) -> Solution:
        """What there is at the end, with its gap."""
        gradient = self.problem.gradient(w, z) if gradient is None else gradient
        objective = self.problem.objective(w, z)
        if self.gap > self.tol:
            self.gap = duality_gap(self.problem, w, z, objective=objective, gradient=gradient)
        violation = self.problem.violation(w, gradient)
        return Solution(w, z, objective, self.gap, violation, n_iter, self.gap <= self.tol)


def go_on(coefficients: np.ndarray, predictions: np.ndarray) -> bool:
    """The ``on_iteration`` of somebody who only wants the end."""
    return False
