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
    """``f(w) - f*`` is at most this. Objective and gradient of the loss, where they are known, need not be found again.

    The slopes, brought back to where no column exceeds its penalty (and where they sum to zero, for an intercept), are
    a point of the dual; its value is a lower bound of the minimum.
    """
    dual = -problem.slopes(predictions)
    if problem.fit_intercept:
        dual, gradient = _summing_to_zero(dual, problem), None
    products = np.abs(problem.transposed(dual) if gradient is None else gradient)
    priced = problem.penalties > 0
    excess = float((products[priced] / problem.penalties[priced]).max(initial=0.0))
    dual = dual / max(excess, 1.0)
    objective = problem.objective(coefficients, predictions) if objective is None else objective
    return max(objective - _dual_value(problem, dual), 0.0)


def _summing_to_zero(dual: np.ndarray, problem: L1Problem) -> np.ndarray:
    if problem.loss == "squared":
        return dual - problem.weights * dual.sum() / problem.weights.sum()
    positive, negative = dual[dual > 0].sum(), -dual[dual < 0].sum()
    even = min(positive, negative)
    return np.where(dual > 0, dual * (even / max(positive, 1e-300)), dual * (even / max(negative, 1e-300)))


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
