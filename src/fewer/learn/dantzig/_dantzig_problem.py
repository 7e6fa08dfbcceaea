"""The Dantzig selector as a pair of linear programs, and two ways to solve them.

    min ||b||_1  subject to  ||c - G b||_inf <= alpha,      max c'm - alpha ||m||_1  subject to  ||G m||_inf <= 1,

with ``G = X'X / n`` and ``c = X'y / n``.

The parametric simplex method goes down from the largest penalty. Between breakpoints the columns ``I`` with a
coefficient and the rows ``J`` at their bound stay the same, and

    G_JI b_I = c_J - alpha z_J,      G_IJ m_J = s_I,

with the signs ``z`` of the rows and ``s`` of the columns. So coefficients are straight lines in alpha, and the dual is
constant. At a breakpoint a row reaches its bound or a coefficient reaches zero; the dual then moves until a column
reaches its bound or a dual entry reaches zero, and the two sets are of one size again.

At one penalty, HiGHS solves the linear program whole, or growing by rows and columns: few rows are ever at their bound
and few columns have a coefficient, so a small program over some of both is solved, and rows that exceed the bound and
columns that would lower the sum are added until there are none. The Lasso at the same penalty is feasible, so its
columns make a start from which every program has a solution.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.optimize import linprog

from fewer._estimators import warn_caller
from fewer.learn.sparse._kernels import minimise_quadratic

# A solution of a linear program is known to about this share of its size; what is smaller is zero.
NEGLIGIBLE = 1e-8
# Positions of rows or columns.
Places = Any
# What a matrix of all pairs of columns may take, with its copies.
_MOST_BYTES = 2e9


@dataclass(frozen=True, eq=False)
class TableGram:
    """``G = Z'Z / n`` by way of ``Z = (X - means) / scales``, which is never stored where X is sparse.

    Columns of ``G`` are made when they are asked for, so memory stays at that of the table, however wide it is.
    """

    table: Any
    means: np.ndarray
    scales: np.ndarray

    def combined(self, weights: np.ndarray, rows: Places) -> np.ndarray:
        """``weights @ G[rows]``."""
        scaled = (weights / self.scales[rows]).T
        return self.against(self.table[:, rows] @ scaled - self.means[rows] @ scaled)

    def against(self, vectors: np.ndarray) -> np.ndarray:
        """``vectors' Z / n``."""
        products = (self.table.T @ vectors).T - np.multiply.outer(vectors.sum(axis=0), self.means)
        return products / (self.scales * self.table.shape[0])

    def block(self, rows: Places, columns: Places) -> np.ndarray:
        """``G[rows, columns]``."""
        products = self.table[:, rows].T @ self.table[:, columns] / self.table.shape[0]
        centred = (products.toarray() if sparse.issparse(products) else products) - np.multiply.outer(
            self.means[rows], self.means[columns]
        )
        centred /= self.scales[rows][:, None]
        centred /= self.scales[columns]
        return centred


@dataclass(frozen=True, eq=False)
class DantzigProblem:
    """``G``, whole or by way of the table, and ``c``."""

    gram: np.ndarray | TableGram
    products: np.ndarray

    def combined(self, weights: np.ndarray, rows: Places) -> np.ndarray:
        """``weights @ G[rows]``."""
        return self.gram.combined(weights, rows) if isinstance(self.gram, TableGram) else weights @ self.gram[rows]

    def block(self, rows: Places, columns: Places) -> np.ndarray:
        """``G[rows, columns]``."""
        return self.gram.block(rows, columns) if isinstance(self.gram, TableGram) else self.gram[np.ix_(rows, columns)]

    def times(self, vector: np.ndarray) -> np.ndarray:
        """``G @ vector``, for a vector with few entries that are not zero."""
        there = np.flatnonzero(vector)
        return self.combined(vector[there], there)

    def whole_gram(self, n_bytes: int, what: str) -> np.ndarray:
        """``G``, for ``what`` takes so many bytes for each of its entries; refused where that is too much memory."""
        size = self.products.size
        if n_bytes * size**2 > _MOST_BYTES:
            raise ValueError(
                f"{what} needs all {size:,} x {size:,} products of the columns, which would take about "
                f"{n_bytes * size**2 / 1e9:,.0f} GB of memory. Select columns first, or give alpha a number above 0 "
                "with solver='auto' and threshold a number or None, which need no more memory than the table."
            )
        return self.gram.block(slice(None), slice(None)) if isinstance(self.gram, TableGram) else self.gram

    @property
    def largest_alpha(self) -> float:
        """From here on every coefficient is zero."""
        return float(np.abs(self.products).max(initial=0.0))

    def excess(self, coef: np.ndarray, alpha: float) -> float:
        """By how much the worst row exceeds ``alpha``; at most 0 for a point that is allowed."""
        return float(np.abs(self.products - self.times(coef)).max(initial=0.0) - alpha)

    def gap(self, coef: np.ndarray, dual: np.ndarray, alpha: float) -> float:
        """``||b||_1`` is above the minimum by this at most, where ``b`` is allowed."""
        inside = dual / max(float(np.abs(self.times(dual)).max(initial=0.0)), 1.0)
        return float(np.abs(coef).sum() - (self.products @ inside - alpha * np.abs(inside).sum()))

    def is_solved(self, coef: np.ndarray, dual: np.ndarray, alpha: float) -> bool:
        """Whether both programs are solved, to rounding."""
        size = max(self.largest_alpha, 1e-300)
        allowed = self.excess(coef, alpha) <= 1e-10 * size
        return allowed and self.gap(coef, dual, alpha) <= 1e-9 * max(float(np.abs(coef).sum()), 1e-300)


