"""A time limit: what a study leaves out to keep it, decided once from measured times, and kept in the journal.

All candidates are scored on the first fold, and the statistic of the tests is computed once; where that is quick, a
second time, because the first one includes imports and compilation. With t the seconds of a fold (those of all
candidates together), u those of a permutation, R repeats of F folds, P permutations for each of T tests and w workers,
the whole study is expected to take

    s + (t F R + h F + h' F (R - 1) + u P T) / w + c

seconds, where s were spent since the command started, h and h' are what a fold of the first repeat and one of the
others costs after the candidates are scored (held-out predictions of some candidates or of the procedures alone, and
importance), and c what comes after the tests: the model, the report. On a machine that does other work, c is longer by
as much as the clock was ahead of the processor until the folds began. Workers have a fold at a time, whose candidates
with the same reducer are one task, so a fold takes no less than the longest of these. Workers that have not been
started yet are started if all of this is done earlier with them.
Where that is too long, a study has, in this order,

1. fewer repeats, down to one;
2. fewer permutations, down to the fewest that can reach the significance level;
3. no test of interactions;
4. no tests, if even one candidate and the fewest permutations take too long;
5. fewer candidates: the slowest selection method with its learner first, as long as one is left. A learner with all
   columns is left out when no selection method uses it any more. The baseline stays. Candidates that were not timed
   within three tenths of the limit, or five seconds, are left out before anything else.

The tests come last. Before they start, the time that is left decides again how many permutations and tests there are,
at most those of the first decision. Scores have no say in this, so nothing is chosen twice. The decision is a plan
without a limit (:func:`settled_plan`): run again, it gives the same numbers on any machine.
"""

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fewer._wording import counted, listed, parameter
from fewer.study._errors import StudyError

if TYPE_CHECKING:
    from fewer.study.answers._question import Payloads
    from fewer.study.plan._plan import Plan

# Its name in the journal.
BUDGET = "budget"
BUDGET_OF_TESTS = "budget/tests"
# Decisions after some repeats: how often folds are drawn.
REPEATS = "repeats"
# A fit with one number of columns, where all numbers are tried: at most so many times the mean, as few large ones
# take most of the time.
_OF_MANY_SIZES = 3
# Importance permutes columns and predicts: this share of the fits.
_IMPORTANCE = 0.1
# Candidates whose held-out predictions are made on the first repeat: the winner, and its rivals.
_PREDICTED = 6
# Seconds after the tests on a free machine, as measured: 1.1 with a table of 800 x 150.
CLOSING = 1.3
# Before the folds, where they are not measured: start and reading.
_OPENING = 1.7
# Below so many seconds of the processor, its share of the clock says little; above, this ratio is not believed.
_FEWEST_SECONDS = 0.2
_SLOWEST = 10.0
# Times differ by this share from run to run: a test is not left out late for less.
GRACE = 0.1
INTERACTIONS = "interacting"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_MOST_NAMED = 10


def seconds_in(budget: Any) -> float | None:
    """A time limit in seconds.

    Examples
    --------
    >>> seconds_in("30m"), seconds_in("1h30m"), seconds_in("0.5h"), seconds_in(90), seconds_in(None)
    (1800.0, 5400.0, 1800.0, 90.0, None)
    """
    if budget is None:
        return None
    text = "" if isinstance(budget, bool) else str(budget).strip().lower().replace(" ", "")
    try:
        seconds = float(text)
    except ValueError:
        parts = re.findall(r"([\d.]+)([smhd])", text) if _TIME.fullmatch(text) else []
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 < seconds < math.inf:
        raise StudyError(
            f"{parameter(BUDGET)} must be a positive time such as 90s, 30m, 2h or 1h30m, or a number of seconds, not "
            f"{budget!r}."
        )
    return seconds


