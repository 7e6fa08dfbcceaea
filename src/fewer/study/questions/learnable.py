"""Can the target be predicted? A permutation test of a quick reference procedure."""

from dataclasses import replace
from typing import Any

from fewer.study.answers._question import Finished, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.plan._budget import BUDGET
from fewer.study.plan._plan import Plan
from fewer.study.work._null_test import NO_TIME, PermutationAnswer, null_evidence, null_work
from fewer.study.work._work import Null

TITLE = "Can the target be predicted?"
NULL: Null = "labels"


def answer(done: Finished) -> PermutationAnswer:
    """Whether the reference procedure scores higher than on tables with a shuffled target."""
    found = answered(done.plan, done.scores, null_evidence(done.plan, NULL, done.work))
    asked = done.work[BUDGET]["asked"]["n_permutations"] if BUDGET in done.work else 0
    return replace(found, reason=NO_TIME) if asked and not done.plan.n_permutations else found


def answered(plan: Plan, scores: AllScores, null: dict[str, Any]) -> PermutationAnswer:
    """The answer from the scores of the test."""
    evidence = {
        "score": float(scores.choice.fold_scores.mean()),
        "baseline": scores.baseline.score,
        "n_tables": len(null["scores"]),
    }
    p = null["p_value"]
    verdict = Verdict.NOT_TESTED if p is None else Verdict.YES if p <= plan.level else Verdict.NO
    why = "with groups of rows, there is no permutation test of what columns add to those that are always in"
    return PermutationAnswer(
        verdict, p, None, evidence, why if p is None and plan.n_permutations else "", nulls={NULL: null}
    )


QUESTION = Question("learnable", TITLE, answer, lambda plan, scores, work: null_work(plan, NULL, work), place=10)
