"""Running a plan: the tasks that the journal lacks are run, and each is written to it as it finishes."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fewer._estimators import each_warning_once
from fewer._kernels._one_thread import one_thread
from fewer._wording import argument, counted
from fewer.study._budget import BUDGET, Measured, decision
from fewer.study._columns import COLUMNS, do_columns
from fewer.study._errors import StudyError
from fewer.study._notes import warn_again
from fewer.study._null_test import nulls_of
from fewer.study._question import Here, Pieces
from fewer.study._race import first_fold, fold_rounds
from fewer.study._reference import do_null
from fewer.study._work import Bench, FoldWork, NullWork, do_fold, finished
from fewer.study.questions import question_named

if TYPE_CHECKING:
    from fewer.engine import Engine, Failure
    from fewer.study._journal import Journal
    from fewer.study._plan import Plan
    from fewer.study._scores import AllScores
    from fewer.study._study_data import StudyData

Progress = bool | str | Callable[..., Any]

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
            f"plan, or start a new study in another folder ({argument('out')})."
        )
    started = time.perf_counter()
    bench = Bench(plan, data)
    where: dict[str, Any] = {"bench": bench, "journal": journal, "engine": engine, "progress": progress}
    try:
        if plan.budget is not None:
            _settle(plan, started, **where)
            plan = journal.settled
            bench = where["bench"] = Bench(plan, data, bench.repeats[: plan.n_repeats])
        for tasks in fold_rounds(journal, plan):
            _do(do_fold, tasks, "Scoring candidates", **where)
    finally:
        warn_again(journal[key] for key in sorted(journal.keys("fold/")))
    _do_here(Here(COLUMNS, do_columns), bench, None, journal)
    scores = journal.scores
    _check_scores(scores)
    for name in plan.questions:
        for work in question_named(name).work(plan, scores, journal):
            if isinstance(work, Pieces):
                _do(work.function, work.tasks, work.description, **where)
            else:
                _do_here(work, bench, scores, journal)


def _settle(plan: "Plan", started: float, *, journal: "Journal", engine: "Engine", **where: Any) -> None:
    """Time the first fold and the statistic of the tests, and write down what the time limit leaves of the plan."""
    if BUDGET in journal:
        return
    _do(do_fold, first_fold(plan), "Timing candidates", journal=journal, engine=engine, **where)
    nulls = nulls_of(plan)
    tests = [NullWork(null, None) for null in nulls]
    if tests:
        _do(do_null, [(test,) for test in tests], "Timing tests", journal=journal, engine=engine, **where)
    seconds = journal.seconds()
    measured = Measured(
        {number: seconds.get(FoldWork(number, 0, 0).key, 0.0) for number in range(len(plan.candidates))},
        max((seconds[test.key] for test in tests), default=0.0),
        len(nulls),
        engine.n_workers,
        # The clock, or, of a study that goes on, what was spent before.
        max(time.perf_counter() - started, sum(seconds.values()) / engine.n_workers),
    )
    journal.add(BUDGET, decision(plan, measured))


def _do_here(work: Here, bench: Bench, scores: "AllScores | None", journal: "Journal") -> None:
    """Do one piece of work in this process, if the journal lacks it."""
    if work.key in journal:
        return
    started = time.perf_counter()
    with one_thread():
        payload = work.function(bench, scores)  # type: ignore[arg-type]  # the columns come before the scores
    journal.add(work.key, payload, time.perf_counter() - started)


def _check_scores(scores: "AllScores") -> None:
    """Raise if no selection method could be run."""
    if scores.without_baseline or not scores.reduced or not scores.with_everything:
        if not scores.failures:
            raise StudyError(
                "In some folds only one column varies, so no selection is possible. Use fewer folds, or drop nearly "
                "constant columns."
            )
        name, reason = next(iter(scores.failures.items()))
        raise StudyError(f"No candidate could be run. Error of the first, {name}: {reason}")


def folds_are_done(journal: "Journal", plan: "Plan") -> bool:
    """Whether the journal has all the work on the folds."""
    return all(all(work.key in journal for works in tasks for work in works) for tasks in fold_rounds(journal, plan))


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
            f"command again with fewer workers ({argument('n_jobs', 1)}). Finished tasks are kept."
        )
