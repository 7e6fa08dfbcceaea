"""The search for columns of a table that give its target away; the rules are in `fewer.overview._giveaway`."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewer.io import Dataset
from fewer.overview._description import GiveAway
from fewer.overview._giveaway import (
    THRESHOLD,
    Scores,
    category_class_score,
    category_rank_score,
    class_scores,
    enough_to_tell,
    passes_on_some_rows,
    rank_scores,
    screened_rows,
)
from fewer.overview._parts import Parts

_CELLS_AT_ONCE = 4_000_000
_ROWS_FOR_CATEGORIES = 20_000


def give_aways(dataset: Dataset, parts: Parts) -> tuple[tuple[GiveAway, ...], bool]:
    """Columns that give the target away, the best first; and whether there were rows enough to tell."""
    if dataset.y is None or not dataset.n_rows or not dataset.n_columns:
        return (), False
    task = _Task(dataset)
    if not task.can_tell(np.ones(dataset.n_rows, dtype=bool)):
        return (), False
    found = [*_among_numbers(task, parts), *_among_labels(task, parts)]
    return tuple(sorted(found, key=lambda give_away: -give_away.score)), True


class _Task:
    """The target in the form that the rules take, and the rules that fit it."""

    def __init__(self, dataset: Dataset) -> None:
        self.columns = dataset.columns
        self.n_rows = dataset.n_rows
        self.is_classes = dataset.task != "regression"
        y = np.asarray(dataset.y)
        _, self.codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        # Rows with the same value share the mean of their ranks; scipy.stats would take longer to import than to use.
        self.goal = self.codes if self.is_classes else (np.cumsum(counts) - (counts - 1) / 2)[self.codes]
        self.measure = "balanced accuracy" if self.is_classes else "R2 on ranks"
        self.score_numbers: Callable[[np.ndarray, np.ndarray], Scores] = (
            class_scores if self.is_classes else rank_scores
        )
        self.score_category: Callable[[np.ndarray, np.ndarray], tuple[float, float]] = (
            category_class_score if self.is_classes else category_rank_score
        )

    def can_tell(self, known: np.ndarray) -> bool:
        """Whether a perfect score on these rows is beyond luck, given the number of columns."""
        counts = np.bincount(self.codes[known])
        return enough_to_tell(counts[counts > 0], len(self.columns), ordered=not self.is_classes)

    def give_away(self, position: int, all_rows: float, known_rows: float, known: np.ndarray) -> GiveAway | None:
        """The record for a column that reached the threshold, unless it may be luck."""
        if known.all():
            by_missing = False
        else:
            by_missing = self.score_category(known.astype(np.int64), self.goal)[0] >= THRESHOLD
            if not by_missing and known_rows >= all_rows and not self.can_tell(known):
                return None
        score = min(max(all_rows, known_rows), 1.0)
        by = "missing cells" if by_missing else "values"
        return GiveAway(self.columns[position], float(score), self.measure, by, float(known.mean()))


def _among_numbers(task: _Task, parts: Parts) -> Iterator[GiveAway]:
    X = parts.numbers.tocsc() if sp.issparse(parts.numbers) else parts.numbers
    columns = _sparse_columns_that_may(task, X) if sp.issparse(X) else np.arange(X.shape[1])
    rows = screened_rows(task.codes if task.is_classes else None, task.n_rows)
    if len(rows) < task.n_rows:
        screened = [
            passes_on_some_rows(task.score_numbers(block, task.goal[rows])) for block in _dense(X, rows, columns)
        ]
        columns = columns[np.concatenate(screened)] if screened else columns
        rows = np.random.default_rng(20).permutation(task.n_rows)
    start = 0
    for block in _dense(X, rows, columns):
        scores = task.score_numbers(block, task.goal[rows])
        for j in np.flatnonzero(scores.pass_threshold()):
            known = np.empty(task.n_rows, dtype=bool)
            known[rows] = ~np.isnan(block[:, j])
            position = int(parts.number_positions[columns[start + j]])
            found = task.give_away(position, scores.all_rows[j], scores.known_rows[j], known)
            if found is not None:
                yield found
        start += block.shape[1]


def _dense(X: Any, rows: np.ndarray, columns: np.ndarray) -> Iterator[np.ndarray]:
    """The cells of these rows and columns as floats, some columns at a time."""
    step = max(1, _CELLS_AT_ONCE // max(1, len(rows)))
    for start in range(0, len(columns), step):
        some = columns[start : start + step]
        block = X[:, some].tocsr()[rows].toarray() if sp.issparse(X) else X[np.ix_(rows, some)]
        yield block.astype(np.float64, copy=False)


def _sparse_columns_that_may(task: _Task, X: Any) -> np.ndarray:
    """Columns of a sparse table whose zeros do not already rule them out.

    Rows that share the value zero cannot be told apart. So at most one class may have many zeros; and for a target of
    numbers, the ranks of the rows with zeros must lie close together.
    """
    stored = sp.csc_array((np.ones(len(X.data)), X.indices, X.indptr), shape=X.shape)
    if task.is_classes:
        n_classes = int(task.codes.max()) + 1
        members = sp.csr_array(
            (np.ones(task.n_rows), (task.codes, np.arange(task.n_rows))), shape=(n_classes, task.n_rows)
        )
        zero_share = 1 - (members @ stored).toarray() / np.bincount(task.codes)[:, None]
        second_most = np.partition(zero_share, -2, axis=0)[-2]
        return np.flatnonzero(second_most <= 0.05 + (1 - THRESHOLD) * n_classes)
    ranks = task.goal - task.goal.mean()
    n_zeros = task.n_rows - np.diff(X.indptr)
    total = -(stored.T @ ranks)
    squares = (ranks**2).sum() - stored.T @ ranks**2
    return np.flatnonzero(squares - total**2 / np.maximum(n_zeros, 1) <= 0.05 * (ranks**2).sum())


def _among_labels(task: _Task, parts: Parts) -> Iterator[GiveAway]:
    some = np.random.default_rng(20).permutation(task.n_rows)[:_ROWS_FOR_CATEGORIES]
    goal = np.unique(task.goal[some], return_inverse=True)[1] if task.is_classes else task.goal[some]
    for j, position in enumerate(parts.label_positions):
        if len(some) < task.n_rows and max(task.score_category(parts.labels[some, j], goal)) < 0.8:
            continue
        all_rows, known_rows = task.score_category(parts.labels[:, j], task.goal)
        if max(all_rows, known_rows) >= THRESHOLD:
            found = task.give_away(int(position), all_rows, known_rows, parts.labels[:, j] >= 0)
            if found is not None:
                yield found
