"""Criteria for the number of components: bootstrap tests of the likelihood ratio, DIC, the variational bound."""

import json

import numpy as np
import pandas as pd
import pytest

from fewer.engine import Engine
from fewer.latent import FactorAnalysis, LatentClass, LatentProfile, select_n_components
from fewer.latent._bootstrap_test import BootstrapTest


def answers(n_classes, n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    yes = np.array([[0.9] * 6, [0.1] * 6, [0.9] * 3 + [0.1] * 3])[:n_classes]
    return (rng.random((n_rows, 6)) < yes[rng.integers(n_classes, size=n_rows)]).astype(float)


QUICK = {"criterion": "bootstrap", "n_resamples": 19}


def test_a_p_value_counts_the_table_itself():
    test = BootstrapTest(1, 2, 5.0, np.array([1.0, 5.0, 6.0, 2.0]))
    assert test.p_value == 3 / 5
    assert "1 against 2 components: likelihood ratio 5.00" in repr(test)


def test_tests_go_up_until_one_is_not_significant():
    choice = select_n_components(LatentClass(n_init=3, random_state=0), answers(3), [1, 2, 3, 4, 5], **QUICK)
    assert choice.n_components == 3
    assert choice.n_components_simplest == 3
    assert [each.n_small for each in choice.tests] == [1, 2, 3]
    assert [each.p_value for each in choice.tests[:2]] == [0.05, 0.05]
    assert np.isnan(choice.scores[4])
    assert "3 components are enough: 4 do not fit better than by chance" in repr(choice)
    assert len(choice.plot().data) == 6
    assert len(choice.to_dict()["tests"]) == 3
    short = select_n_components(LatentClass(n_init=2, random_state=0), answers(3), [1, 2], **QUICK)
    assert short.n_components == 2
    assert "try more than 2 components" in short.reading


def test_workers_change_nothing():
    X = answers(2, 80)
    model = LatentClass(n_init=1, random_state=0)
    alone = select_n_components(model, X, [1, 2], criterion="bootstrap", n_resamples=8)
    with Engine.local(2) as engine:
        shared = select_n_components(model, X, [1, 2], criterion="bootstrap", n_resamples=8, engine=engine)
    np.testing.assert_array_equal(alone.tests[0].null_statistics, shared.tests[0].null_statistics)


def test_an_interrupted_test_goes_on_from_its_file(tmp_path):
    X, model = answers(2, 80), LatentClass(n_init=1, random_state=0)
    file = tmp_path / "values.jsonl"
    options = {"criterion": "bootstrap", "n_resamples": 6, "significance_level": 0.5, "checkpoint": file}
    whole = select_n_components(model, X, [1, 2, 3], **options)
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + 12
    # A value that cannot come from a simulation shows that it is read, not computed again; the last line was cut off.
    changed = json.loads(lines[1])
    changed[2] = 1e9
    file.write_text("\n".join([lines[0], json.dumps(changed), *lines[2:5]]) + "\n" + lines[5][:4])
    again = select_n_components(model, X, [1, 2, 3], **options)
    test, place, _ = changed
    assert again.tests[test].null_statistics[place] == 1e9
    expected = whole.tests[0].null_statistics.copy()
    expected[place] = 1e9
    np.testing.assert_array_equal(again.tests[0].null_statistics, expected)
    with pytest.raises(ValueError, match="is not of a bootstrap test of this model"):
        select_n_components(model, X[:-1], [1, 2, 3], **options)
    (tmp_path / "other.txt").write_text("my notes\n")
    with pytest.raises(ValueError, match="was not changed"):
        select_n_components(model, X, [1, 2], **options | {"checkpoint": tmp_path / "other.txt"})
    assert (tmp_path / "other.txt").read_text() == "my notes\n"
    with pytest.raises(ValueError, match="needs random_state to be a number"):
        select_n_components(model, X, [1, 2], **options, random_state=None)


def test_text_and_missing_answers():
    X = answers(2)
    X[np.random.default_rng(3).random(X.shape) < 0.15] = np.nan
    frame = pd.DataFrame(X).replace({0.0: "no", 1.0: "yes"})
    frame.columns = [f"q{each}" for each in frame.columns]
    model = LatentClass(n_init=3, random_state=0)
    words = select_n_components(model, frame, [1, 2], **QUICK)
    numbers = select_n_components(model, X, [1, 2], **QUICK)
    assert words.n_components == numbers.n_components == 2
    np.testing.assert_allclose(words.tests[0].null_statistics, numbers.tests[0].null_statistics)
    ordered = frame.astype(pd.CategoricalDtype(["no", "yes"], ordered=True))
    choice = select_n_components(LatentClass(ordinal="auto", n_init=2, random_state=0), ordered, [1, 2], **QUICK)
    assert choice.n_components == 2


def test_other_models_with_samples_are_tested_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) + 3 * (np.arange(150) < 60)[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    profiles = select_n_components(LatentProfile(n_init=2, random_state=0), X, [1, 2, 3], **QUICK)
    assert profiles.n_components == 2
    scores = rng.normal(size=(200, 2))
    X = scores @ np.array([[2, 2, 2, 2, 0, 0, 0, 0], [0, 0, 0, 0, 2, 2, 2, 2]]) + rng.normal(size=(200, 8))
    assert select_n_components(FactorAnalysis(), X, [1, 2, 3], **QUICK).n_components == 2


def test_the_bound_finds_the_number_of_classes():
    model = LatentClass(solver="variational_bayes", n_init=3, random_state=0)
    choice = select_n_components(model, answers(3, 400), [1, 2, 3, 4], criterion="bound")
    assert choice.n_components == 3


@pytest.mark.parametrize("solver", ["variational_bayes", "gibbs"])
def test_dic_tells_too_few_classes(solver):
    model = LatentClass(solver=solver, n_init=3, n_draws=200, n_burn_in=100, random_state=0)
    found = select_n_components(model, answers(3, 400, seed=1), [1, 2, 3, 4], criterion="dic").means
    assert found[2] > max(found[:2]) + 100
    assert found[3] < found[2] + 10  # a class that stays empty costs nothing


def test_a_dic_of_several_modes_is_reported():
    X = answers(3, 400)
    # Two classes for three: chains may merge either pair.
    model = LatentClass(2, solver="gibbs", n_draws=100, n_burn_in=100, n_chains=4, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="the draws come from several modes"):
        assert model.dic(X).n_effective < 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": [2, 1]}, "two or more in increasing order"),
        ({"candidates": [2]}, "two or more in increasing order"),
        ({"y": np.zeros(200)}, "without a target"),
        ({"n_resamples": 0}, "n_resamples=0 must be at least 1"),
        ({"n_jobs": 2, "engine": object()}, "engine and n_jobs are both given"),
        ({"criterion": "bound"}, "Only solver='variational_bayes' has a bound"),
        ({"criterion": "dic"}, "DIC needs draws"),
        ({"criterion": "chi2"}, "criterion must be one of auto, completion"),
    ],
)
def test_wrong_calls_are_refused(options, message):
    options = {"candidates": [1, 2], "criterion": "bootstrap"} | options
    with pytest.raises(ValueError, match=message):
        select_n_components(LatentClass(n_init=1), answers(2), **options)


def test_models_without_samples_or_posteriors_are_refused():
    from fewer.latent import BagOfPrototypes, LatentTrait

    with pytest.raises(ValueError, match="has no sample method"):
        select_n_components(BagOfPrototypes(), answers(2), [1, 2], criterion="bootstrap")
    with pytest.raises(ValueError, match="needs a model with the method log_evidence"):
        select_n_components(LatentTrait(n_quadrature=5), answers(2), [1, 2], criterion="bound")


def test_sentences_about_one_component_are_singular_and_one_is_no_end_to_go_beyond():
    choice = select_n_components(LatentClass(n_init=1, random_state=0), answers(1), [1, 2])
    assert choice.reading == "1 component has the best BIC (more is better)."


def test_a_single_number_is_refused_and_too_few_resamples_are_named():
    with pytest.raises(TypeError, match=r"such as \[1, 2, 3\], not 3"):
        select_n_components(LatentClass(), answers(2), 3)
    with pytest.warns(UserWarning, match="No test can be significant.* needs at least 19"):
        select_n_components(
            LatentClass(n_init=1, random_state=0), answers(2), [1, 2], criterion="bootstrap", n_resamples=3
        )
