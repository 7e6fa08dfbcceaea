"""Can the target be predicted? A permutation test of a quick reference procedure."""

from typing import Any

import numpy as np

from fewer.study._null_test import PermutationAnswer, enough, null_evidence, null_work, p_of
from fewer.study._plan import Plan
from fewer.study._question import Finished, Question, Verdict
from fewer.study._scores import AllScores
from fewer.study._work import Null

TITLE = "Can the target be predicted?"
NULL: Null = "labels"


def answer(done: Finished) -> PermutationAnswer:
    """Whether the reference procedure scores higher than on tables with a shuffled target."""
    return answered(done.plan, done.scores, null_evidence(done.plan, NULL, done.work), done.metric)


def answered(plan: Plan, scores: AllScores, null: dict[str, Any], metric: str) -> PermutationAnswer:
    """The answer from the scores of the test."""
    score, baseline = float(scores.choice.fold_scores.mean()), scores.simplest.score
    how = (
        f"A permutation test. Its statistic is the cross-indexed {metric} of a reference procedure, which does not "
        "depend on the winner: the best of ridge, naive Bayes and nearest neighbours after a filter. It was computed "
        f"on this table and on up to {plan.n_permutations} tables with a shuffled target; p is the share of these "
        f"tables, this one included, that score at least as high as this one. The test stops early when "
        f"{enough(plan)} of them do, which does not change the verdict."
    )
    evidence = {"score": score, "simplest": baseline, "n_tables": len(null["scores"])}
    reached = f"cross-indexed {metric} {score:.3f} on held-out rows, {baseline:.3f} for the baseline"
    if null["p_value"] is None:
        return PermutationAnswer(
            TITLE, Verdict.NOT_TESTED, f"Not tested: {reached}.", None, None, how, evidence, {NULL: null}
        )
    test = (
        f"The test statistic, the {metric} of a quick reference procedure, is {null['observed']:.3f} on this table and "
        f"{np.mean(null['scores']):.3f} on average with a shuffled target ({p_of(plan, null)})."
    )
    verdict, word = (Verdict.YES, "Yes") if null["p_value"] <= plan.level else (Verdict.NO, "Not shown")
    return PermutationAnswer(
        TITLE, verdict, f"{word}: {reached}. {test}", null["p_value"], None, how, evidence, {NULL: null}
    )


QUESTION = Question("learnable", TITLE, answer, lambda plan, scores, work: null_work(plan, NULL, work), place=10)
