"""Which gamma: learners that differ in it alone meet the same rows, and as the steps double, the worst drops out.

A row is predicted before it is learnt from, so that its loss is that of a new row: progressive validation. Those
left behind cost nothing any more, and a long stream is soon followed by one learner.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer.learn.online._dense_learners import DenseLearner
from fewer.learn.online._lazy_learner import LazyLearner
from fewer.learn.online._recipe import Recipe

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
