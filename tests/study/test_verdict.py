"""The first lines: what they say follows from the answers, and in the right number."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewer.study import Caution, Finished
from fewer.study._decision import Choice, Claim
from fewer.study._verdict import NO_PROOF, _degree, chosen_by, first_lines, headline_of, in_short

PLAN = SimpleNamespace(target="state", n_columns=20, confidence=0.95, margin=0.1, parsimony=0.05, n_rows=100)
FINAL = {"size": 3, "n_made": None, "n_prepared": 20, "n_sources": 3}


def answer(verdict="yes", number=0.01, n_tables=99):
    return SimpleNamespace(verdict=verdict, number=number, evidence={"n_tables": n_tables})


def scores(outcome="better", interval=(0.1, 0.3), rows_needed=None, reduces=True):
    few = np.full((1, 4), 0.9)
    return SimpleNamespace(
        claim=Claim(outcome, 0.2, interval, 0.1, interval, rows_needed),
        choice=Choice(0, np.zeros((1, 4), int), few),
        fold_scores_with_everything=few - 0.2,
        simplest=SimpleNamespace(score=0.5),
        winner=SimpleNamespace(labels=("best of a, b", "ridge"), reduces=reduces),
        n_ways=2,
        with_everything=[3],
    )


@pytest.mark.parametrize(
    ("learnable", "found", "final", "beginning"),
    [
        (answer("no"), scores(), {}, "There is no sign that state can be predicted from these 20 columns"),
        (answer(), scores(), {"size": 20}, "Keep all 20 features: no smaller number keeps 95% of the gain"),
        (answer(), scores(), {}, "Fewer features help: 3 of 20 columns reach accuracy 0.900, all columns 0.700 (95%"),
        (answer(), scores(), {"n_sources": 1}, "Fewer features help: 1 of 20 columns reaches accuracy"),
        (
            answer(),
            scores("not worse"),
            {},
            "Fewer features do as well, within a margin of 10% (0.020 in accuracy): 3 of 20",
        ),
        (answer(), scores("not shown", (-0.3, -0.1)), {}, "Fewer features lose more than the margin of 10% (0.020"),
        (answer(), scores("not shown", (-0.3, 0.1)), {}, "It is not shown that fewer features do as well: 3 of 20"),
        (answer(), scores("not shown", rows_needed=400), {}, "Too few rows to show that fewer features do as well"),
        (answer(), scores(), {"size": 20, "n_made": 2}, "Fewer features help: 2 new columns reach"),
        (answer(), scores(), {"size": 20, "n_made": 1}, "Fewer features help: 1 new column reaches"),
    ],
)
def test_the_headline_follows_the_claim(learnable, found, final, beginning):
    assert headline_of(PLAN, found, learnable, FINAL | final, "accuracy").startswith(beginning)


def test_the_rows_that_are_needed_end_the_line():
    line = headline_of(PLAN, scores("not shown", rows_needed=4000), answer(), FINAL, "accuracy")
    assert line.endswith("; about 4,000 rows are needed (80% power at this difference).")
    line = headline_of(PLAN, scores("not shown", rows_needed=40_000), answer(), FINAL, "accuracy")
    assert "; more than 10,000 rows are needed" in line


def test_all_features_are_kept_with_the_score_of_the_rule():
    line = headline_of(PLAN, scores(reduces=False), answer(), FINAL | {"size": 20}, "accuracy")
    assert line.endswith("of the gain over the baseline (accuracy 0.900).")
    best = SimpleNamespace(**vars(PLAN) | {"parsimony": 0})
    line = headline_of(best, scores(reduces=False), answer(), FINAL | {"size": 20}, "accuracy")
    assert line == "Keep all 20 features: no smaller number scores as well (accuracy 0.900)."


def test_some_categories_of_every_column_are_not_fewer_columns():
    final = {"size": 40, "n_made": None, "n_prepared": 59, "n_sources": 20}
    line = headline_of(PLAN, scores(), answer(), final, "accuracy")
    assert "40 of 59 encoded columns (from all 20 columns) reach accuracy" in line


def test_no_difference_on_any_fold_is_told_as_that():
    line = headline_of(PLAN, scores("not worse", (0.0, 0.0)), answer(), FINAL, "accuracy")
    assert "(no difference on any fold)" in line
    line = headline_of(PLAN, scores("not worse", (-0.1, 0.2)), answer(), FINAL, "accuracy")
    assert "(95% interval of the difference -0.100 to +0.200)" in line


def columns(*names):
    return tuple(SimpleNamespace(name=name, source=name, chosen=name != "x") for name in names)


def finished(learnable, cautions):
    which = SimpleNamespace(number=answer().number, parts={"columns": columns(*"ab")})
    careful = SimpleNamespace(parts={"cautions": cautions})
    answers = {"learnable": learnable, "which": which, "careful": careful}
    plan = SimpleNamespace(**vars(PLAN), scoring="accuracy")
    return Finished(plan, {"final": FINAL}, scores(), answers)


def test_a_critical_caution_comes_before_the_claim():
    cautions = [
        Caution("critical", "leak", "y2 alone predicts the target: leave it out.", {}, "y2 gives the target away."),
        Caution("warning", "wide", "There are many columns.", {}),
    ]
    found = first_lines(finished(answer(), cautions))
    assert found[:2] == ("y2 gives the target away.", "y2 alone predicts the target: leave it out.")
    assert found[2].startswith("Fewer features help")
    plain = first_lines(finished(answer(), cautions[1:]))
    assert plain[0].startswith("Fewer features help")
    counts = [Caution("note", "target", "Target y: taken as counts; --task classification makes them classes.")]
    plain = first_lines(finished(answer(), counts))
    assert plain[2].endswith("Target y: taken as counts; --task classification makes them classes.")
    assert "Scores in these lines are cross-indexed: for each fold, selection method," in plain[2]
    nothing = first_lines(finished(answer("no"), []))
    assert nothing[1] == NO_PROOF


@pytest.mark.parametrize(
    ("names", "stability", "sentence"),
    [
        ("a", None, "The column is a."),
        ("abx", 0.8, "The columns are a, b; the folds agree well on the columns (stability 0.80; 1 is perfect)."),
        ("abcde", None, "The top-ranked columns are a, b, c, d."),
    ],
)
def test_the_columns_are_told_in_short(names, stability, sentence):
    assert in_short(answer(number=stability), columns(*names), FINAL) == sentence


def test_new_columns_are_told_by_what_they_are_made_of():
    for n_made, said in (
        (1, "The new column is made mostly of a, b, and needs all columns."),
        (2, "The 2 new columns are made mostly of a, b, and need all columns."),
    ):
        assert in_short(answer(), columns(*"ab"), FINAL | {"n_made": n_made}) == said


def test_what_chose_the_columns_is_named():
    assert (
        chosen_by(scores(), FINAL)
        == "Columns were chosen by best of a, b with ridge, from 2 combinations of selection method and learner."
    )
    assert chosen_by(scores(), FINAL | {"n_made": 2}).startswith("Columns were combined by best of a, b with ridge")
    everything = chosen_by(scores(reduces=False), FINAL | {"size": 20})
    assert everything == "The model is ridge with all columns, chosen from 3 candidates."


def test_degrees_of_agreement():
    assert [_degree(value) for value in (0.75, 0.74, 0.4, 0.39)] == ["well", "in part", "in part", "poorly"]
