"""Backward elimination by approximate Markov blankets: drop the column that tells least beyond its nearest others.

The blanket M of column i are the K columns j left with the least ``I(class; i | j)``: those beside which i tells least
about the class. The column with the least ``I(class; i | M)`` goes, blankets that held it are filled up, and so on.
I(class; i | M) is the expected Kullback-Leibler divergence between the class distributions with and without column i,
given M.

Koller, D. and Sahami, M. (1996). Toward optimal feature selection. ICML, 284-292.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewer._kernels._shortlists import note_pairs
from fewer.select._information import ROUNDING, Information, conditional_information, joint_levels

# Candidates for a blanket beyond its size that are remembered, so that few have to be looked for again.
_RESERVE = 12


class Elimination(NamedTuple):
    """Columns in order of removal, what each tells (or told, when removed) beyond its blanket, and which are left."""

    removed: list[int]
    losses: np.ndarray
    left: np.ndarray


class _Blankets:
    """For each column, the columns left beside which it tells least about the class."""

    def __init__(self, information: Information, classes: np.ndarray, size: int):
        self._information = information
        self._classes = classes
        self._n_columns = information.table.n_columns
        self._size = size
        self.there = np.ones(self._n_columns, dtype=bool)
        self._with_class = information.joint_entropies(classes) - information.entropies
        length = min(size + _RESERVE, max(self._n_columns - 1, 1))
        self._values = np.full((self._n_columns, length), np.inf)
        self._names = np.full((self._n_columns, length), -1)
        self.members = np.full((self._n_columns, size), -1)

    def find_all(self) -> None:
        """The blankets of all columns, by one pass over all pairs."""
        if self._size == 0:
            return
        for column in range(self._n_columns - 1):
            others = np.arange(column + 1, self._n_columns)
            # H(i, j, class) - H(i, j), which serves for both directions
            both = self._joint_class_entropies(column, others)
            of_column = self._with_class[others] - both
            of_others = self._with_class[column] - both
            note_pairs(
                self._values, self._names, column, others, _without_rounding(of_column), _without_rounding(of_others)
            )
        for column in range(self._n_columns):
            self._take_members(column)

    def _joint_class_entropies(self, column: int, others: np.ndarray) -> np.ndarray:
        own = self._information.table.column(column)
        with_class = self._information.joint_entropies(joint_levels([own, self._classes]), others)
        return with_class - self._information.joint_entropies(own, others)

    def remove(self, column: int) -> np.ndarray:
        """Take a column out, and give the columns whose blankets have changed."""
        self.there[column] = False
        changed = np.flatnonzero((self.members == column).any(axis=1) & self.there)
        for other in changed:
            self._take_members(int(other))
        return changed

    def _take_members(self, column: int) -> None:
        """The first columns of the list that are still there; a list that has run out is made anew."""
        wanted = min(self._size, int(self.there.sum()) - 1)
        listed = self._names[column][self._names[column] >= 0]
        listed = listed[self.there[listed]]
        if len(listed) < wanted:
            others = np.flatnonzero(self.there)
            others = others[others != column]
            values = _without_rounding(self._with_class[others] - self._joint_class_entropies(column, others))
            listed = others[np.argsort(values, kind="stable")][: self._names.shape[1]]
            self._names[column] = -1
            self._names[column, : len(listed)] = listed
        self.members[column] = -1
        self.members[column, :wanted] = listed[:wanted]

    def loss(self, column: int) -> float:
        """What a column tells about the class beyond its blanket, in nats."""
        table = self._information.table
        given = [table.column(member) for member in self.members[column] if member >= 0]
        return conditional_information(self._classes, table.column(column), given)


def _without_rounding(values: np.ndarray) -> np.ndarray:
    return np.where(values > ROUNDING, values, 0.0)


def blanket_elimination(
    information: Information,
    classes: np.ndarray,
    *,
    blanket_size: int,
    on_step: Callable[[Elimination], bool] = lambda so_far: False,
) -> Elimination:
    """Remove all columns but one, least useful first; ``on_step`` may return True to stop and keep the others.

    Of columns with the same loss, the one that tells least by itself goes, then the last in the table.
    """
    n_columns = information.table.n_columns
    relevance = information.with_target(classes)
    blankets = _Blankets(information, classes, min(blanket_size, n_columns - 1))
    blankets.find_all()
    losses = relevance.copy()
    if blanket_size:
        losses = np.array([blankets.loss(column) for column in range(n_columns)])
    so_far = Elimination([], losses, blankets.there)
    while len(so_far.removed) < n_columns - 1:
        there = np.flatnonzero(blankets.there)
        equals = there[losses[there] <= losses[there].min() + ROUNDING]
        equals = equals[relevance[equals] <= relevance[equals].min() + ROUNDING]
        gone = int(equals[-1])
        so_far.removed.append(gone)
        for changed in blankets.remove(gone):
            losses[changed] = blankets.loss(int(changed))
        if on_step(so_far):
            break
    return so_far
