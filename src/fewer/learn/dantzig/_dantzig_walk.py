"""All Dantzig selectors, from the largest penalty down, by the parametric simplex method.

Between breakpoints the columns ``I`` with a coefficient and the rows ``J`` at their bound stay the same, and

    G_JI b_I = c_J - alpha z_J,      G_IJ m_J = s_I,

with the signs ``z`` of the rows and ``s`` of the columns. So coefficients are straight lines in alpha, and the dual is
constant. At a breakpoint a row reaches its bound or a coefficient reaches zero; the dual then moves until a column
reaches its bound or a dual entry reaches zero, and the two sets are of one size again.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

from fewer.learn.dantzig._dantzig_problem import DantzigProblem, DantzigSolution

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
