"""Do columns interact? A permutation test that makes columns independent within the classes."""

from collections.abc import Mapping
from typing import Any

from fewer.study.answers._question import Finished, Question, Verdict
from fewer.study.plan._plan import Plan
from fewer.study.work._null_test import NO_TIME, PermutationAnswer, null_evidence, null_work
from fewer.study.work._work import Null

TITLE = "Do columns interact?"
NULL: Null = "features_within_class"


def answer(done: Finished) -> PermutationAnswer:
    """Whether the reference procedure loses when columns are shuffled within classes."""
    return answered(done.plan, null_evidence(done.plan, NULL, done.work))


def answered(plan: Plan, null: dict[str, Any]) -> PermutationAnswer:
    """The answer from the scores of the test."""
    p = null["p_value"]
    nulls: dict[str, Any] = {NULL: null}
    if p is None:
        why = (
            "the test needs classes"
            if not plan.classify
            else NO_TIME
            if QUESTION.id in plan.untested
            else "the number of permutations is 0"
        )
        return PermutationAnswer(Verdict.NOT_TESTED, reason=why, nulls=nulls)
    increases = p_of_increase(null) <= plan.level
    verdict = Verdict.YES if p <= plan.level else Verdict.NO if increases else Verdict.NOT_SHOWN
    return PermutationAnswer(verdict, p, nulls=nulls)


def p_of_increase(null: Mapping[str, Any]) -> float:
    """The p-value of the other direction: scores are higher when columns are independent within classes."""
    no_better = sum(score <= null["observed"] for score in null["scores"])
    return (1 + no_better) / (1 + len(null["scores"]))


QUESTION = Question("interacting", TITLE, answer, lambda plan, scores, work: null_work(plan, NULL, work), place=20)
