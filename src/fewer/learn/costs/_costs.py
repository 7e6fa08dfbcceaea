"""Costs of the two kinds of errors, in the forms in which they are given, and two objectives that bring them down.

Classes are -1 (the first in sorted order) and +1. ``c(y, x)`` is the cost of an error on a row whose class is y, and

    pcf = p(+) c(+) / (p(+) c(+) + p(-) c(-)),

the share of positives in the cost of always being wrong. With margins ``m = y f(x)``, ``f(x) = theta'x + b``,

    weighted likelihood   (1/N) sum c log(1 + exp(-m)) + alpha/2 |theta|^2
    sigmoid risk          (1/N) sum c / (1 + exp(m)) + alpha/2 |theta|^2
    cost itself           (1/N) sum c [m < 0]

and the first is a convex upper bound of the second, which stands for the third.

Dmochowski, J., Sajda, P. and Parra, L. (2010). Maximum likelihood in cost-sensitive learning. JMLR 11, 3313-3332.
Elliott, G. and Lieli, R. P. (2013). Predicting binary outcomes. Journal of Econometrics 174, 15-26.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from fewer._kernels._numpy_lapack import solve_spd

_BLOCK = 4096


def class_costs(cost: Any, positive_share: float) -> tuple[float, float]:
    """Costs of errors on negatives and on positives, from a pair or from pcf.

    pcf gives costs whose sum over always being wrong is 1.

    Examples
    --------
    >>> class_costs((1.0, 5.0), 0.2), class_costs(0.5, 0.2)
    ((1.0, 5.0), (0.625, 2.5))
    """
    if cost is None:
        return 1.0, 1.0
    if isinstance(cost, Real):
        pcf = float(cost)
        if not 0 < pcf < 1:
            raise ValueError(f"cost={cost} as a share of positives in the cost (pcf) must lie between 0 and 1.")
        if not 0 < positive_share < 1:
            raise ValueError("cost as a share needs rows of both classes.")
        return (1 - pcf) / (1 - positive_share), pcf / positive_share
    pair = tuple(float(each) for each in cost)
    if len(pair) != 2 or not all(0 < each < np.inf for each in pair):
        raise ValueError(f"cost={cost!r} must be two positive costs, of errors on negatives and on positives.")
    return pair[0], pair[1]


def row_costs(cost: Any, signs: np.ndarray, positive_share: float) -> tuple[np.ndarray, tuple[float, float] | None]:
    """Cost of an error on each row, and the pair of class costs if these are all; rows of zero cost stay, at zero."""
    if cost is None or isinstance(cost, Real) or (np.ndim(cost) == 1 and len(cost) == 2 != len(signs)):
        pair = class_costs(cost, positive_share)
        return np.where(signs > 0, pair[1], pair[0]), pair
    costs = np.asarray(cost, dtype=np.float64)
    if costs.shape == (len(signs), 2):
        costs = np.where(signs > 0, costs[:, 1], costs[:, 0])
    if costs.shape != signs.shape:
        raise ValueError(
            f"cost must be a pair, a share (pcf), or have an entry for each of {len(signs)} rows, and has the shape "
            f"{costs.shape}."
        )
    if not (np.isfinite(costs) & (costs >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))[0])
        raise ValueError(f"cost must not be negative or missing, and is {costs[row]} in row {row}.")
    if not (costs > 0).any():
        raise ValueError("cost is 0 for every row, so that no decision is better than another.")
    return costs, None


def log_cost_ratio(cost: Any, n_rows: int, positive_share: float) -> Any:
    """ln(c(-) / c(+)), the threshold of log odds: a number, or one for each row of an (n_rows, 2) array."""
    costs = None if cost is None or isinstance(cost, Real) else np.asarray(cost, dtype=np.float64)
    if costs is not None and costs.shape != (2,):
        if costs.shape != (n_rows, 2) or not (costs > 0).all():
            raise ValueError(f"Costs of rows must be positive, of shape ({n_rows}, 2), and have {costs.shape}.")
        return np.log(costs[:, 0] / costs[:, 1])
    negative, positive = class_costs(cost, positive_share)
    return float(np.log(negative / positive))


def cost_of_errors(signs: np.ndarray, predicted: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The cost of each row: that of an error where the predicted sign is wrong, else 0."""
    return np.where(signs != predicted, costs, 0.0)


class Plane(NamedTuple):
    """Coefficients and intercept, the iterations taken, the largest slope left, and whether that is small enough."""

    coef: np.ndarray
    intercept: float
    n_iter: int
    slope: float
    converged: bool


class Step(NamedTuple):
    """How far to go along a direction, and what the decisions cost there."""

    length: float
    cost: float


Watch = Callable[[int, np.ndarray], bool]


def weighted_logistic(
    X: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float, max_iter: int, tol: float, watch: Watch
) -> Plane:
    """Minimise the weighted log loss plus the penalty by Newton's method; ``weights`` sum to the mean cost."""
    v = np.zeros(X.shape[1] + 1)
    decisions = np.zeros(len(X))
    value = _log_value(decisions, signs, weights, alpha, v)
    scale = float(weights.sum())
    n_iter, converged, slope = 0, False, np.inf
    while n_iter < max_iter:
        gradient, hessian = _log_slopes(X, decisions, signs, weights, alpha, v)
        slope = float(np.abs(gradient).max()) / scale
        if slope <= tol:
            converged = True
            break
        direction = _solved(hessian, gradient)
        changes = X @ direction[:-1] + direction[-1]
        step = 1.0
        while step > 1e-10:
            trial = v - step * direction
            lower = _log_value(decisions - step * changes, signs, weights, alpha, trial)
            if lower <= value + 1e-12 * abs(value):
                break
            step /= 2
        v, value = trial, lower
        decisions = decisions - step * changes
        n_iter += 1
        if watch(n_iter, v):
            break
    return Plane(v[:-1], float(v[-1]), n_iter, slope, converged)


