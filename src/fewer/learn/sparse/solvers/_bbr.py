"""Coordinate descent on a bound of the loss that holds within a trust region of each column (BBR).

Steps never cross zero, and a column's region grows to twice its last step or halves. There is no proof of convergence.

Reference: Genkin, Lewis and Madigan (2007), Large-scale Bayesian logistic regression for text categorization,
Technometrics 49, 291-304.
"""

import numpy as np

from fewer._kernels._l1_coordinate import bounded_pass
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers._solution import Goal, OnIteration, Solution, go_on


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
