"""Learners whose weights depend on all gradients together; a step costs the number of columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from fewer._kernels._dual_averaging import row_losses, row_slopes, safe_gamma
from fewer.learn.online._dual_averaging import l1_ball_weights, nearest_in_l1_ball, p_norm_weights, soft_threshold
from fewer.learn.online._recipe import N_MEASURED, Recipe

# Bounds of the second derivatives. The hinge has a kink, and none.
CURVATURES = {"log": 0.25, "squared": 2.0}


@dataclass(frozen=True)
class Batch:
    """The rows of one step."""

    X: Any
    y: np.ndarray
    fit_intercept: bool

    def predictions(self, weights: np.ndarray) -> np.ndarray:
        inner = self.X @ weights[: self.X.shape[1]]
        return np.asarray(inner + weights[-1] if self.fit_intercept else inner, dtype=np.float64)

    def mean_loss(self, loss: int, weights: np.ndarray) -> float:
        """Mean loss of the rows with these weights."""
        return float(row_losses(loss, self.y, self.predictions(weights)).mean())

    def mean_gradient(self, loss: int, weights: np.ndarray) -> np.ndarray:
        """Mean gradient of the rows' losses at these weights."""
        slopes = row_slopes(loss, self.y, self.predictions(weights)) / len(self.y)
        gradient = self.X.T @ slopes
        return np.append(gradient, slopes.sum()) if self.fit_intercept else np.asarray(gradient, dtype=np.float64)

    @property
    def squared_lengths(self) -> np.ndarray:
        """Of the rows, with the 1 of the intercept."""
        squares = self.X.multiply(self.X).sum(axis=1) if sparse.issparse(self.X) else (self.X**2).sum(axis=1)
        return np.asarray(squares, dtype=np.float64).ravel() + self.fit_intercept


def batches(X: Any, y: np.ndarray, order: np.ndarray, recipe: Recipe) -> Iterator[Batch]:
    """The rows in this order, those of one step at a time."""
    for start in range(0, len(order), recipe.batch_size):
        chosen = order[start : start + recipe.batch_size]
        everything = len(chosen) == X.shape[0]  # then the order within does not matter, and no copy is needed
        yield Batch(X if everything else X[chosen], y if everything else y[chosen], recipe.fit_intercept)


@dataclass
class DenseLearner:
    """Weights in an l1 ball, or with the distance of a p-norm."""

    recipe: Recipe
    size: int
    share: float = 1.0
    judged: bool = False
    lost: float = 0.0
    t: int = 0
    n_rows: int = 0
    gamma: float = field(init=False)
    sums: np.ndarray = field(init=False)
    weights: np.ndarray = field(init=False)
    weight_sums: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.gamma = float(self.recipe.gamma or 0)
        self.sums, self.weights, self.weight_sums = (np.zeros(self.size) for _ in range(3))

    @np.errstate(over="ignore", invalid="ignore")  # weights that run away are told of when all rows are met
    def learn(self, X: Any, y: np.ndarray, order: np.ndarray) -> None:
        for batch in batches(X, y, order, self.recipe):
            self.weight_sums += self.weights
            self.sums += batch.mean_gradient(self.recipe.code, self.weights)
            if self.judged:
                self.lost += (self.t + 1) * len(batch.y) * batch.mean_loss(self.recipe.code, self.weights)
            self.gamma = grown_gamma(self, batch, self.share)
            self.t += 1
            self.n_rows += len(batch.y)
            if self.gamma > 0:
                self.weights = self._minimum()

    def _minimum(self) -> np.ndarray:
        recipe, t, gamma = self.recipe, self.t, self.gamma
        columns, intercept = np.split(self.mean_gradient, [self.size - recipe.fit_intercept])
        if recipe.penalty == "l1_ball":
            weights = l1_ball_weights(columns, t, gamma, recipe.radius)
        else:
            weights = p_norm_weights(columns, t, recipe.price, gamma, recipe.p_norm, recipe.rho)
        return np.append(weights, -(sqrt(t) / gamma) * intercept)

    @property
    def mean_gradient(self) -> np.ndarray:
        return self.sums / max(self.t, 1)

    @property
    def average(self) -> np.ndarray:
        return self.weight_sums / max(self.t, 1)


