"""Orthant-wise limited-memory quasi-Newton (OWL-QN).

The smallest sub-gradient takes the place of the gradient; the quasi-Newton direction keeps only the parts that agree
with its descent, and the line search stays in the orthant in which the objective is smooth.

Reference: Andrew and Gao (2007), Scalable training of L1-regularized log-linear models, ICML, 33-40.
"""

import numpy as np

from fewer._kernels._quasi_newton import quasi_newton_direction
from fewer.learn.sparse._problem import L1Problem, smallest_subgradient
from fewer.learn.sparse.solvers._solution import Goal, OnIteration, Solution, go_on

MEMORY = 10
SUFFICIENT = 1e-4


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
            if new_value <= value + SUFFICIENT * (pseudo @ (new - w)) + 1e-15 * abs(value):
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
