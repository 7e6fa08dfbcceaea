"""Sequential searches for subsets of columns: one column at a time, forward or backward.

Forward, from the empty set Y:  ``Y + argmax_{x not in Y} J(Y + x)``.
Backward, from the full set:  ``Y - argmax_{x in Y} J(Y - x)``.

The floating searches (Pudil et al. 1994) go back after each step, as long as the way back leads to a subset strictly
better than the best known one of its size. With the correction of Somol et al. (1999), a step that leads to a subset
worse than the best known one of that size goes on from the latter, and never replaces it.

Of columns with equal J, the one with the lowest index is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from fewer.select.objectives._objective import Subset, SubsetScorer

Direction = Literal["forward", "backward", "floating", "floating_backward"]


# Means over folds that are equal on paper differ in their last digits, and no search should turn back for that.
ROUNDING = 1e-12


def clearly_better(score: float, other: float) -> bool:
    """Whether a score is higher by more than rounding."""
    return score > other + ROUNDING * abs(other)


class SearchStep(NamedTuple):
    """One step of a search.

    Attributes
    ----------
    action : {"started", "added", "removed", "restored"}
        What was done: "started" with all columns, or "restored" the best known subset of this size.
    column : int or None
        Which column was added or removed.
    size : int
        Columns in the subset afterwards.
    score : float
        Its objective.
    """

    action: str
    column: int | None
    size: int
    score: float


@dataclass
class SearchPath:
    """What a search has found so far."""

    n_columns: int
    subsets: dict[int, Subset] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    history: list[SearchStep] = field(default_factory=list)
    n_evaluations: int = 0
    last_scores: np.ndarray = field(init=False)
    """J when a column was last tried, in the main direction of the search; NaN for columns never tried."""

    def __post_init__(self) -> None:
        self.last_scores = np.full(self.n_columns, np.nan)

    def note(self, step: SearchStep, subset: list[int]) -> None:
        """Write a step down, and keep its subset if it is the best of its size."""
        self.history.append(step)
        if step.size not in self.scores or step.score > self.scores[step.size]:
            self.scores[step.size] = step.score
            self.subsets[step.size] = tuple(sorted(subset))


class _Walker:
    """Takes the best step in one of the two directions."""

    def __init__(self, scorer: SubsetScorer, path: SearchPath) -> None:
        self.scorer = scorer
        self.path = path

    def best_addition(self, skip: int | None = None, *, main: bool) -> tuple[int, float]:
        inside = np.zeros(self.path.n_columns, dtype=bool)
        inside[self.scorer.subset] = True
        return self._best(np.flatnonzero(~inside), self.scorer.score_added, skip, main)

    def best_removal(self, skip: int | None = None, *, main: bool) -> tuple[int, float]:
        return self._best(np.sort(self.scorer.subset), self.scorer.score_removed, skip, main)

    def _best(
        self, candidates: np.ndarray, score: Callable[[np.ndarray], np.ndarray], skip: int | None, main: bool
    ) -> tuple[int, float]:
        candidates = candidates[candidates != skip] if skip is not None else candidates
        scores = np.asarray(score(candidates), dtype=float)
        self.path.n_evaluations += len(candidates)
        if np.isnan(scores).any():
            raise ValueError(
                f"The objective is not a number for {len(self.scorer.subset)} columns changed by column "
                f"{candidates[np.isnan(scores)][0]}; subsets can only be compared by numbers."
            )
        if main:
            self.path.last_scores[candidates] = scores
        best = int(np.argmax(scores))
        return int(candidates[best]), float(scores[best])

    def add(self, column: int, score: float) -> None:
        self.scorer.add(column)
        self.path.note(SearchStep("added", column, len(self.scorer.subset), score), self.scorer.subset)

    def remove(self, column: int, score: float) -> None:
        self.scorer.remove(column)
        self.path.note(SearchStep("removed", column, len(self.scorer.subset), score), self.scorer.subset)

    def start_full(self) -> float:
        self.scorer.move_to(range(self.path.n_columns))
        score = self.scorer.score()
        self.path.n_evaluations += 1
        self.path.note(SearchStep("started", None, self.path.n_columns, score), self.scorer.subset)
        return score

    def restore(self, size: int) -> float:
        self.scorer.move_to(self.path.subsets[size])
        score = self.path.scores[size]
        self.path.history.append(SearchStep("restored", None, size, score))
        return score


def sequential_path(
    scorer: SubsetScorer,
    n_columns: int,
    *,
    direction: Direction,
    size: int,
    tol: float | None = None,
    on_step: Callable[[SearchPath], bool] = lambda path: False,
) -> SearchPath:
    """Search from the empty (or full) set until the subset has ``size`` columns.

    Stops early when the objective gains less than ``tol`` by a step, or when ``on_step`` returns True.
    """
    path = SearchPath(n_columns)
    walker = _Walker(scorer, path)
    forward = direction in ("forward", "floating")
    floating = direction in ("floating", "floating_backward")
    best_step, take = (walker.best_addition, walker.add) if forward else (walker.best_removal, walker.remove)
    best_return, take_back = (walker.best_removal, walker.remove) if forward else (walker.best_addition, walker.add)
    # From these sizes there is no way back: of single columns, and of full sets, the best is known.
    no_return = range(3) if forward else range(n_columns - 1, n_columns + 1)

    current = -np.inf if forward else walker.start_full()
    while len(scorer.subset) != size:
        column, score = best_step(main=True)
        if tol is not None and score - current < tol:
            break
        take(column, score)
        current = score
        if on_step(path):
            break
        if not floating:
            continue
        here = len(scorer.subset)
        if clearly_better(path.scores[here], score):
            # All ways back from the best known subset were tried when it was found, against no better rivals.
            current = walker.restore(here)
            continue
        stopped = False
        just_taken: int | None = column
        while not stopped and len(scorer.subset) not in no_return:
            column, score = best_return(just_taken, main=False)
            if not clearly_better(score, path.scores[len(scorer.subset) + (-1 if forward else 1)]):
                break
            take_back(column, score)
            current, just_taken = score, None
            stopped = on_step(path)
        if stopped:
            break
    return path


def chosen_size(path: SearchPath, *, direction: Direction, size: int | None, tol: float | None) -> int:
    """The size asked for, or as near as the search came; the best one if none was, and of equals the smallest."""
    if size is None and tol is None:
        return min(path.scores, key=lambda each: (-path.scores[each], each))
    if direction in ("forward", "floating"):
        return min(max(path.scores), path.n_columns if size is None else size)
    return max(min(path.scores), 1 if size is None else size)


def column_scores(path: SearchPath) -> np.ndarray:
    """For each column J of the smallest subset of the path that holds it, or of the last one tried with it."""
    scores = path.last_scores.copy()
    for size in sorted(path.subsets, reverse=True):
        scores[list(path.subsets[size])] = path.scores[size]
    return scores


def column_ranking(path: SearchPath, chosen: Subset, *, direction: Direction) -> np.ndarray:
    """Places from 1: the chosen columns first, then by the number of subsets of the path that hold a column.

    For nested paths this is the order of entry, or of removal backwards. Columns in equally many subsets were all still
    outside (or inside) at the end: they stand in the order in which their last trial would have taken (or kept) them.
    """
    inside = np.zeros(path.n_columns, dtype=bool)
    inside[list(chosen)] = True
    times_held = np.zeros(path.n_columns, dtype=int)
    for subset in path.subsets.values():
        times_held[list(subset)] += 1
    merit = path.last_scores if direction in ("forward", "floating") else -path.last_scores
    order = np.lexsort((np.arange(path.n_columns), -merit, -times_held, ~inside))
    ranking = np.empty(path.n_columns, dtype=int)
    ranking[order] = np.arange(1, path.n_columns + 1)
    return ranking
