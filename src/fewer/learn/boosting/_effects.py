"""What one learner adds to the prediction, over the range of its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer.learn.boosting.base_learners._columns import column_values
from fewer.learn.boosting.designs import FittedLearners


@dataclass(frozen=True, repr=False)
class PartialEffect:
    """What one learner adds to the prediction; made by ``partial_effects`` of a boosted model.

    Attributes
    ----------
    name : str
        The learner.
    learner : int
        Its place among the learners.
    columns : tuple of str
        Its columns.
    points : tuple of ndarray
        Values of each column at which the effect is given.
    effect : ndarray of shape (n_points,) or (n_points, n_points)
        What it adds; for two columns, the first runs along the rows.
    """

    name: str
    learner: int
    columns: tuple[str, ...]
    points: tuple[np.ndarray, ...]
    effect: np.ndarray

    def __repr__(self) -> str:
        ranges = " and ".join(
            f"{column} from {values[0]:.3g} to {values[-1]:.3g}"
            for column, values in zip(self.columns, self.points, strict=True)
        )
        return f"PartialEffect({self.name}: adds {self.effect.min():.3g} to {self.effect.max():.3g}, for {ranges})"


class _FewColumns:
    """A table of which only some columns are known, for learners that ask for no others."""

    def __init__(self, values: np.ndarray, columns: Sequence[int]) -> None:
        self._values = values
        self._place = {column: place for place, column in enumerate(columns)}

    def __getitem__(self, key: tuple[slice, Sequence[int]]) -> np.ndarray:
        return self._values[:, [self._place[int(column)] for column in key[1]]]


def partial_effect(
    learners: FittedLearners, learner: int, total: Any, X: Any, names: Sequence[str], n_points: int
) -> PartialEffect:
    """The effect of one learner on one or two columns, between their extremes in X."""
    columns = learners.columns[learner]
    seen = column_values(X, columns)
    points = tuple(_points(seen[:, place], n_points) for place in range(len(columns)))
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*points, indexing="ij")], axis=1)
    effect = learners.values(_FewColumns(grid, columns), learner, total)
    shown = tuple(str(names[column]) for column in columns)
    return PartialEffect(
        learners.names[learner], learner, shown, points, effect.reshape([len(axis) for axis in points])
    )


def _points(values: np.ndarray, n_points: int) -> np.ndarray:
    """The distinct values where they are few, and equally spaced ones otherwise."""
    distinct = np.unique(values)
    return distinct if len(distinct) <= min(n_points, 12) else np.linspace(distinct[0], distinct[-1], n_points)