def time_words(seconds: float) -> str:
    """A time for people, roughly.

    Examples
    --------
    >>> time_words(0.2), time_words(90), time_words(1800), time_words(5400)
    ('1 second', '90 seconds', '30 minutes', '1.5 hours')
    """
    if seconds < 120:
        return counted(max(round(seconds), 1), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


@dataclass(frozen=True)
class Clock:
    """When a study was asked for, by the clock and by the processor time of this process; its limit counts from then.

    Attributes
    ----------
    wall, cpu : float
        Seconds, as ``time.perf_counter`` and ``time.process_time`` count them; now by default.
    """

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=time.process_time)

    @property
    def spent(self) -> float:
        """Seconds since then."""
        return time.perf_counter() - self.wall

    def closing(self) -> float:
        """Seconds that the end of a study will take; asked before other processes work."""
        cpu = time.process_time() - self.cpu
        slowdown = self.spent / cpu if cpu > _FEWEST_SECONDS else 1.0
        return CLOSING * min(max(slowdown, 1.0), _SLOWEST)


@dataclass(frozen=True)
class Measured:
    """Times that decide what a study can afford, in seconds.

    Attributes
    ----------
    folds : mapping of int to float
        First fold of each candidate, by its place in the plan; those that are not here are left out.
    permutation : float
        One permutation.
    n_workers : int
        Tasks side by side.
    spent : float
        What has passed before these times can be used.
    closing : float
        What comes after the tests.
    starting : float
        What it takes to start the workers; 0 if they have been started.
    """

    folds: Mapping[int, float]
    permutation: float
    n_workers: int
    spent: float = _OPENING
    closing: float = CLOSING
    starting: float = 0.0

    def of_a_fold(self, plan: "Plan") -> float:
        """Seconds of all candidates of a plan on one fold.

        Those with the same reducer share its fit, which the first of them is timed with: if that one is left out, the
        next one takes it over.
        """
        return sum(self._of_tasks(plan))

    def of_a_study(self, plan: "Plan") -> float:
        """Seconds of the whole study."""
        return self.spent + min(self._of_work(plan, 1), self._with_workers(plan)) + self.closing

    def needs_workers(self, plan: "Plan") -> bool:
        """Whether the study is finished earlier with workers."""
        return self._with_workers(plan) < self._of_work(plan, 1)

    def of_permutations(self, plan: "Plan") -> float:
        """Seconds of one permutation for each test."""
        from fewer.study.work._null_test import nulls_of

        return self.permutation * len(nulls_of(plan)) / self.n_workers

    def _with_workers(self, plan: "Plan") -> float:
        return self.starting + self._of_work(plan, self.n_workers)

    def _of_work(self, plan: "Plan", n_workers: int) -> float:
        """Seconds of folds, held-out predictions and tests, with so many workers."""
        tasks, n_folds = self._of_tasks(plan), plan.n_folds * plan.n_repeats
        fold = max([sum(tasks) / n_workers, *tasks])
        first, others = self._of_predictions(plan)
        predictions = plan.n_folds * first + (n_folds - plan.n_folds) * others
        rounded_up = math.ceil(n_folds / n_workers) * n_workers / n_folds
        tests = plan.n_permutations * self.of_permutations(plan) * self.n_workers
        return fold * n_folds + (predictions * rounded_up + tests) / n_workers

    def _of_tasks(self, plan: "Plan") -> list[float]:
        """Seconds of each reducer with its learners, and of each learner with all columns, on one fold."""
        found = []
        for numbers in by_reducer(plan).values():
            kept = [number for number in numbers if number not in plan.skipped]
            if kept:
                shared = self._of_reducer(numbers) if kept[0] != numbers[0] else 0.0
                found.append(shared + sum(map(self._of, kept)))
        return found

    def _of_reducer(self, numbers: list[int]) -> float:
        """Seconds of a reducer, which the first candidate that has it is timed with."""
        return max(self._of(numbers[0]) - min(map(self._of, numbers)), 0.0)

    def _of_predictions(self, plan: "Plan") -> tuple[float, float]:
        """Seconds of held-out predictions and importance on a fold of the first repeat, and on one of the others."""
        reduced, whole = [0.0], [0.0]
        for numbers in by_reducer(plan).values():
            shared = self._of_reducer(numbers)
            for number in numbers:
                sizes = plan.candidates[number].sizes
                if number in plan.skipped:
                    continue
                if plan.candidates[number].reducer is None:
                    whole.append(self._of(number))
                else:
                    own = self._of(number) - (shared if number == numbers[0] else 0.0)
                    reduced.append(shared + own * min(1.0, _OF_MANY_SIZES / max(len(sizes), 1)))
        importance = _IMPORTANCE * self.of_a_fold(plan)
        return sum(sorted(reduced + whole)[-_PREDICTED:]) + importance, max(reduced) + max(whole) + importance

    def _of(self, number: int) -> float:
        return self.folds.get(number, 0.0)


