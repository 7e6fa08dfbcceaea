"""Answers from scores: which way the verdict goes, and where it says nothing.

The columns that were chosen: how often, standing in for what, and told how.

Candidates side by side: who is behind by how much, and how sure the curve is.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer._wording import metric_words, rows_words
from fewer.io import Dataset
from fewer.study.answers._decision import Cells, Choice, claim
from fewer.study.answers._scores import AllScores, CandidateScores
from fewer.study.answers._sentences import WORDS
from fewer.study.questions import fewer_help, how_few, interacting, learnable, which
from fewer.study.questions.careful import instability
from fewer.study.questions.compared import compared_with, rivals_of
from fewer.study.questions.how_few import size_curves
from fewer.study.questions.which import _effect, _stability
from fewer.study.questions.wrong import which_rows
from fewer.study.work._null_test import null_evidence
from fewer.study.work._work import NullWork

PLAN = SimpleNamespace(
    weights=None,
    confidence=0.95,
    level=0.05,
    margin=0.1,
    parsimony=0.05,
    classify=True,
    n_permutations=19,
    n_rows=50,
    n_repeats=1,
    untested=(),
)


def said(name, answer, plan=PLAN, **more):
    """The sentences of an answer, as the findings have them."""
    plan = SimpleNamespace(
        **(
            {"scoring": "accuracy", "n_columns": 30, "always": (), "column_groups": {}, "max_repeats": None}
            | {"splitting": "stratified"}
            | vars(plan)
        )
    )
    findings = {
        "plan": plan,
        "metric": metric_words(plan.scoring),
        "n_made": None,
        "n_columns": 30,
        "winner": 0,
        "unit": "column",
    }
    findings |= more
    return SimpleNamespace(**({"how": ""} | WORDS[name](SimpleNamespace(**findings), answer)))


PLAN_OF_COLUMNS = SimpleNamespace(task="binary", confidence=0.95)

PLAN_OF_CANDIDATES = SimpleNamespace(
    candidates=[SimpleNamespace(is_baseline=True)] + 3 * [SimpleNamespace(is_baseline=False)],
    n_folds=3,
    scoring="max_error",
    level=0.05,
    parsimony=0.05,
    n_columns=9,
    n_rows=30,
)


def scores_of(fewer, everything=0.7, baseline=0.3):
    few = np.atleast_2d(fewer)
    everything, baseline = np.full(few.shape, everything), np.full(few.shape, baseline)
    compared = claim(few, everything, baseline, margin=0.1, confidence=0.95, test_ratio=0.25, n_rows=50)
    return SimpleNamespace(
        choice=Choice(0, np.zeros(few.shape, int), few),
        fold_scores_with_everything=everything,
        baseline=SimpleNamespace(score=0.3),
        claim=compared,
        winner=SimpleNamespace(reduces=True),
        reduced=[],
    )


@pytest.mark.parametrize(
    ("few", "verdict", "says"),
    [
        ([0.90, 0.91, 0.89, 0.90], "better", "cross-indexed accuracy 0.900 with fewer columns, 0.700 with"),
        ([0.70, 0.70, 0.69, 0.70], "not worse", "margin of 0.040 (10% of the gain of all columns over the baseline)"),
        ([0.70, 0.70, 0.70, 0.70], "not worse", "difference +0.000 (no variation over the folds)"),
        ([0.75, 0.60, 0.75, 0.68], "not shown", "with 80% power, if the true difference is the observed one"),
        ([0.50, 0.51, 0.49, 0.50], "not shown", "lose more than the margin of 0.040 (10%"),
    ],
)
def test_the_answer_is_the_claim_in_words(few, verdict, says):
    scores = scores_of(few)
    answer = fewer_help.answered(PLAN, scores)
    assert answer.verdict == verdict == scores.claim.outcome
    sentence = said("fewer_help", answer).sentence
    assert says in sentence
    low, high = answer.interval
    assert low <= np.mean(few) - 0.7 <= high
    assert answer.number == pytest.approx(np.mean(few) - 0.7)
    assert answer.evidence["with_all"] == pytest.approx(0.7)
    if scores.claim.rows_needed:
        about = rows_words(scores.claim.rows_needed, 50)
        assert f"A{about[1:]} would be needed" in sentence


@pytest.mark.parametrize(("p_value", "verdict"), [(0.05, "yes"), (0.051, "no"), (None, "not tested")])
def test_there_is_something_to_learn_when_p_is_at_most_the_level(p_value, verdict):
    null = {"p_value": p_value, "scores": [0.4, 0.6], "observed": 0.75}
    answer = learnable.answered(PLAN, scores_of([0.7, 0.9]), null)
    assert answer.verdict == verdict
    sentence = said("learnable", answer).sentence
    assert "ross-indexed accuracy 0.800 on held-out rows" in sentence
    assert p_value is None or "accuracy of a quick reference procedure, is 0.750 on this table" in sentence
    assert answer.evidence == {"score": pytest.approx(0.8), "baseline": 0.3, "n_tables": 2}


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
    answer = interacting.answered(PLAN, null)
    assert answer.verdict == verdict
    smallest = "(for an increase, p <= 0.050, the smallest that 19 permutations can show)"
    assert (smallest in said("interacting", answer).sentence) == (verdict == "no")


def test_a_test_of_a_decrease_names_its_early_end_and_where_it_has_no_room():
    null = {"p_value": 0.5, "observed": 0.96, "scores": [0.95, 0.97] * 5}
    sentence = said("interacting", interacting.answered(PLAN, null)).sentence
    assert "p = 0.500; stopped after 10 of 19 permutations" in sentence
    assert sentence.endswith("With a score so close to 1, the test has little room to show a decrease.")
    unbounded = SimpleNamespace(**vars(PLAN), scoring="max_error")
    assert "little room" not in said("interacting", interacting.answered(PLAN, null), unbounded).sentence


def test_why_features_were_not_tested_together_is_told():
    of_numbers = SimpleNamespace(classify=False, level=0.05, n_permutations=0)
    numbers, untested = (interacting.answered(plan, {"p_value": None}) for plan in (of_numbers, PLAN))
    assert said("interacting", numbers).sentence == "Not tested: the test needs classes."
    assert "number of permutations is 0" in said("interacting", untested).sentence


def test_p_counts_the_table_itself_and_every_table_that_did_as_well():
    journal = {NullWork("labels", number).key: {"score": score} for number, score in enumerate([0.2, 0.8, 0.9, 0.3])}
    journal[NullWork("labels", None).key] = {"score": 0.8}
    plan = SimpleNamespace(n_permutations=4, classify=False, always=(), untested=(), level=0.05)
    found = null_evidence(plan, "labels", journal)
    assert found == {"observed": 0.8, "scores": [0.2, 0.8, 0.9, 0.3], "p_value": 3 / 5}
    assert null_evidence(plan, "features_within_class", {})["p_value"] is None


@pytest.mark.parametrize(
    ("by_fold", "final", "sentence"),
    [
        ([2, 2], {"size": 4, "n_sources": 4}, "4 of 30 columns. In every fold, 4 columns were chosen."),
        ([1, 3], {"size": 4, "n_sources": 4}, "4 of 30 columns. Depending on the fold, 2 to 8 columns were chosen."),
        ([1, 1], {"size": 30, "n_made": 3}, "3 new columns, made of all 30. In every fold, 2 new columns were chosen."),
    ],
)
def test_how_few_is_told_with_what_the_folds_chose(by_fold, final, sentence):
    sizes = np.array([1, 2, 4, 8, 30])
    choice = Choice(2, np.array([by_fold]), np.array([[0.7, 0.8]]))
    scores = SimpleNamespace(
        cells=Cells(np.arange(5), sizes, sizes, np.zeros((1, 2, 5))),
        choice=choice,
        choice_at=lambda parsimony: choice,
        baseline=SimpleNamespace(best_possible=1.0),
    )
    plan = SimpleNamespace(parsimony=0.04, n_columns=30, candidates=[SimpleNamespace(name="it")] * 5)
    answer = how_few.answered(plan, scores, {"n_made": None, "n_prepared": 30, "n_sources": 3} | final)
    n_columns = final.get("n_prepared", 30)
    assert said("how_few", answer, plan, n_made=final.get("n_made"), n_columns=n_columns).sentence == sentence
    assert answer.number == final.get("n_made", final["size"])
    shown = answer.evidence["by_parsimony"]
    assert [each["parsimony"] for each in shown] == [0.0, 0.03, 0.04, 0.05, 0.1, "one_se"]
    assert shown[0] == {"parsimony": 0.0, "size": 4, "score": pytest.approx(0.75), "candidate": "it"}


def test_effects_are_told_by_sign_and_by_class():
    signs = [_effect({"correlation": r}, two_classes=False) for r in (0.3, -0.3, 0.0, None)]
    assert signs == ["increases with the target", "decreases with the target", "flat", "flat"]
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
        ([], "2 of 5 held-out rows are predicted incorrectly. Lowest recall: class b, 0.50 (2 rows)."),
        ([["a", "a", "a", "b", "a"]], "predicted incorrectly; 1 of them by the winner."),
        (
            [["a", "a", "b", "b", "b"]] * 2,
            "predicted incorrectly; 1 of them by all 2 candidates compared, the winner included.",
        ),
        (
            [["a", "a", "a", "b", "b"]] * 2,
            "predicted incorrectly; none of them by all 2 candidates compared, the winner included.",
        ),
    ],
)
def test_which_rows_are_wrong_counts_those_that_every_candidate_gets_wrong(others, says):
    truth, of_procedure = ["a", "a", "a", "b", "b"], ["a", "a", "b", "b", "a"]
    piece = {"rows": [7, 8, 9, 10, 11], "truth": truth, "predictions": [of_procedure, *others]}
    answer = which_rows(PLAN, [piece])
    assert says in said("wrong", answer).sentence
    assert answer.evidence["confusion"] == [[2, 1], [1, 1]]
    assert all(each["row"] in (9, 11) for each in answer.evidence["always_wrong"])
    right = which_rows(PLAN, [piece | {"predictions": [truth]}])
    assert said("wrong", right).sentence == "None: all 5 held-out rows are predicted correctly."
    twice = said("wrong", answer, SimpleNamespace(n_repeats=2))
    assert "incorrectly in the first of 2 repeats" in twice.sentence


def test_the_largest_errors_of_numbers_are_named_by_their_rows():
    piece = {"rows": [3, 1, 2], "truth": [1.0, 2.0, 3.0], "predictions": [[1.5, 2.0, 0.0]]}
    answer = which_rows(SimpleNamespace(classify=False), [piece])
    sentence = said("wrong", answer).sentence
    assert "at most 0.5 for half of the rows" in sentence
    assert "The largest errors are in rows 2, 3, 1 (" in sentence


@pytest.mark.filterwarnings("ignore:.*is missing in:UserWarning")
def test_wrong_rows_have_their_numbers_in_the_table_that_was_read(studied):
    """Row 3 has no target, and the only row of class c is left out; row 50 has the wrong label."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"], dtype=object)[np.arange(60) % 2]
    X = rng.normal(size=(60, 3)) + 8 * (y == "b")[:, None]
    y[[2, 10, 49]] = None, "c", "b" if y[49] == "a" else "a"
    findings = studied(Dataset.from_frame(X, target=y), n_permutations=0)
    assert [each["row"] for each in findings.wrong.evidence["always_wrong"]] == [50]


