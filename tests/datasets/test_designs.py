"""Random designs with correlated columns, or with few entries."""

import numpy as np
import pytest
from scipy import sparse

from fewer.datasets import make_gaussian_design, make_sparsified_gaussian
from tolerances import rounding


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
        ({"cov": np.eye(3)}, "200 x 200"),
        ({"cov": "spiked", "a": 1.0}, "below 1"),
        ({"cov": np.diag(np.r_[-1.0, np.ones(199)])}, "negative eigenvalue"),
    ],
)
def test_a_covariance_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian_design(**options)
