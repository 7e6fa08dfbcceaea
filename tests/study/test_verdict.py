"""The first lines: what they say follows from the answers, and in the right number."""

import re
from types import SimpleNamespace

import pytest

from fewer.study import Answer, Caution, Findings
from fewer.study.answers._first_lines import CLOSE, DRIFT, NO_PROOF, _degree, first_lines
from fewer.study.questions.careful import CarefulAnswer
from fewer.study.questions.which import ColumnsAnswer
from fewer.study.table._columns import TableColumn
from fewer.study.work._null_test import PermutationAnswer

PLAN = SimpleNamespace(
    target="state",
    n_columns=20,
    confidence=0.95,
    margin=0.1,
    parsimony=0.05,
    n_rows=100,
    always=(),
    column_groups={},
    splitting="stratified",
)


def found(
    learnable="yes",
    outcome="better",
    interval=(0.1, 0.3),
    rows_needed=None,
    difference=0.2,
    is_close=False,
    reduces=True,
    size=3,
    n_made=None,
    n_columns=20,
    n_sources=None,
    stability=0.8,
    cautions=(),
    plan=PLAN,
    names="ab",
    nulls=None,
):
    """Findings of a study with these figures."""
    evidence = {
        "with_fewer": 0.9,
        "with_all": 0.7,
        "margin_in_score": 0.02,
        "above_margin_interval": interval,
        "rows_needed": rows_needed,
        "is_close": is_close,
    }
    candidates = {
        "labels": ("best of a, b", "ridge"),
        "mean_size": 3.0 if reduces else None,
        "n_ways": 2,
        "n_with_all": 1,
    }
    columns = tuple(SimpleNamespace(name=name, source=name, chosen=name != "x") for name in names)
    answers = {
        "learnable": PermutationAnswer(
            learnable, 0.01, evidence={"n_tables": 99, "score": 0.9, "baseline": 0.5}, nulls=nulls or {}
        ),
        "fewer_help": Answer(outcome, difference, interval, evidence),
        "how_few": Answer("yes", n_made or size, evidence={"n_sources": size if n_sources is None else n_sources}),
        "which": ColumnsAnswer("yes", stability, columns=columns),
        "compared": Answer("yes", evidence=candidates),
        "careful": CarefulAnswer("yes", cautions=tuple(cautions)),
    }
    plan = SimpleNamespace(**vars(plan), scoring="accuracy")
    table = tuple(TableColumn(f"x{place}", "numeric", "", ("x",)) for place in range(n_columns))
    return first_lines(Findings(plan, answers, 0, n_made, table))


@pytest.mark.parametrize(
    ("figures", "beginning"),
    [
        ({"learnable": "no"}, "There is no sign that state can be predicted from these 20 columns"),
        ({"size": 20}, "Keep all 20 features: no smaller number scores nearly as well"),
        ({}, "Fewer features help: 3 of 20 columns reach accuracy 0.900, all columns 0.700 (95%"),
        ({"n_sources": 1}, "Fewer features help: 1 of 20 columns reaches accuracy"),
        ({"outcome": "not worse"}, "Fewer features do as well, within a margin of 10% (0.020 in accuracy): 3 of 20"),
        ({"outcome": "not shown", "interval": (-0.3, -0.1)}, "Fewer features lose more than the margin of 10% (0.020"),
        ({"outcome": "not shown", "interval": (-0.3, 0.1)}, "It is not shown that fewer features do as well: 3 of 20"),
        ({"outcome": "not shown", "rows_needed": 400}, "Fewer features score higher, but the rows are too few to show"),
        (
            {"outcome": "not shown", "rows_needed": 400, "difference": -0.1},
            "Too few rows to show that fewer features do as well",
        ),
        ({"size": 20, "n_made": 2}, "Fewer features help: 2 new columns reach"),
        ({"size": 20, "n_made": 1}, "Fewer features help: 1 new column reaches"),
    ],
)
def test_the_headline_follows_the_claim(figures, beginning):
    findings = found(**figures)
    assert findings.headline.startswith(beginning)
    assert findings.claims_benefit == (figures.get("learnable") != "no" and figures.get("outcome") != "not shown")
    assert findings.finds_nothing == (figures.get("learnable") == "no")


def test_the_rows_that_are_needed_end_the_line():
    line = found(outcome="not shown", rows_needed=4000).headline
    assert line.endswith("; about 4,000 rows would be needed (80% power at this difference).")
    assert "; more than 10,000 rows would be needed" in found(outcome="not shown", rows_needed=40_000).headline