def final_of(size, names, n_made=None, n_prepared=40, groups=()):
    columns = [
        {"name": name, "source": name, "score": 1.0, "highest_in": "ill", "lowest_in": "well", "difference": 2}
        for name in names
    ]
    return {"size": size, "n_made": n_made, "n_prepared": n_prepared, "groups": list(groups), "columns": columns}


def winner(*orders):
    return SimpleNamespace(name="anova, ridge", orders=[tuple(order) for order in orders])


def test_a_column_counts_in_the_folds_that_have_it_among_as_many_as_were_kept():
    answer = which.answered(
        winner("abc", "acb", "abd", "bca"), final_of(2, "abcd", groups=[["a", "copy"], ["d", "c"]]), PLAN_OF_COLUMNS
    )
    columns = answer.columns
    assert [column.frequency for column in columns] == [0.75, 0.75, 0.5, 0.0]
    assert [column.chosen for column in columns] == [True, True, False, False]
    assert [column.rank for column in columns] == [1, 2, 3, 4]
    assert [column.stands_in_for for column in columns] == [("copy",), (), ("d",), ("c",)]
    assert columns[0].effect == "higher in ill"
    assert columns[0].effect_size == 2
    sentence = said("which", answer, n_columns=40).sentence
    assert sentence.startswith("a, b. 0 of 2 were chosen in at least 80% of the folds (stability ")
    assert 0 < answer.number < 1


