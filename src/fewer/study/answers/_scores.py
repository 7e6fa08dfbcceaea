"""The scores of all candidates on the same folds, read from the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.evaluate import CrossIndex, corrected_interval, cross_index
from fewer.study.answers._decision import Cells, Choice, Claim, Rule, choose, claim, means_of_others
from fewer.study.plan._plan import Parsimony, Plan
from fewer.study.work._work import FoldWork

if TYPE_CHECKING:
    from fewer.study.files._journal import Journal


_UP_TO_ONE = frozenset(
    [
        "accuracy",
        "balanced_accuracy",
        "r2",
        "roc_auc",
        "roc_auc_ovr",
        "roc_auc_ovo",
        "average_precision",
        "explained_variance",
        "matthews_corrcoef",
    ]
    + [
        f"{name}{how}"
        for name in ("f1", "precision", "recall", "jaccard")
        for how in ("", "_macro", "_micro", "_weighted")
    ]
)


def best_possible(scoring: str) -> float:
    """The highest value that a score can take."""
    return 0.0 if scoring.startswith("neg_") else 1.0 if scoring in _UP_TO_ONE else np.inf


def rule_of(plan: Plan, parsimony: Parsimony) -> Rule:
    """The rule of a plan, with another parsimony."""
    highest = best_possible(plan.scoring)
    return Rule(parsimony, highest, 3 / plan.n_rows if highest == 1 else 0.0)


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Held-out scores of one candidate.

    Attributes
    ----------
    number : int
        Place of the candidate in the plan.
    labels : tuple of two str
        What tables call what chooses its columns, and its learner.
    sizes : ndarray of shape (n_sizes,)
        Numbers of columns, the last being all, as they are.
    scores : ndarray of shape (n_repeats, n_folds, n_sizes)
        Score on each fold at each size.
    orders : tuple of tuple of str
        Columns in their order, for each fold of each repeat.
    test_ratio : float
        Rows in a fold over rows trained on.
    confidence : float
        Level of intervals.
    best_possible : float
        The highest value that the score can take.
    makes_columns : bool
        Whether sizes, but for the last, are numbers of new columns. The last is then only there to compare with.
    """

    number: int
    labels: tuple[str, str]
    sizes: np.ndarray
    scores: np.ndarray
    orders: tuple[tuple[str, ...], ...]
    test_ratio: float
    confidence: float
    best_possible: float = np.inf
    makes_columns: bool = False

    @property
    def name(self) -> str:
        """What tables call it."""
        return ", ".join(label for label in self.labels if label)

    @property
    def reduces(self) -> bool:
        """Whether it tries fewer columns than all."""
        return len(self.sizes) > 1

    @property
    def choices(self) -> slice:
        """The sizes that may be chosen."""
        return slice(-1 if self.makes_columns and self.reduces else None)

    @cached_property
    def indexed(self) -> CrossIndex | None:
        """Cross-indexed size, score and benefit over all columns; None without a choice of sizes."""
        if not self.reduces:
            return None
        return cross_index(
            self.scores,
            "A",
            sizes=self.sizes,
            choose_full=not self.makes_columns,
            confidence_level=self.confidence,
            test_ratio=self.test_ratio,
        )

    @cached_property
    def fold_scores(self) -> np.ndarray:
        """Honest score on each fold of each repeat: at the size that the other folds chose."""
        return self.scores[:, :, 0] if self.indexed is None else np.atleast_2d(self.indexed.fold_scores)

    @property
    def score(self) -> float:
        """Mean honest score."""
        return float(self.fold_scores.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the mean honest score, not beyond the best score that there is."""
        low, high = corrected_interval(self.fold_scores, self.confidence, self.test_ratio)
        return low, min(high, self.best_possible)


@dataclass(frozen=True, eq=False)
class AllScores:
    """Scores of all candidates that could be run.

    Attributes
    ----------
    candidates : tuple of CandidateScores
        In the order of the plan.
    failures : dict of str to str
        Candidates that could not be run, each with the reason.
    dropped : tuple of str
        Candidates that were out of the race with all their sizes.
    dropped_with_all : tuple of str
        Learners that were out of the race with all columns.
    """

    plan: Plan
    candidates: tuple[CandidateScores, ...]
    failures: dict[str, str]
    dropped: tuple[str, ...] = ()
    dropped_with_all: tuple[str, ...] = ()

    @property
    def without_baseline(self) -> bool:
        """Whether the candidate that does not look at the features could not be run."""
        return not any(self.plan.candidates[c.number].is_baseline for c in self.candidates)

    @cached_property
    def baseline(self) -> CandidateScores:
        """The candidate that does not look at the features."""
        return next(c for c in self.candidates if self.plan.candidates[c.number].is_baseline)

    @cached_property
    def with_everything(self) -> list[CandidateScores]:
        """Candidates that use all features."""
        return [c for c in self.candidates if not c.reduces and c.number != self.baseline.number]

    @cached_property
    def reduced(self) -> list[CandidateScores]:
        """Candidates that try fewer features."""
        return [c for c in self.candidates if c.reduces]

    @property
    def n_ways(self) -> int:
        """How many selection methods with a learner were tried."""
        return len(self.reduced) + len(self.dropped)

    @property
    def n_with_all(self) -> int:
        """How many learners were tried with all columns."""
        return len(self.with_everything) + len(self.dropped_with_all)

    @cached_property
    def cells(self) -> Cells:
        """All that may be chosen: every selection method with every size, and every learner with all columns."""
        parts = [(each, each.sizes[:-1], each.scores[..., :-1]) for each in self.reduced]
        parts += [(each, each.sizes, each.scores) for each in self.with_everything]
        n_columns = max(int(each.sizes[-1]) for each, _, _ in parts)
        return Cells(
            candidates=np.concatenate([np.full(len(sizes), each.number) for each, sizes, _ in parts]),
            sizes=np.concatenate([sizes for _, sizes, _ in parts]),
            needed=np.concatenate(
                [np.full(len(sizes), n_columns) if each.makes_columns else sizes for each, sizes, _ in parts]
            ),
            scores=np.concatenate([scores for _, _, scores in parts], axis=2),
        )

    def choice_at(self, parsimony: Parsimony) -> Choice:
        """What the rule chooses with this parsimony, on all folds and cross-indexed."""
        return choose(self.cells, self.baseline.fold_scores, rule_of(self.plan, parsimony))

    @cached_property
    def choice(self) -> Choice:
        """What the rule of the plan chooses."""
        return self.choice_at(self.plan.parsimony)

    @cached_property
    def winner(self) -> CandidateScores:
        """The candidate that is shipped, with ``size`` columns."""
        return self._numbered(self.cells.candidates[self.choice.cell])

    @property
    def size(self) -> int:
        """Columns that the learner of the shipped model gets."""
        return int(self.cells.sizes[self.choice.cell])

    @cached_property
    def ranker(self) -> CandidateScores:
        """The candidate whose ranking of columns is shown: the winner, or the best one if all columns are kept."""
        if self.winner.reduces:
            return self.winner
        return max(self.reduced, key=lambda each: (round(each.score, 10), -each.number))

    @cached_property
    def best_with_everything(self) -> CandidateScores:
        """The best way to use all features."""
        return max(self.with_everything, key=lambda each: (round(each.score, 10), -each.number))

    @cached_property
    def fold_scores_with_everything(self) -> np.ndarray:
        """Score on each fold of the learner that was the best one with all columns on the other folds."""
        best = self.best_with_everything_by_fold
        return np.take_along_axis(self._scores_with_everything, best[..., None], axis=2)[..., 0]

    @cached_property
    def best_with_everything_by_fold(self) -> np.ndarray:
        """Place in ``with_everything`` of the learner that was the best one on the other folds."""
        return np.argmax(np.round(means_of_others(self._scores_with_everything), 10), axis=2)

    @property
    def _scores_with_everything(self) -> np.ndarray:
        return np.concatenate([each.scores for each in self.with_everything], axis=2)

    @cached_property
    def claim(self) -> Claim:
        """The claim about the chosen columns compared with all of them."""
        found = claim(
            self.choice.fold_scores,
            self.fold_scores_with_everything,
            self.baseline.fold_scores,
            margin=self.plan.margin,
            confidence=self.plan.confidence,
            test_ratio=self.test_ratio,
            n_rows=self.plan.n_rows,
        )
        return found if self.winner.reduces else replace(found, outcome="not shown", rows_needed=None)

    @property
    def test_ratio(self) -> float:
        """Rows in a fold over rows trained on."""
        return self.candidates[0].test_ratio

    def _numbered(self, number: int) -> CandidateScores:
        return next(each for each in self.candidates if each.number == number)


def read_scores(
    journal: "Journal | Mapping[str, Any]", plan: Plan, test_ratio: float, n_columns: int | None = None
) -> AllScores:
    """Scores of all candidates, from the finished work of a journal.

    A column that is constant in the rows of a fold does not count there; ``n_columns`` is how many "all" are on all
    rows, by default the most of any fold. What a learner reaches with all columns is read where it has no reducer.
    """
    found: list[CandidateScores] = []
    failures: dict[str, str] = {}
    dropped: dict[bool, list[str]] = {True: [], False: []}
    whole: dict[str, list[dict[str, Any]]] = {}
    for number, candidate in sorted(enumerate(plan.candidates), key=lambda each: each[1].reducer is not None):
        if number in plan.skipped:
            continue
        keys = [FoldWork(number, r, fold).key for r in range(plan.n_repeats) for fold in range(plan.n_folds)]
        folds = [journal[key] for key in keys if key in journal]
        learner = repr(candidate.learner)
        with_all = folds if candidate.reducer is None else whole.get(learner, [])
        failed = next((fold["failure"] for fold in (*folds, *with_all) if "failure" in fold), None)
        if candidate.reducer is None:
            whole[learner] = folds
        if failed is not None:
            failures[candidate.name] = failed
        elif len(folds) < len(keys):
            dropped[candidate.reducer is None].append(candidate.name)
        else:
            found.append(_candidate_scores(number, folds, with_all, plan, test_ratio, n_columns))
    in_order = tuple(sorted(found, key=lambda each: each.number))
    return AllScores(plan, in_order, failures, tuple(dropped[False]), tuple(dropped[True]))


def _candidate_scores(
    number: int,
    folds: list[dict[str, Any]],
    with_all: list[dict[str, Any]],
    plan: Plan,
    test_ratio: float,
    n_columns: int | None,
) -> CandidateScores:
    """Scores at the sizes that every fold has, and with all columns."""
    reduces = folds is not with_all
    common = sorted(set.intersection(*(set(fold["sizes"]) for fold in folds))) if reduces else []
    by_size = [dict(zip(fold["sizes"], fold["scores"], strict=True)) for fold in folds]
    scores = [
        [*(of_fold[size] for size in common), everything["scores"][-1]]
        for of_fold, everything in zip(by_size, with_all, strict=True)
    ]
    return CandidateScores(
        number=number,
        labels=plan.candidates[number].labels,
        sizes=np.array([*common, n_columns or max(fold["sizes"][-1] for fold in with_all)]),
        scores=np.array(scores).reshape(plan.n_repeats, plan.n_folds, -1),
        orders=tuple(tuple(fold["names"]) for fold in folds),
        test_ratio=test_ratio,
        confidence=plan.confidence,
        best_possible=best_possible(plan.scoring),
        makes_columns=plan.candidates[number].makes_columns,
    )
