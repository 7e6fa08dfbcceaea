"""How far a model can be from the minimum, by a point of the dual problem made from the slopes of its losses."""

import numpy as np

from fewer.learn.sparse._problem import L1Problem


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