def test_all_columns_are_in_every_fold_and_have_no_stability():
    answer = which.answered(winner("ab", "a"), final_of(2, "ab", n_prepared=2), PLAN_OF_COLUMNS)
    columns = answer.columns
    assert [column.frequency for column in columns] == [1.0, 1.0]
    assert answer.number is None
    assert said("which", answer, n_columns=2).sentence == "All 2 columns; the first are a, b."


def test_of_what_goes_into_new_columns_the_first_ten_are_looked_for_in_every_fold():
    names = [f"x{place}" for place in range(12)]
    answer = which.answered(winner(names, names), final_of(12, names, n_made=2, n_prepared=12), PLAN_OF_COLUMNS)
    columns = answer.columns
    assert [column.frequency for column in columns] == [1.0] * 10 + [0.0] * 2
    words = said("which", answer, n_made=2, n_columns=12)
    assert words.sentence == "All 12 columns go into the 2 new columns; most of x0, x1, x2, x3, x4 and 7 more."
    assert words.how.endswith("it was among the first 10.")


@pytest.mark.parametrize(("size", "n_shown"), [(3, 200), (205, 205)])
def test_the_list_ends_after_200_columns_or_what_was_chosen(size, n_shown):
    names = [f"x{place}" for place in range(220)]
    columns = which.answered(winner(names, names), final_of(size, names, n_prepared=300), PLAN_OF_COLUMNS).columns
    assert len(columns) == n_shown
    assert sum(column.chosen for column in columns) == size


