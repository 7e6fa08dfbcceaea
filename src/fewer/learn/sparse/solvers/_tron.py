"""Trust-region Newton with projections, on positive and negative parts (TRON).

With ``w = a - b``, ``a, b >= 0``, the objective is smooth on a box. A step goes to the Cauchy point along the projected
gradient, then conjugate gradients improve on the variables that are free there, with projected line searches, and the
free set only shrinks. Hessians are never formed, only multiplied.

References: Lin and More (1999), Newton's method for large bound-constrained optimization problems, SIAM J. Optim. 9,
1100-1127; Yuan, Chang, Hsieh and Lin (2010), JMLR 11, 3183-3234, section 5.
"""

import numpy as np

from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers._solution import Goal, OnIteration, Solution, go_on

SUFFICIENT = 0.01
FACTOR = 0.1
ACCEPT = 1e-4


class _Model:
    """``q(d) = gradient'd + d'Hd/2`` on the doubled variables, at one point."""

    def __init__(self, problem: L1Problem, parts: np.ndarray, w: np.ndarray, z: np.ndarray):
        self.problem, self.parts = problem, parts
        first, self.second = problem.slopes_and_curvatures(z)
        self.smooth = problem.add_ridge(problem.transposed(first), w)
        self.gradient = np.concatenate([self.smooth, -self.smooth]) + np.tile(problem.penalties, 2)

    def times(self, d: np.ndarray) -> np.ndarray:
        """``H d``."""
        half = d.size // 2
        step = d[:half] - d[half:]
        image = self.problem.transposed(self.second * self.problem.predictions(step))
        self.problem.add_ridge(image, step)
        return np.concatenate([image, -image])

    def value(self, d: np.ndarray) -> float:
        return float(self.gradient @ d + 0.5 * (d @ self.times(d)))


def _projected(parts: np.ndarray) -> np.ndarray:
    return np.maximum(parts, 0.0)


def _cauchy_step(model: _Model, length: float, radius: float) -> tuple[np.ndarray, float]:
    """The step to a point along the projected gradient that decreases the model enough, within the radius."""

    def step(t):
        return _projected(model.parts - t * model.gradient) - model.parts

    def good(d):
        return np.linalg.norm(d) <= radius and model.value(d) <= SUFFICIENT * (model.gradient @ d)

    d = step(length)
    if good(d):
        for _ in range(30):
            longer = step(length / FACTOR)
            if not good(longer) or np.array_equal(longer, d):
                break
            length, d = length / FACTOR, longer
        return d, length
    for _ in range(60):
        length *= FACTOR
        d = step(length)
        if good(d):
            break
    return d, length


