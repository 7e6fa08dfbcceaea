"""Proximal Newton: each step minimises the quadratic model of the loss plus the penalty, then searches along the line.

``newglmnet`` takes all columns into each model, minimised by passes over the columns. ``auto`` takes working sets of
columns, and goes over to the matrix of the model when passes converge slowly, as they do for correlated columns and
weak penalties: there the equations of the columns in use are solved directly.

References: Yuan, Ho and Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13, 1999-2030;
Yuan, Chang, Hsieh and Lin (2010), A comparison of optimization methods and software for large-scale L1-regularized
linear classification, JMLR 11, 3183-3234.
"""

import numpy as np

from fewer.learn.sparse._problem import L1Problem
from fewer.learn.sparse.solvers._kept_gram import LARGEST, KeptGram
from fewer.learn.sparse.solvers._solution import Goal, OnIteration, Solution, go_on
from fewer.learn.sparse.solvers._standing import Standing
from fewer.learn.sparse.solvers._working_sets import MAX_STEPS, Candidates, first_size


def _rounds(problem, start, tol, max_iter, on_iteration, *, share, max_steps, with_matrix):
    standing = Standing(problem, start)
    at_null = np.array_equal(start, problem.null_start)
    slopes = problem.null_gradient.copy() if at_null else problem.gradient(start, standing.z)
    goal, candidates = Goal(problem, tol), Candidates(standing, slopes)
    kept = KeptGram(problem.table, problem.size, LARGEST if with_matrix else 0)
    size, n_iter, stuck = first_size(start), 0, False
    while n_iter < max_iter and not stuck:
        if goal.reached(standing.w, standing.z, candidates.slopes, candidates.total, standing.objective):
            break
        size, stuck = candidates.round(size, share, goal.look_at, max_steps, kept)
        n_iter += 1
        if on_iteration(standing.w, standing.z):
            break
    return goal.solution(standing.w, standing.z, n_iter, candidates.slopes)


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
    return _rounds(problem, start, tol, max_iter, on_iteration, share=0.5, max_steps=MAX_STEPS, with_matrix=True)
