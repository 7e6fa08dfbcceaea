"""Costs of the two kinds of errors: which share of the rows to call positive, and what that costs on held-out rows."""

import numpy as np
import pytest

from fewer.report import print_study
from fewer.study import Plan, StudyError, Verdict, study_data
from fewer.study.questions.cost import cheapest_share, costs_of_folds, ranks


def test_the_cheapest_share_is_the_best_of_all_cuts():
    rng = np.random.default_rng(0)
    positive = rng.integers(0, 2, 60)
    places = ranks(positive + rng.normal(size=60))
    for fn, fp in ((1, 1), (5, 1), (1, 8)):
        cuts = np.append(np.sort(places), 1.0)
        costs = [fn * (positive[places >= cut] == 1).sum() + fp * (positive[places < cut] == 0).sum() for cut in cuts]
        share = cheapest_share(places, positive, fn, fp)
        found = fn * (positive[places >= share] == 1).sum() + fp * (positive[places < share] == 0).sum()
        assert found == min(costs)


def test_scores_without_information_cost_no_less_than_one_decision_for_all():
    """The share is chosen on other folds: had it been chosen on the same rows, noise would seem to pay."""
    rng = np.random.default_rng(0)
    folds = [[(ranks(rng.normal(size=20)), np.tile([0, 1], 10)) for _ in range(5)] for _ in range(20)]
    found = costs_of_folds(folds, 1, 1)
    error = np.std(found["by_fold"]) / np.sqrt(100)
    assert found["cost"] > 0.5 - 2 * error


def test_missed_positives_that_cost_more_make_more_rows_positive(make_table, studied, capsys):
    table = make_table(n_rows=120, n_columns=6, shift=2.0)
    effort = {"n_permutations": 0, "n_repeats": 1, "learners": ["ridge", "knn"]}
    dear, cheap = (studied(table, cost=cost, **effort).cost for cost in ("FN=9,FP=1", "fp=9, fn=1"))
    assert dear.evidence["fewer"]["share"] > cheap.evidence["fewer"]["share"]
    assert dear.evidence["fewer"]["recall"] > cheap.evidence["fewer"]["recall"]
    assert dear.evidence["positive"] == "well"
    assert dear.number < dear.evidence["constant"]
    assert dear.verdict in (Verdict.BETTER, Verdict.NO, Verdict.NOT_SHOWN)
    assert "with all columns" in dear.sentence
    found = studied(table, **effort)
    assert "cost" not in found.shown
    print_study(found)
    assert "cost" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "cost", ["FN=5", "5,1", "FN=5,FP=0", "FN=5,FP=-1", "FN=5,FP=1,TP=2", "FN=nan,FP=1", "FN=a,FP=1"]
)
def test_what_are_no_costs_is_refused(cost, make_table, quick_plan):
    with pytest.raises(StudyError, match="cost must be two positive numbers such as FN=5,FP=1"):
        quick_plan(study_data(make_table()), cost=cost)


def test_costs_need_two_classes_and_are_in_the_plan(make_table, quick_plan):
    three = study_data(make_table(classes=("a", "b", "c")))
    with pytest.raises(
        StudyError, match="cost is for a target with two classes, but 'state' consists of more than two"
    ):
        quick_plan(three, cost="FN=5,FP=1")
    plan = quick_plan(study_data(make_table()), cost="FN=5,FP=1")
    assert Plan.from_dict(plan.to_dict()).cost == "FN=5,FP=1"
