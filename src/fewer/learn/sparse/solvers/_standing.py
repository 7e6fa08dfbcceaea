"""Where a minimisation stands: coefficients, and the rows' predictions, losses and derivatives, kept together."""

import numpy as np

from fewer._kernels._margin_losses import loss_and_derivatives
from fewer.learn.sparse._problem import L1Problem


class Standing:
    """Coefficients ``w``, predictions ``z = X w``, the total loss, and its first and second derivatives in ``z``."""

    def __init__(self, problem: L1Problem, w: np.ndarray):
        self.problem, self.w = problem, w.copy()
        self.weights = problem.weights.copy()
        self.z = problem.predictions(w)
        self.first, self.second = np.empty_like(self.z), np.empty_like(self.z)
        self._spare = np.empty_like(self.z), np.empty_like(self.z), np.empty_like(self.z)
        self.loss = loss_and_derivatives(problem.code, problem.y, self.weights, self.z, self.first, self.second)
        self.penalty = problem.penalty(self.w)

    @property
    def objective(self) -> float:
        return self.loss + self.penalty

    def scale(self, factor: float) -> None:
        """Multiply the loss."""
        for values in (self.weights, self.first, self.second):
            values *= factor
        self.loss *= factor

    def loss_along(self, share: float, direction: np.ndarray) -> float:
        """The loss at ``z + share direction``; :meth:`go` goes there."""
        z, first, second = self._spare
        np.multiply(direction, share, out=z)
        z += self.z
        self._loss_there = loss_and_derivatives(self.problem.code, self.problem.y, self.weights, z, first, second)
        return self._loss_there

    def go(self, columns: np.ndarray, coefficients: np.ndarray, penalty: float) -> None:
        """Go to where the loss was last asked for; these columns have these coefficients there."""
        self.w[columns], self.penalty = coefficients, penalty
        here = self.z, self.first, self.second
        self.z, self.first, self.second = self._spare
        self._spare = here
        self.loss = self._loss_there
