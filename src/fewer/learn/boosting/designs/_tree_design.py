"""Regression trees, one grown for each learner at each step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from fewer.learn.boosting.base_learners import TreeLearner
from fewer.learn.boosting.base_learners._columns import column_values


@dataclass(frozen=True)
class TreeTerms:
    """What is needed to evaluate sums of trees on other rows."""

    columns: list[tuple[int, ...]]

    def values(self, X: Any, term: int, total: list[tuple[float, Any]]) -> np.ndarray:
        """One term at the rows of X: a sum of trees, each with its step."""
        chosen = column_values(X, self.columns[term]).astype(np.float32)
        values = np.zeros(len(chosen))
        for step, tree in total:
            values += step * tree.tree_.predict(chosen)[:, 0]
        return values

    def linear_part(self, term: int, total: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Trees are not linear."""
        return 0.0, np.empty(0, dtype=int), np.empty(0)

    def n_outside(self, X: Any, term: int) -> int:
        """A tree is constant beyond its last split."""
        return 0


class TreeDesign:
    """The columns of each learner at the training rows."""

    n_moments = 0
    directions = None  # a tree has no fixed basis

    def __init__(
        self, X: Any, learners: list[TreeLearner], columns: list[tuple[int, ...]], weights: np.ndarray, seed: int
    ) -> None:
        self.terms = TreeTerms(columns)
        self._learners, self._weights, self._seed = learners, weights, seed
        self._tables = [column_values(X, chosen).astype(np.float32) for chosen in columns]
        self._grown: list[DecisionTreeRegressor] = []
        self.usable = np.array([bool((np.ptp(table, axis=0) > 0).any()) for table in self._tables])
        self.degrees_of_freedom = np.full(len(learners), np.nan)  # unknown, and not compared

    def moments(self, vectors: Any) -> np.ndarray:
        """None: trees look at u itself."""
        return np.empty((0, *vectors.shape[1:]))

    def gains(self, moments: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Fall of the weighted sum of squares by each learner, whose tree is grown here."""
        self._grown = [
            self._tree(learner, table, u) for learner, table in zip(self._learners, self._tables, strict=True)
        ]
        before = self._weights @ u**2
        return np.array(
            [before - self._weights @ (u - self.values(term, tree)) ** 2 for term, tree in enumerate(self._grown)]
        )

    def _tree(self, learner: TreeLearner, table: np.ndarray, u: np.ndarray) -> DecisionTreeRegressor:
        tree = DecisionTreeRegressor(
            max_depth=learner.max_depth,
            min_samples_split=learner.min_samples_split,
            min_samples_leaf=learner.min_samples_leaf,
            random_state=self._seed,
        )
        return tree.fit(table, u, sample_weight=self._weights, check_input=False)

    def coefficients(self, term: int, moments: np.ndarray, u: np.ndarray) -> DecisionTreeRegressor:
        """The tree that was just grown."""
        return self._grown[term]

    def values(self, term: int, coefficients: DecisionTreeRegressor) -> np.ndarray:
        """The tree at the training rows."""
        return coefficients.tree_.predict(self._tables[term])[:, 0]
