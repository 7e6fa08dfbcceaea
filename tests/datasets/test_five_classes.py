"""Five classes whose best pair holds the worst column."""

import numpy as np
import pytest

from fewer.datasets import make_five_classes


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
