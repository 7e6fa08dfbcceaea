"""Coordinate descent with one-dimensional Newton steps and shrinking (CDN), and its passes in random order.

A column at zero whose slope lies well inside its bounds is set aside until the others have converged. Set-aside columns
come back when the active ones meet the tolerance, when a pass changes the objective no more, and every 50 passes; the
end is always a pass over all.

Reference: Yuan, Chang, Hsieh and Lin (2010), JMLR 11, 3183-3234, section 4.
"""

import numpy as np

from fewer._kernels._l1_coordinate import newton_pass
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers._solution import Goal, OnIteration, Solution, go_on

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
