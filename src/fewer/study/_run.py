"""Running a plan: the tasks that the journal lacks are run, and each is written to it as it finishes."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import each_warning_once
from fewer._kernels._one_thread import one_thread
from fewer._wording import counted
from fewer.study._cautions import CAUTIONS, do_cautions
from fewer.study._errors import StudyError
from fewer.study._final import FINAL, do_final
from fewer.study._missing import MISSING, do_missing
from fewer.study._notes import warn_again
from fewer.study._predictions import do_predictions, prediction_works
from fewer.study._race import fold_rounds
from fewer.study._reference import do_null
from fewer.study._scores import AllScores, read_scores
from fewer.study._work import Bench, Null, NullWork, do_fold, finished

if TYPE_CHECKING:
    from fewer.engine import Engine, Failure
    from fewer.study._journal import Journal
    from fewer.study._plan import Plan
    from fewer.study._study_data import StudyData

Progress = bool | str | Callable[..., Any]

# A test is over when this many randomised tables did as well as the real one: its p-value will not be small any more.
ENOUGH = 10
_BATCH = 25
# A task on so many cells takes fractions of a second.
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
            "The table is not the one of the plan: its cells, columns or row order have changed. Give the table of the "
            "plan, or start a new study in another folder (--out FOLDER)."
        )
    bench = Bench(plan, data)
    where: dict[str, Any] = {"bench": bench, "journal": journal, "engine": engine, "progress": progress}
    try:
        for tasks in fold_rounds(journal, plan):
            _do(do_fold, tasks, "Scoring candidates", **where)
    finally:
        warn_again(journal[key] for key in sorted(journal.keys("fold/")))
    scores = scores_of(journal, plan, bench)
    _do(do_predictions, [(work,) for work in prediction_works(plan, scores)], "Predicting held-out rows", **where)
    for null in nulls_of(plan):
        _test(null, **where)
    for key, function in ((FINAL, do_final), (CAUTIONS, do_cautions), (MISSING, do_missing)):
        if key not in journal:
            started = time.perf_counter()
            with one_thread():
                payload = function(bench, scores)
            journal.add(key, payload, time.perf_counter() - started)


def scores_of(journal: "Journal", plan: "Plan", bench: Bench) -> AllScores:
    """Scores of all candidates; an error if no selection method could be run."""
    ratio = float(np.mean([len(fold.test) / len(fold.train) for folds in bench.repeats for fold in folds]))
    scores = read_scores(journal, plan, ratio)
    if scores.without_baseline or not scores.reduced or not scores.with_everything:
        if not scores.failures:
            raise StudyError(
                "In some folds only one column varies, so no selection is possible. Use fewer folds, or drop nearly "
                "constant columns."
            )
        name, reason = next(iter(scores.failures.items()))
        raise StudyError(f"No candidate could be run. Error of the first, {name}: {reason}")
    return scores


def folds_are_done(journal: "Journal", plan: "Plan") -> bool:
    """Whether the journal has all the work on the folds."""
    return all(all(work.key in journal for works in tasks for work in works) for tasks in fold_rounds(journal, plan))


def nulls_of(plan: "Plan") -> tuple[Null, ...]:
    """The tests of a plan."""
    if not plan.n_permutations:
        return ()
    return ("labels", "features_within_class") if plan.classify else ("labels",)


def _do(
    function: Callable[[Any, Bench], dict[str, Any]],
    tasks: Sequence[tuple[Any, ...]],
    description: str,
    *,
    bench: Bench,
    journal: "Journal",
    engine: "Engine",
    progress: Progress,
) -> None:
    """Do the work that the journal lacks; those of a task are done one after another in one process."""
    done = set(journal.keys())
    lacking = [works for task in tasks if (works := tuple(work for work in task if work.key not in done))]
    if not lacking:
        return
    run = engine.run(
        partial(finished, function),
        lacking,
        shared=bench,
        labels=[works[0].key for works in lacking],
        progress=progress,
        description=description,
        short_tasks=math.prod(bench.data.dataset.shape) <= _CELLS_OF_A_SMALL_TABLE,
    )
    lost: list[Failure] = []
    for outcome in run:
        if outcome.failure is not None:
            lost.append(outcome.failure)
            continue
        for key, (payload, seconds) in outcome.value.items():
            journal.add(key, payload, seconds)
    if run.interrupted:
        raise StudyInterruptedError(
            f"Stopped; {counted(len(journal), 'finished task')} kept. Run the same command again to continue."
        )
    if lost:
        # Not the candidate's own failure, and not written down as one: with more memory it may well be run.
        raise StudyError(
            f"{counted(len(lost), 'task')} could not be finished: {lost[0].message}. If memory ran out, run the same "
            "command again with fewer workers (--jobs 1). Finished tasks are kept."
        )


def _test(null: Null, *, journal: "Journal", bench: Bench, engine: "Engine", progress: Progress) -> None:
    """The real table, then randomised ones in batches, until enough did as well or the plan's number is reached."""
    words = {"labels": "Permuting labels", "features_within_class": "Permuting within classes"}[null]
    done = 0
    for stop in batch_ends(bench.plan.n_permutations):
        tasks = [(NullWork(null, number),) for number in (None, *range(done, stop))]
        _do(do_null, tasks, words, bench=bench, journal=journal, engine=engine, progress=progress)
        if is_decided(null_scores(journal, null, stop), observed_score(journal, null)):
            return
        done = stop


def tested(journal: "Journal", plan: "Plan", null: Null) -> list[float] | None:
    """Scores on the randomised tables of a test that is over; None if some of them are not finished."""
    found: list[float] = []
    for stop in batch_ends(plan.n_permutations):
        found = null_scores(journal, null, stop)
        if len(found) < stop or NullWork(null, None).key not in journal:
            return None
        if is_decided(found, observed_score(journal, null)):
            break
    return found


def batch_ends(n_permutations: int) -> list[int]:
    """Numbers of randomised tables after which a test looks whether it is over."""
    return [min(start + _BATCH, n_permutations) for start in range(0, n_permutations, _BATCH)]


def is_decided(found: list[float], observed: float) -> bool:
    """Whether so many randomised tables did as well as the real one that a test is over."""
    return sum(score >= observed for score in found) >= ENOUGH


def observed_score(journal: "Journal", null: Null) -> float:
    """Score of the reference procedure on the real table, to ten digits."""
    return _null_score(journal, NullWork(null, None))


def null_scores(journal: "Journal", null: Null, n: int) -> list[float]:
    """Scores of the first n randomised tables, as far as they are finished, to ten digits."""
    found = []
    for number in range(n):
        work = NullWork(null, number)
        if work.key not in journal:
            break
        found.append(_null_score(journal, work))
    return found


def _null_score(journal: "Journal", work: NullWork) -> float:
    payload = journal[work.key]
    if "failure" in payload:
        raise StudyError(f"The permutation test could not be run: {payload['failure']}")
    return round(payload["score"], 10)
