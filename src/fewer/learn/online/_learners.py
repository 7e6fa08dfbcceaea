"""Linear models that learn from rows as they come, by regularised dual averaging.

After ``t`` rows, ``w_{t+1} = argmin_w <gbar_t, w> + Psi(w) + (beta_t / t) h(w)``, with ``gbar_t`` the mean of the
gradients of the losses of ``t`` rows, ``Psi`` the penalty, and ``h`` a distance to the weights of the start. The
functions named after weights are this minimum for one choice of ``Psi``, ``h`` and ``beta_t``, in closed form.

A step of a dense learner costs the number of columns, one of a lazy learner the entries stored in its rows. Where gamma
is not given, learners that differ in it alone meet the same rows, and as the steps double, the worst drops out. A row
is predicted before it is learnt from, so that its loss is that of a new row: progressive validation.

Xiao, L. (2010). Dual averaging methods for regularized stochastic learning and online optimization. JMLR 11, 2543-2596.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import softmax

from fewer._kernels._arrays import read_only
from fewer._kernels._dual_averaging import (
    HINGE,
    LOG,
    SQUARED,
    Rule,
    average_weights,
    lazy_pass,
    row_losses,
    row_slopes,
    safe_gamma,
    weights_of,
)
from fewer._kernels._scipy_solvers import svds


def soft_threshold(values: np.ndarray, threshold: float) -> np.ndarray:
    """``sgn(v) max(|v| - threshold, 0)``, entry by entry."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