def _to_boundary(inner: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """How far ``direction`` can be followed from ``inner`` inside the ball."""
    a, b, c = direction @ direction, inner @ direction, inner @ inner - radius**2
    return float((-b + np.sqrt(max(b * b - a * c, 0.0))) / a)


def _conjugate_gradients(model: _Model, d: np.ndarray, free: np.ndarray, radius: float, max_steps: int):
    """A step on the free variables from ``d``; True with it when the boundary or a flat direction ended it."""
    residual = np.where(free, -(model.gradient + model.times(d)), 0.0)
    goal = 0.1 * np.linalg.norm(np.where(free, model.gradient, 0.0))
    step = np.zeros_like(d)
    direction, square = residual.copy(), residual @ residual
    for _ in range(max_steps):
        if np.sqrt(square) <= goal or square == 0:
            return step, False
        image = np.where(free, model.times(direction), 0.0)
        curvature = direction @ image
        if curvature <= 1e-15 * (direction @ direction):
            return step + _to_boundary(d + step, direction, radius) * direction, True
        share = square / curvature
        if np.linalg.norm(d + step + share * direction) >= radius:
            return step + _to_boundary(d + step, direction, radius) * direction, True
        step += share * direction
        residual -= share * image
        square, before = residual @ residual, square
        direction = residual + (square / before) * direction
    return step, False


def _projected_search(model: _Model, d: np.ndarray, step: np.ndarray) -> np.ndarray:
    """``d`` moved along the projected ``step`` so that the model decreases enough."""
    start, slope = model.value(d), model.gradient + model.times(d)
    share = 1.0
    for _ in range(20):
        new = _projected(model.parts + d + share * step) - model.parts
        if model.value(new) <= start + SUFFICIENT * min(slope @ (new - d), 0.0):
            return new
        share *= FACTOR
    return d


def _trial_step(model: _Model, length: float, radius: float, box: np.ndarray) -> tuple[np.ndarray, float]:
    d, length = _cauchy_step(model, length, radius)
    for _ in range(box.size):
        free = ~box | (model.parts + d > 0)
        if not free.any():
            break
        step, ended = _conjugate_gradients(model, d, free, radius, int(free.sum()))
        d = _projected_search(model, d, step)
        rest = np.where(~box | (model.parts + d > 0), model.gradient + model.times(d), 0.0)
        if ended or np.linalg.norm(rest) <= 0.1 * np.linalg.norm(np.where(free, model.gradient, 0.0)):
            break
        if np.array_equal(free, ~box | (model.parts + d > 0)):
            break
    return d, length


def _new_radius(radius: float, ratio: float, share: float, length: float) -> float:
    """The trust region's next radius: smaller after a poor prediction, larger after a good one."""
    if ratio <= ACCEPT:
        return min(max(share, 0.25) * length, 0.5 * radius)
    if ratio <= 0.25:
        return max(0.25 * radius, min(share * length, 0.5 * radius))
    if ratio <= 0.75:
        return max(0.25 * radius, min(share * length, 4.0 * radius))
    return max(radius, min(share * length, 4.0 * radius))


def tron(
    problem: L1Problem, start: np.ndarray, tol: float, max_iter: int, rng, on_iteration: OnIteration = go_on
) -> Solution:
    """Trust-region Newton steps on the split coefficients."""
    size = problem.size
    parts = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
    box = np.ones(2 * size, dtype=bool)
    z = problem.predictions(start)
    value, w = problem.objective(start, z), start.copy()
    model = _Model(problem, parts, w, z)
    radius = float(np.linalg.norm(model.gradient))
    length, n_iter, refused = 1.0, 0, 0
    goal = Goal(problem, tol)
    converged = goal.reached(w, z, model.smooth, problem.violation(w, model.smooth), value)
    while n_iter < max_iter and not converged and refused < 30:
        d, length = _trial_step(model, length, radius, box)
        new_parts = _projected(parts + d)
        both = np.minimum(new_parts[:size], new_parts[size:])  # what the two parts share only costs
        new_parts -= np.tile(both, 2)
        new_w = new_parts[:size] - new_parts[size:]
        new_z = problem.predictions(new_w)
        new_value = problem.objective(new_w, new_z)
        predicted, actual = -model.value(d), value - new_value
        slope = model.gradient @ d
        share = 0.5 if -actual - slope <= 0 else max(0.1, -0.5 * slope / (-actual - slope))
        if -actual - slope <= 0:
            share = 4.0
        ratio = actual / predicted if predicted > 0 else 0.0
        rounding = abs(actual) <= 1e-14 * abs(value) and predicted <= 1e-13 * abs(value)
        radius = _new_radius(radius, ratio, share, float(np.linalg.norm(d)))
        n_iter += 1
        if ratio > ACCEPT or rounding:
            refused = refused + 1 if rounding else 0
            parts, w, z, value = new_parts, new_w, new_z, new_value
            model = _Model(problem, parts, w, z)
            converged = goal.reached(w, z, model.smooth, problem.violation(w, model.smooth), value)
            if on_iteration(w, z):
                break
        else:
            refused += 1
    return goal.solution(w, z, n_iter, model.smooth)
