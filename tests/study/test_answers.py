"""Answers from scores: which way the verdict goes, and where it says nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study._answers import _fewer_help, _how_few, _interacting, _learnable, _null_evidence
from fewer.study._columns import _effect, _stability
from fewer.study._work import NullWork

PLAN = SimpleNamespace(confidence=0.95, level=0.05, classify=True, n_permutations=19)


def scores_of(fewer, everything):
    return SimpleNamespace(
        choice=np.array(fewer), choice_with_everything=np.array(everything), test_ratio=0.25, reduced=[]
    )


@pytest.mark.parametrize(
    ("gain", "verdict", "beginning"),
    [
        ([0.20, 0.21, 0.19, 0.20], "yes", "Yes: 0.700 with fewer features, 0.500 with all: +0.200 in accuracy"),
        ([-0.20, -0.21, -0.19, -0.20], "no", "No, they cost something: 0.300 with fewer"),
        ([0.20, -0.20, 0.10, -0.10], "not shown", "Not shown: 0.500 with fewer"),
    ],
)
def test_fewer_features_help_cost_or_show_nothing_by_the_interval_of_the_difference(gain, verdict, beginning):
    answer = _fewer_help(PLAN, scores_of(0.5 + np.array(gain), [0.5] * 4), "accuracy")
    assert answer.verdict == verdict
    assert answer.sentence.startswith(beginning)
    low, high = answer.interval
    assert low < np.mean(gain) < high
    assert answer.number == pytest.approx(np.mean(gain))
    assert answer.evidence["with_all"] == 0.5


@pytest.mark.parametrize(("p_value", "verdict"), [(0.05, "yes"), (0.051, "no"), (None, "not tested")])
def test_there_is_something_to_learn_when_p_is_at_most_the_level(p_value, verdict):
    scores = SimpleNamespace(choice=np.array([0.7, 0.9]), simplest=SimpleNamespace(score=0.5))
    answer = _learnable(PLAN, scores, {"p_value": p_value, "scores": [0.4, 0.6]}, "accuracy")
    assert answer.verdict == verdict
    assert "accuracy 0.800" in answer.sentence
    assert answer.evidence == {"score": pytest.approx(0.8), "simplest": 0.5, "n_tables": 2}


@pytest.mark.parametrize(("p_value", "verdict"), [(0.05, "yes"), (0.051, "not shown"), (None, "not tested")])
def test_features_work_together_when_p_is_at_most_the_level(p_value, verdict):
    assert _interacting(PLAN, {"p_value": p_value}).verdict == verdict


def test_why_features_were_not_tested_together_is_told():
    of_numbers = SimpleNamespace(classify=False, level=0.05)
    assert _interacting(of_numbers, {"p_value": None}).sentence == "Not tested: the test is for classes."
    assert "no permutations" in _interacting(PLAN, {"p_value": None}).sentence


def test_p_counts_the_table_itself_and_every_table_that_did_as_well():
    journal = {NullWork("labels", number, 3).key: {"score": score} for number, score in enumerate([0.2, 0.8, 0.9, 0.3])}
    scores = SimpleNamespace(
        choice=np.array([0.8, 0.8]),
        winner=SimpleNamespace(number=3, score=0.9),
        plan=SimpleNamespace(n_permutations=4, classify=False),
    )
    found = _null_evidence(journal, scores, "labels")
    assert found == {"observed": 0.8, "scores": [0.2, 0.8, 0.9, 0.3], "p_value": 3 / 5}
    assert _null_evidence({}, scores, "features_within_class") == {"observed": 0.9, "scores": [], "p_value": None}


@pytest.mark.parametrize(
    ("fold_sizes", "final", "sentence"),
    [
        ([4, 4], {"size": 4, "smallest_size": 4}, "4 of 30. Every fold chose 4."),
        ([2, 8], {"size": 4, "smallest_size": 1}, "4 of 30; 1 is still within one standard error of the best. The"),
        ([2, 8], {"size": 4, "smallest_size": 2}, "4 of 30; 2 are still within one standard error of the best. The"),
        ([2, 8], {"size": 4, "smallest_size": 4}, "4 of 30. The folds chose between 2 and 8."),
        ([2, 2], {"size": 30, "n_made": 3, "smallest_size": 3}, "3 new, made of all 30. Every fold chose 2."),
    ],
)
def test_how_few_is_told_with_the_spread_of_the_folds(fold_sizes, final, sentence):
    winner = SimpleNamespace(indexed=SimpleNamespace(fold_sizes=np.array(fold_sizes)), sizes=np.array([1, 2, 4, 8, 30]))
    answer = _how_few(winner, {"n_made": None} | final)
    assert answer.sentence.startswith(sentence)
    assert answer.number == final.get("n_made", final["size"])
    assert answer.interval == tuple(np.quantile(fold_sizes, [0.1, 0.9]))


def test_effects_are_told_by_sign_and_by_class():
    said = [_effect({"correlation": r}, two_classes=False) for r in (0.3, -0.3, 0.0, None)]
    assert said == ["rises with the target", "falls with the target", "flat", "flat"]
    classes = {"highest_in": "a", "lowest_in": "c"}
    assert _effect(classes, two_classes=True) == "higher in a"
    assert _effect(classes, two_classes=False) == "highest in a, lowest in c"


def test_lists_that_agree_are_stable_and_one_list_or_all_columns_are_neither():
    same = _stability([{"x", "y"}] * 4, 10, PLAN)
    assert same["value"] == pytest.approx(1.0)
    apart = _stability([{"a", "b"}, {"c", "d"}, {"e", "f"}], 10, PLAN)
    assert apart["value"] < 0
    nothing = {"value": None, "interval": None}
    assert _stability([{"x"}], 10, PLAN) == nothing
    assert _stability([{"x", "y"}, {"x"}], 2, PLAN) == nothing
    assert _stability([{"x"}, {"x"}], 2, PLAN)["value"] is not None
