"""Compared with what? All candidates on the same folds, beside the best learner with all columns and the baseline."""

from dataclasses import dataclass

from fewer._wording import counted, listed
from fewer.evaluate import corrected_interval
from fewer.study._question import Answer, Finished, Question, Verdict
from fewer.study._scores import AllScores

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
    return compared_with(done.scores, done.metric)


def compared_with(scores: AllScores, metric: str) -> ComparedAnswer:
    """The winner beside the best learner with all columns, and the baseline."""
    simplest, best_all, winner = scores.simplest, scores.best_with_everything, scores.winner
    at_size = (
        f" with {counted(scores.size, 'new column' if winner.makes_columns else 'column')}" if winner.reduces else ""
    )
    reached = scores.choice.fold_scores
    fixed = scores.cells.scores[..., scores.choice.cell].mean()
    three = (
        f"{fixed:.3f} with this number of columns on every fold (fixed-size score), {winner.score:.3f} with the number "
        f"that scores best on the other folds (candidate score, {winner.indexed.size:.3g} columns on average), "
        if winner.indexed is not None
        else f"{winner.score:.3f} on its own (candidate score), "
    )
    sentence = (
        f"{_best_of(scores.n_ways)}: {winner.name}{at_size}. Its {metric} is {three}and {reached.mean():.3f} "
        "with everything chosen on the other folds (cross-indexed score). Candidate scores to compare with: "
        f"{best_all.score:.3f} for the best learner with all columns, "
        f"{best_all.labels[1]}; "
        f"{simplest.score:.3f} for the baseline, {simplest.name}."
    )
    how = (
        "All candidates were scored on the same folds. The fixed-size score and the candidate score of the winner are "
        "optimistic, because the winner is the best of many. The cross-indexed score is not: for each fold, selection "
        "method, learner and number of columns are chosen on the other folds. It belongs to the whole procedure and is "
        "the score of the first line."
    )
    if scores.dropped:
        how += f" Clearly behind after three or more folds, and not scored further: {listed(scores.dropped, 10)}."
    low, high = corrected_interval(reached, winner.confidence, winner.test_ratio)
    interval = low, min(high, winner.best_possible)
    return ComparedAnswer(TITLE, Verdict.YES, sentence, float(reached.mean()), interval, how, rivals=rivals_of(scores))


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


def _best_of(n_ways: int) -> str:
    return f"Chosen from {counted(n_ways, 'combination')} of selection method and learner"


QUESTION = Question("compared", TITLE, answer, place=70)
