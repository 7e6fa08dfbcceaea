"""Omidiran and Wainwright (2010), High-dimensional variable selection with sparse random projections."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from fewer.datasets import make_sparsified_gaussian
from fewer.theory import lasso_support_certificate, support_recovery_curve
from tolerances import rounding


def problem(n, p, k, density, seed, **options):
    coef = np.repeat([1.0, 0.0], [k, p - k])
    return make_sparsified_gaussian(n, p, density, coef=coef, dense_output=True, random_state=seed, **options)


@pytest.mark.claim("sparse-random-projections", 1)
def test_the_certificate_says_what_the_lasso_does(figure):
    verdicts, gaps = [], []
    for seed, n in enumerate(np.linspace(120, 320, 30).astype(int)):
        X, y, truth = problem(n, 200, 10, 0.3, seed)
        rho = 0.14
        certificate = lasso_support_certificate(X, truth["noise"], truth["coef"], rho)
        lasso = Lasso(alpha=rho, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
        same_signs = np.array_equal(np.sign(lasso.coef_), np.sign(truth["coef"]))
        assert certificate.recovers == same_signs
        verdicts.append(certificate.recovers)
        if certificate.recovers:
            gaps.append(np.abs(certificate.coef - lasso.coef_).max())
    figure(f"30 of 30 agree, {sum(verdicts)} of them recover; coefficients within {max(gaps):.0e}")
    assert 5 <= sum(verdicts) <= 25
    assert max(gaps) < 1e-8


@pytest.mark.claim("sparse-random-projections", 2)
def test_the_witness_meets_the_optimality_conditions_whether_it_recovers_or_not(figure):
    residuals, verdicts = [], set()
    for seed, n in enumerate(np.linspace(60, 400, 20).astype(int)):
        X, y, truth = problem(n, 200, 10, 0.3, seed)
        found = lasso_support_certificate(X, truth["noise"], truth["coef"], 0.2)
        assert found.reason != "singular"
        residuals.append(np.abs(X.T @ (X @ found.coef - y) / n + 0.2 * found.dual).max())
        verdicts.add(found.recovers)
    figure(f"largest residual {max(residuals):.0e}")
    assert max(residuals) < 1e-10
    assert verdicts == {True, False}


def transition(n_trials, grid):
    sparse = support_recovery_curve(512, 51, 0.143, grid, n_trials, random_state=0)
    dense = support_recovery_curve(512, 51, 1.0, grid, n_trials, random_state=1)
    return sparse, dense


@pytest.mark.slow
@pytest.mark.claim("sparse-random-projections", 3)
def test_success_turns_from_never_to_nearly_always_around_theta_one(figure):
    sparse, dense = transition(40, (0.6, 0.8, 1.0, 1.2, 1.5, 2.0))
    figure(
        f"success {sparse.frequency[0]:.2f} at .6, {sparse.frequency[-1]:.2f} at 2; half at {sparse.crossing:.2f}, "
        f"dense at {dense.crossing:.2f}"
    )
    assert sparse.frequency[0] <= 0.1
    assert sparse.frequency[-1] >= 0.85
    assert 0.8 <= sparse.crossing <= 1.4
    assert abs(sparse.crossing - dense.crossing) < 0.4


@pytest.mark.claim("sparse-random-projections", 3)
def test_success_turns_from_never_to_nearly_always_in_short(figure):
    sparse, _ = transition(6, (0.6, 2.0))
    figure(f"6 draws: {sparse.frequency[0]:.2f} at .6, {sparse.frequency[-1]:.2f} at 2")
    assert sparse.frequency[0] <= 0.2
    assert sparse.frequency[-1] >= 0.6


@pytest.mark.claim("sparse-random-projections", 4)
def test_with_two_entries_a_column_no_penalty_succeeds(figure):
    grid = np.geomspace(1e-3, 10, 20)
    successes = 0
    for seed in range(5):
        X, _, truth = problem(1000, 200, 10, 2 / 1000, seed)
        successes += sum(lasso_support_certificate(X, truth["noise"], truth["coef"], rho).recovers for rho in grid)
    figure(f"{successes} of 100")
    assert successes <= 2


@pytest.mark.claim("sparse-random-projections", 5)
def test_both_scales_are_the_same_problem():
    for seed in range(10):
        X, _, truth = problem(250, 200, 10, 0.25, seed)
        scaled = lasso_support_certificate(X, truth["noise"], truth["coef"], 0.3)
        unscaled = lasso_support_certificate(0.5 * X, 0.5 * truth["noise"], truth["coef"], 0.25 * 0.3)
        assert scaled.recovers == unscaled.recovers
        np.testing.assert_array_equal(np.sign(scaled.coef), np.sign(unscaled.coef))
        condition = np.linalg.cond(X[:, truth["coef"] != 0]) ** 2
        tolerance = rounding(250, np.abs(scaled.dual).max(), condition)
        np.testing.assert_allclose(scaled.dual, unscaled.dual, rtol=0, atol=tolerance)
        again = problem(250, 200, 10, 0.25, seed, scaled=False)
        np.testing.assert_allclose(again.X, 0.5 * X)
        np.testing.assert_allclose(again.truth["noise"], 0.5 * truth["noise"])


@pytest.mark.claim("sparse-random-projections", 6)
def test_moments_and_density_are_those_asked_for(figure):
    n = p = 1000
    for density in (0.05, 0.3):
        X = make_sparsified_gaussian(n, p, density, random_state=0).X
        means = np.abs(X.mean(axis=0))
        variance = X.multiply(X).mean()
        share = X.nnz / (n * p)
        figure(f"largest column mean {means.max() * np.sqrt(n):.1f}/sqrt(n), variance {variance:.3f}")
        assert means.max() < 4 / np.sqrt(n)
        assert variance == pytest.approx(1, rel=0.05)
        assert abs(share - density) < 3 * np.sqrt(density * (1 - density) / (n * p))


@pytest.mark.claim("sparse-random-projections", 7)
def test_a_verdict_on_a_large_sparse_design_is_that_of_the_dense_one():
    # How long it takes is measured in benchmarks/bench_dantzig.py.
    X, _, truth = make_sparsified_gaussian(1500, 2048, 0.1, coef=np.repeat([1.0, 0.0], [45, 2003]), random_state=0)
    found = lasso_support_certificate(X, truth["noise"], truth["coef"], 0.3)
    dense = lasso_support_certificate(X.toarray(), truth["noise"], truth["coef"], 0.3)
    assert found.recovers == dense.recovers
    np.testing.assert_allclose(found.dual, dense.dual, atol=1e-10)
