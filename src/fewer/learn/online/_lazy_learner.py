"""A learner whose steps cost the entries stored in their rows, however many columns there are."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from fewer._kernels._dual_averaging import Rule, average_weights, lazy_pass, weights_of
from fewer._kernels._read_only import read_only
from fewer.learn.online._recipe import N_MEASURED, Recipe


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
