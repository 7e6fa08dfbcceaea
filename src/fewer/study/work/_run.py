"""Running a plan: the tasks that the journal lacks are run, and each is written to it as it finishes."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fewer._estimators import each_warning_once
from fewer._kernels._one_thread import one_thread
from fewer._wording import argument, counted
from fewer.study._errors import StudyError
from fewer.study.answers._question import Here, Pieces
from fewer.study.answers._scores import read_scores
from fewer.study.plan._budget import (
    BUDGET,
    BUDGET_OF_TESTS,
    CLOSING,
    GRACE,
    REPEATS,
    Clock,
    Measured,
    budget_in_words,
    decision,
    tests_of,
    with_tests_within,
)
from fewer.study.questions import question_named
from fewer.study.table._columns import COLUMNS, do_columns, n_units
from fewer.study.work._notes import warn_again
from fewer.study.work._null_test import TESTS, nulls_of
from fewer.study.work._race import fold_rounds, timing_rounds, work_of_fold
from fewer.study.work._reference import do_null
from fewer.study.work._work import Bench, FoldWork, NullWork, do_fold, finished

if TYPE_CHECKING:
    from fewer.engine import Engine, Failure
    from fewer.study.answers._scores import AllScores
    from fewer.study.files._journal import Journal
    from fewer.study.plan._plan import Plan
    from fewer.study.table._study_data import StudyData

Progress = bool | str | Callable[..., Any]

# What is timed is timed again, without imports and compilation, if that takes less than this share of a time limit.
_SHARE_OF_TIMING = 0.08
# Candidates that were not timed by then, a share of a time limit or so many seconds with the imports, are left out.
_LONGEST_TIMING = 0.3
_SECONDS_OF_TIMING = 5.0
# A task on so many cells takes fractions of a second.
_CELLS_OF_A_SMALL_TABLE = 2_000_000
# Answers that need no folds, before the tests, as a share of what comes after them: 0.5 s with a table of 5,000 x 30.
_ANSWERS = 0.4
# Seconds that workers take to start on a free machine.
_STARTING = 3.0


class StudyInterruptedError(StudyError):
    """The study was stopped; what is finished is in the journal."""


@each_warning_once()
def run_plan(
    plan: "Plan",
    data: "StudyData",
    journal: "Journal",
    *,
    engine: "Engine",
    progress: Progress = False,
    clock: Clock | None = None,
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
    clock : Clock, default=None
        Since when a time limit counts; from now on by default.
    """
    clock = clock or Clock()
    closing = clock.closing()
    if data.fingerprint != plan.fingerprint:
        raise StudyError(
            "The table is not the one of the plan: its cells, columns or row order have changed. Give the table of the "
            f"plan, or start a new study in another folder ({argument('out')})."
        )
    limit = plan.budget
    bench = Bench(plan, data)
    where: dict[str, Any] = {"bench": bench, "journal": journal, "engine": engine, "progress": progress}
    try:
        if limit is not None:
            _settle(plan, clock, closing, **where)
            plan = journal.settled
            if engine.n_workers > 1:
                where["short_tasks"] = _are_short(data) and not journal[BUDGET].get("workers", False)
            bench = where["bench"] = Bench(plan, data, bench.repeats[: plan.n_repeats])
        for tasks in fold_rounds(journal, plan):
            _do(do_fold, tasks, "Scoring candidates", **where)
        _do_here(Here(COLUMNS, do_columns), bench, None, journal)
        bench = _repeat_while_close(plan, **where)
    finally:
        warn_again(journal[key] for key in sorted(journal.keys("fold/")))
    plan, where["bench"], scores = journal.settled, bench, journal.scores
    _check_scores(scores)
    names = plan.questions
    if limit is not None:  # what takes long without a say of the plan comes first, and the tests get what is left
        names = (*(name for name in names if name not in TESTS), *(name for name in names if name in TESTS))
    for name in names:
        if limit is not None and name in TESTS:
            _settle_tests(limit, clock, closing, journal, engine)
            plan = journal.settled
        for work in question_named(name).work(plan, scores, journal):
            if isinstance(work, Pieces):
                _do(work.function, work.tasks, work.description, **where)
            else:
                _do_here(work, bench, scores, journal)


