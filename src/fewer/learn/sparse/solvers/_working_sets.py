"""Rounds on working sets: the columns in the model and those that violate optimality most, then a look at all again."""

import numpy as np

from fewer._kernels._l1_quadratic import optimality_gaps
from fewer.learn.sparse.solvers._kept_gram import KeptGram
from fewer.learn.sparse.solvers._newton_steps import newton_steps
from fewer.learn.sparse.solvers._standing import Standing

MAX_ROUNDS, MAX_STEPS = 1000, 50


class Candidates:
    """Columns that may come in, with their slopes and how far each is from optimal; None stands for all columns.

    All coefficients that are not zero are among them.
    """

    def __init__(self, standing: Standing, slopes: np.ndarray, columns: np.ndarray | None = None):
        self.standing, self.slopes, self.columns = standing, slopes, columns
        penalties = standing.problem.penalties
        self.penalties = penalties if columns is None else penalties[columns]
        self.gaps = np.empty_like(slopes)
        self._measure()

    def _coefficients(self) -> np.ndarray:
        return self.standing.w if self.columns is None else self.standing.w[self.columns]

    def _measure(self) -> None:
        self.total, self.largest = optimality_gaps(self.slopes, self._coefficients(), self.penalties, self.gaps)

    def look(self) -> None:
        """Bring slopes and gaps to where the minimisation stands."""
        problem = self.standing.problem
        problem.table.products(self.standing.first, self.slopes, self.columns)
        problem.add_ridge(self.slopes, self._coefficients(), self.columns)
        self._measure()

    def working_set(self, size: int) -> np.ndarray:
        """Places of the columns in the model, and of the others that violate most; together about ``size``."""
        inside = (self._coefficients() != 0.0) | (self.penalties == 0.0)
        violating = np.flatnonzero(~inside & (self.gaps > 0.0))
        n_wanted = max(size - int(np.count_nonzero(inside)), size // 2)
        if violating.size > n_wanted:
            violating = violating[np.argpartition(-self.gaps[violating], n_wanted)[:n_wanted]]
        inside[violating] = True
        return np.flatnonzero(inside)

    def round(self, size: int, share: float, tol: float, max_steps: int, kept: KeptGram) -> tuple[int, bool]:
        """Newton steps on a working set, and a look at all candidates.

        At least ``share`` of the violating columns are taken, and at least ``size`` columns in all where there are as
        many. Returns the next size, and whether nothing more can be gained in this arithmetic.
        """
        standing = self.standing
        n_violating = int(np.count_nonzero(self.gaps > 0.0))
        size = max(size, int(n_violating * share))
        places = self.working_set(size)
        columns = places if self.columns is None else self.columns[places]
        before, value_before = self.total, standing.objective
        newton_steps(standing, columns, self.slopes[places], max(0.1 * self.total, 0.3 * tol), max_steps, kept)
        self.look()
        # Where the objective shows no more difference, the violations still may.
        stuck = (
            value_before - standing.objective <= 1e-15 * abs(value_before)
            and self.total > 0.7 * before
            and places.size >= min(size, n_violating)
        )
        return max(size, 2 * places.size), stuck

    def rounds(self, tol: float, kept: KeptGram) -> None:
        """Rounds until no gap exceeds ``tol``."""
        size = first_size(self._coefficients())
        for _ in range(MAX_ROUNDS):
            if self.largest <= tol:
                return
            size, stuck = self.round(size, 1.0, tol * self.total / self.largest, MAX_STEPS, kept)
            if stuck:
                return


def first_size(coefficients: np.ndarray) -> int:
    """How many columns the first working set may have."""
    return 64 + 2 * int(np.count_nonzero(coefficients))
