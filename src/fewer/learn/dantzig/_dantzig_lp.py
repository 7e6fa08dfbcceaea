"""The Dantzig selector at one penalty, by the linear programs of HiGHS: whole, or growing by rows and columns.

Few rows are ever at their bound and few columns have a coefficient. So a small program over some of both is solved, and
rows that exceed the bound and columns that would lower the sum are added until there are none. The Lasso at the same
penalty is allowed, so its columns make a start from which every program has a solution.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from fewer._estimators import warn_caller
from fewer._kernels._l1_quadratic import minimise_quadratic
from fewer.learn.dantzig._dantzig_problem import NEGLIGIBLE, DantzigProblem, DantzigSolution
from fewer.learn.dantzig._dantzig_walk import DantzigWalk, StuckError

# HiGHS takes no smaller ones.
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_MANY_COLUMNS = 500


class ProgramError(RuntimeError):
    """HiGHS gave no solution."""


def solve_whole(problem: DantzigProblem, alpha: float) -> DantzigSolution:
    """One program with every row and column."""
    # Twice the matrix in both directions, as an array and as HiGHS stores it.
    problem = DantzigProblem(problem.whole_gram(100, "The linear program over all columns"), problem.products)
    everything = np.arange(problem.products.size)
    coef, dual = _polished(problem, alpha, *_restricted(problem, alpha, everything, everything))
    return DantzigSolution(coef, dual, alpha, 1)


def solve_growing(
    problem: DantzigProblem, alpha: float, after_round: Callable[[], bool] = lambda: False
) -> DantzigSolution:
    """Programs over growing sets of rows and columns."""
    products = problem.products
    size = max(problem.largest_alpha, 1e-300)
    start = lasso_coef(problem, alpha)
    columns = np.abs(start) > 0
    rows = np.abs(products - problem.times(start)) >= alpha - 1e-6 * size
    n_rounds = 0
    while True:
        n_rounds += 1
        coef, dual = _restricted(problem, alpha, np.flatnonzero(rows), np.flatnonzero(columns))
        residuals = np.abs(products - problem.times(coef))
        levels = np.abs(problem.times(dual))
        new_rows = ~rows & (residuals > alpha + 1e-9 * size)
        new_columns = ~columns & (levels > 1 + 1e-9)
        if not (new_rows.any() or new_columns.any()):
            break
        rows |= _worst(new_rows, residuals)
        columns |= _worst(new_columns, levels)
        if after_round():
            # The Lasso is allowed, which what the programs have come to need not be.
            return DantzigSolution(start, dual, alpha, n_rounds)
    coef, dual = _polished(problem, alpha, coef, dual)
    return DantzigSolution(coef, dual, alpha, n_rounds)


def lasso_coef(problem: DantzigProblem, alpha: float) -> np.ndarray:
    """The Lasso at the same penalty, over the columns that it has needed so far."""
    products, size = problem.products, problem.products.size
    coef, inside = np.zeros(size), np.zeros(size, dtype=bool)
    tol = 1e-12 * max(float(np.abs(products).sum()), 1e-300)
    while True:
        slopes = problem.times(coef) - products
        outside = ~inside & (np.abs(slopes) > alpha)
        if not outside.any():
            return coef
        inside |= _worst(outside, np.abs(slopes))
        columns = np.flatnonzero(inside)
        gram, part = np.ascontiguousarray(problem.block(columns, columns)), coef[columns]
        minimise_quadratic(gram, slopes[columns], part, np.full(columns.size, alpha), tol, 10_000)
        coef[columns] = part


def _worst(candidates: np.ndarray, sizes: np.ndarray, n_most: int = 50) -> np.ndarray:
    """The largest of the candidates."""
    chosen = np.zeros(candidates.size, dtype=bool)
    places = np.flatnonzero(candidates)
    chosen[places[np.argsort(-sizes[places], kind="stable")[:n_most]]] = True
    return chosen


def _restricted(problem: DantzigProblem, alpha: float, rows: np.ndarray, columns: np.ndarray):
    """Coefficients and dual of the program over some rows and columns."""
    part, products = problem.block(rows, columns), problem.products[rows]
    coef, dual = np.zeros(problem.products.size), np.zeros(problem.products.size)
    if columns.size == 0:
        return coef, dual
    found = linprog(
        np.ones(2 * columns.size),
        A_ub=np.block([[part, -part], [-part, part]]),
        b_ub=np.concatenate([products + alpha, alpha - products]),
        method="highs-ds",
        options=_TIGHT,
    )
    if found.status != 0:
        raise ProgramError(f"HiGHS could not solve the program of the Dantzig selector: {found.message}")
    coef[columns] = found.x[: columns.size] - found.x[columns.size :]
    dual[rows] = found.ineqlin.marginals[: rows.size] - found.ineqlin.marginals[rows.size :]
    return coef, dual


def _polished(problem: DantzigProblem, alpha: float, coef: np.ndarray, dual: np.ndarray):
    """The corner that the program ended in, to rounding: its equations are solved anew."""
    coef = np.where(np.abs(coef) > NEGLIGIBLE * np.abs(coef).max(initial=0.0), coef, 0.0)
    dual = np.where(np.abs(dual) > NEGLIGIBLE * np.abs(dual).max(initial=0.0), dual, 0.0)
    columns, rows = np.flatnonzero(coef), np.flatnonzero(dual)
    if columns.size != rows.size or columns.size == 0:
        return coef, dual
    square = problem.block(rows, columns)
    try:
        exact = np.linalg.solve(square, problem.products[rows] - alpha * np.sign(dual[rows]))
        exact_dual = np.linalg.solve(square.T, np.sign(coef[columns]))
    except np.linalg.LinAlgError:
        return coef, dual
    better, better_dual = np.zeros_like(coef), np.zeros_like(dual)
    better[columns], better_dual[rows] = exact, exact_dual
    return (better, better_dual) if problem.is_solved(better, better_dual, alpha) else (coef, dual)


def solve_problem(
    problem: DantzigProblem,
    alpha: float,
    solver: str = "auto",
    after_step: Callable[[], bool] = lambda: False,
    walk: DantzigWalk | None = None,
) -> DantzigSolution:
    """The solution by one of the three ways; "auto" walks, and solves a program where ties stop the walk."""
    size = problem.products.size
    if alpha >= problem.largest_alpha:
        return DantzigSolution(np.zeros(size), np.zeros(size), alpha, 0)
    # At no penalty at all every row is at its bound, and a walk cannot tell them apart.
    if solver in ("auto", "path") and alpha > 0:
        stopped = False

        def after() -> bool:
            nonlocal stopped
            stopped = after_step()
            return stopped

        try:
            found = (walk or DantzigWalk(problem)).solution_at(alpha, after)
            if stopped or problem.is_solved(found.coef, found.dual, found.alpha):
                return found
        except StuckError:
            pass
        if solver == "path":
            warn_caller("Ties between columns stopped the walk down the path; a linear program is solved instead.")
    if solver == "highs" or (solver != "cg" and size <= _MANY_COLUMNS) or alpha == 0:
        return solve_whole(problem, alpha)
    try:
        return solve_growing(problem, alpha, after_step)
    except ProgramError:
        return solve_whole(problem, alpha)