def _repeat_while_close(plan: "Plan", *, bench: Bench, journal: "Journal", **where: Any) -> Bench:
    """Draw the folds twice as often, and again, while other folds may well give another outcome.

    A limit is close whichever side of zero it is on, so that no outcome is waited for. Each decision is in the journal.
    """
    where |= {"journal": journal}
    while plan.may_repeat and plan.max_repeats is not None:
        key = f"{REPEATS}/{plan.n_repeats}"
        if key not in journal:
            scores = read_scores(journal, plan, journal[COLUMNS]["test_ratio"], n_units(journal.table, plan))
            _check_scores(scores)
            more = min(2 * plan.n_repeats, plan.max_repeats) if scores.claim.is_close else plan.n_repeats
            journal.add(key, {"n_repeats": more})
        drawn = journal[key]["n_repeats"]
        if drawn == plan.n_repeats:
            break
        plan = replace(plan, n_repeats=drawn)
        bench = Bench(plan, bench.data)
        for tasks in fold_rounds(journal, plan):
            _do(do_fold, tasks, "Scoring candidates on other folds", bench=bench, **where)
    return bench


def _settle(plan: "Plan", clock: Clock, closing: float, *, journal: "Journal", engine: "Engine", **where: Any) -> None:
    """Time the first folds and the statistic of the tests, and write down what the time limit leaves of the plan.

    What is done the first time includes imports and compilation, so it is done a second time where that is quick. All
    of it is work that the study needs.
    """
    if BUDGET in journal:
        return
    where |= {"journal": journal, "engine": engine}
    limit = plan.budget or math.inf
    for tasks in timing_rounds(plan, engine.n_workers):
        _do(do_fold, tasks, "Timing candidates", **where)
        if _spent(clock, journal, engine) > max(_LONGEST_TIMING * limit, min(_SECONDS_OF_TIMING, limit)):
            break
    done = set(journal.keys("fold/"))
    timed = [number for number in range(len(plan.candidates)) if FoldWork(number, 0, 0).key in done]
    if sum(journal.seconds().values()) < _SHARE_OF_TIMING * limit * engine.n_workers:
        _do(do_fold, work_of_fold(plan, 1), "Timing candidates", **where)
    tests = [NullWork(null, None) for null in nulls_of(plan)]
    if tests:
        _do(do_null, [(test,) for test in tests], "Timing tests", **where)
        if max(journal.seconds()[test.key] for test in tests) < _SHARE_OF_TIMING * limit:
            _do(do_null, [(NullWork(test.null, 0),) for test in tests], "Timing tests", **where)
    measured = Measured(
        {number: _quickest(journal, *(FoldWork(number, 0, fold) for fold in (0, 1))) for number in timed},
        _seconds_of_a_test(journal, plan),
        engine.n_workers,
        _spent(clock, journal, engine),
        closing * (1 + _ANSWERS),
        _STARTING * closing / CLOSING if _are_short(where["bench"].data) and engine.n_workers > 1 else 0.0,
    )
    decided = decision(plan, measured)
    journal.add(BUDGET, decided, decision=True)
    if decided["expected_seconds"] > limit:
        warnings.warn(budget_in_words(journal.settled, decided), stacklevel=3)


def _settle_tests(limit: float, clock: Clock, closing: float, journal: "Journal", engine: "Engine") -> None:
    """Write down how many permutations and tests there is time for, when all but the tests is done."""
    if BUDGET_OF_TESTS in journal or not nulls_of(journal.settled):
        return
    plan, scores = journal.settled, journal.scores
    seconds = journal.seconds()
    model = max((seconds.get(FoldWork(scores.winner.number, 0, fold).key, 0.0) for fold in (0, 1)), default=0.0)
    left = limit - _spent(clock, journal, engine) - closing - model
    n_workers = engine.n_workers if journal[BUDGET].get("workers", True) else 1
    measured = Measured({}, _seconds_of_a_test(journal, plan), n_workers)
    left_over = with_tests_within(plan, left, measured, grace=GRACE * limit)
    journal.add(BUDGET_OF_TESTS, tests_of(left_over), decision=True)


def _quickest(journal: "Journal", *works: Any) -> float:
    """Seconds of a piece of work that was done more than once."""
    seconds = journal.seconds()
    return min((seconds[work.key] for work in works if work.key in seconds), default=0.0)


def _seconds_of_a_test(journal: "Journal", plan: "Plan") -> float:
    """Seconds of one permutation, of the slower test."""
    return max((_quickest(journal, NullWork(null, None), NullWork(null, 0)) for null in nulls_of(plan)), default=0.0)


def _spent(clock: Clock, journal: "Journal", engine: "Engine") -> float:
    """Seconds by the clock, or, of a study that goes on, what was spent before."""
    return max(clock.spent, sum(journal.seconds().values()) / engine.n_workers)


def _are_short(data: "StudyData") -> bool:
    """Whether a task takes less than workers take to start."""
    return math.prod(data.dataset.shape) <= _CELLS_OF_A_SMALL_TABLE


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
    short_tasks: bool | None = None,
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
        short_tasks=_are_short(bench.data) if short_tasks is None else short_tasks,
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
