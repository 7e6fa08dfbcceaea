"""The first lines: what they say follows from the answers, and in the right number."""

from types import SimpleNamespace

import pytest

from fewer.study._verdict import _degree, chosen_by, headline_of, in_short

PLAN = SimpleNamespace(target="state", n_columns=20, confidence=0.95)
FINAL = {"size": 3, "n_made": None, "n_prepared": 20}


def answer(verdict="yes", interval=(0.1, 0.3), number=0.01, **evidence):
    evidence = {"with_fewer": 0.9, "with_all": 0.7, "simplest": 0.5} | evidence
    return SimpleNamespace(verdict=verdict, interval=interval, number=number, evidence=evidence)


@pytest.mark.parametrize(
    ("learnable", "help_", "final", "beginning", "claims"),
    [
        (answer("no"), answer(), {}, "There is no sign that state can be predicted from these 20 columns", False),
        (answer(), answer("yes"), {"size": 20}, "Keep all features: the best number of columns is all 20", False),
        (answer(), answer("yes"), {}, "Fewer features help: 3 of 20 columns reach accuracy 0.900, all of them", True),
        (answer(), answer("yes"), {"size": 1}, "Fewer features help: 1 of 20 columns reaches accuracy", True),
        (answer(), answer("no", (-0.3, -0.1)), {}, "Keep all features: 3 of 20 columns reach", False),
        (answer(), answer("not shown", (-0.2, 0.2)), {}, "Fewer features do about as well: ", False),
        (answer(), answer("not shown", (-0.1, 0.21)), {}, "Too few rows to tell", False),
        (answer(), answer("not shown", (-0.21, 0.1)), {}, "Too few rows to tell", False),
        (answer(), answer("yes"), {"size": 20, "n_made": 2}, "Fewer features help: 2 new columns reach", True),
        (answer(), answer("yes"), {"size": 20, "n_made": 1}, "Fewer features help: 1 new column reaches", True),
    ],
)
def test_the_headline_follows_the_answers(learnable, help_, final, beginning, claims):
    line, says_so = headline_of(PLAN, learnable, help_, FINAL | final, "accuracy")
    assert line.startswith(beginning)
    assert says_so == claims


def test_no_difference_on_any_fold_is_told_as_that():
    line, _ = headline_of(PLAN, answer(), answer("not shown", (0.0, 0.0)), FINAL, "accuracy")
    assert "(no difference on any fold)" in line
    line, _ = headline_of(PLAN, answer(), answer("not shown", (-0.1, 0.2)), FINAL, "accuracy")
    assert "(95% interval of the difference -0.100 to +0.200)" in line


def columns(*names):
    return tuple(SimpleNamespace(name=name, chosen=name != "x") for name in names)


@pytest.mark.parametrize(
    ("names", "smallest", "stability", "sentence"),
    [
        ("a", 1, None, "The column is a."),
        ("abx", 2, 0.8, "The columns are a, b; the folds agree on the list well (stability 0.80 of 1)."),
        ("abcd", 2, None, "The columns are a, b, c, d; the first 2 nearly suffice."),
        ("abcde", 5, None, "First come a, b, c, d."),
    ],
)
def test_the_columns_are_told_in_short(names, smallest, stability, sentence):
    which, how_few = answer(number=stability), answer(smallest=smallest)
    assert in_short(which, how_few, columns(*names), FINAL) == sentence


def test_new_columns_are_told_by_what_they_hold():
    for n_made, said in (
        (1, "The new column holds most of a, b, and needs all columns."),
        (2, "The 2 new columns hold most of a, b, and need all columns."),
    ):
        assert in_short(answer(), answer(), columns(*"ab"), FINAL | {"n_made": n_made}) == said


def test_what_chose_the_columns_is_named():
    scores = SimpleNamespace(winner=SimpleNamespace(name="best of a, b, ridge"), reduced=[1, 2])
    assert chosen_by(scores, FINAL) == "Columns were chosen by best of a, b with ridge, the best of 2 ways to reduce."
    scores.reduced = [1]
    assert chosen_by(scores, FINAL | {"size": 20}) == "Columns were put in order by best of a, b with ridge."
    assert chosen_by(scores, FINAL | {"n_made": 2}) == "Columns were combined by best of a, b with ridge."


def test_degrees_of_agreement():
    assert [_degree(value) for value in (0.75, 0.74, 0.4, 0.39)] == ["well", "in part", "in part", "poorly"]