def test_a_list_is_called_unstable_below_a_half():
    told = [bool(instability(SimpleNamespace(number=value))) for value in (None, 0.5, 0.49)]
    assert told == [False, False, True]


def candidate(number, name, scores, sizes):
    scores = np.array(scores, dtype=float)
    return CandidateScores(
        number, tuple(["", *name.split(", ")][-2:]), np.array(sizes), scores, (), test_ratio=0.5, confidence=0.9
    )


@pytest.fixture
def scores():
    return AllScores(
        PLAN_OF_CANDIDATES,
        (
            candidate(0, "a coin", [[[0.5], [0.4], [0.6]]] * 2, [9]),
            candidate(1, "all features, ridge", [[[0.7], [0.6], [0.8]]] * 2, [9]),
            candidate(2, "anova, ridge", [[[0.9, 0.5], [0.8, 0.5], [1.0, 0.5]], [[0.9, 0.5]] * 3], [1, 9]),
            candidate(3, "relief, ridge", [[[0.8, 0.7], [0.7, 0.7], [0.9, 0.7]]] * 2, [1, 9]),
        ),
        {},
    )


def test_rivals_stand_in_order_of_their_scores_with_what_they_lack(scores):
    rivals = rivals_of(scores)
    assert [rival.name for rival in rivals] == ["anova, ridge", "relief, ridge", "all features, ridge", "a coin"]
    assert [rival.behind for rival in rivals] == pytest.approx([0, 0.1, 0.2, 0.4])
    assert [rival.size for rival in rivals] == [1, 1, None, None]
    assert rivals[0].over_same_learner == pytest.approx(0.4)
    assert rivals[0].behind_interval == (0, 0)
    low, high = rivals[3].behind_interval
    assert 0 < low < 0.4 < high
    assert rivals[3].over_same_learner is rivals[3].over_same_learner_interval is None


def test_the_winner_stands_beside_the_best_with_all_columns_and_the_baseline(scores):
    answer = compared_with(scores)
    plan = SimpleNamespace(candidates=[SimpleNamespace(makes_columns=False)], races=False)
    assert said("compared", answer, plan).sentence == (
        "Chosen from 2 combinations of selection method and learner: anova, ridge with 1 column. Its accuracy is 0.900 "
        "with this number of columns on every fold (fixed-size score), 0.900 with the number that scores best on the "
        "other folds (candidate score, 1 column on average), and 0.900 with everything chosen on the other folds "
        "(cross-indexed score). Candidate scores to compare with: 0.700 for the best learner with all columns, ridge; "
        "0.500 for the baseline, a coin."
    )
    assert answer.number == pytest.approx(0.9)


def test_the_frontier_is_the_best_candidate_at_each_size(scores):
    curves = size_curves(scores)
    frontier = curves["frontier"]
    assert frontier["sizes"] == [1, 9]
    assert frontier["candidates"] == ["anova, ridge", "all features, ridge"]
    assert frontier["mean"] == pytest.approx([0.9, 0.7])
    assert curves["chosen"] == {"size": 1, "mean": pytest.approx(0.9)}
    assert curves["baseline"] == pytest.approx(0.5)


def test_curves_have_the_standard_error_of_folds_that_share_training_rows(scores):
    first, second = size_curves(scores)["candidates"]
    assert (first["name"], second["name"]) == ("anova, ridge", "relief, ridge")
    assert first["mean"] == pytest.approx([0.9, 0.5])
    deviation = np.std([0.9, 0.8, 1.0, 0.9, 0.9, 0.9], ddof=1)
    assert first["standard_error"] == pytest.approx([deviation * np.sqrt(1 / 6 + 0.5), 0])
