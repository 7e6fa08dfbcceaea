"""Steps made on some rows, and their risk on others."""

from typing import Any

import numpy as np
from scipy import sparse

from fewer.learn.boosting._boost import Booster
from fewer.learn.boosting._componentwise_boosting import Training
from fewer.learn.boosting.designs import FittedLearners
from fewer.learn.boosting.families import Family


def risks_and_selections(
    model: Any,
    X: Any,
    targets: list[np.ndarray],
    weights_inside: np.ndarray,
    weights_outside: np.ndarray,
    inside: np.ndarray,
    outside: np.ndarray,
    steps: np.ndarray,
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
    """Risk outside after each number of steps (the mean over paths), learners of the steps by path, and their names."""
    family = model._family()
    ready = model._prepared(Training(X[inside], [], weights_inside, seed=0))
    X_outside = sparse.csc_array(X[outside]) if sparse.issparse(X) else X[outside]
    columns = _OutsideColumns(ready.learners, X_outside)
    risks, selections = [], []
    for target in targets:
        booster = Booster.started(
            ready, family, target[inside], weights_inside, learning_rate=model.learning_rate, offset=model.offset
        )
        risks.append(_staged_risk(booster, family, target[outside], weights_outside, columns, steps))
        selections.append(np.array(booster.steps.selected, dtype=int))
    return np.mean(risks, axis=0), selections, ready.learners.names


class _OutsideColumns:
    """Evaluates learners at the rows outside; a learner is often taken again, so its basis is kept."""

    def __init__(self, learners: FittedLearners, X: Any) -> None:
        self._learners, self._X = learners, X
        self._bases: dict[int, Any] = {}
        self.n_rows = X.shape[0]

    def values(self, learner: int, total: Any) -> np.ndarray:
        if not isinstance(total, np.ndarray):
            return self._learners.values(self._X, learner, total)
        if learner not in self._bases:
            unit = np.eye(len(total))
            self._bases[learner] = np.column_stack([self._learners.values(self._X, learner, one) for one in unit])
        return self._bases[learner] @ total


def _staged_risk(
    booster: Booster,
    family: Family,
    y: np.ndarray,
    weights: np.ndarray,
    columns: _OutsideColumns,
    grid: np.ndarray,
) -> np.ndarray:
    """Risk after each number of steps of the grid; where no more steps can be made, it stays."""
    steps = booster.steps
    margin = np.full(columns.n_rows, steps.offset)
    risks = np.empty(len(grid))
    reached = 0
    for place, n_iter in enumerate(grid):
        while reached < n_iter and booster.advance():
            margin += columns.values(steps.selected[reached], steps.step_total(reached))
            reached += 1
        risks[place] = family.risk(y, margin, weights, steps.nuisances[reached])
    return risks