def l1_weights(mean: np.ndarray, t: int, alpha: float, gamma: float, rho: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1``, ``h = ||w||^2/2 + rho ||w||_1``, ``beta_t = gamma sqrt(t)``.

    >>> l1_weights(np.array([-0.5, 0.02, 0.2]), t=4, alpha=0.1, gamma=2.0)
    array([ 0.4, -0. , -0.1])
    """
    return -(sqrt(t) / gamma) * soft_threshold(mean, alpha + gamma * rho / sqrt(t))


def strongly_convex_weights(mean: np.ndarray, sigma: float, alpha: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1 + sigma ||w||^2/2``, ``beta_t = 0``: the penalty alone holds the weights."""
    return -soft_threshold(mean, alpha) / sigma


def l1_ball_weights(mean: np.ndarray, t: int, gamma: float, radius: float) -> np.ndarray:
    """Weights with ``||w||_1 <= radius``, ``h = ||w||^2/2``, ``beta_t = gamma sqrt(t)``."""
    return nearest_in_l1_ball(-(sqrt(t) / gamma) * mean, radius)


def nearest_in_l1_ball(values: np.ndarray, radius: float) -> np.ndarray:
    """The point with ``||w||_1 <= radius`` that is nearest, by sorting.

    >>> nearest_in_l1_ball(np.array([3.0, -1.0, 0.5]), 2.0)
    array([ 2., -0.,  0.])
    """
    sizes = np.abs(values)
    if sizes.sum() <= radius:
        return values.copy()
    ordered = np.sort(sizes)[::-1]
    excess = (np.cumsum(ordered) - radius) / np.arange(1, len(ordered) + 1)
    threshold = excess[np.flatnonzero(ordered > excess)[-1]]
    return soft_threshold(values, threshold)


def p_norm_weights(mean: np.ndarray, t: int, alpha: float, gamma: float, p_norm: float, rho: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1``, ``h = ||w||_p^2 / (2 (p - 1)) + rho ||w||_1``, ``beta_t = gamma sqrt(t)``.

    With ``p = 2`` they are :func:`l1_weights`. Near 1 it suits many dense columns of which few matter; see
    :func:`sparse_truth_norm`.
    """
    shrunk = -((p_norm - 1) * sqrt(t) / gamma) * soft_threshold(mean, alpha + gamma * rho / sqrt(t))
    largest = np.abs(shrunk).max(initial=0.0)
    if largest == 0.0:
        return np.zeros_like(shrunk)
    # q is large when p is near 1: shares of the largest entry can be raised to it, the entries themselves cannot.
    q = p_norm / (p_norm - 1)
    shares = np.abs(shrunk) / largest
    norm_of_shares = (shares**q).sum() ** (1 / q)
    return np.sign(shrunk) * largest * norm_of_shares * (shares / norm_of_shares) ** (q - 1)


def sparse_truth_norm(n_features: int) -> float:
    """The ``p`` that theory suggests for dense columns of which few matter, ``ln n / (ln n - 1)``, at most 2.

    >>> round(sparse_truth_norm(10_000), 3)
    1.122
    """
    logarithm = np.log(n_features)
    return float(logarithm / (logarithm - 1)) if logarithm > 2 else 2.0


def simplex_weights(mean: np.ndarray, t: int, gamma: float) -> np.ndarray:
    """Weights that are shares of one, ``h`` their negative entropy, ``beta_t = gamma sqrt(t)``.

    >>> simplex_weights(np.array([0.0, 0.0, np.log(2)]), t=1, gamma=1.0)
    array([0.4, 0.4, 0.2])
    """
    return softmax(-(sqrt(t) / gamma) * mean)


def near_prior_weights(mean: np.ndarray, sigma: float, prior: np.ndarray) -> np.ndarray:
    """Shares of one with the penalty ``sigma KL(w || prior)``, ``beta_t = 0``."""
    with np.errstate(divide="ignore"):  # what the prior rules out stays out
        return softmax(np.log(prior) - mean / sigma)


LOSSES = {"log": LOG, "hinge": HINGE, "squared": SQUARED}
N_MEASURED = 100
"""Rows from which gamma is taken when it is not given."""


@dataclass(frozen=True)
class Recipe:
    """The mean loss of the rows, a penalty, and the free choices of the method: parameters of the estimators."""

    loss: str
    penalty: str
    alpha: float
    alpha_l2: float
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
        return float(self.alpha_l2) if self.penalty in ("l2", "l1l2") else 0.0

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


@dataclass
class LazyLearner:
    """Weights that depend on their own sum of gradients only: the penalties l1, l1l2, l2 and none."""

    recipe: Recipe
    size: int
    share: float = 1.0
    judged: bool = False
    lost: float = 0.0
    t: int = 0
    n_rows: int = 0
    gamma: float = field(init=False)
    sums: np.ndarray = field(init=False)
    weight_sums: np.ndarray = field(init=False)
    counted_to: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.gamma = float(self.recipe.gamma or 0)
        self.sums = np.zeros(self.size)
        averaged = self.size if self.recipe.output == "average" else 0
        self.weight_sums, self.counted_to = np.zeros(averaged), np.zeros(averaged, dtype=np.int64)

    @property
    def rule(self) -> Rule:
        recipe = self.recipe
        return Rule(recipe.curvature == 0, recipe.price, float(recipe.rho), recipe.curvature)

    def learn(self, X: Any, y: np.ndarray, order: np.ndarray) -> None:
        recipe = self.recipe
        rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else read_only(X)
        to_measure = max(N_MEASURED - self.n_rows, 0) if recipe.gamma is None else 0
        self.t, self.gamma, lost = lazy_pass(
            rows, order, read_only(y), recipe.batch_size, recipe.code, self.rule, recipe.fit_intercept,
            self.sums, self.weight_sums, self.counted_to, self.t, self.gamma, to_measure,
            self.share, self.judged,
        )  # fmt: skip
        self.lost += lost
        self.n_rows += len(order)

    @property
    def mean_gradient(self) -> np.ndarray:
        return self.sums / max(self.t, 1)

    @property
    def weights(self) -> np.ndarray:
        return weights_of(self.sums, self.rule, self.gamma, self.t, self.recipe.fit_intercept)

    @property
    def average(self) -> np.ndarray:
        return average_weights(
            self.sums, self.weight_sums, self.counted_to, self.t, self.rule, self.gamma, self.recipe.fit_intercept
        )


SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""Of the gamma that is safe, in the race."""
FIRST_CUT = 200
"""Steps after which the first learner drops out; the next do after twice, four times ... as many."""


@dataclass
class GammaRace:
    """One learner out of several, by their losses on rows that they had yet to meet."""

    learners: list[LazyLearner | DenseLearner]
    next_cut: int = FIRST_CUT

    def learn(self, X: Any, y: np.ndarray, order: np.ndarray) -> None:
        batch_size = self.recipe.batch_size
        while len(self.learners) > 1 and len(order) > 0:
            until_cut = (self.next_cut - self.t) * batch_size
            part, order = order[:until_cut], order[until_cut:]
            for learner in self.learners:
                learner.learn(X, y, part)
            if self.t == self.next_cut:
                self._drop_the_worst()
        if len(order) > 0:
            self.leader.learn(X, y, order)

    def _drop_the_worst(self) -> None:
        self.learners.pop(len(self.learners) - 1 - int(np.argmax(_losses(self.learners)[::-1])))
        self.next_cut *= 2
        if len(self.learners) == 1:
            self.end()

    def end(self) -> None:
        """Leave the leader alone in the race: rows that come a second time judge nothing."""
        self.leader.judged = False
        self.learners = [self.leader]

    @property
    def leader(self) -> LazyLearner | DenseLearner:
        """The best so far; of equal ones that with the larger gamma, which is the safer."""
        return self.learners[int(np.argmin(_losses(self.learners)))]

    @property
    def recipe(self) -> Recipe:
        return self.learners[0].recipe

    @property
    def t(self) -> int:
        return self.learners[0].t

    @property
    def gamma(self) -> float:
        return self.leader.gamma

    @property
    def mean_gradient(self) -> np.ndarray:
        return self.leader.mean_gradient

    @property
    def weights(self) -> np.ndarray:
        return self.leader.weights

    @property
    def average(self) -> np.ndarray:
        return self.leader.average


def _losses(learners: list[Any]) -> np.ndarray:
    """What each lost; weights that overflowed lost all."""
    return np.nan_to_num([learner.lost for learner in learners], nan=np.inf, posinf=np.inf)
