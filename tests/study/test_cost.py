"""Costs of the two kinds of errors: which share of the rows to call positive, and what that costs on held-out rows."""

import numpy as np
import pytest

from fewer.report import print_study
from fewer.study import Plan, StudyError, Verdict, study_data
from fewer.study.questions.cost import RATIOS, cheapest_share, costs_of_folds, ranks


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


def test_weights_in_decisions_are_repeated_rows():
    rng = np.random.default_rng(0)
    repeats = [[(rng.normal(size=30), rng.integers(0, 2, 30), rng.integers(0, 4, 30)) for _ in range(4)]]
    weighted = [[(ranks(values, w), positive, w.astype(float)) for values, positive, w in each] for each in repeats]
    copied = [
        [(ranks(np.repeat(values, w)), np.repeat(positive, w), np.ones(w.sum())) for values, positive, w in each]
        for each in repeats
    ]
    ours, theirs = (costs_of_folds(folds, 3, 1) for folds in (weighted, copied))
    for name in ("by_fold", "cost", "recall", "false_positive_rate", "curve", "of_ratios"):
        np.testing.assert_array_equal(ours[name], theirs[name])  # weights are whole, so that their sums are exact


def test_no_label_or_weight_of_a_fold_reaches_its_threshold():
    """A planted leak: the rows of one fold get huge weights and the other label."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (4, 40))
    folds = [(ranks(2 * each + rng.normal(size=40)), each, rng.random(40)) for each in labels]
    places, positive, weights = folds[0]
    seen = [np.concatenate(part) for part in zip(*folds[1:], strict=True)]
    share = cheapest_share(seen[0], seen[1], 3, 1, seen[2])
    changed, heavy = 1 - positive, 1000 * weights
    wanted = np.average(np.where(changed == 1, 3 * (places >= share), places < share), weights=heavy)
    found = costs_of_folds([[(places, changed, heavy), *folds[1:]]], 3, 1)
    assert found["by_fold"][0][0] == pytest.approx(wanted)
    assert share != cheapest_share(places, changed, 3, 1, heavy)


def test_scores_without_information_cost_no_less_than_one_decision_for_all():
    """The share is chosen on other folds: had it been chosen on the same rows, noise would seem to pay."""
    rng = np.random.default_rng(0)
    ones, positive = np.ones(20), np.tile([0, 1], 10)
    folds = [[(ranks(rng.normal(size=20)), positive, ones) for _ in range(5)] for _ in range(20)]
    found = costs_of_folds(folds, 1, 1)
    error = np.std(found["by_fold"]) / np.sqrt(100)
    assert found["cost"] > 0.5 - 2 * error
    # Nor for any other ratio of costs.
    assert min(found["of_ratios"]) > 0.95


def test_the_curve_over_ratios_has_the_cost_of_the_costs_given():
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1], [30, 10]), (4, 1))
    folds = [[(ranks(2 * each + rng.normal(size=40)), each, np.ones(40)) for each in labels]]
    for fn, fp in ((3, 1), (1, 1)):
        ratio = fn / (fn + 3 * fp)
        found = costs_of_folds(folds, fn, fp)
        best = min(fn * 0.25, fp * 0.75)
        near = np.interp(ratio, RATIOS, found["of_ratios"])
        assert found["cost"] / best == pytest.approx(near, abs=0.1)
    assert RATIOS[4] == 0.5
    assert costs_of_folds(folds, 3, 1)["cost"] / 0.75 == pytest.approx(found["of_ratios"][4])


def test_missed_positives_that_cost_more_make_more_rows_positive(make_table, studied, capsys):
    table = make_table(n_rows=120, n_columns=6, shift=2.0)
    effort = {"n_permutations": 0, "n_repeats": 1, "learners": ["ridge", "knn"]}
    dear, cheap = (studied(table, cost=cost, **effort).cost for cost in ("FN=9,FP=1", "fp=9, fn=1"))
    assert dear.evidence["fewer"]["share"] > cheap.evidence["fewer"]["share"]
    assert dear.evidence["fewer"]["recall"] > cheap.evidence["fewer"]["recall"]
    assert dear.evidence["positive"] == "well"
    assert dear.number < dear.evidence["constant"]
    assert dear.evidence["ratio"] > 0.5 > cheap.evidence["ratio"]
    assert dear.verdict in (Verdict.BETTER, Verdict.NO, Verdict.NOT_SHOWN)
    assert "With 9 for a row of class well that is missed and 1 for another that is predicted well," in dear.sentence
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
