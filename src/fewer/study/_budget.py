"""A time limit: what a study leaves out to keep it, decided once from measured times, and kept in the journal.

All candidates are scored on the first fold, and the statistic of the tests is computed once. With t the seconds of a
fold (those of all candidates together), u those of a permutation, R repeats of F folds, P permutations for each of T
tests and w workers, the whole study is expected to take

    (t F R (1 + a) + u P T) / w

seconds, where a t is what a fold costs after the candidates are scored: held-out predictions and importance.
Where that is too long, a study has, in this order,

1. fewer repeats, down to one;
2. fewer permutations, down to the fewest that can reach the significance level;
3. fewer candidates: the slowest selection method with its learner first, as long as one is left. A learner with all
   columns is left out when no selection method uses it any more. The baseline stays.

Scores have no say in this, so nothing is chosen twice. The decision is a plan without a limit (:func:`settled_plan`):
run again, it gives the same numbers on any machine.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fewer._wording import counted, listed, parameter
from fewer.study._errors import StudyError

if TYPE_CHECKING:
    from fewer.study._plan import Plan
    from fewer.study._question import Payloads

# Its name in the journal.
BUDGET = "budget"
# What a fold costs after the candidates are scored, as a share of what these take on it: 0.36 in a quick study of khan.
_AFTERWARDS = 0.4
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
    >>> time_words(0.2), time_words(89.4), time_words(1800), time_words(5400)
    ('1 second', '89 seconds', '30 minutes', '1.5 hours')
    """
    if seconds < 90:
        return counted(max(round(seconds), 1), "second")
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


@dataclass(frozen=True)
class Measured:
    """Times that decide what a study can afford, in seconds.

    Attributes
    ----------
    folds : mapping of int to float
        First fold of each candidate, by its place in the plan.
    permutation : float
        One permutation.
    n_tests : int
        Permutation tests.
    n_workers : int
        Tasks side by side.
    spent : float
        What has passed before these times can be used.
    """

    folds: Mapping[int, float]
    permutation: float
    n_tests: int
    n_workers: int
    spent: float = 0.0

    def of_a_fold(self, plan: "Plan") -> float:
        """Seconds of all candidates of a plan on one fold.

        Those with the same reducer share its fit, which the first of them is timed with: if that one is left out, the
        next one takes it over.
        """
        total = 0.0
        for numbers in by_reducer(plan).values():
            kept = [number for number in numbers if number not in plan.skipped]
            if kept:
                shared = max(self._of(numbers[0]) - min(map(self._of, numbers)), 0.0) if kept[0] != numbers[0] else 0.0
                total += shared + sum(map(self._of, kept))
        return total

    def of_a_study(self, plan: "Plan") -> float:
        """Seconds of the whole study."""
        folds = self.of_a_fold(plan) * plan.n_folds * plan.n_repeats * (1 + _AFTERWARDS)
        return self.spent + (folds + self.permutation * self.n_tests * plan.n_permutations) / self.n_workers

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
    tried = replace(plan, budget=None)
    while measured.of_a_study(tried) > limit and tried.n_repeats > 1:
        tried = replace(tried, n_repeats=tried.n_repeats - 1)
    tried = _with_fewer_permutations(tried, measured, limit)
    while measured.of_a_study(tried) > limit:
        next_out = _next_out(tried, measured.folds)
        if next_out is None:
            break
        tried = replace(tried, skipped=tuple(sorted((*tried.skipped, next_out))))
    return tried


def _with_fewer_permutations(plan: "Plan", measured: Measured, limit: float) -> "Plan":
    from fewer.study._plan import fewest_permutations

    without = measured.of_a_study(replace(plan, n_permutations=0))
    each = measured.permutation * measured.n_tests / measured.n_workers
    if not plan.n_permutations or without + plan.n_permutations * each <= limit:
        return plan
    fewest = min(plan.n_permutations, fewest_permutations(plan.confidence))
    return replace(plan, n_permutations=max(fewest, int(max(limit - without, 0.0) / each)))


def _next_out(plan: "Plan", seconds: Mapping[int, float]) -> int | None:
    """The slowest candidate that can be left out; None if all that are left are needed."""
    left = [number for number in range(len(plan.candidates)) if number not in plan.skipped]
    reduced = [number for number in left if plan.candidates[number].reducer is not None]
    used = {repr(plan.candidates[number].learner) for number in reduced}
    alone = [
        number
        for number in left
        if plan.candidates[number].reducer is None
        and not plan.candidates[number].is_simplest
        and repr(plan.candidates[number].learner) not in used
    ]
    able = alone + (reduced if len(reduced) > 1 else [])
    return max(able, key=lambda number: (seconds.get(number, 0.0), number), default=None)


def decision(plan: "Plan", measured: Measured) -> dict[str, Any]:
    """What a study does to keep its time limit, for the journal."""
    settled = within_budget(plan, measured)
    expected = measured.of_a_study(settled)
    return {
        "falls_short": settled != replace(plan, budget=None) or expected > (plan.budget or math.inf),
        "n_repeats": settled.n_repeats,
        "n_permutations": settled.n_permutations,
        "skipped": list(settled.skipped),
        "asked": {"budget": plan.budget, "n_repeats": plan.n_repeats, "n_permutations": plan.n_permutations},
        "expected_seconds": float(f"{expected:.2g}"),
        "expected_in_full": float(f"{measured.of_a_study(replace(plan, budget=None)):.2g}"),
    }


def settled_plan(plan: "Plan", work: "Payloads") -> "Plan":
    """What is done of a plan: with a time limit, what the journal's decision leaves of it, without a limit."""
    if plan.budget is None or BUDGET not in work:
        return plan
    found = work[BUDGET]
    return replace(
        plan,
        budget=None,
        n_repeats=found["n_repeats"],
        n_permutations=found["n_permutations"],
        skipped=tuple(found["skipped"]),
    )


def budget_in_words(settled: "Plan", decided: Mapping[str, Any]) -> str:
    """What was left out of a study for its time limit, from the decision; or by its plan, without one."""
    if not decided:
        names = [settled.candidates[number].name for number in settled.skipped]
        return f"The plan leaves out {_candidates(names)}, as an earlier run with a time limit did."
    asked = replace(settled, skipped=(), **decided["asked"])
    return limit_in_words(asked, settled, decided["expected_seconds"], decided["expected_in_full"])


def _candidates(names: list[str]) -> str:
    return f"{counted(len(names), 'candidate')} ({listed(names, _MOST_NAMED, between='; ')})"


def left_out_in_words(asked: "Plan", settled: "Plan") -> list[str]:
    """What a study leaves out of what was asked for, in phrases."""
    said = []
    if settled.n_repeats < asked.n_repeats:
        drawn = "once" if settled.n_repeats == 1 else f"{settled.n_repeats} times"
        said.append(f"folds drawn {drawn} instead of {asked.n_repeats} times")
    if settled.n_permutations < asked.n_permutations:
        said.append(f"{settled.n_permutations} permutations for each test instead of {asked.n_permutations}")
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