def by_reducer(plan: "Plan") -> dict[str, list[int]]:
    """Candidates with the same reducer, in their order; those without one share nothing but the prepared rows."""
    found: dict[str, list[int]] = {}
    for number, candidate in enumerate(plan.candidates):
        name = repr(candidate.reducer) if candidate.reducer is not None else f"all features {number}"
        found.setdefault(name, []).append(number)
    return found


def within_budget(plan: "Plan", measured: Measured) -> "Plan":
    """The plan with as much as its time limit allows, and without a limit."""
    limit = plan.budget or math.inf
    untimed = [number for number in range(len(plan.candidates)) if number not in measured.folds]
    tried = replace(plan, budget=None, skipped=tuple(sorted({*plan.skipped, *untimed})))
    while measured.of_a_study(tried) > limit and tried.n_repeats > 1:
        tried = replace(tried, n_repeats=tried.n_repeats - 1)
    tried = _with_fewer_tests(tried, measured, limit)
    while measured.of_a_study(tried) > limit:
        next_out = _next_out(tried, measured.folds)
        if next_out is None:
            break
        tried = replace(tried, skipped=tuple(sorted((*tried.skipped, next_out))))
    return tried


def _with_fewer_tests(plan: "Plan", measured: Measured, limit: float) -> "Plan":
    left = limit - measured.of_a_study(replace(plan, n_permutations=0))
    tried = with_tests_within(plan, left, measured)
    if tried.n_permutations:
        return tried
    # Candidates can make room for the tests, but not where even one takes too long with them.
    fewest = replace(without_interactions(plan), n_permutations=_fewest(plan))
    smallest = fewest
    while (next_out := _next_out(smallest, measured.folds)) is not None:
        smallest = replace(smallest, skipped=tuple(sorted((*smallest.skipped, next_out))))
    return fewest if measured.of_a_study(smallest) <= limit else tried


def with_tests_within(plan: "Plan", left: float, measured: Measured, *, grace: float = 0.0) -> "Plan":
    """The plan with as many permutations as there is time for, then without the test of interactions, then without any.

    There are no fewer than can reach the significance level, for which there is so much more time, and no more than
    were asked for.
    """
    for tried in (plan, without_interactions(plan)):
        each = measured.of_permutations(tried)
        if tried.n_permutations * each <= left:
            return tried
        if (fewest := _fewest(plan)) * each <= left + grace:
            return replace(tried, n_permutations=max(fewest, int(max(left, 0.0) / each)))
    return replace(plan, n_permutations=0)


def without_interactions(plan: "Plan") -> "Plan":
    """The plan with the test of the target alone, if it has that one."""
    from fewer.study.work._null_test import nulls_of

    return replace(plan, untested=(INTERACTIONS,)) if "labels" in nulls_of(plan) and plan.classify else plan


def _fewest(plan: "Plan") -> int:
    from fewer.study.plan._plan import fewest_permutations

    return min(plan.n_permutations, fewest_permutations(plan.confidence))


def _next_out(plan: "Plan", seconds: Mapping[int, float]) -> int | None:
    """The slowest candidate that can be left out; None if all that are left are needed."""
    left = [number for number in range(len(plan.candidates)) if number not in plan.skipped]
    reduced = [number for number in left if plan.candidates[number].reducer is not None]
    used = {repr(plan.candidates[number].learner) for number in reduced}
    alone = [
        number
        for number in left
        if plan.candidates[number].reducer is None
        and not plan.candidates[number].is_baseline
        and repr(plan.candidates[number].learner) not in used
    ]
    able = alone + (reduced if len(reduced) > 1 else [])
    return max(able, key=lambda number: (seconds.get(number, 0.0), number), default=None)


