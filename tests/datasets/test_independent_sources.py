import numpy as np
import pytest
from scipy.stats import kurtosis

from fewer.datasets import make_independent_sources

EVERY_SOURCE = ("uniform", "laplace", "normal", "logistic", "exponential", "binary")


def test_sources_are_independent_with_unit_variance():
    truth = make_independent_sources(200_000, EVERY_SOURCE, random_state=0).truth
    np.testing.assert_allclose(truth["sources"].mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(truth["sources"], rowvar=False), np.eye(6), atol=0.03)


def test_the_kurtosis_in_the_truth_is_that_of_the_sources():
    truth = make_independent_sources(1_000_000, EVERY_SOURCE, random_state=0).truth
    np.testing.assert_allclose(kurtosis(truth["sources"]), truth["kurtosis"], atol=0.15)


def test_sensors_record_the_mixed_sources():
    X, y, truth = make_independent_sources(500, n_sensors=5, random_state=1)
    assert y is None
    assert X.shape == (500, 5)
    np.testing.assert_allclose(X, truth["sources"] @ truth["mixing"].T)


def test_the_seed_alone_decides_the_draw():
    one, same, other = (make_independent_sources(50, random_state=seed).X for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_fewer_sensors_than_sources_are_refused():
    with pytest.raises(ValueError, match="n_sensors=2 is fewer than the 3 sources"):
        make_independent_sources(n_sensors=2)


@pytest.mark.parametrize("sources", ["uniform", (), ("uniform", "cauchy")])
def test_sources_that_do_not_exist_are_refused_with_those_that_do(sources):
    with pytest.raises(ValueError, match="laplace, normal"):
        make_independent_sources(sources=sources)
