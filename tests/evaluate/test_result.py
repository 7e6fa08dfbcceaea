"""Results: words in a terminal, words and the picture in a notebook, plain data for JSON."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import fewer.evaluate as evaluate
from fewer._figures import Result, plain

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 6)), np.arange(40) % 2
SEARCH = GridSearchCV(make_pipeline(SelectKBest(k=2), GaussianNB()), {"selectkbest__k": [1, 3]}, cv=2)


def of_criterion():
    return evaluate.RepeatedSplitCriterion(2).surface(GaussianNB(), X, Y, {"var_smoothing": [1e-9, 0.1]})


def stability():
    return evaluate.selection_stability(RNG.random((5, 6)) < 0.5)


MADE = {
    "BatteryResult": lambda: evaluate.PermutationBattery(
        [GaussianNB()], [(X, Y)], n_permutations=39, n_repeats=1, cv=2, random_state=0
    ).run(),
    "BiasExperiment": lambda: evaluate.selection_bias_experiment(
        SelectKBest(k=2), GaussianNB(), X, Y, n_repeats=2, cv=2, random_state=0
    ),
    "CriterionSurface": of_criterion,
    "CrossIndex": lambda: evaluate.cross_index(RNG.random((3, 4))),
    "Discoveries": lambda: evaluate.benjamini_hochberg([0.01, 0.3]),
    "MethodComparison": lambda: evaluate.compare_methods(RNG.random((5, 3))),
    "NestedResult": lambda: evaluate.NestedEvaluation(SEARCH, cv=2, random_state=0).run(X, Y),
    "NestedSustainableError": lambda: evaluate.nested_sustainable_error(
        make_pipeline(SelectKBest(k=2), GaussianNB()), X, Y, grid=[1, 2, 3], window=1, cv=2, inner_cv=2, random_state=0
    ),
    "OptimalSize": lambda: evaluate.optimal_n_features([0.5, 0.1], 20),
    "OverfitCurve": lambda: evaluate.selection_overfit_curve(SEARCH, X, Y, n_repeats=2, random_state=0),
    "PeakingCurve": lambda: evaluate.peaking_curve("mean_difference", [1.0, 0.5], 10, n_repeats=3, random_state=0),
    "PermutationResult": lambda: evaluate.permutation_test(
        GaussianNB(), X, Y, cv=2, n_permutations=19, n_repeats=1, random_state=0
    ),
    "ProtocolAudit": lambda: evaluate.protocol_audit(SEARCH, X, Y, cv=2, n_repeats=2, random_state=0),
    "SelectionCurve": lambda: evaluate.selection_curve(SelectKBest(k=2), GaussianNB(), X, Y, cv=2, random_state=0),
    "SizePlan": lambda: evaluate.plan_n_features(X, Y, n_splits=2, n_boot=2, random_state=0),
    "Stability": stability,
    "StabilityDifference": lambda: evaluate.stability_difference(stability(), stability()),
    "SustainableErrorCurve": lambda: evaluate.sustainable_error_curve(
        make_pipeline(SelectKBest(k=2), GaussianNB()), X, Y, grid=[1, 2, 3], window=1, cv=2, random_state=0
    ),
}


def test_every_result_of_the_room_is_shown_here():
    public = (getattr(evaluate, name) for name in evaluate.__all__)
    results = {thing.__name__ for thing in public if isinstance(thing, type) and issubclass(thing, Result)}
    assert results == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_result_prints_its_name_shows_its_picture_and_gives_plain_data(name):
    made = MADE[name]()
    assert repr(made).startswith(f"{name}: ")
    shown = made._repr_html_()
    assert f"<strong>{name}: " in shown
    assert ("plotly" in shown) == hasattr(made, "plot")
    json.loads(json.dumps(made.to_dict()), parse_constant=pytest.fail)


@dataclass(frozen=True, repr=False)
class Toy(Result):
    value: object
    hidden: int = 0
    reading: str = "a < b & c"

    _data = ("value",)

    def __repr__(self):
        return "Toy: <1>\n  two & three"


def test_words_are_escaped_and_the_reading_comes_last():
    assert Toy(1)._repr_html_() == (
        "<div><strong>Toy: &lt;1&gt;</strong>"
        '<pre style="margin: 0.3em 0; white-space: pre-wrap">  two &amp; three</pre>'
        '<p style="margin: 0.3em 0; max-width: 60em">a &lt; b &amp; c</p></div>'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1.5, np.nan], [np.inf, 2]]), [[1.5, None], [None, 2.0]]),
        (np.float64(0.5), 0.5),
        (np.array([True, False]), [True, False]),
        ({2: (1, "a")}, {"2": [1, "a"]}),
        (Toy(3), {"value": 3}),
        (None, None),
        (len, repr(len)),
    ],
)
def test_plain_data_is_what_json_can_hold(value, expected):
    assert plain(value) == expected
    assert Toy(value).to_dict() == {"value": expected}
