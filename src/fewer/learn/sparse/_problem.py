"""A linear model with a loss of its predictions and a price on the size of its coefficients, as one object.

``f(w) = sum_i c_i loss(y_i, z_i) + sum_j penalty_j |w_j|``, with ``z = X w``. An intercept is the last coefficient, for
a column of ones, with penalty zero. All solvers minimise this, and nothing else.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

import numpy as np
from scipy import sparse

from fewer._kernels._margin_losses import (
    CURVATURE_BOUNDS,
    LOG,
    SQUARED,
    SQUARED_HINGE,
    loss_and_derivatives,
    total_loss,
)
from fewer.learn.sparse._columns import DenseColumns, SparseColumns

LOSSES = {"log": LOG, "squared_hinge": SQUARED_HINGE, "squared": SQUARED}


def columns_of(X) -> np.ndarray | tuple:
    """The table in the form that the kernels read: Fortran order, or the arrays of its CSC form.

    For every other kind of array they would be compiled anew, which takes long. So read-only arrays come as if they
    could be written, and a table of one column or row, which is in C and Fortran order at once, comes as CSC.
    """
    if not sparse.issparse(X) and X.flags.c_contiguous and X.flags.f_contiguous:
        X = sparse.csc_array(X)
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
        X.sum_duplicates()
        return X
    return np.asfortranarray(X)


def smallest_subgradient(gradient: np.ndarray, coefficients: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """The sub-gradient of least absolute value, coordinate by coordinate; zero everywhere only at the minimum."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalties, 0.0)
    return np.where(coefficients == 0, at_zero, gradient + penalties * np.sign(coefficients))


@dataclass(frozen=True, eq=False)
class L1Problem:
    """What is minimised."""

    loss: str
    X: np.ndarray | sparse.csc_array
    y: np.ndarray
    weights: np.ndarray
    penalties: np.ndarray

    @classmethod
    def of(cls, loss, X, y, *, C=1.0, sample_weight=None, fit_intercept=False) -> "L1Problem":
        """The problem with penalty 1 on every column, none on the intercept, and ``C`` times the loss."""
        n_rows, n_columns = X.shape
        weights = np.full(n_rows, float(C)) if sample_weight is None else C * np.asarray(sample_weight, dtype=float)
        penalties = np.ones(n_columns + fit_intercept)
        penalties[n_columns:] = 0.0
        return cls(loss, X, np.array(y, dtype=np.float64), weights, penalties)

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
        if not coefficients.any():
            return np.zeros(self.X.shape[0])
        inner = self.X @ coefficients[: self.X.shape[1]]
        return np.asarray(inner + coefficients[-1] if self.fit_intercept else inner, dtype=np.float64)

    def transposed(self, rows: np.ndarray) -> np.ndarray:
        """``X' v``, with the sum of ``v`` for the intercept."""
        inner = self.X.T @ rows
        return np.append(inner, rows.sum()) if self.fit_intercept else np.asarray(inner, dtype=np.float64)

    def penalty(self, coefficients: np.ndarray) -> float:
        return float(self.penalties @ np.abs(coefficients))

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

    def gradient(self, coefficients: np.ndarray) -> np.ndarray:
        """Gradient of the loss."""
        return self.transposed(self.slopes(self.predictions(coefficients)))

    def subgradient(self, coefficients: np.ndarray) -> np.ndarray:
        """The smallest sub-gradient of ``f``."""
        return smallest_subgradient(self.gradient(coefficients), coefficients, self.penalties)

    def violation(self, coefficients: np.ndarray, predictions: np.ndarray) -> float:
        """Sum of the absolute values of the smallest sub-gradient."""
        gradient = self.transposed(self.slopes(predictions))
        return float(np.abs(smallest_subgradient(gradient, coefficients, self.penalties)).sum())

    @cached_property
    def rarer_share(self) -> float:
        """Share of the rarer class, by weight; 1 when the target is a number."""
        if self.loss == "squared":
            return 1.0
        positive = self.weights[self.y > 0].sum() / self.weights.sum()
        return float(min(positive, 1 - positive))

    @cached_property
    def start_gradient(self) -> np.ndarray:
        """Gradient of the loss where all coefficients are zero."""
        return self.transposed(self.slopes(np.zeros(self.X.shape[0])))

    @cached_property
    def start_violation(self) -> float:
        """Sum of the absolute sub-gradients at zero, by which tolerances are scaled."""
        return float(np.abs(smallest_subgradient(self.start_gradient, np.zeros(self.size), self.penalties)).sum())

    def absolute_tolerance(self, tol: float) -> float:
        """The sum of absolute sub-gradients at which a solver may stop.

        Near the penalty at which no column enters, the sum at zero vanishes; then the penalty itself is the scale.
        """
        return tol * self.rarer_share * max(self.start_violation, 1.0)
