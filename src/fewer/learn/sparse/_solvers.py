"""Ways to minimise an ``L1Problem``, by name, and one fit by one of them with its history and warnings.

Each is a function ``solver(problem, start, tol, max_iter, rng, on_iteration) -> Solution``: ``tol`` is the duality gap
to come down to, and ``on_iteration(coefficients, predictions)`` may return True to stop and keep what there is. The gap
looks at every column, so what they call converged is within ``tol`` of the minimum.

``cdn``: coordinate descent with one-dimensional Newton steps and shrinking, with passes in random order. A column at
zero whose slope lies well inside its bounds is set aside until the others have converged. Set-aside columns come back
when the active ones meet the tolerance, when a pass changes the objective no more, and every 50 passes; the end is
always a pass over all. Yuan, Chang, Hsieh and Lin (2010), JMLR 11, 3183-3234, section 4.

``bbr``: coordinate descent on a bound of the loss that holds within a trust region of each column. Steps never cross
zero, and a column's region grows to twice its last step or halves. There is no proof of convergence. Genkin, Lewis and
Madigan (2007), Large-scale Bayesian logistic regression for text categorization, Technometrics 49, 291-304.

``owlqn``: orthant-wise limited-memory quasi-Newton. The smallest sub-gradient takes the place of the gradient; the
quasi-Newton direction keeps only the parts that agree with its descent, and the line search stays in the orthant in
which the objective is smooth. Andrew and Gao (2007), Scalable training of L1-regularized log-linear models, ICML,
33-40.

``tron``: trust-region Newton with projections, on positive and negative parts. With ``w = a - b``, ``a, b >= 0``, the
objective is smooth on a box. A step goes to the Cauchy point along the projected gradient, then conjugate gradients
improve on the variables that are free there, with projected line searches, and the free set only shrinks. Hessians are
never formed, only multiplied. Lin and More (1999), Newton's method for large bound-constrained optimization problems,
SIAM J. Optim. 9, 1100-1127; Yuan, Chang, Hsieh and Lin (2010), JMLR 11, 3183-3234, section 5.

``auto`` and ``newglmnet`` are in ``_proximal_newton``.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer._kernels._quasi_newton import quasi_newton_direction
from fewer.learn.sparse._kernels import bounded_pass, newton_pass
from fewer.learn.sparse._problem import Goal, L1Problem, OnIteration, Solution, go_on, moments, smallest_subgradient
from fewer.learn.sparse._proximal_newton import auto, newglmnet

ALL_BACK_EVERY = 50
STALLED = 1e-12


def cdn(
    problem: L1Problem,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    on_iteration: OnIteration = go_on,
    shrinking: bool = True,
) -> Solution:
    """Passes over the columns in random order, until a pass over all of them meets the tolerance."""
    w, z = start.copy(), problem.predictions(start)
    first, second = problem.slopes_and_curvatures(z)
    order = np.arange(problem.size)
    n_active, level = order.size, np.inf
    goal = Goal(problem, tol)
    value, converged, n_iter = problem.objective(w, z), goal.reached_from(w, z), 0
    while n_iter < max_iter and not converged:
        whole = n_active == order.size
        order[:n_active] = rng.permutation(order[:n_active])
        violation, largest, n_active = newton_pass(
            problem.code, problem.wide_columns, problem.y, problem.weights, problem.penalties,
            problem.ridge, w, z, first, second, order, n_active, level if shrinking else np.inf,
        )  # fmt: skip
        n_iter += 1
        before, value = value, problem.objective(w, z)
        level = largest / len(z)
        if violation <= goal.look_at or before - value <= STALLED * abs(value) or n_iter % ALL_BACK_EVERY == 0:
            # A pass measures violations before its own steps, so the columns as they now stand decide.
            converged = whole and goal.reached_from(w, z)
            n_active, level = order.size, np.inf
        if on_iteration(w, z):
            break
    return goal.solution(w, z, n_iter)


def bbr(
    problem: L1Problem,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    on_iteration: OnIteration = go_on,
) -> Solution:
    """Passes over all columns in random order."""
    w, z = start.copy(), problem.predictions(start)
    first, second = problem.slopes_and_curvatures(z)
    radii = np.ones(problem.size)
    goal = Goal(problem, tol)
    n_iter, converged = 0, goal.reached_from(w, z)
    while n_iter < max_iter and not converged:
        met, _ = bounded_pass(
            problem.code, problem.wide_columns, problem.y, problem.weights, problem.penalties,
            problem.ridge, w, z, first, second, rng.permutation(problem.size), radii,
        )  # fmt: skip
        n_iter += 1
        converged = met <= goal.look_at and goal.reached_from(w, z)
        if on_iteration(w, z):
            break
    return goal.solution(w, z, n_iter)


MEMORY = 10
OWLQN_SUFFICIENT = 1e-4


def owlqn(
    problem: L1Problem, start: np.ndarray, tol: float, max_iter: int, rng, on_iteration: OnIteration = go_on
) -> Solution:
    """Quasi-Newton steps within orthants."""
    w, z = start.copy(), problem.predictions(start)
    value = problem.objective(w, z)
    gradient = problem.gradient(w, z)
    pseudo = smallest_subgradient(gradient, w, problem.penalties)
    steps, changes = np.zeros((MEMORY, len(w))), np.zeros((MEMORY, len(w)))
    n_pairs = 0
    penalised = problem.penalties > 0
    goal, n_iter = Goal(problem, tol), 0
    while n_iter < max_iter and not goal.reached(w, z, gradient, float(np.abs(pseudo).sum()), value):
        direction = quasi_newton_direction(-pseudo, steps, changes, n_pairs)
        direction[direction * pseudo >= 0] = 0.0
        if not direction.any():
            direction = -pseudo
        orthant = np.where(w != 0, np.sign(w), -np.sign(pseudo))
        share = 1.0 if n_pairs else 1.0 / max(float(np.linalg.norm(pseudo)), 1e-300)
        for _ in range(60):
            new = w + share * direction
            new[penalised & (new * orthant < 0)] = 0.0
            new_z = problem.predictions(new)
            new_value = problem.objective(new, new_z)
            if new_value <= value + OWLQN_SUFFICIENT * (pseudo @ (new - w)) + 1e-15 * abs(value):
                break
            share *= 0.5
        else:
            if not n_pairs:
                break
            n_pairs = 0  # the memory misleads: begin again from the steepest descent
            continue
        new_gradient = problem.gradient(new, new_z)
        step, change = new - w, new_gradient - gradient
        if step @ change > 1e-12 * (change @ change) > 0:
            steps[n_pairs % MEMORY], changes[n_pairs % MEMORY] = step, change
            n_pairs += 1
        moved = bool(step.any())
        w, z, value, gradient = new, new_z, new_value, new_gradient
        pseudo = smallest_subgradient(gradient, w, problem.penalties)
        n_iter += 1
        if on_iteration(w, z) or not moved:
            break
    return goal.solution(w, z, n_iter, gradient)


TRON_SUFFICIENT = 0.01
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
        return np.linalg.norm(d) <= radius and model.value(d) <= TRON_SUFFICIENT * (model.gradient @ d)

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
        if model.value(new) <= start + TRON_SUFFICIENT * min(slope @ (new - d), 0.0):
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


SOLVERS = {"auto": auto, "cdn": cdn, "newglmnet": newglmnet, "tron": tron, "owlqn": owlqn, "bbr": bbr}

# Standard deviations below this may be what makes a penalty of about 1 too strong.
_SMALL_UNIT = 0.1


@dataclass
class L1History:
    """What a solver had after each iteration.

    Attributes
    ----------
    seconds : list of float
        Time since the start, without the time that the record took.
    objective : list of float
        Value of what is minimised.
    subgradient : list of float
        Euclidean norm of the smallest sub-gradient.
    n_nonzero : list of int
        Coefficients that are not zero.
    """

    seconds: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    subgradient: list[float] = field(default_factory=list)
    n_nonzero: list[int] = field(default_factory=list)
    _begun: float = field(default_factory=time.perf_counter, repr=False)
    _away: float = field(default=0.0, repr=False)

    def note(self, problem: L1Problem, coefficients: np.ndarray, predictions: np.ndarray) -> None:
        """Add the present state."""
        now = time.perf_counter()
        self.seconds.append(now - self._begun - self._away)
        self.objective.append(problem.units.objective * problem.objective(coefficients, predictions))
        self.subgradient.append(float(np.linalg.norm(problem.subgradient(coefficients))))
        self.n_nonzero.append(int(np.count_nonzero(coefficients[: problem.X.shape[1]])))
        self._away += time.perf_counter() - now


@dataclass(frozen=True)
class L1Fit:
    """A solution in the units of the user's table, with the figures that tell how good it is."""

    problem: L1Problem
    solution: Solution
    coef: np.ndarray
    intercept: float
    objective: float
    duality_gap: float
    scaled_violation: float
    history: L1History | None


