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
from fewer.learn.sparse.solvers._solution import OnIteration, Solution, go_on
from fewer.learn.sparse.solvers._standing import Standing
from fewer.learn.sparse.solvers._working_sets import MAX_STEPS, Candidates, first_size


def _rounds(problem, start, tol, max_iter, on_iteration, *, share, max_steps, with_matrix):
    standing = Standing(problem, start)
    slopes = (problem.transposed(standing.first) if start.any() else problem.start_gradient).copy()
    candidates = Candidates(standing, slopes)
    kept = KeptGram(problem.table, problem.size, LARGEST if with_matrix else 0)
    size, n_iter, stuck = first_size(start), 0, False
    while candidates.total > tol and n_iter < max_iter and not stuck:
        size, stuck = candidates.round(size, share, tol, max_steps, kept)
        n_iter += 1
        if on_iteration(standing.w, standing.z):
            break
    total = candidates.total
    return Solution(standing.w, standing.z, standing.objective, total, n_iter, total <= tol, candidates.slopes)


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
