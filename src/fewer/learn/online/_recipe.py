"""What an online learner minimises, and what the estimators ask of it."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fewer._kernels._dual_averaging import HINGE, LOG, SQUARED

LOSSES = {"log": LOG, "hinge": HINGE, "squared": SQUARED}
N_MEASURED = 100
"""Rows from which gamma is taken when it is not given."""


@dataclass(frozen=True)
class Recipe:
    """The mean loss of the rows, a penalty, and the free choices of the method: parameters of the estimators."""

    loss: str
    penalty: str
    alpha: float
    l2: float
    radius: float
    gamma: float | None
    rho: float
    p_norm: float
    batch_size: int
    fit_intercept: bool
    output: str

    @property
    def price(self) -> float:
        """Threshold of the average gradient, lambda."""
        return float(self.alpha) if self.penalty in ("l1", "l1l2") else 0.0

    @property
    def curvature(self) -> float:
        """How strongly convex the penalty is, sigma."""
        return float(self.l2) if self.penalty in ("l2", "l1l2") else 0.0

    @property
    def code(self) -> int:
        return LOSSES[self.loss]

    def penalty_of(self, weights: np.ndarray) -> float:
        """The price of these weights, of which the intercept is free."""
        priced = weights[:-1] if self.fit_intercept else weights
        return float(self.price * np.abs(priced).sum() + self.curvature / 2 * (priced @ priced))


class Learner(Protocol):
    """One linear model that learns from rows as they come.

    It keeps sums over the steps made and nothing of the rows, so that going on later is the same as never having
    stopped. Weights have the intercept at the end, if there is one.
    """

    @property
    def recipe(self) -> Recipe:
        """What it minimises."""

    @property
    def t(self) -> int:
        """Steps made."""

    @property
    def gamma(self) -> float:
        """How slowly its weights move."""

    def learn(self, X: Any, y: np.ndarray, order: np.ndarray) -> None:
        """Meet these rows of X in this order, a batch for each step."""

    @property
    def mean_gradient(self) -> np.ndarray:
        """The dual average."""

    @property
    def weights(self) -> np.ndarray:
        """With which the next row is met."""

    @property
    def average(self) -> np.ndarray:
        """Mean of the weights over the steps; for those whose recipe asks for it."""