def decision(plan: "Plan", measured: Measured) -> dict[str, Any]:
    """What a study does to keep its time limit, for the journal."""
    settled = within_budget(plan, measured)
    expected = measured.of_a_study(settled)
    return {
        "workers": measured.needs_workers(settled),
        "falls_short": settled != replace(plan, budget=None) or expected > (plan.budget or math.inf),
        "n_repeats": settled.n_repeats,
        **tests_of(settled),
        "skipped": list(settled.skipped),
        "asked": {"budget": plan.budget, "n_repeats": plan.n_repeats, "n_permutations": plan.n_permutations},
        "expected_seconds": float(f"{expected:.2g}"),
        "expected_in_full": float(f"{measured.of_a_study(replace(plan, budget=None)):.2g}"),
    }


def tests_of(plan: "Plan") -> dict[str, Any]:
    """What a plan says of its tests."""
    return {"n_permutations": plan.n_permutations, "untested": list(plan.untested)}


def settled_plan(plan: "Plan", work: "Payloads") -> "Plan":
    """What is done of a plan: with a time limit, what the journal's decision leaves of it, without a limit.

    Without one, the repeats that were decided on.
    """
    if plan.budget is None or BUDGET not in work:
        return replace(plan, n_repeats=settled_repeats(plan, work)) if plan.may_repeat else plan
    found = work[BUDGET]
    tests = work[BUDGET_OF_TESTS if BUDGET_OF_TESTS in work else BUDGET]
    return replace(
        plan,
        budget=None,
        max_repeats=None,
        n_repeats=found["n_repeats"],
        n_permutations=tests["n_permutations"],
        untested=tuple(tests.get("untested", ())),
        skipped=tuple(found["skipped"]),
    )


def settled_repeats(plan: "Plan", work: "Payloads") -> int:
    """How often folds are drawn, as far as the journal's decisions go."""
    n_repeats = plan.n_repeats
    while (key := f"{REPEATS}/{n_repeats}") in work and work[key]["n_repeats"] > n_repeats:
        n_repeats = work[key]["n_repeats"]
    return n_repeats


def budget_in_words(settled: "Plan", decided: Mapping[str, Any]) -> str:
    """What was left out of a study for its time limit, from the decision; or by its plan, without one."""
    if not decided:
        names = [settled.candidates[number].name for number in settled.skipped]
        return f"The plan leaves out {_candidates(names)}, as an earlier run with a time limit did."
    asked = replace(settled, skipped=(), untested=(), **decided["asked"])
    return limit_in_words(asked, settled, decided["expected_seconds"], decided["expected_in_full"])


def _candidates(names: list[str]) -> str:
    return f"{counted(len(names), 'candidate')} ({listed(names, _MOST_NAMED, between='; ')})"


def left_out_in_words(asked: "Plan", settled: "Plan") -> list[str]:
    """What a study leaves out of what was asked for, in phrases."""
    said = []
    if settled.n_repeats < asked.n_repeats:
        drawn = "once" if settled.n_repeats == 1 else f"{settled.n_repeats} times"
        said.append(f"folds drawn {drawn} instead of {asked.n_repeats} times")
    if not settled.n_permutations and asked.n_permutations:
        said.append("no permutation tests")
    elif settled.n_permutations < asked.n_permutations:
        said.append(f"{settled.n_permutations} permutations for each test instead of {asked.n_permutations}")
    if settled.n_permutations and settled.untested != asked.untested:
        said.append("no test of interactions")
    skipped = [asked.candidates[number].name for number in settled.skipped if number not in asked.skipped]
    if skipped:
        said.append(f"without {_candidates(skipped)}")
    return said


def limit_in_words(asked: "Plan", settled: "Plan", expected: float, in_full: float) -> str:
    """One sentence on the time limit of a study, and what it leaves out."""
    limit = time_words(asked.budget or 0.0)
    said = left_out_in_words(asked, settled)
    if not said and expected <= (asked.budget or 0.0):
        return f"The time limit of {limit} is long enough: the whole plan is expected to take {time_words(in_full)}."
    what = f"To keep the time limit of {limit} ({time_words(in_full)} in full): {', '.join(said)}." if said else ""
    if expected > (asked.budget or 0.0):
        what += (
            f" The limit is too short for this table: {'even this' if said else 'the smallest study'} is expected to "
            f"take {time_words(expected)}."
        )
    return what.strip()
