import numpy as np
import pytest

from fewer.datasets import make_gaussian
from tolerances import rounding


def test_the_sample_has_the_mean_and_covariance_of_the_truth():
    X, y, truth = make_gaussian(n_samples=200_000, random_state=0)
    assert y is None
    np.testing.assert_allclose(X.mean(axis=0), truth["mean"], atol=0.05)
    np.testing.assert_allclose(np.cov(X, rowvar=False), truth["covariance"], atol=0.2)


def test_directions_and_eigenvalues_make_up_the_covariance():
    truth = make_gaussian(n_samples=2, random_state=0).truth
    directions, eigenvalues = truth["directions"], truth["eigenvalues"]
    made_up = directions.T @ np.diag(eigenvalues) @ directions
    np.testing.assert_allclose(made_up, truth["covariance"], rtol=0, atol=rounding(3, eigenvalues.max()))
    np.testing.assert_allclose(eigenvalues, [28.004, 9.261, 1.735], atol=5e-4)
    assert (np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1) > 0).all()


def test_the_seed_alone_decides_the_draw():
    np.testing.assert_array_equal(make_gaussian(random_state=3).X, make_gaussian(random_state=3).X)
    assert not np.array_equal(make_gaussian(random_state=3).X, make_gaussian(random_state=4).X)


def test_a_covariance_without_full_rank_is_allowed():
    X, _, truth = make_gaussian(500, mean=[0, 0], covariance=[[1, 1], [1, 1]], random_state=0)
    np.testing.assert_allclose(X[:, 0], X[:, 1], rtol=0, atol=rounding(2, np.abs(X).max()))
    assert truth["eigenvalues"].min() == 0
    rng = np.random.default_rng(0)
    for _ in range(10):  # of two directions in four columns, whose other eigenvalues rounding puts on either side of 0
        spread = rng.normal(size=(4, 2))
        X, _, truth = make_gaussian(20, mean=np.zeros(4), covariance=spread @ spread.T, random_state=0)
        assert np.count_nonzero(truth["eigenvalues"]) == 2
        beside = X - X @ np.linalg.pinv(spread).T @ spread.T
        np.testing.assert_allclose(beside, 0, atol=rounding(4, np.abs(X).max(), np.linalg.cond(spread) ** 2))


def test_an_eigenvalue_that_is_negative_by_rounding_alone_is_allowed():
    covariance = np.outer(weights := np.array([0.1, 0.7, 0.3, 1.1]), weights)
    assert np.linalg.eigvalsh(covariance)[0] < 0
    assert make_gaussian(5, mean=np.zeros(4), covariance=covariance, random_state=0).truth["eigenvalues"][-1] == 0


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([0, 0, 0], np.eye(2), "does not go with a mean"),
        ([0, 0], [[1, 0.5], [0, 1]], "symmetric"),
        ([0, 0], [[1, 2], [2, 1]], "negative eigenvalue -1"),
    ],
)
def test_what_is_no_covariance_is_refused(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian(10, mean=mean, covariance=covariance)