def fit_problem(
    problem: L1Problem,
    start: np.ndarray,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator,
    record: bool = False,
    on_iteration: Callable[[], bool] = lambda: False,
    **options: Any,
) -> L1Fit:
    """Minimise, and look at every column at the end."""
    history = L1History() if record else None
    counts: list[int] = []
    stopped = False

    def after(coefficients: np.ndarray, predictions: np.ndarray) -> bool:
        nonlocal stopped
        counts.append(int(np.count_nonzero(coefficients)))
        if history is not None:
            history.note(problem, coefficients, predictions)
        stopped = bool(on_iteration())
        return stopped

    if history is not None:
        history.note(problem, start, problem.predictions(start))
    solution = SOLVERS[solver](problem, start, problem.absolute_tolerance(tol), max_iter, rng, after, **options)
    scale = problem.rarer_share * problem.null_violation
    scaled = solution.violation / scale if scale > 0 else 0.0
    if not solution.converged and not stopped:
        changing = " The number of columns in the model still changed." if len(set(counts[-2:])) > 1 else ""
        warn_caller(
            f"The solver {solver!r} stopped after {solution.n_iter} iterations at a duality gap of "
            f"{solution.gap / problem.null_objective:.1e} of the objective of the model without columns, above "
            f"tol={tol:g}.{changing} Raise max_iter or tol, scale the columns, or use solver='auto'.",
            ConvergenceWarning,
        )
    coef, intercept = problem.original(solution.coefficients)
    unit = problem.units.objective
    return L1Fit(problem, solution, coef, intercept, unit * solution.objective, unit * solution.gap, scaled, history)


