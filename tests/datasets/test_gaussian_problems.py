"""Normal distributions: their moments, their classes and their designs are as asked for."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm

from fewer.datasets import (
    make_four_gaussians,
    make_gaussian,
    make_gaussian_design,
    make_sparsified_gaussian,
    make_two_gaussians,
    make_twonorm,
)
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
    X, _, truth = make_gaussian(500, mean=[0, 0], cov=[[1, 1], [1, 1]], random_state=0)
    np.testing.assert_allclose(X[:, 0], X[:, 1], rtol=0, atol=rounding(2, np.abs(X).max()))
    assert truth["eigenvalues"].min() == 0
    rng = np.random.default_rng(0)
    for _ in range(10):  # of two directions in four columns, whose other eigenvalues rounding puts on either side of 0
        spread = rng.normal(size=(4, 2))
        X, _, truth = make_gaussian(20, mean=np.zeros(4), cov=spread @ spread.T, random_state=0)
        assert np.count_nonzero(truth["eigenvalues"]) == 2
        beside = X - X @ np.linalg.pinv(spread).T @ spread.T
        np.testing.assert_allclose(beside, 0, atol=rounding(4, np.abs(X).max(), np.linalg.cond(spread) ** 2))


def test_an_eigenvalue_that_is_negative_by_rounding_alone_is_allowed():
    covariance = np.outer(weights := np.array([0.1, 0.7, 0.3, 1.1]), weights)
    assert np.linalg.eigvalsh(covariance)[0] < 0
    assert make_gaussian(5, mean=np.zeros(4), cov=covariance, random_state=0).truth["eigenvalues"][-1] == 0


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([0, 0, 0], np.eye(2), "does not match a mean"),
        ([0, 0], [[1, 0.5], [0, 1]], "symmetric"),
        ([0, 0], [[1, 2], [2, 1]], "negative eigenvalue -1"),
    ],
)
def test_what_is_no_covariance_is_refused(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian(10, mean=mean, cov=covariance)


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


def test_the_seed_alone_decides_the_draw_of_two_classes():
    first, again, other = (make_two_gaussians(20, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(
    ("asked", "message"), [({"mu": [[1.0]]}, "one finite number"), ({"n_samples": 1}, "at least 2")]
)
def test_what_cannot_be_drawn_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        make_two_gaussians(**asked)


def test_the_clouds_are_where_the_paper_puts_them():
    X, y, truth = make_four_gaussians(200_000, random_state=0)
    # A cloud's class and the side of x = 0 that its centre lies on tell it apart only roughly, so compare class means.
    np.testing.assert_allclose(X[y > 0].mean(axis=0), [0.05, 0.7], atol=0.005)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), [-0.2, 0.3], atol=0.005)
    np.testing.assert_allclose(X[y > 0].var(axis=0), [0.04 + 0.35**2, 0.04], rtol=0.02)
    np.testing.assert_allclose(X[y < 0].var(axis=0), [0.04 + 0.5**2, 0.04], rtol=0.02)
    assert truth["centres"].shape == (4, 2)


def test_the_posterior_is_a_calibrated_probability_even_far_away():
    _, y, truth = make_four_gaussians(200_000, random_state=1)
    bins = np.digitize(truth["posterior"], np.linspace(0, 1, 11)[1:-1])
    for number in range(10):
        inside = bins == number
        assert abs((y[inside] > 0).mean() - truth["posterior"][inside].mean()) < 4 * 0.5 / np.sqrt(inside.sum())
    assert np.isfinite(truth["posterior"]).all()


def test_twonorm_has_its_means_four_apart():
    X, y, truth = make_twonorm(50_000, random_state=0)
    gap = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(gap), 4, rtol=0.01)
    wrong = np.sign(X.sum(axis=1)) != y
    assert abs(wrong.mean() - truth["bayes_error"]) < 3 * np.sqrt(0.0228 / 50_000)


def test_a_sparsified_design_is_csr_with_rows_in_order():
    X, y, truth = make_sparsified_gaussian(300, 200, 0.05, random_state=0)
    assert X.format == "csr"
    assert X.has_sorted_indices
    np.testing.assert_allclose(y, X @ truth["coef"] + truth["noise"])
    assert truth["coef"].sum() == 14
    assert not sparse.issparse(make_sparsified_gaussian(20, 10, 0.5, dense_output=True, random_state=0).X)


def test_every_place_is_as_likely_as_any_other():
    counts = sum(make_sparsified_gaussian(4, 5, 0.3, random_state=seed).X.toarray() != 0 for seed in range(500))
    expected, deviation = 150, np.sqrt(500 * 0.3 * 0.7)
    assert np.abs(counts - expected).max() < 4 * deviation


def test_signs_have_one_size_and_a_full_design_no_zero():
    X = make_sparsified_gaussian(50, 40, 0.25, distribution="sign", random_state=0).X
    assert set(np.abs(X.data)) == {2.0}
    assert make_sparsified_gaussian(50, 40, 1.0, random_state=0).X.nnz == 2000


@pytest.mark.parametrize(("cov", "smallest"), [("toeplitz", 0.33335), ("spiked", 0.5), ("identity", 1.0)])
def test_the_covariance_has_the_smallest_eigenvalue_of_its_formula(cov, smallest):
    problem = make_gaussian_design(20_000, 200, cov, random_state=0)
    assert np.linalg.eigvalsh(problem.truth["covariance"])[0] == pytest.approx(smallest, abs=1e-4)
    sample = problem.X[:, :6].T @ problem.X[:, :6] / 20_000
    np.testing.assert_allclose(sample, problem.truth["covariance"][:6, :6], atol=0.05)


def test_a_degenerate_design_has_the_rank_of_its_first_sample():
    problem = make_gaussian_design(15, 40, degenerate=True, random_state=0)
    assert np.linalg.matrix_rank(problem.truth["covariance"]) == 15
    _, values, vectors = np.linalg.svd(problem.truth["covariance"])
    tolerance = rounding(40, np.linalg.norm(problem.X, axis=1).max(), condition=values[0] / values[14])
    np.testing.assert_allclose(problem.X @ vectors[15:].T, 0, atol=tolerance)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cov": "other"}, "choose"),
        ({"cov": np.eye(3)}, r"shape \(3, 3\).*200"),
        ({"cov": "spiked", "a": 1.0}, "below 1"),
        ({"cov": np.diag(np.r_[-1.0, np.ones(199)])}, "negative eigenvalue"),
    ],
)
def test_a_covariance_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian_design(**options)
