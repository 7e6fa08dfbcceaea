"""Proximal Newton: each step minimises the quadratic model of the loss plus the penalty, then searches along the line.

``newglmnet`` takes all columns into each model, minimised by passes over the columns. ``auto`` takes working sets of
columns, and goes over to the matrix of the model when passes converge slowly, as they do for correlated columns and
weak penalties: there the equations of the columns in use are solved directly.

References: Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13, 1999-2030;
Yuan, Chang, Hsieh and Lin (2010), A comparison of optimization methods and software for large-scale L1-regularized
linear classification, JMLR 11, 3183-3234.
"""

import numpy as np

from fewer._kernels._kept_gram import nothing_kept
from fewer._kernels._l1_proximal_newton import working_set_round
from fewer.learn.sparse._problem import L1Problem, smallest_subgradient
from fewer.learn.sparse.solvers._solution import OnIteration, Solution, go_on

NEWTON_STEPS = 50


def _rounds(problem, start, tol, max_iter, on_iteration, *, share, max_steps, with_matrix):
    w = start.copy()
    z = problem.predictions(w)
    columns = np.arange(problem.size)
    what = (problem.code, problem.columns, problem.y, problem.weights, problem.penalties)
    slopes = (problem.gradient(w) if w.any() else problem.start_gradient).copy()
    gaps = np.abs(smallest_subgradient(slopes, w, problem.penalties))
    total = float(gaps.sum())
    value = problem.objective(w, z)
    kept = nothing_kept(problem.size, len(z))
    size, n_iter, stuck = 64 + 2 * np.count_nonzero(w), 0, False
    while total > tol and n_iter < max_iter and not stuck:
        total, value, size, stuck = working_set_round(
            *what, w, z, columns, slopes, gaps, total, value, size, tol, max_steps, share, with_matrix, kept
        )
        n_iter += 1
        if on_iteration(w, z):
            break
    return Solution(w, z, value, total, n_iter, total <= tol, slopes)


def newglmnet(
    problem: L1Problem, start: np.ndarray, tol: float, max_iter: int, rng, on_iteration: OnIteration = go_on
) -> Solution:
    """Proximal Newton on all columns that are in the model or violate optimality, one step a round."""
    return _rounds(problem, start, tol, max_iter, on_iteration, share=1.0, max_steps=1, with_matrix=False)


def auto(
    problem: L1Problem,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    rng,
    on_iteration: OnIteration = go_on,
) -> Solution:
    """Proximal Newton on working sets, by passes or by matrices, whichever turns out cheaper."""
    return _rounds(problem, start, tol, max_iter, on_iteration, share=0.5, max_steps=NEWTON_STEPS, with_matrix=True)