@dataclass
class AcceleratedLearner:
    """Weights by accelerated dual averaging, for losses without kinks.

    ``v_t = argmin_w <gbar_t, w> + Psi(w) + (L + gamma (t+1)^1.5 / 2) ||w||^2 / (2 A_t)``, ``A_t = t (t+1) / 4``, where
    ``gbar_t`` weighs later gradients more and they are taken between the weights and ``v``; the weights are a mean of
    the ``v``. ``smoothness`` is L, the largest Lipschitz constant of the gradient that a batch has shown.

    Where every batch is the whole table, gradients are exact: L is that of the table, and gamma need not grow.
    """

    recipe: Recipe
    size: int
    whole_table: bool = False
    t: int = 0
    n_rows: int = 0
    smoothness: float = 0.0
    gamma: float = field(init=False)
    mean_gradient: np.ndarray = field(init=False)
    minimum: np.ndarray = field(init=False)
    weights: np.ndarray = field(init=False)
    weight_sums: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.gamma = float(self.recipe.gamma or 0)
        self.mean_gradient, self.minimum, self.weights, self.weight_sums = (np.zeros(self.size) for _ in range(4))

    def learn(self, X: Any, y: np.ndarray, order: np.ndarray) -> None:
        curvature = CURVATURES[self.recipe.loss]
        if self.whole_table and self.t == 0:
            self.smoothness = curvature * largest_mean_square(X, self.recipe.fit_intercept)
        for batch in batches(X, y, order, self.recipe):
            if not self.whole_table:
                self.smoothness = max(self.smoothness, curvature * batch.squared_lengths.mean())
                self.gamma = grown_gamma(self, batch)
            self._step(batch)
            self.n_rows += len(batch.y)

    def _step(self, batch: Batch) -> None:
        self.t += 1
        share = 2 / (self.t + 1)
        between = (1 - share) * self.weights + share * self.minimum
        gradient = batch.mean_gradient(self.recipe.code, between)
        self.mean_gradient = (1 - share) * self.mean_gradient + share * gradient
        self.minimum = self._minimum()
        self.weights = (1 - share) * self.weights + share * self.minimum
        self.weight_sums += self.weights

    def _minimum(self) -> np.ndarray:
        recipe, t = self.recipe, self.t
        # A mean over the rows of a batch varies less than a row.
        gamma = self.gamma if recipe.gamma is not None else self.gamma / sqrt(recipe.batch_size)
        hold = (self.smoothness + gamma * (t + 1) ** 1.5 / 2) / (t * (t + 1) / 4)
        if hold == 0:  # all rows so far were empty
            return self.minimum
        columns, intercept = np.split(self.mean_gradient, [self.size - recipe.fit_intercept])
        if recipe.penalty == "l1_ball":
            weights = nearest_in_l1_ball(-columns / hold, recipe.radius)
        else:
            weights = -soft_threshold(columns, recipe.price) / (recipe.curvature + hold)
        return np.append(weights, -intercept / hold)

    @property
    def average(self) -> np.ndarray:
        return self.weight_sums / max(self.t, 1)


def grown_gamma(learner: DenseLearner | AcceleratedLearner, batch: Batch, share: float = 1.0) -> float:
    """Gamma after another batch: what it was, or a share of what those of its rows that are measured ask for."""
    n_to_measure = max(N_MEASURED - learner.n_rows, 0)
    if learner.recipe.gamma is not None or n_to_measure == 0:
        return learner.gamma
    return max(learner.gamma, share * safe_gamma(learner.recipe.code, batch.squared_lengths[:n_to_measure].max()))


def largest_mean_square(X: Any, fit_intercept: bool) -> float:
    """The largest ``||X w||^2 / n`` of a unit vector, or a little more; with an intercept, X has a column of ones."""
    if sparse.issparse(X) and min(X.shape) > 1:
        start = np.random.default_rng(0).normal(size=min(X.shape))
        singular = svds(X.astype(np.float64), k=1, v0=start, return_singular_vectors=False)[0] * (1 + 1e-6)
    else:
        singular = np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2)
    return float(singular**2 / X.shape[0] + fit_intercept)
