"""What a solver returns, and when it may stop."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewer.learn.sparse._duality import duality_gap
from fewer.learn.sparse._problem import L1Problem

OnIteration = Callable[[np.ndarray, np.ndarray], bool]


class Solution(NamedTuple):
    coefficients: np.ndarray
    predictions: np.ndarray
    objective: float
    gap: float
    violation: float
    n_iter: int
    converged: bool


class Goal:
    """A duality gap to come down to, looked at when the sub-gradients have become small enough to expect it.

    Near the minimum the gap falls with the sum of absolute sub-gradients, at most with its square; ``look_at`` is the
    sum with which the square would reach the goal.
    """

    def __init__(self, problem: L1Problem, tol: float):
        self.problem, self.tol = problem, tol
        self.gap = np.inf
        self.look_at = max(problem.null_violation, 1.0) * self._share(problem.null_objective)

    def _share(self, gap: float) -> float:
        return 0.5 if gap <= 0.0 else min(0.5, float(np.sqrt(self.tol / gap)))

    def reached(
        self,
        w: np.ndarray,
        z: np.ndarray,
        gradient: np.ndarray,
        violation: float,
        objective: float | None = None,
    ) -> bool:
        """Whether the gap is there."""
        if violation > self.look_at:
            return False
        self.gap = duality_gap(self.problem, w, z, objective=objective, gradient=gradient)
        self.look_at = self._share(self.gap) * violation
        return self.gap <= self.tol

    def reached_from(self, w: np.ndarray, z: np.ndarray) -> bool:
        """The same for a solver without gradient and sub-gradients at hand."""
        gradient = self.problem.gradient(w, z)
        return self.reached(w, z, gradient, self.problem.violation(w, gradient))

    def solution(self, w: np.ndarray, z: np.ndarray, n_iter: int, gradient: np.ndarray | None = None) -> Solution:
        """What there is at the end, with its gap."""
        gradient = self.problem.gradient(w, z) if gradient is None else gradient
        objective = self.problem.objective(w, z)
        if self.gap > self.tol:
            self.gap = duality_gap(self.problem, w, z, objective=objective, gradient=gradient)
        violation = self.problem.violation(w, gradient)
        return Solution(w, z, objective, self.gap, violation, n_iter, self.gap <= self.tol)


def go_on(coefficients: np.ndarray, predictions: np.ndarray) -> bool:
    """The ``on_iteration`` of somebody who only wants the end."""
    return False
