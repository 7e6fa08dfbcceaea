"""Compared with what? All candidates on the same folds, beside the best learner with all columns and the baseline."""

from dataclasses import dataclass

from fewer.evaluate import corrected_interval
from fewer.study.answers._question import Answer, Finished, Question, Verdict
from fewer.study.answers._scores import AllScores

TITLE = "Compared with what?"


@dataclass(frozen=True)
class Rival:
    """The result of one candidate.

    Attributes
    ----------
    number : int
        Place of the candidate in the plan.
    name : str
        Its name.
    score : float
        Candidate score: mean held-out score, with the number of columns that scores best on the other folds.
    interval : tuple of two floats
        Its uncertainty.
    size : float or None
        Cross-indexed size; None if all features are used.
    over_same_learner : float or None
        Difference to the same learner with all features.
    over_same_learner_interval : tuple of two floats or None
        Its uncertainty.
    behind : float
        How far behind the winner.
    behind_interval : tuple of two floats
        Its uncertainty.
    """

    number: int
    name: str
    score: float
    interval: tuple[float, float]
    size: float | None
    over_same_learner: float | None
    over_same_learner_interval: tuple[float, float] | None
    behind: float
    behind_interval: tuple[float, float]


@dataclass(frozen=True)
class ComparedAnswer(Answer):
    """The winner beside the others, with all candidates, best first."""

    rivals: tuple[Rival, ...] = ()


def answer(done: Finished) -> ComparedAnswer:
    """The scores of all candidates on the same folds."""
    return compared_with(done.scores)


def compared_with(scores: AllScores) -> ComparedAnswer:
    """The winner beside the best learner with all columns, and the baseline."""
    baseline, best_all, winner = scores.baseline, scores.best_with_everything, scores.winner
    reached = scores.choice.fold_scores
    evidence = {
        "labels": winner.labels,
        "size": scores.size,
        "mean_size": None if winner.indexed is None else winner.indexed.size,
        "fixed_size_score": float(scores.cells.scores[..., scores.choice.cell].mean()),
        "candidate_score": winner.score,
        "with_all": {"name": best_all.labels[1], "score": best_all.score},
        "baseline": {"name": baseline.name, "score": baseline.score},
        "n_ways": scores.n_ways,
        "n_with_all": scores.n_with_all,
        "dropped": [*scores.dropped, *scores.dropped_with_all],
    }
    low, high = corrected_interval(reached, winner.confidence, winner.test_ratio)
    interval = low, min(high, winner.best_possible)
    return ComparedAnswer(Verdict.YES, float(reached.mean()), interval, evidence, rivals=rivals_of(scores))


def rivals_of(scores: AllScores) -> tuple[Rival, ...]:
    """All candidates as they did, best first."""
    best = scores.winner.fold_scores
    found = []
    for each in scores.candidates:
        behind = best - each.fold_scores
        indexed = each.indexed
        found.append(
            Rival(
                number=each.number,
                name=each.name,
                score=each.score,
                interval=each.interval,
                size=None if indexed is None else indexed.size,
                over_same_learner=None if indexed is None else indexed.benefit,
                over_same_learner_interval=None if indexed is None else indexed.interval,
                behind=float(behind.mean()),
                behind_interval=corrected_interval(behind, each.confidence, each.test_ratio),
            )
        )
    return tuple(sorted(found, key=lambda rival: -rival.score))


QUESTION = Question("compared", TITLE, answer, place=70)
