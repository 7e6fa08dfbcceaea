"""Running a plan: what the journal lacks is done, piece by piece, and written down as it finishes."""

import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import each_warning_once
from fewer.study._cautions import CAUTIONS, do_cautions
from fewer.study._errors import StudyError
from fewer.study._final import FINAL, do_final
from fewer.study._holes import HOLES, do_holes
from fewer.study._notes import tell
from fewer.study._one_thread import one_thread
from fewer.study._scores import AllScores, read_scores
from fewer.study._wording import counted
from fewer.study._work import Bench, FoldWork, Null, NullWork, do_fold, do_null

if TYPE_CHECKING:
    from fewer.engine import Engine, Failure
    from fewer.study._journal import Journal
    from fewer.study._plan import Plan
    from fewer.study._study_data import StudyData

Progress = bool | str | Callable[..., Any]

# A test is over when this many randomised tables did as well as the real one: its p-value will not be small any more.
ENOUGH = 10
_BATCH = 25
# A piece of work on so many cells takes fractions of a second.
_CELLS_OF_A_SMALL_TABLE = 2_000_000


class StudyInterruptedError(StudyError):
    """The study was stopped; what is finished is in the journal."""


@each_warning_once()
def run_plan(
    plan: "Plan", data: "StudyData", journal: "Journal", *, engine: "Engine", progress: Progress = False
) -> None:
    """Do all that the plan asks for and the journal lacks.

    Parameters
    ----------
    plan : Plan
        What to do.
    data : StudyData
        The table; its fingerprint must be the plan's.
    journal : Journal
        Where finished work is, and goes.
    engine : Engine
        Where the work runs.
    progress : bool, "auto" or callable, default=False
        As in ``Engine.run``.
    """
    if data.fingerprint != plan.fingerprint:
        raise StudyError(
            "The table is not the one that this study was planned for: its cells, columns or order have changed. Give "
            "the table of the plan, or start a new study in another folder (--out FOLDER)."
        )
    bench = Bench(plan, data)
    folds = [
        FoldWork(candidate, repeat, fold)
        for repeat in range(plan.n_repeats)
        for fold in range(plan.n_folds)
        for candidate in range(len(plan.candidates))
    ]
    try:
        _do(do_fold, folds, bench, journal, engine=engine, progress=progress, description="Scoring candidates")
    finally:
        tell(journal[piece.key] for piece in folds if piece.key in journal)
    scores = scores_of(journal, plan, bench)
    if plan.n_permutations:
        _test(bench, journal, scores, "labels", engine=engine, progress=progress)
        if plan.classify:
            _test(bench, journal, scores, "features_within_class", engine=engine, progress=progress)
    for key, function in ((FINAL, do_final), (CAUTIONS, do_cautions), (HOLES, do_holes)):
        if key not in journal:
            started = time.perf_counter()
            with one_thread():
                payload = function(bench, scores)
            journal.add(key, payload, time.perf_counter() - started)


def scores_of(journal: "Journal", plan: "Plan", bench: Bench) -> AllScores:
    """Scores of all candidates; an error when none of the ways to reduce could be run."""
    ratio = float(np.mean([len(fold.test) / len(fold.train) for folds in bench.repeats for fold in folds]))
    scores = read_scores(journal, plan, ratio)
    if scores.without_baseline or not scores.reduced or not scores.with_everything:
        if not scores.failures:
            raise StudyError(
                "In some folds one column varies and no other, so there is nothing to choose among. Give fewer folds, "
                "or leave out columns with the same value in almost every row."
            )
        name, reason = next(iter(scores.failures.items()))
        raise StudyError(f"No candidate could be run. The first that failed, {name}, said: {reason}")
    return scores


def _do(
    function: Callable[..., dict[str, Any]],
    work: Iterable[Any],
    bench: Bench,
    journal: "Journal",
    *,
    engine: "Engine",
    progress: Progress,
    description: str,
) -> None:
    """Do the pieces of work that the journal lacks."""
    finished = set(journal.keys())
    lacking = [piece for piece in work if piece.key not in finished]
    if not lacking:
        return
    run = engine.run(
        function,
        lacking,
        shared=bench,
        labels=[piece.key for piece in lacking],
        progress=progress,
        description=description,
        short_tasks=math.prod(bench.data.dataset.shape) <= _CELLS_OF_A_SMALL_TABLE,
    )
    lost: list[Failure] = []
    for outcome in run:
        key = lacking[outcome.index].key
        if outcome.failure is None:
            journal.add(key, outcome.value, outcome.seconds)
        elif outcome.failure.kind == "WorkerDied":
            lost.append(outcome.failure)
        else:
            # What fails once fails again, as all pieces are pure; a candidate that cannot be run must not stop others.
            journal.add(key, {"failure": str(outcome.failure)}, outcome.seconds)
    if run.interrupted:
        raise StudyInterruptedError(
            f"Stopped; {len(journal):,} pieces of work are finished and kept. Run the same command again to go on."
        )
    if lost:
        # Not the candidate's own failure, and not written down as one: with more memory it may well be run.
        raise StudyError(
            f"{counted(len(lost), 'piece')} of work could not be finished: {lost[0].message}. If memory ran "
            "out, run the same command again with fewer workers (--jobs 1). Everything finished is kept."
        )


def _test(
    bench: Bench, journal: "Journal", scores: AllScores, null: Null, *, engine: "Engine", progress: Progress
) -> None:
    """Randomised tables, in batches, until enough did as well as the real one or the plan's number is reached."""
    words = {"labels": "Permuting labels", "features_within_class": "Permuting within classes"}[null]
    candidate, done = scores.winner.number, 0
    for stop in batch_ends(bench.plan.n_permutations):
        work = [NullWork(null, number, candidate) for number in range(done, stop)]
        _do(do_null, work, bench, journal, engine=engine, progress=progress, description=words)
        if is_decided(null_scores(journal, null, candidate, stop), observed_score(scores, null)):
            return
        done = stop


def tested(journal: "Journal", scores: AllScores, null: Null) -> list[float] | None:
    """Scores on the randomised tables of a test that is over; None if some of them are not finished."""
    found: list[float] = []
    for stop in batch_ends(scores.plan.n_permutations):
        found = null_scores(journal, null, scores.winner.number, stop)
        if len(found) < stop:
            return None
        if is_decided(found, observed_score(scores, null)):
            break
    return found


def batch_ends(n_permutations: int) -> list[int]:
    """Numbers of randomised tables after which a test looks whether it is over."""
    return [min(start + _BATCH, n_permutations) for start in range(0, n_permutations, _BATCH)]


def is_decided(found: list[float], observed: float) -> bool:
    """Whether so many randomised tables did as well as the real one that a test is over."""
    return sum(score >= observed for score in found) >= ENOUGH


def observed_score(scores: AllScores, null: Null) -> float:
    """What randomised tables are compared with, to ten digits.

    For the test of labels it is the honest score of the whole choice among candidates, so that being the best of many
    counts for nothing. The test within classes asks about the winner, and compares like with like.
    """
    return round(float(scores.choice.mean()) if null == "labels" else scores.winner.score, 10)


def null_scores(journal: "Journal", null: Null, candidate: int, n: int) -> list[float]:
    """Scores of the first n randomised tables, as far as they are finished, to ten digits."""
    found = []
    for number in range(n):
        key = NullWork(null, number, candidate).key
        if key not in journal:
            break
        payload = journal[key]
        if "failure" in payload:
            raise StudyError(f"A randomised table could not be scored: {payload['failure']}")
        found.append(round(payload["score"], 10))
    return found
