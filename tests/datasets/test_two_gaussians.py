import numpy as np
import pytest
from scipy.stats import norm

from fewer.datasets import make_two_gaussians


def test_the_classes_have_unit_covariance_and_opposite_means():
    X, y, truth = make_two_gaussians(100_000, mu=[1.0, -0.5, 0.0], random_state=0)
    assert truth["ranking"].tolist() == [1, 2, 3]
    for label in (-1, 1):
        np.testing.assert_allclose(X[y == label].mean(axis=0), label * truth["mu"], atol=0.02)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(3), atol=0.03)


def test_no_rule_beats_the_bayes_error_and_the_true_means_reach_it():
    X, y, truth = make_two_gaussians(200_000, mu=[0.8, 0.6], random_state=1)
    assert truth["bayes_error"] == pytest.approx(norm.cdf(-1.0))
    assert np.mean(np.sign(X @ truth["mu"]) != y) == pytest.approx(truth["bayes_error"], abs=0.003)


def test_classes_are_balanced_unless_a_coin_is_asked_for():
    assert [abs(make_two_gaussians(m, random_state=0).y.sum()) for m in (2, 7, 100)] == [0, 1, 0]
    sums = {int(make_two_gaussians(101, balanced=False, random_state=seed).y.sum()) for seed in range(20)}
    assert len(sums) > 5


def test_the_default_is_the_harmonic_problem_of_the_paper():
    X, _, truth = make_two_gaussians(random_state=0)
    assert X.shape == (100, 1000)
    np.testing.assert_allclose(truth["mu"][[0, 1, 999]], [1, 1 / 2, 1 / 1000])


def test_the_seed_alone_decides_the_draw():
    first, again, other = (make_two_gaussians(20, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(
    ("asked", "message"), [({"mu": [[1.0]]}, "one finite number"), ({"n_samples": 1}, "2 or more")]
)
def test_what_cannot_be_drawn_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        make_two_gaussians(**asked)