def warn_of_units(problems: list[L1Problem], parameter: str, cure: str) -> None:
    """Warn that the penalty is too strong for the unit of the columns or the target: for models without columns.

    That is so if the same penalty would let a column in after division by its standard deviation; or if it keeps out
    every column of standard deviation 1, even one that equals the target but for its unit.
    """
    first = problems[0]
    units = first.units
    column_unit = units.target / units.coefficient
    means, squares = moments(first.X, first.weights)
    spreads = np.sqrt(np.maximum(squares - means**2 if first.fit_intercept else squares, 0.0))
    spreads *= column_unit
    slopes = np.max([np.abs(problem.null_gradient[: spreads.size]) for problem in problems], axis=0)
    scaled = np.divide(slopes, spreads, out=np.zeros_like(slopes), where=spreads > 0)
    total = first.weights.sum()
    target_spread = units.target * float(np.sqrt(first.weights @ first.y**2 / total))
    perfect = target_spread * total / (units.target * column_unit)
    if scaled.max(initial=0.0) > 1.0 and spreads.max() < _SMALL_UNIT:
        what, size = "columns", spreads.max()
    elif first.loss == "squared" and 0 < perfect < 1.0 and target_spread < _SMALL_UNIT:
        what, size = "target", target_spread
    else:
        return
    warn_caller(
        f"All coefficients are zero: {parameter} depends on the unit of the {what}, which makes the penalty too strong "
        f"here (largest standard deviation {size:.2g}). Scale the {what} to a standard deviation of 1, or let {cure} "
        "choose the penalty, which does not depend on the unit."
    )
