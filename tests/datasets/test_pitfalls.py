"""Tables with one known pitfall: what is planted is there, and the truth about it is true."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from fewer.datasets import (
    make_counts,
    make_drift,
    make_leak,
    make_planted,
    make_rare_class,
    make_rows_per_patient,
)

MAKERS = (make_counts, make_drift, make_leak, make_planted, make_rare_class, make_rows_per_patient)


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides_every_draw(make):
    first, again, other = (make(random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert len(first.truth["support"]) == first.X.shape[1] == len(first.to_dataset().columns)


@pytest.mark.parametrize("make", MAKERS)
def test_more_informative_columns_than_there_are_is_an_error(make):
    with pytest.raises(ValueError, match=r"informative columns"):
        make(n_features=4, n_informative=5)


def test_only_the_informative_columns_have_effects():
    for make, model in ((make_planted, LogisticRegression(C=10)), (make_counts, PoissonRegressor(alpha=0))):
        X, y, truth = make(n_samples=4000, n_features=12, n_informative=3, random_state=0)
        effects = model.fit(X, y).coef_.ravel()
        assert np.abs(effects[~truth["support"]]).max() < 0.3 * np.abs(effects[truth["support"]]).min()


def test_probabilities_and_expected_counts_are_true():
    _, y, truth = make_planted(n_samples=20_000, n_features=6, random_state=0)
    sure = truth["probability"] > 0.9
    assert abs(y[sure].mean() - truth["probability"][sure].mean()) < 4 * 0.3 / np.sqrt(sure.sum())
    _, y, truth = make_counts(n_samples=20_000, n_features=6, mean=1.5, random_state=0)
    assert abs(y.mean() - 1.5) < 4 * y.std() / np.sqrt(20_000)
    assert abs((y - truth["expected"]).mean()) < 4 * y.std() / np.sqrt(20_000)


def test_the_rows_of_a_patient_share_class_and_means():
    X, y, truth = make_rows_per_patient(n_patients=200, noise=0.5, random_state=0)
    groups = truth["groups"]
    assert np.array_equal(X[:, -1], groups)
    order = np.argsort(groups, kind="stable")
    rows = X[order, :-1].reshape(200, 6, -1)
    assert (np.ptp(y[order].reshape(200, 6), axis=1) == 0).all()
    assert abs(rows.var(axis=1, ddof=1).mean() - 0.25) < 0.02
    assert y.mean() == 0.5


def test_the_best_accuracies_are_reached_and_not_beaten():
    n = 20_000
    X, y, truth = make_rare_class(n_samples=n, n_features=6, n_informative=5, share=0.3, random_state=0)
    balanced = LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, y).predict(X) == y
    assert abs((balanced[y == 0].mean() + balanced[y == 1].mean()) / 2 - truth["balanced_accuracy"]) < 0.015
    X, y, truth = make_rows_per_patient(n_patients=4000, n_features=4, effect=1.0, random_state=0)
    order = np.argsort(truth["groups"], kind="stable")
    means, labels = X[order, :-1].reshape(4000, 6, -1).mean(axis=1), y[order][::6]
    accuracy = (LinearDiscriminantAnalysis().fit(means, labels).predict(means) == labels).mean()
    assert abs(accuracy - truth["accuracy"]) < 4 * 0.5 / np.sqrt(4000)


def test_the_rare_class_has_its_share():
    assert make_rare_class(n_samples=500, share=0.02, random_state=0).y.sum() == 10
    with pytest.raises(ValueError, match="share=1"):
        make_rare_class(share=1.0)


def test_the_leaking_column_is_where_the_truth_has_it():
    X, y, truth = make_leak(random_state=1)
    leak = truth["leak"]
    assert np.array_equal(X[:, leak] > 0.5, y == 1)
    assert not truth["support"][leak]
    assert truth["support"].sum() == 3


def test_a_day_is_like_the_day_before_it():
    X, y, truth = make_drift(n_samples=2000, random_state=0)
    assert np.array_equal(X[:, -1], np.arange(1, 2001))
    for series in (X[:, 0], X[:, 7], y):
        assert np.var(np.diff(series)) < np.var(series)
    assert truth["walk"].shape == y.shape