def _log_value(decisions: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float, v: np.ndarray) -> float:
    # log(1 + exp(-m)) = -log(sigmoid(m))
    return float(-(weights @ log_expit(signs * decisions)) + alpha / 2 * v[:-1] @ v[:-1])


def _log_slopes(
    X: np.ndarray, decisions: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian, in blocks of rows."""
    n_columns = X.shape[1]
    gradient, hessian = np.zeros(n_columns + 1), np.zeros((n_columns + 1, n_columns + 1))
    wrong = expit(-signs * decisions)
    slopes = -weights * signs * wrong
    gradient[:-1], gradient[-1] = slopes @ X + alpha * v[:-1], slopes.sum()
    curvature = weights * wrong * (1 - wrong)
    roots = np.sqrt(curvature)
    square = np.zeros((n_columns, n_columns))
    scaled = np.empty((min(_BLOCK, len(X)), n_columns))
    for start in range(0, len(X), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = scaled[: len(roots[rows])]
        np.multiply(X[rows], roots[rows, None], out=block)
        square += block.T @ block
    hessian[:-1, :-1] = square
    hessian[:-1, -1] = hessian[-1, :-1] = curvature @ X
    hessian[-1, -1] = curvature.sum()
    hessian[np.arange(n_columns), np.arange(n_columns)] += alpha
    return gradient, hessian


def _solved(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Newton's direction; the shortest one where columns depend on one another."""
    try:
        return solve_spd(hessian, gradient)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(hessian, gradient, rcond=None)[0]


def sigmoid_risk(
    v: np.ndarray, X: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float
) -> tuple[float, np.ndarray]:
    """The sigmoid risk plus the penalty, and its gradient."""
    wrong = expit(-signs * (X @ v[:-1] + v[-1]))
    slopes = -weights * wrong * (1 - wrong) * signs
    gradient = np.append(slopes @ X + alpha * v[:-1], slopes.sum())
    return float(weights @ wrong + alpha / 2 * v[:-1] @ v[:-1]), gradient


def polished(v: np.ndarray, X: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float) -> np.ndarray:
    """A minimum of the sigmoid risk to full precision, by a few steps of Newton's method where it is convex."""
    table = np.column_stack([X, np.ones(len(X))])
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)
    for _ in range(3):
        value, gradient = sigmoid_risk(v, X, signs, weights, alpha)
        wrong = expit(-signs * (table @ v))
        hessian = table.T @ (table * (weights * wrong * (1 - wrong) * (1 - 2 * wrong))[:, None]) + np.diag(penalty)
        try:
            trial = v - solve_spd(hessian, gradient)
        except np.linalg.LinAlgError:
            break
        if not sigmoid_risk(trial, X, signs, weights, alpha)[0] <= value + 1e-13 * abs(value):
            break
        v = trial
    return v


def log_risk(v: np.ndarray, X: np.ndarray, signs: np.ndarray, weights: np.ndarray, alpha: float) -> float:
    """The weighted log loss plus the penalty, an upper bound of the sigmoid risk."""
    return _log_value(X @ v[:-1] + v[-1], signs, weights, alpha, v)


def cheapest_step(decisions: np.ndarray, changes: np.ndarray, signs: np.ndarray, weights: np.ndarray) -> Step:
    """The t of least cost of ``decisions + t changes``, over all t: in the middle of the widest interval of those.

    A row passes from one side of the plane to the other at one t only, so that sums over the sorted ones are all costs.

    Examples
    --------
    >>> decisions, signs = np.array([-1.0, 0.5, 2.0]), np.array([1.0, -1.0, 1.0])
    >>> cheapest_step(decisions, np.ones(3), signs, np.ones(3))
    Step(length=2.0, cost=1.0)
    """
    moving = changes != 0
    z, d, s, w = decisions[moving], changes[moving], signs[moving], weights[moving]
    still = float(weights[~moving] @ (signs[~moving] * decisions[~moving] <= 0))
    places = -z / d
    order = np.argsort(places, kind="stable")
    places, becomes_right = places[order], (s * d > 0)[order]
    costs = np.cumsum(np.append(w @ (s * d > 0), np.where(becomes_right, -w[order], w[order])))
    edges = np.concatenate([[places[0] - 2], places, [places[-1] + 2]]) if len(places) else np.array([-1.0, 1.0])
    widths = np.diff(edges)
    least = costs[widths > 0].min()
    best = int(np.argmax(np.where(costs <= least + 1e-12 * weights.sum(), widths, -1.0)))
    return Step(float(edges[best] + widths[best] / 2), float(costs[best]) + still)


def cheapest_plane(
    v: np.ndarray, X: np.ndarray, signs: np.ndarray, weights: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """From a plane down to one where neither a coefficient nor 2 p random directions lower the cost, and its cost."""
    v, size = v / np.linalg.norm(v), len(v)
    decisions = X @ v[:-1] + v[-1]
    cost = float(weights @ (signs * decisions <= 0))
    while True:
        before = cost
        for direction in np.vstack([np.eye(size), rng.normal(size=(2 * size, size))]):
            changes = X @ direction[:-1] + direction[-1]
            step = cheapest_step(decisions, changes, signs, weights)
            if step.cost < cost - 1e-12 * weights.sum():
                v, decisions, cost = v + step.length * direction, decisions + step.length * changes, step.cost
        if cost >= before:
            return v, float(weights @ (signs * decisions <= 0))
