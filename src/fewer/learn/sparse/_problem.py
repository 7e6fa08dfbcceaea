"""A linear model with a loss of its predictions and a price on the size of its coefficients, as one object.

``f(w) = sum_i c_i loss(y_i, z_i) + sum_j penalty_j (|w_j| + ridge w_j^2 / 2)``, with ``z = X w``. An intercept is the
last coefficient, for a column of ones, with penalty zero. All solvers minimise this, and nothing else. Table and target
are prepared for them; ``Units`` leads back to the user's.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._kernels._l1_quadratic import optimality_gaps
from fewer._kernels._margin_losses import (
    CURVATURE_BOUNDS,
    LOG,
    SQUARED,
    SQUARED_HINGE,
    loss_and_derivatives,
    total_loss,
)
from fewer.learn.sparse._columns import DenseColumns, SparseColumns
from fewer.learn.sparse._prepared import Prepared, columns_of, prepared, prepared_target

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
