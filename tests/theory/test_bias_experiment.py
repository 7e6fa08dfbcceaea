"""Bias of estimates, measured on rows held out."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fewer.evaluate import selection_curve
from fewer.select import NearestNeighbourObjective, SequentialSearch
from fewer.theory import selection_bias_experiment

X, Y = load_wine(return_X_y=True)


def test_truth_is_the_benefit_on_rows_held_out_and_estimates_are_those_of_the_curve():
    found = selection_bias_experiment(SelectKBest(), GaussianNB(), X, Y, n_repeats=2, random_state=3)
    seeds = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=2)
    for repeat, seed in enumerate(seeds):
        rows, held_out = train_test_split(np.arange(len(Y)), train_size=0.5, random_state=seed, stratify=Y)
        curve = selection_curve(SelectKBest(), GaussianNB(), X[rows], Y[rows], random_state=int(seed))
        for place, method in enumerate(("outer", "A", "B"), start=1):
            estimate = curve.cross_index(method)
            assert found.estimated[repeat, place] == pytest.approx(estimate.benefit)
            size = found.sizes[repeat, place]
            assert size == estimate.nearest_size
            kept = SelectKBest(k=size).fit(X[rows], Y[rows]).get_support(indices=True)
            with_fewer = GaussianNB().fit(X[rows][:, kept], Y[rows]).score(X[held_out][:, kept], Y[held_out])
            with_all = GaussianNB().fit(X[rows], Y[rows]).score(X[held_out], Y[held_out])
            assert found.true[repeat, place] == pytest.approx(with_fewer - with_all)
    np.testing.assert_array_equal(found.bias, found.estimated - found.true)


def test_the_naive_estimate_is_what_the_search_believed():
    search = SequentialSearch(NearestNeighbourObjective())
    found = selection_bias_experiment(search, KNeighborsClassifier(1), X, Y, n_repeats=1, random_state=3)
    seed = np.random.RandomState(3).randint(np.iinfo(np.int32).max, size=1)[0]
    rows, _ = train_test_split(np.arange(len(Y)), train_size=0.5, random_state=seed, stratify=Y)
    believed = SequentialSearch(NearestNeighbourObjective()).fit(X[rows], Y[rows]).path_scores_
    assert found.estimated[0, 0] == pytest.approx(max(believed.values()) - believed[13])
    assert found.sizes[0, 0] == min(size for size in believed if believed[size] == max(believed.values()))


def test_a_filter_on_noise_fools_those_who_filter_first():
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(100, 500)), np.arange(100) % 2
    found = selection_bias_experiment(
        SelectKBest(), GaussianNB(), noise, y, sizes=[5, 20, 50], n_repeats=8, random_state=0
    )
    rows = found.summary
    assert rows["naive"]["bias"] > 0.25
    assert abs(rows["A"]["bias"]) < 0.12
    assert abs(rows["B"]["bias"]) < 0.12


def test_workers_regression_words_json_and_a_picture(workers):
    table, target = load_diabetes(return_X_y=True)
    options = {"n_repeats": 3, "random_state": 0, "train_size": 100}
    here = selection_bias_experiment(SelectKBest(f_regression), Ridge(0.1), table, target, **options)
    there = selection_bias_experiment(SelectKBest(f_regression), Ridge(0.1), table, target, engine=workers, **options)
    np.testing.assert_array_equal(here.bias, there.bias)
    assert "3 splits, 10 columns, r2" in repr(here)
    assert set(json.loads(json.dumps(here.to_dict()))["summary"]) == {"naive", "outer", "A", "B"}
    assert len(here.plot().data[0].y) == 4
