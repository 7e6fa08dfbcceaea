"""Permutation tests: the reference procedure on the real table and on randomised ones, until the test is decided."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fewer.study._errors import StudyError
from fewer.study.answers._question import Answer, Payloads, Pieces
from fewer.study.plan._plan import Plan
from fewer.study.work._reference import do_null
from fewer.study.work._work import Null, NullWork

# A test is not over before this many randomised tables did as well as the real one: fewer say little about p.
_FEWEST_HITS = 10
_BATCH = 25
# Questions that are answered by permutation tests.
TESTS = frozenset({"learnable", "interacting"})
# Why a test was left out.
NO_TIME = "there was no time for the test"
_DESCRIPTIONS: dict[Null, str] = {"labels": "Permuting labels", "features_within_class": "Permuting within classes"}


@dataclass(frozen=True)
class PermutationAnswer(Answer):
    """The answer of a permutation test, with the scores on the randomised tables under the name of the test."""

    nulls: dict[str, Any] = field(default_factory=dict)


def nulls_of(plan: Plan) -> tuple[Null, ...]:
    """The tests of a plan."""
    if not plan.n_permutations:
        return ()
    # With groups of rows, no permutation keeps them and the columns that are always in.
    asked: dict[str, tuple[Null, bool]] = {
        "learnable": ("labels", not (plan.always and plan.splitting == "grouped")),
        "interacting": ("features_within_class", plan.classify),
    }
    return tuple(null for question, (null, made) in asked.items() if made and question not in plan.untested)


def null_work(plan: Plan, null: Null, work: Payloads) -> Iterator[Pieces]:
    """The real table, then randomised ones in batches, until enough did as well or the plan's number is reached."""
    n_enough = enough(plan)
    done = 0
    for stop in batch_ends(plan.n_permutations) if null in nulls_of(plan) else []:
        tasks = [(NullWork(null, number),) for number in (None, *range(done, stop))]
        yield Pieces(_DESCRIPTIONS[null], do_null, tasks)
        if is_decided(null_scores(work, null, stop), observed_score(work, null), n_enough):
            return
        done = stop


def null_evidence(plan: Plan, null: Null, work: Payloads) -> dict[str, Any]:
    """Scores of a test that is over, and its p-value."""
    if null not in nulls_of(plan):
        return {"observed": None, "scores": [], "p_value": None}
    observed = observed_score(work, null)
    found: list[float] = []
    for stop in batch_ends(plan.n_permutations):
        found = null_scores(work, null, stop)
        if is_decided(found, observed, enough(plan)):
            break
    p_value = (1 + sum(score >= observed for score in found)) / (1 + len(found))
    return {"observed": observed, "scores": found, "p_value": p_value}


def batch_ends(n_permutations: int) -> list[int]:
    """Numbers of randomised tables after which a test looks whether it is over."""
    return [min(start + _BATCH, n_permutations) for start in range(0, n_permutations, _BATCH)]


def enough(plan: Plan) -> int:
    """Randomised tables that must do as well as the real one for a test to be over.

    With N permutations and the significance level a, the p-value of all of them is (1 + hits) / (1 + N). With at least
    a (1 + N) hits it is above a whatever the other permutations give, so that a test that stops has the verdict of all
    N; and so has its own p-value (1 + hits) / (1 + n) after n of them, which is larger.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> [enough(SimpleNamespace(n_permutations=n, level=0.05)) for n in (99, 199, 999)]
    [10, 10, 50]
    """
    return max(_FEWEST_HITS, math.ceil(plan.level * (1 + plan.n_permutations) - 1e-9))


def is_decided(found: list[float], observed: float, n_enough: int) -> bool:
    """Whether so many randomised tables did as well as the real one that a test is over."""
    return sum(score >= observed for score in found) >= n_enough


def observed_score(work_done: Payloads, null: Null) -> float:
    """Score of the reference procedure on the real table, to ten digits."""
    return _null_score(work_done, NullWork(null, None))


def null_scores(work_done: Payloads, null: Null, n: int) -> list[float]:
    """Scores of the first n randomised tables, as far as they are finished, to ten digits."""
    found = []
    for number in range(n):
        work = NullWork(null, number)
        if work.key not in work_done:
            break
        found.append(_null_score(work_done, work))
    return found


def _null_score(work_done: Payloads, work: NullWork) -> float:
    payload = work_done[work.key]
    if "failure" in payload:
        raise StudyError(f"The permutation test could not be run: {payload['failure']}")
    return round(payload["score"], 10)
