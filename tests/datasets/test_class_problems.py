"""Problems of classification: the relevant columns are those that `truth` names."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from fewer.datasets import (
    make_five_classes,
    make_friedman_classes,
    make_gene_blocks,
    make_simple_relevance,
    make_waveform,
    simulate_factor_classes,
)


def test_class_means_are_those_of_the_truth():
    X, y, truth = make_five_classes(n_per_class=20_000, random_state=0)
    means = np.array([X[y == label].mean(axis=0) for label in range(1, 6)])
    np.testing.assert_allclose(means, truth["means"], atol=5 / np.sqrt(20_000))
    assert truth["means"][:, 3].tolist() == [0, 0, 0, -2.5, 2.5]


def test_noise_is_the_spread_within_a_class():
    X, y, truth = make_five_classes(n_per_class=5000, noise=0.5, random_state=0)
    assert (X - truth["means"][y - 1]).std() == pytest.approx(0.5, rel=0.02)


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="n_per_class=0"):
        make_five_classes(n_per_class=0)


def test_classes_of_the_simple_problem_follow_its_formula():
    X, y, truth = make_simple_relevance(n_samples=501, n_features=4, random_state=0)
    response = X[:, 0] ** 2 + 2 * X[:, 1]
    assert np.array_equal(y, response > np.median(response))
    assert truth["support"].tolist() == [True, True, False, False]
    assert X.min() >= 0
    assert X.max() <= 1


def test_friedmans_classes_cut_friedmans_function():
    X, y, truth = make_friedman_classes(n_samples=2000, noise=0.0, random_state=3)
    expected = make_friedman1(n_samples=2000, noise=0.0, random_state=3)
    assert np.array_equal(X, expected[0])
    np.testing.assert_allclose(truth["response"], expected[1])
    assert np.array_equal(y, truth["response"] > 14)
    assert 0.4 < y.mean() < 0.6


@pytest.mark.parametrize(
    ("make", "wish"), [(make_simple_relevance, {"n_features": 1}), (make_friedman_classes, {"n_features": 4})]
)
def test_too_few_columns_are_refused(make, wish):
    with pytest.raises(ValueError, match=r"n_features=\d"):
        make(**wish)


def test_class_means_are_those_of_the_recipe():
    X, y, truth = make_waveform(n_samples=60_000, random_state=0)
    points = np.arange(1, 22)
    triangle = {c: np.maximum(6 - np.abs(points - c), 0) for c in (7, 15, 11)}
    pairs = [(7, 15), (7, 11), (15, 11)]
    for label, (a, b) in enumerate(pairs):
        expected = np.concatenate([(triangle[a] + triangle[b]) / 2, np.zeros(19)])
        # a column's variance is 1 + (difference of waves)^2 / 12 <= 4, and there are 20,000 rows in a class
        np.testing.assert_allclose(X[y == label].mean(axis=0), expected, atol=4.5 * 2 / np.sqrt(19_500))
    assert np.bincount(y).min() > 19_400
    np.testing.assert_array_equal(truth["waves"], [triangle[7], triangle[15], triangle[11]])


def test_noise_and_the_two_ends_tell_nothing():
    X, _, truth = make_waveform(n_samples=10_000, n_noise=5, random_state=0)
    assert X.shape == (10_000, 26)
    np.testing.assert_array_equal(np.flatnonzero(~truth["support"]), [0, 20, 21, 22, 23, 24, 25])
    np.testing.assert_allclose(X[:, ~truth["support"]].var(axis=0), 1, atol=0.08)


def test_a_good_rule_is_right_for_about_85_percent():
    train, test = make_waveform(20_000, n_noise=0, random_state=1), make_waveform(20_000, n_noise=0, random_state=2)
    accuracy = QuadraticDiscriminantAnalysis().fit(train.X, train.y).score(test.X, test.y)
    assert 0.84 < accuracy < 0.865


def test_the_seed_decides_everything():
    first, again, other = (make_waveform(50, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_impossible_sizes_are_refused():
    with pytest.raises(ValueError, match="n_noise=-1"):
        make_waveform(10, n_noise=-1)


def test_means_variances_and_correlations_are_those_of_the_design():
    X, y, truth = make_gene_blocks(n_per_class=20_000, n_blocks=19, random_state=0)
    for k, label in enumerate("ABC"):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), truth["means"][k], atol=5 / np.sqrt(20_000))
        correlations = np.corrcoef(rows.T)
        assert rows.var(axis=0) == pytest.approx(np.ones(95), abs=0.06)
        assert correlations[10, 11:15] == pytest.approx(np.full(4, 0.9), abs=0.01)
        assert np.abs(correlations[:5, 5:]).max() < 0.04
    assert not truth["means"][:, 90:].any()


def test_truth_names_the_columns_that_matter():
    truth = make_gene_blocks(random_state=0).truth
    assert len(truth["support"]) == 85  # eighteen blocks, of which the tenth has the same mean in all classes
    assert not set(range(45, 50)) & set(truth["support"].tolist())
    assert truth["markers"]["A"].tolist() == [0, 1, 2, 3, 4]
    assert set(range(10, 45)) <= set(truth["markers"]["C"].tolist())


def test_bayes_error_is_reached_by_the_best_linear_rule():
    X, y, truth = make_gene_blocks(n_per_class=20_000, n_blocks=18, random_state=1)
    rule = LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    error = np.mean(rule.predict(X[1::2]) != y[1::2])
    assert error == pytest.approx(truth["bayes_error"], abs=4 * np.sqrt(0.06 / 30_000))
    assert truth["bayes_error"] == pytest.approx(0.0615, abs=1e-4)


@pytest.mark.parametrize("bad", [{"n_per_class": 0}, {"n_blocks": 17}, {"correlation": 1.0}, {"block_size": 0}])
def test_impossible_blocks_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_gene_blocks(**bad)


def test_factor_models_are_recovered_from_many_rows():
    rng = np.random.default_rng(0)
    loadings, noise = rng.normal(size=(2, 8)), np.linspace(0.2, 1.0, 8)
    X = rng.normal(size=(4000, 2)) @ loadings + rng.normal(size=(4000, 8)) * np.sqrt(noise) + 3.0
    y = np.repeat([0, 1], 2000)
    drawn = simulate_factor_classes(X, y, n_factors=2, n_per_class=4000, random_state=0)
    covariance = loadings.T @ loadings + np.diag(noise)
    for k in range(2):
        model = drawn.truth["loadings"][k].T @ drawn.truth["loadings"][k] + np.diag(drawn.truth["noise"][k])
        assert np.abs(model - covariance).max() < 0.1 * covariance.max()
        assert np.abs(np.cov(drawn.X[drawn.y == k].T) - model).max() < 0.1 * covariance.max()
    np.testing.assert_allclose(drawn.truth["means"], 3.0, atol=0.15)


def test_wide_tables_and_small_classes_have_fewer_factors():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 300)), np.repeat(["a", "b"], [3, 7])
    drawn = simulate_factor_classes(X, y, n_factors=5, n_per_class=6, random_state=0)
    assert [one.shape for one in drawn.truth["loadings"]] == [(2, 300), (5, 300)]
    assert drawn.X.shape == (12, 300)
    assert drawn.y.tolist() == ["a"] * 6 + ["b"] * 6
    assert np.isfinite(drawn.X).all()


def test_constant_columns_stay_constant():
    X, y = load_iris(return_X_y=True)
    X[:, 2] = 7.0
    drawn = simulate_factor_classes(X, y, n_factors=2, n_per_class=50, random_state=0)
    np.testing.assert_allclose(drawn.X[:, 2], 7.0, atol=1e-3)


def test_the_random_state_alone_decides():
    X, y = load_iris(return_X_y=True)
    first, second, third = (simulate_factor_classes(X, y, random_state=seed).X for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_classes_of_one_row_and_no_factors_are_refused():
    X = np.eye(3)
    with pytest.raises(ValueError, match="'b' has one row"):
        simulate_factor_classes(X, ["a", "a", "b"])
    with pytest.raises(ValueError, match="n_factors=0"):
        simulate_factor_classes(X, [0, 0, 0], n_factors=0)
