"""Answers from scores: which way the verdict goes, and where it says nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer._wording import rows_words
from fewer.io import Dataset
from fewer.study._answers import _effect, _fewer_help, _how_few, _interacting, _learnable, _null_evidence, _stability
from fewer.study._decision import Cells, Choice, claim
from fewer.study._predictions import which_rows
from fewer.study._work import NullWork

PLAN = SimpleNamespace(
    confidence=0.95, level=0.05, margin=0.1, parsimony=0.05, classify=True, n_permutations=19, n_rows=50
)


def scores_of(fewer, everything=0.7, baseline=0.3):
    few = np.atleast_2d(fewer)
    everything, baseline = np.full(few.shape, everything), np.full(few.shape, baseline)
    compared = claim(few, everything, baseline, margin=0.1, confidence=0.95, test_ratio=0.25, n_rows=50)
    return SimpleNamespace(
        choice=Choice(0, np.zeros(few.shape, int), few),
        fold_scores_with_everything=everything,
        simplest=SimpleNamespace(score=0.3),
        claim=compared,
        winner=SimpleNamespace(reduces=True),
        reduced=[],
    )


@pytest.mark.parametrize(
    ("few", "verdict", "says"),
    [
        ([0.90, 0.91, 0.89, 0.90], "better", "0.900 with fewer columns, 0.700 with all: +0.200 in accuracy"),
        ([0.70, 0.70, 0.69, 0.70], "not worse", "margin of 10%: 0.698 with fewer"),
        ([0.75, 0.60, 0.75, 0.68], "not shown", "rows would be needed"),
        ([0.50, 0.51, 0.49, 0.50], "not shown", "lose more than the margin of 10%"),
    ],
)
def test_the_answer_is_the_claim_in_words(few, verdict, says):
    scores = scores_of(few)
    answer = _fewer_help(PLAN, scores, "accuracy")
    assert answer.verdict == verdict == scores.claim.outcome
    assert says in answer.sentence
    low, high = answer.interval
    assert low <= np.mean(few) - 0.7 <= high
    assert answer.number == pytest.approx(np.mean(few) - 0.7)
    assert answer.evidence["with_all"] == pytest.approx(0.7)
    if scores.claim.rows_needed:
        about = rows_words(scores.claim.rows_needed, 50)
        assert f"A{about[1:]} would be needed" in answer.sentence


@pytest.mark.parametrize(("p_value", "verdict"), [(0.05, "yes"), (0.051, "no"), (None, "not tested")])
def test_there_is_something_to_learn_when_p_is_at_most_the_level(p_value, verdict):
    null = {"p_value": p_value, "scores": [0.4, 0.6], "observed": 0.75}
    answer = _learnable(PLAN, scores_of([0.7, 0.9]), null, "accuracy")
    assert answer.verdict == verdict
    assert "accuracy 0.800 on held-out rows" in answer.sentence
    assert answer.evidence == {"score": pytest.approx(0.8), "simplest": 0.3, "n_tables": 2}


@pytest.mark.parametrize(
    ("p_value", "observed", "verdict"),
    [
        (0.05, 0.6, "yes"),
        (0.051, 0.5, "not shown"),
        (1.0, 0.4, "no"),
        (1.0, 0.5, "not shown"),
        (None, None, "not tested"),
    ],
)
def test_features_are_redundant_only_where_scores_rise_without_their_dependence(p_value, observed, verdict):
    """Where all scores are the same, p is 1 as well, and nothing rises."""
    null = {"p_value": p_value, "observed": observed, "scores": [0.5] * 19}
    assert _interacting(PLAN, null).verdict == verdict


def test_why_features_were_not_tested_together_is_told():
    of_numbers = SimpleNamespace(classify=False, level=0.05)
    assert _interacting(of_numbers, {"p_value": None}).sentence == "Not tested: the test needs classes."
    assert "number of permutations is 0" in _interacting(PLAN, {"p_value": None}).sentence


def test_p_counts_the_table_itself_and_every_table_that_did_as_well():
    journal = {NullWork("labels", number).key: {"score": score} for number, score in enumerate([0.2, 0.8, 0.9, 0.3])}
    journal[NullWork("labels", None).key] = {"score": 0.8}
    plan = SimpleNamespace(n_permutations=4, classify=False)
    found = _null_evidence(journal, plan, "labels")
    assert found == {"observed": 0.8, "scores": [0.2, 0.8, 0.9, 0.3], "p_value": 3 / 5}
    assert _null_evidence({}, plan, "features_within_class")["p_value"] is None


@pytest.mark.parametrize(
    ("by_fold", "final", "sentence"),
    [
        ([2, 2], {"size": 4, "n_sources": 4}, "4 of 30 columns. Every fold chose 4."),
        ([1, 3], {"size": 4, "n_sources": 4}, "4 of 30 columns. The folds chose between 2 and 8."),
        ([1, 1], {"size": 30, "n_made": 3}, "3 new columns, made of all 30. Every fold chose 2."),
        (
            [2, 2],
            {"size": 4, "n_prepared": 59},
            "3 of 30 columns (4 of 59 after one-hot encoding). Every fold chose 4.",
        ),
    ],
)
def test_how_few_is_told_with_what_the_folds_chose(by_fold, final, sentence):
    sizes = np.array([1, 2, 4, 8, 30])
    choice = Choice(2, np.array([by_fold]), np.array([[0.7, 0.8]]))
    scores = SimpleNamespace(
        cells=Cells(np.arange(5), sizes, sizes, np.zeros((1, 2, 5))),
        choice=choice,
        choice_at=lambda parsimony: choice,
    )
    plan = SimpleNamespace(parsimony=0.04, n_columns=30, candidates=[SimpleNamespace(name="it")] * 5)
    answer = _how_few(plan, scores, {"n_made": None, "n_prepared": 30, "n_sources": 3} | final)
    assert answer.sentence == sentence
    assert answer.number == final.get("n_made", final["size"])
    shown = answer.evidence["by_parsimony"]
    assert [each["parsimony"] for each in shown] == [0.0, 0.03, 0.04, 0.05, 0.1, "one_se"]
    assert shown[0] == {"parsimony": 0.0, "size": 4, "score": pytest.approx(0.75), "candidate": "it"}


def test_effects_are_told_by_sign_and_by_class():
    said = [_effect({"correlation": r}, two_classes=False) for r in (0.3, -0.3, 0.0, None)]
    assert said == ["increases with the target", "decreases with the target", "flat", "flat"]
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


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ([], "2 of 5 held-out rows are predicted incorrectly. Lowest recall: class b, 0.50 of 2 rows."),
        ([["a", "a", "a", "b", "a"]], "predicted incorrectly; 1 of them by both candidates."),
        ([["a", "a", "b", "b", "b"]] * 2, "predicted incorrectly; 1 of them by all 3 candidates."),
        ([["a", "a", "a", "b", "b"]] * 2, "predicted incorrectly; none of them by all 3 candidates."),
    ],
)
def test_which_rows_are_wrong_counts_those_that_every_candidate_gets_wrong(others, says):
    truth, shipped = ["a", "a", "a", "b", "b"], ["a", "a", "b", "b", "a"]
    piece = {"rows": [7, 8, 9, 10, 11], "truth": truth, "predictions": [shipped, *others]}
    answer = which_rows(PLAN, [piece])
    assert says in answer.sentence
    assert answer.evidence["confusion"] == [[2, 1], [1, 1]]
    assert all(each["row"] in (9, 11) for each in answer.evidence["always_wrong"])
    right = which_rows(PLAN, [piece | {"predictions": [truth]}])
    assert right.sentence == "None: all 5 held-out rows are predicted correctly."


def test_the_largest_errors_of_numbers_are_named_by_their_rows():
    piece = {"rows": [3, 1, 2], "truth": [1.0, 2.0, 3.0], "predictions": [[1.5, 2.0, 0.0]]}
    answer = which_rows(SimpleNamespace(classify=False), [piece])
    assert "at most 0.5 for half of the rows" in answer.sentence
    assert answer.sentence.endswith("The largest errors are in rows 2, 3, 1.")


@pytest.mark.filterwarnings("ignore:.*is missing in:UserWarning")
def test_wrong_rows_have_their_numbers_in_the_table_that_was_read(studied):
    """Row 3 has no target, and the only row of class c is left out; row 50 has the wrong label."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"], dtype=object)[np.arange(60) % 2]
    X = rng.normal(size=(60, 3)) + 8 * (y == "b")[:, None]
    y[[2, 10, 49]] = None, "c", "b" if y[49] == "a" else "a"
    findings = studied(Dataset.from_frame(X, target=y), n_permutations=0)
    assert [each["row"] for each in findings.wrong.evidence["always_wrong"]] == [50]
