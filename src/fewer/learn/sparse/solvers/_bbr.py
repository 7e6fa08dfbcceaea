"""Coordinate descent on a bound of the loss that holds within a trust region of each column (BBR).

Steps never cross zero, and a column's region grows to twice its last step or halves. There is no proof of convergence.

Reference: Genkin, Lewis and Madigan (2007), Large-scale Bayesian logistic regression for text categorization,
Technometrics 49, 291-304.
"""

import numpy as np

from fewer._kernels._l1_coordinate import bounded_pass
from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers._solution import OnIteration, Solution, go_on


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
    n_iter, violation = 0, problem.violation(w, z)
    while n_iter < max_iter and violation > tol:
        met, _ = bounded_pass(
            problem.code, problem.wide_columns, problem.y, problem.weights, problem.penalties,
            w, z, first, second, rng.permutation(problem.size), radii,
        )  # fmt: skip
        n_iter += 1
        if met <= tol or n_iter == max_iter:
            violation = problem.violation(w, z)
        if on_iteration(w, z):
            break
    return Solution(w, z, problem.objective(w, z), violation, n_iter, violation <= tol)