def test_a_close_outcome_is_said_to_be_one():
    assert found(is_close=True).verdict[-1].endswith(CLOSE)
    assert CLOSE not in " ".join(found().verdict)
    assert CLOSE not in " ".join(found(is_close=True, learnable="no").verdict)


def test_all_features_are_kept_with_the_score_of_the_rule():
    line = found(size=20, reduces=False).headline
    assert line.endswith("no smaller number scores nearly as well (accuracy 0.900).")
    best = SimpleNamespace(**vars(PLAN) | {"parsimony": 0})
    line = found(size=20, reduces=False, plan=best).headline
    assert line == "Keep all 20 features: no smaller number scores as well (accuracy 0.900)."


def test_no_difference_on_any_fold_is_told_as_that():
    assert "(no difference on any fold)" in found(outcome="not worse", interval=(0.0, 0.0)).headline
    line = found(outcome="not worse", interval=(-0.1, 0.2)).headline
    assert "(95% interval of the difference -0.100 to +0.200)" in line


def test_a_critical_caution_comes_before_the_claim():
    about = {"column": "day", "measure": "R2", "plain_score": 0.9, "ordered_score": 0.3}
    cautions = [
        Caution("critical", "time ignored", about, "Scores are 0.9 and 0.3.", "Rows are predicted from later ones."),
        Caution("warning", "wide", {}, "There are many columns."),
    ]
    findings = found(cautions=cautions)
    assert findings.verdict[0] == "Rows are predicted from later ones."
    assert findings.verdict[1].endswith("use --time day.")
    assert not re.search(r"\d", findings.verdict[1])  # the scores are in the first line
    assert findings.verdict[2].startswith("Fewer features help")
    assert (findings.verdict_of, findings.moods[0]) == (("careful", "careful", "fewer_help"), "critical")
    assert found(cautions=cautions[1:]).headline.startswith("Fewer features help")
    note = "Target y: taken as counts; --task classification makes them classes."
    last = found(cautions=[Caution("note", "target", {}, note)]).verdict[2]
    assert last.endswith(f"chosen on the other folds. {note}")
    assert "They are cross-indexed" in last
    nothing = found(learnable="no")
    assert (nothing.verdict[1], nothing.verdict_of) == (NO_PROOF, ("learnable",) * 3)


def test_a_target_that_drifts_is_said_to_make_the_test_uninformative():
    """In order of time, with a baseline below what the test reaches on shuffled targets, which do not drift."""
    plan = SimpleNamespace(**vars(PLAN) | {"splitting": "in order of time"})
    for of_shuffled, expected in ((0.6, DRIFT), (0.4, NO_PROOF)):
        null = {"labels": {"observed": 0.7, "scores": [of_shuffled] * 3, "p_value": 0.9}}
        findings = found(learnable="no", plan=plan, nulls=null)
        assert findings.verdict[1] == expected
        assert findings.headline.startswith("It is not shown" if expected == DRIFT else "There is no sign")


@pytest.mark.parametrize(
    ("names", "stability", "sentence"),
    [
        ("a", None, "The column is a."),
        ("abx", 0.8, "The columns are a, b; the folds agree well on the columns (stability 0.80; 1 is perfect)."),
        ("abcde", None, "The top-ranked columns are a, b, c, d."),
    ],
)
def test_the_columns_are_told_in_short(names, stability, sentence):
    assert found(names=names, stability=stability).verdict[1] == sentence


def test_new_columns_are_told_by_what_they_are_made_of():
    for n_made, said in (
        (1, "The new column is made mostly of a, b, and needs all columns."),
        (2, "The 2 new columns are made mostly of a, b, and need all columns."),
    ):
        assert found(n_made=n_made).verdict[1] == said


def test_what_chose_the_columns_is_named():
    line = found().verdict[2]
    assert line.startswith("Columns were chosen by best of a, b with ridge, from 2 combinations of selection method")
    assert found(n_made=2).verdict[2].startswith("Columns were combined by best of a, b with ridge")
    everything = found(reduces=False, size=20).verdict[2]
    assert everything.startswith("The model is ridge with all columns, chosen from 3 candidates.")


def test_degrees_of_agreement():
    assert [_degree(value) for value in (0.75, 0.74, 0.4, 0.39)] == ["well", "only partly", "only partly", "poorly"]