class DantzigSolution(NamedTuple):
    """Coefficients, the dual that proves them best, and the steps it took."""

    coef: np.ndarray
    dual: np.ndarray
    alpha: float
    n_iter: int


class Moments(NamedTuple):
    """A table as the Dantzig selector sees it, and what is needed to undo that."""

    problem: DantzigProblem
    kept: np.ndarray
    means: np.ndarray
    scales: np.ndarray
    target_mean: float
    target_square: float

    def original_coef(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and constant for the columns as they were given."""
        full = np.zeros(self.means.size)
        full[self.kept] = coef / self.scales[self.kept]
        return full, float(self.target_mean - self.means @ full)


def moments(X, y: np.ndarray, fit_intercept: bool, with_std: bool) -> Moments:
    """``G`` and ``c`` of the columns that vary, centred with an intercept, of mean square 1 if standardised.

    ``G`` is computed where it is no larger than the table, as for tables longer than wide.
    """
    n_rows, n_columns = X.shape
    means = np.asarray(X.mean(axis=0), dtype=float).ravel() if fit_intercept else np.zeros(n_columns)
    target_mean = float(y.mean()) if fit_intercept else 0.0
    target = y - target_mean
    if sparse.issparse(X):
        table, shifts, n_stored = X.tocsc(), means, X.nnz
        squares = np.asarray(table.multiply(table).mean(axis=0)).ravel() - means**2
    else:
        table, shifts, n_stored = (X - means if fit_intercept else X), np.zeros(n_columns), X.size
        squares = np.einsum("ij,ij->j", table, table) / n_rows
    kept = np.flatnonzero(squares > 1e-14 * (squares + means**2))
    scales = np.sqrt(np.maximum(squares, 0.0)) if with_std else np.ones(n_columns)
    if kept.size < n_columns:
        table = table[:, kept]
    gram = TableGram(table, shifts[kept], scales[kept])
    fits = kept.size**2 <= n_stored
    problem = DantzigProblem(gram.block(slice(None), slice(None)) if fits else gram, gram.against(target))
    return Moments(problem, kept, means, scales, target_mean, float(target @ target / n_rows))


# What moves slower than this, in units of the penalty, moves by rounding only: copies of a column in the sets.
_STILL = 1e-9


class StuckError(Exception):
    """The walk cannot go on: ties that rounding cannot tell apart."""


class DantzigWalk:
    """A walk down the penalties. It only goes down; what lies behind is remembered.

    Parameters
    ----------
    problem : DantzigProblem
        What is solved.
    """

    def __init__(self, problem: DantzigProblem):
        self.problem = problem
        self.alpha = problem.largest_alpha
        self.columns: list[int] = []
        self.rows: list[int] = []
        size = problem.products.size
        self.column_signs = np.zeros(size)
        self.row_signs = np.zeros(size)
        self.coef = np.zeros(size)
        self.dual = np.zeros(size)
        # Penalty, columns and their coefficients.
        self.breakpoints: list[tuple[float, np.ndarray, np.ndarray]] = [(self.alpha, np.empty(0, int), np.empty(0))]
        self._max_steps = 50 * (size + 20)
        if self.alpha > 0:
            self._row_enters(int(np.argmax(np.abs(problem.products))))

    def solution_at(self, alpha: float, after_step: Callable[[], bool] = lambda: False) -> DantzigSolution:
        """The solution for a penalty not above where the walk has come to; ``after_step`` may end it earlier."""
        stopped = False
        while self.alpha > alpha and not stopped:
            if len(self.breakpoints) > self._max_steps:
                raise StuckError
            self._step(alpha)
            stopped = after_step()
        return DantzigSolution(self.coef, self.dual, max(self.alpha, alpha), len(self.breakpoints) - 1)

    def coef_between(self, alpha: float) -> np.ndarray:
        """Coefficients at a penalty that the walk has passed."""
        behind = next((at for at, (passed, *_) in enumerate(self.breakpoints) if passed <= alpha), -1)
        if behind == 0:
            return self.coef_at(0)
        high, low = self.breakpoints[behind - 1][0], self.breakpoints[behind][0]
        before, after = self.coef_at(behind - 1), self.coef_at(behind)
        return before + (high - alpha) / (high - low) * (after - before)

    def coef_at(self, breakpoint: int) -> np.ndarray:
        """Coefficients at a breakpoint, by its number."""
        _, columns, values = self.breakpoints[breakpoint]
        coef = np.zeros(self.coef.size)
        coef[columns] = values
        return coef

    def _step(self, target: float) -> None:
        """Go down to the next breakpoint, or to the target if that comes first."""
        I, J = self.columns, self.rows  # noqa: E741  # the letters of the formulas above
        products = self.problem.products
        factor = self._factor()
        slope = lu_solve(factor, self.row_signs[J])
        fall, fitted = self.problem.combined(np.array([slope, self.coef[I]]), I)
        residuals = products - fitted
        row, row_distance = _first(
            np.where(1 - fall > _STILL, (self.alpha - residuals) / np.maximum(1 - fall, _STILL), np.inf),
            np.where(1 + fall > _STILL, (self.alpha + residuals) / np.maximum(1 + fall, _STILL), np.inf),
            J,
        )
        to_zero = np.full(len(I), np.inf)
        shrinking = slope * self.column_signs[I] < 0
        to_zero[shrinking] = np.abs(self.coef[I][shrinking] / slope[shrinking])
        place = int(np.argmin(to_zero))
        distance = min(row_distance, to_zero[place], self.alpha - target)
        self.alpha = target if distance == self.alpha - target else self.alpha - distance
        self.coef = np.zeros(self.coef.size)
        self.coef[I] = lu_solve(factor, products[J] - self.alpha * self.row_signs[J])
        leaving = I[place]
        if distance == to_zero[place]:
            self.coef[leaving] = 0.0
        self.breakpoints.append((self.alpha, np.array(I), self.coef[I]))
        if self.alpha == target:
            return
        if distance == row_distance:
            self._row_enters(row, np.sign(residuals[row] - distance * fall[row]), factor)
        else:
            right = np.zeros(len(I))
            right[place] = -self.column_signs[leaving]
            I.pop(place)
            self.column_signs[leaving] = 0.0
            direction = np.zeros(self.coef.size)
            direction[J] = lu_solve(factor, right, trans=1)
            self._dual_moves(direction)

    def _row_enters(self, row: int, sign: float | None = None, factor=None) -> None:
        """A row has reached its bound: its dual entry grows."""
        self.row_signs[row] = np.sign(self.problem.products[row]) if sign is None else sign
        direction = np.zeros(self.coef.size)
        if factor is not None:
            direction[self.rows] = -lu_solve(
                factor, self.row_signs[row] * self.problem.block([row], self.columns)[0], trans=1
            )
        direction[row] = self.row_signs[row]
        self.rows.append(row)
        self._dual_moves(direction)

    def _dual_moves(self, direction: np.ndarray) -> None:
        """Move the dual until a column reaches its bound and enters, or an entry reaches zero and its row leaves."""
        J = self.rows
        speed, level = self.problem.combined(np.array([direction[J], self.dual[J]]), J)
        size = np.abs(speed).max(initial=0.0)
        moving = np.abs(speed) > _STILL * size
        column, column_distance = _first(
            np.where(moving & (speed > 0), (1 - level) / np.where(moving, speed, 1.0), np.inf),
            np.where(moving & (speed < 0), (-1 - level) / np.where(moving, speed, 1.0), np.inf),
            self.columns,
        )
        to_zero = np.full(len(J), np.inf)
        shrinking = direction[J] * self.row_signs[J] < 0
        to_zero[shrinking] = np.abs(self.dual[J][shrinking] / direction[J][shrinking])
        place = int(np.argmin(to_zero))
        distance = min(column_distance, to_zero[place])
        if not np.isfinite(distance):
            raise StuckError
        if column_distance <= to_zero[place]:
            self.columns.append(column)
            self.column_signs[column] = np.sign(speed[column])
        else:
            self.row_signs[J.pop(place)] = 0.0
        self.dual = np.zeros(self.dual.size)
        if self.columns:
            self.dual[J] = lu_solve(self._factor(), self.column_signs[self.columns], trans=1)

    def _factor(self):
        """LU factors of ``G_JI``."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            try:
                factor = lu_factor(self.problem.block(self.rows, self.columns))
            except (LinAlgWarning, ValueError) as error:
                raise StuckError from error
        pivots = np.abs(np.diag(factor[0]))
        if pivots.min(initial=np.inf) <= 1e-12 * pivots.max(initial=0.0):
            raise StuckError
        return factor


def _first(upper: np.ndarray, lower: np.ndarray, left_out: list[int]) -> tuple[int, float]:
    """The first to reach either of its bounds, and how far away that is; rounding may put it behind us."""
    distances = np.minimum(upper, lower)
    distances[left_out] = np.inf
    place = int(np.argmin(distances))
    return place, max(float(distances[place]), 0.0)


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
