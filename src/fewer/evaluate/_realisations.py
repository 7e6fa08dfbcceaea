"""Many fits of one learner, each on its own rows and scored on the rows held out."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from fewer.evaluate._checked_table import rows_of
from fewer.evaluate._outer_folds import Fold
from fewer.evaluate._selection_inside import is_search


class Table(NamedTuple):
    """What all realisations share."""

    X: Any
    y: np.ndarray
    groups: np.ndarray | None
    scoring: Any


def fitted_on(estimator: Any, table: Table, rows: np.ndarray | None, seed: int) -> Any:
    """The estimator, fitted on some rows or all; what draws in it, and has no seed yet, draws by ``seed``."""
    estimator = seeded(estimator, seed)
    X, y = (table.X, table.y) if rows is None else (rows_of(table.X, rows), table.y[rows])
    if table.groups is not None and is_search(estimator):
        return estimator.fit(X, y, groups=table.groups if rows is None else table.groups[rows])
    return estimator.fit(X, y)


def score_on(fitted: Any, table: Table, rows: np.ndarray) -> float:
    from sklearn.metrics import check_scoring

    return float(check_scoring(fitted, scoring=table.scoring)(fitted, rows_of(table.X, rows), table.y[rows]))


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every unset ``random_state`` is set, those of splitters included."""
    from sklearn.base import clone

    estimator = clone(estimator)
    changes: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=True).items():
        if name.split("__")[-1] == "random_state" and value is None:
            changes[name] = seed
        elif hasattr(value, "split") and getattr(value, "random_state", 0) is None and getattr(value, "shuffle", True):
            changes[name] = copy(value)
            changes[name].random_state = seed
    return estimator.set_params(**changes) if changes else estimator


def all_folds(repeats: list[list[Fold]]) -> list[tuple[int, int, Fold]]:
    """(repeat, number, fold) for every fold of every repeat."""
    return [(repeat, number, fold) for repeat, folds in enumerate(repeats) for number, fold in enumerate(folds)]
