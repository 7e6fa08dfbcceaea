"""Mixtures of triangular waves."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from fewer.datasets import make_waveform


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
