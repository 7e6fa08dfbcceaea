"""Do columns interact? A permutation test that makes columns independent within the classes."""

from typing import Any

import numpy as np

from fewer.study._null_test import PermutationAnswer, enough, null_evidence, null_work, p_of
from fewer.study._plan import Plan
from fewer.study._question import Finished, Question, Verdict
from fewer.study._work import Null

TITLE = "Do columns interact?"
NULL: Null = "features_within_class"
# So near to the best possible score, a test of a decrease has little room.
_LITTLE_ROOM = 0.05


def answer(done: Finished) -> PermutationAnswer:
    """Whether the reference procedure loses when columns are shuffled within classes."""
    null = null_evidence(done.plan, NULL, done.work)
    return answered(done.plan, null, done.metric, done.scores.simplest.best_possible)


def answered(plan: Plan, null: dict[str, Any], metric: str, best_possible: float = np.inf) -> PermutationAnswer:
    """The answer from the scores of the test."""
    how = (
        "The test is about dependence between columns within classes, the part of an interaction that a prediction can "
        "use. The test statistic, the score of the best of ridge and nearest neighbours after a filter, was computed "
        "on this table and on tables whose columns were shuffled within each class: each column still separates the "
        "classes as before, but columns are independent of each other within a class. p is the share of these tables, "
        f"this one included, that score at least as high as this one. The test stops early when {enough(plan)} of them "
        "do, which does not change the verdict. Where columns separate the classes almost perfectly one by one, scores "
        "have no room to decrease, and the test cannot show an interaction."
    )
    if null["p_value"] is None:
        why = "the test needs classes" if not plan.classify else "the number of permutations is 0"
        return PermutationAnswer(TITLE, Verdict.NOT_TESTED, f"Not tested: {why}.", None, None, how, {}, {NULL: null})
    mean = float(np.mean(null["scores"]))
    figures = (
        f"when columns are made independent within classes. The {metric} of a quick reference procedure is "
        f"{null['observed']:.3f} on this table and {mean:.3f} on average without dependence ({p_of(plan, null)})."
    )
    if null["p_value"] <= plan.level:
        return PermutationAnswer(
            TITLE, Verdict.YES, f"Yes: scores decrease {figures}", null["p_value"], None, how, {}, {NULL: null}
        )
    no_better = sum(score <= null["observed"] for score in null["scores"])
    if (1 + no_better) / (1 + len(null["scores"])) <= plan.level:
        sentence = f"No, columns are redundant: scores increase {figures}"
        return PermutationAnswer(TITLE, Verdict.NO, sentence, null["p_value"], None, how, {}, {NULL: null})
    sentence = f"Not shown: scores do not decrease {figures}"
    if mean >= best_possible - _LITTLE_ROOM:
        sentence += f" So near to {best_possible:g}, the test has little room to show a decrease."
    return PermutationAnswer(TITLE, Verdict.NOT_SHOWN, sentence, null["p_value"], None, how, {}, {NULL: null})


QUESTION = Question("interacting", TITLE, answer, lambda plan, scores, work: null_work(plan, NULL, work), place=20)
