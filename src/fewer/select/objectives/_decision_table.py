"""Filters for discrete columns: how well the rows that agree in all columns of a subset agree in their class.

A subset makes a decision table: a group for every combination of values that occurs. Its objectives are sums over the
groups of a function of the class counts, so a column more costs O(n): each group is split by the column's values. A
column less is the meeting of the groups of those before it and of those after it.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from fewer._estimators import encoded_classes, known_column, warn_caller
from fewer._kernels._group_counts import split_groups, split_summaries
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.objectives._threads import CandidateThreads


@dataclass
class DecisionTableObjective(Objective):
    """Base of the filters for discrete columns; each says what its table is worth."""

    @property
    def takes_nan(self) -> bool:
        """A hole is a value of its own."""
        return True

    @abstractmethod
    def worth(self, summaries: np.ndarray, *, n_rows: int, n_columns: int, size: int) -> np.ndarray:
        """J from the sums over groups of ``split_summaries``, for subsets with ``size`` of ``n_columns`` columns."""

    def start(self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None) -> "DecisionTableScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table; equal values are the same value, and NaN is one.
        y : array-like of shape (n_samples,)
            Classes.
        n_jobs : int or None, default=None
            Threads that share the candidates.
        random_state : Ignored
            Nothing is drawn.

        Returns
        -------
        scorer : DecisionTableScorer
            Holds the groups.
        """
        codes = encoded_classes(np.asarray(y), type(self).__name__).codes
        return DecisionTableScorer(np.asarray(X), codes, self, CandidateThreads(n_jobs))


class DecisionTableScorer(SubsetScorer):
    """Groups of rows that agree in the columns of the subset; made by the ``start`` of these objectives."""

    def __init__(
        self, X: np.ndarray, classes: np.ndarray, objective: DecisionTableObjective, threads: CandidateThreads
    ) -> None:
        super().__init__(threads.close)
        self._threads = threads
        self._objective = objective
        self._codes, self._n_codes = _coded(X)
        n_rows, n_classes = len(classes), int(classes.max()) + 1
        counts = np.arange(n_rows + n_classes, dtype=float)
        self._classes = (classes, n_classes, xlogy(counts, counts) / np.log(2), gammaln(counts + 1) / np.log(2))
        # The groups before the first column, after the first, after the second ..., and how many there are.
        self._groups = [(np.zeros(n_rows, dtype=np.int32), 1)]

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        groups = self._groups[-1]
        summaries = self._threads(
            lambda part: split_summaries(*groups, self._codes, self._n_codes, part, *self._classes), candidates
        )
        return self._worth(summaries, len(self.subset) + 1)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        wanted = {int(column) for column in candidates}
        worth = {}
        after = self._groups[0]
        for place in range(len(self.subset) - 1, -1, -1):
            column = self.subset[place]
            if column in wanted:
                summary = split_summaries(
                    *self._groups[place], after[0][None], np.array([after[1]]), np.array([0]), *self._classes
                )
                worth[column] = self._worth(summary, len(self.subset) - 1)[0]
            after = self._split(after, column)
        return np.array([worth[int(column)] for column in candidates])

    def add(self, column: int) -> None:
        super().add(column)
        self._groups.append(self._split(self._groups[-1], column))

    def remove(self, column: int) -> None:
        place = self.subset.index(column)
        super().remove(column)
        del self._groups[place + 1 :]
        for later in self.subset[place:]:
            self._groups.append(self._split(self._groups[-1], later))

    def _split(self, groups: tuple[np.ndarray, int], column: int) -> tuple[np.ndarray, int]:
        split = np.empty_like(groups[0])
        return split, split_groups(*groups, self._codes[column], self._n_codes[column], split)

    def _worth(self, summaries: np.ndarray, size: int) -> np.ndarray:
        n_columns, n_rows = self._codes.shape
        return self._objective.worth(summaries, n_rows=n_rows, n_columns=n_columns, size=size)


def _coded(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values as numbers from 0, (columns, rows), and how many different ones each column has."""
    codes = np.empty(X.shape[::-1], dtype=np.int32)
    n_codes = np.empty(X.shape[1], dtype=np.int64)
    for column in range(X.shape[1]):
        values, codes[column] = np.unique(X[:, column], return_inverse=True)
        n_codes[column] = len(values)
    nearly_unique = np.flatnonzero(n_codes > max(len(X) / 2, 10))
    if len(nearly_unique):
        first = known_column(nearly_unique[0], X.shape[1])
        warn_caller(
            f"Column {first!r} has {n_codes[nearly_unique[0]]} different values in {len(X)} rows "
            f"({len(nearly_unique)} of {X.shape[1]} columns are like this). Hardly any rows agree in it, so that a "
            "table looks perfect and says nothing; put such columns into bins first, with "
            "sklearn.preprocessing.KBinsDiscretizer for example."
        )
    return codes, n_codes
