"""Can the target be predicted? A permutation test of a quick reference procedure."""

from typing import Any

from fewer.study.answers._question import Finished, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.plan._plan import Plan
from fewer.study.work._null_test import PermutationAnswer, null_evidence, null_work
from fewer.study.work._work import Null

TITLE = "Can the target be predicted?"
NULL: Null = "labels"


def answer(done: Finished) -> PermutationAnswer:
    """Whether the reference procedure scores higher than on tables with a shuffled target."""
    return answered(done.plan, done.scores, null_evidence(done.plan, NULL, done.work))


def answered(plan: Plan, scores: AllScores, null: dict[str, Any]) -> PermutationAnswer:
    """The answer from the scores of the test."""
    evidence = {
        "score": float(scores.choice.fold_scores.mean()),
        "baseline": scores.baseline.score,
        "n_tables": len(null["scores"]),
    }
    p = null["p_value"]
    verdict = Verdict.NOT_TESTED if p is None else Verdict.YES if p <= plan.level else Verdict.NO
    return PermutationAnswer(verdict, p, None, evidence, nulls={NULL: null})


QUESTION = Question("learnable", TITLE, answer, lambda plan, scores, work: null_work(plan, NULL, work), place=10)
