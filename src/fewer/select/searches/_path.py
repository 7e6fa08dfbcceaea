"""What a search has found so far, and the two steps that every search is made of: one column more, one column less."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fewer._estimators import clearly_better, first_of_best, without_rounding
from fewer.select._ranking import places_of_order
from fewer.select.objectives._objective import Subset, SubsetScorer


def reaches(score: float, enough: float | None) -> bool:
    """Whether a score is enough, but for rounding; never if nothing is said to be."""
    return enough is not None and not clearly_better(enough, score)


class SearchStep(NamedTuple):
    """One step of a search.

    Attributes
    ----------
    action : {"started", "added", "removed", "restored", "found"}
        What was done: "started" from a subset, "restored" the best known one of this size, or "found" a better one.
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
    """The best subset of every size, and how the search came to them."""

    n_columns: int
    subsets: dict[int, Subset] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    history: list[SearchStep] = field(default_factory=list)
    n_evaluations: int = 0
    complete: bool = True
    """Whether the search came to its end, rather than to a limit."""
    tried: np.ndarray = field(init=False)
    """J of a subset tried with the column (which one, the search decides); NaN for columns never tried."""

    def __post_init__(self) -> None:
        self.tried = np.full(self.n_columns, np.nan)

    def note(self, step: SearchStep, subset: list[int]) -> None:
        """Write a step down, and keep its subset if it is the best of its size."""
        self.history.append(step)
        if step.size not in self.scores or clearly_better(step.score, self.scores[step.size]):
            self.scores[step.size] = step.score
            self.subsets[step.size] = tuple(sorted(subset))

    @property
    def best_size(self) -> int:
        """The size with the highest J; of equals, but for rounding, the smallest."""
        return self.best_size_up_to(self.n_columns)

    def best_size_up_to(self, limit: int) -> int:
        """The same among sizes up to a limit; the smallest size, if all are above."""
        allowed = {size: score for size, score in self.scores.items() if size <= limit}
        if not allowed:
            return min(self.scores)
        highest = max(allowed.values())
        return min(size for size, score in allowed.items() if not clearly_better(highest, score))

    def smallest_that(self, enough: float | None) -> int | None:
        """The smallest size with a subset that is good enough, if there is any."""
        return min((size for size, score in self.scores.items() if reaches(score, enough)), default=None)


class Walker:
    """Takes the best step in one of the two directions, and writes it down."""

    def __init__(self, scorer: SubsetScorer, n_columns: int) -> None:
        self.scorer = scorer
        self.path = SearchPath(n_columns)

    @property
    def size(self) -> int:
        return len(self.scorer.subset)

    def best_addition(self, skip: int | None = None, *, main: bool = True) -> tuple[int, float]:
        """The column to add, and J with it; (-1, -inf) when there is none. ``main`` notes J of all that were tried."""
        inside = np.zeros(self.path.n_columns, dtype=bool)
        inside[self.scorer.subset] = True
        return self._best(np.flatnonzero(~inside), self.scorer.score_added, skip, main)

    def best_removal(self, skip: int | None = None, *, main: bool = True) -> tuple[int, float]:
        """The column to take away, and J without it; (-1, -inf) when there is none."""
        return self._best(np.sort(self.scorer.subset), self.scorer.score_removed, skip, main)

    def _best(
        self, candidates: np.ndarray, score: Callable[[np.ndarray], np.ndarray], skip: int | None, main: bool
    ) -> tuple[int, float]:
        candidates = candidates[candidates != skip] if skip is not None else candidates
        if not len(candidates):
            return -1, -np.inf
        scores = self.scores_of(candidates, score)
        if main:
            self.path.tried[candidates] = scores
        best = int(first_of_best(scores))
        return int(candidates[best]), float(scores[best])

    def scores_of(self, candidates: np.ndarray, score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """J of the candidates of one step, which must be numbers."""
        scores = np.asarray(score(candidates), dtype=float)
        self.path.n_evaluations += len(candidates)
        if np.isnan(scores).any():
            raise ValueError(
                f"The objective is not a number for columns {tuple(self.scorer.subset)} changed by column "
                f"{candidates[np.isnan(scores)][0]}; subsets can only be compared by numbers."
            )
        return scores

    def add(self, column: int, score: float) -> None:
        self.scorer.add(column)
        self.path.note(SearchStep("added", column, self.size, score), self.scorer.subset)

    def remove(self, column: int, score: float) -> None:
        self.scorer.remove(column)
        self.path.note(SearchStep("removed", column, self.size, score), self.scorer.subset)

    def start_with(self, columns: list[int]) -> float:
        """Begin with these columns; returns J."""
        self.scorer.move_to(columns)
        score = self.scorer.score()
        self.path.n_evaluations += 1
        if np.isnan(score):
            raise ValueError(
                f"The objective is not a number for the {self.size} columns to start with; subsets can only be "
                "compared by numbers."
            )
        self.path.note(SearchStep("started", None, self.size, score), self.scorer.subset)
        return score

    def start_full(self) -> float:
        """Begin with all columns; returns J."""
        return self.start_with(list(range(self.path.n_columns)))

    def restore(self, size: int) -> float:
        """Go to the best known subset of this size; returns J."""
        self.scorer.move_to(self.path.subsets[size])
        score = self.path.scores[size]
        self.path.history.append(SearchStep("restored", None, size, score))
        return score


def column_scores(path: SearchPath) -> np.ndarray:
    """For each column J of the smallest subset of the path that holds it, or of the last one tried with it."""
    scores = path.tried.copy()
    for size in sorted(path.subsets, reverse=True):
        scores[list(path.subsets[size])] = path.scores[size]
    return scores


def column_ranking(path: SearchPath, chosen: Subset, merit: np.ndarray) -> np.ndarray:
    """Places from 1: the chosen columns first, then by the number of subsets of the path that hold a column.

    For nested paths this is the order of entry, or of removal backwards. Columns in equally many subsets stand in the
    order of their merit.
    """
    inside = np.zeros(path.n_columns, dtype=bool)
    inside[list(chosen)] = True
    times_held = np.zeros(path.n_columns, dtype=int)
    for subset in path.subsets.values():
        times_held[list(subset)] += 1
    return places_of_order(np.lexsort((np.arange(path.n_columns), -without_rounding(merit), -times_held, ~inside)))


def ranking_by_trials(path: SearchPath, chosen: Subset) -> np.ndarray:
    """Places from 1: the chosen columns first, and each group in the order of J of what was tried with them."""
    inside = np.isin(np.arange(path.n_columns), chosen)
    return places_of_order(np.lexsort((np.arange(path.n_columns), -without_rounding(path.tried), ~inside)))
