"""Ye and Zhang (2010), Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r balls."""

import numpy as np
import pytest
from scipy import linalg

from fewer.learn import DantzigSelector, L1LinearRegressor, dantzig_path, penalty_level, solve_dantzig
from fewer.learn.dantzig._dantzig_problem import DantzigProblem
from fewer.theory import cone_invertibility, lq_error_bound
from fewer.theory.design._cones import compatibility, root_of

PLAIN = {"fit_intercept": False, "with_std": False}


def standardised(rng, n, p):
    X = rng.normal(size=(n, p))
    return X / np.sqrt((X**2).mean(axis=0))


@pytest.mark.claim("lasso-dantzig", 1)
@pytest.mark.parametrize("solver", ["path", "cg", "highs"])
def test_with_orthonormal_columns_it_is_soft_thresholding_as_is_the_lasso(solver, figure):
    rng = np.random.default_rng(0)
    X = np.sqrt(60) * linalg.qr(rng.normal(size=(60, 20)), mode="economic")[0]
    y = X[:, :4] @ [2.0, -1.0, 1.0, 0.5] + rng.normal(size=60)
    products = X.T @ y / 60
    expected = np.sign(products) * np.maximum(np.abs(products) - 0.3, 0)
    dantzig = DantzigSelector(0.3, solver=solver, **PLAIN).fit(X, y).coef_
    lasso = L1LinearRegressor(0.3, fit_intercept=False, tol=1e-13).fit(X, y).coef_
    figure(f"{solver}: {np.abs(dantzig - expected).max():.0e}")
    np.testing.assert_allclose(dantzig, expected, atol=1e-10)
    np.testing.assert_allclose(lasso, expected, atol=1e-10)


@pytest.mark.claim("lasso-dantzig", 2)
def test_it_is_allowed_proved_best_and_never_larger_than_the_lasso(figure):
    excesses, gaps, sizes = [], [], []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(20, 60), rng.integers(5, 80)
        X = standardised(rng, n, p) @ (np.eye(p) + 0.2 * rng.normal(size=(p, p)))
        y = X[:, :3].sum(axis=1) + rng.normal(size=n)
        problem = DantzigProblem(X.T @ X / n, X.T @ y / n)
        alpha = rng.uniform(0.05, 0.6) * problem.largest_alpha
        model = DantzigSelector(alpha, **PLAIN).fit(X, y)
        lasso = L1LinearRegressor(alpha, fit_intercept=False, tol=1e-10).fit(X, y)
        excesses.append(problem.excess(model.coef_, alpha))
        gaps.append(model.dual_gap_)
        sizes.append(np.abs(model.coef_).sum() - np.abs(lasso.coef_).sum())
    figure(f"largest excess {max(excesses):.0e}, gap {max(gaps):.0e}")
    assert max(excesses) <= 1e-9
    assert max(gaps) < 1e-8
    assert max(sizes) <= 1e-9
    assert min(sizes) < -1e-3


@pytest.mark.claim("lasso-dantzig", 3)
def test_cone_factors_have_their_closed_forms(figure):
    for xi in (0.5, 1.0, 3.0):
        assert cone_invertibility(np.eye(6), [0, 2], xi=xi, precomputed=True).value == pytest.approx(1, abs=1e-8)
        sums = cone_invertibility(np.eye(6), [0, 2], xi=xi, q=1, n_outside=0, precomputed=True)
        assert sums.value == pytest.approx(1, abs=1e-8)
        assert compatibility(root_of(np.eye(6)), np.array([0, 2]), xi)[0] == pytest.approx(1, abs=1e-8)
    sigma = 0.7 * np.eye(8) + 0.3
    factor = cone_invertibility(sigma, [0, 1], precomputed=True)
    bound = cone_invertibility(sigma, [0, 1], precomputed=True, method="bound")
    figure(f"CIF {factor.value:.6f}, coherence bound {bound.value:.2f}")
    assert factor.value == pytest.approx(0.478947, abs=1e-6)
    assert bound.value == pytest.approx(0.10)
    for xi in (1.0, 3.0):
        assert compatibility(root_of(sigma), np.array([0, 1]), xi)[0] == pytest.approx(0.7, abs=1e-8)


def oracle_draws(n_draws):
    """Errors, bounds and factors of draws in which the noise is within the penalty."""
    beta = np.r_[1.5, -1.0, 1.0, np.zeros(17)]
    alpha = penalty_level("universal", 150, 20, 0.5)
    seed, rows = 0, []
    while len(rows) < n_draws:
        rng = np.random.default_rng(seed)
        seed += 1
        X = standardised(rng, 150, 20)
        noise = 0.5 * rng.normal(size=150)
        z = np.abs(X.T @ noise / 150).max()
        if z > alpha:
            continue
        bound = lq_error_bound(X, [0, 1, 2], alpha, q=np.inf, noise_product=z)
        assert bound.holds
        coef = DantzigSelector(alpha, **PLAIN).fit(X, X @ beta + noise).coef_
        rows.append((np.abs(coef - beta).max(), bound.bound, bound.factor.value))
    return np.array(rows).T


@pytest.mark.claim("lasso-dantzig", 4)
@pytest.mark.parametrize("n_draws", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_the_oracle_inequality_is_never_violated(n_draws, figure):
    errors, bounds, factors = oracle_draws(n_draws)
    figure(
        f"{n_draws} draws: errors {errors.min():.2f}-{errors.max():.2f}, bounds {bounds.min():.2f}-{bounds.max():.2f}, "
        f"CIF {factors.min():.2f}-{factors.max():.2f}"
    )
    assert (errors <= bounds).all()
    assert factors.min() > 0.35
    assert factors.max() < 0.7
    assert bounds.max() < 0.5


@pytest.mark.claim("lasso-dantzig", 5)
def test_noise_stays_below_the_universal_level_as_often_as_promised(figure):
    rng = np.random.default_rng(0)
    level = penalty_level("universal", 100, 20, 1.0)
    promised = 1 - 1 / np.sqrt(np.pi * np.log(20))
    below = np.mean(
        [np.abs(standardised(rng, 100, 20).T @ rng.normal(size=100) / 100).max() <= level for _ in range(500)]
    )
    figure(f"{below:.3f}, promised {promised:.3f}")
    assert promised == pytest.approx(0.674, abs=1e-3)
    assert below >= promised
    assert below == pytest.approx(0.77, abs=0.06)


@pytest.mark.claim("lasso-dantzig", 6)
@pytest.mark.parametrize(
    ("n", "p", "k", "n_runs"),
    [(200, 50, 3, 20), (200, 400, 5, 4), pytest.param(200, 400, 5, 40, marks=pytest.mark.slow)],
)
def test_a_threshold_finds_exactly_the_true_signs(n, p, k, n_runs, figure):
    alpha = penalty_level("universal", n, p, 1.0)
    beta = np.zeros(p)
    beta[:k] = (-1.0) ** np.arange(k)
    right = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X = standardised(rng, n, p)
        y = X @ beta + rng.normal(size=n)
        model = DantzigSelector(alpha, threshold=0.4, **PLAIN).fit(X, y)
        if np.array_equal(np.sign(model.coef_), np.sign(beta)):
            right += 1
            refitted = DantzigSelector(alpha, threshold=0.4, refit=True, **PLAIN).fit(X, y)
            oracle = np.linalg.lstsq(X[:, :k], y, rcond=None)[0]
            np.testing.assert_allclose(refitted.coef_[:k], oracle, atol=1e-8)
            assert not refitted.coef_[k:].any()
    figure(f"{right} of {n_runs} with p = {p}")
    assert right >= 0.95 * n_runs


@pytest.mark.claim("lasso-dantzig", 7)
def test_the_path_is_made_of_the_single_solutions(figure):
    rng = np.random.default_rng(3)
    X = standardised(rng, 60, 100)
    y = X[:, :4] @ [2.0, -2.0, 1.0, 1.0] + rng.normal(size=60)
    gram, products = X.T @ X / 60, X.T @ y / 60
    largest = np.abs(products).max()
    whole = dantzig_path(X, y, eps=0.05, **PLAIN)
    assert whole.alphas[0] == pytest.approx(largest)
    assert not whole.coefs[0].any()
    assert whole.coefs[1].any()
    alphas = np.geomspace(largest, 0.05 * largest, 20)
    path = dantzig_path(X, y, alphas=alphas, **PLAIN)
    gaps = [
        np.abs(coef - solve_dantzig(gram, products, alpha, solver="highs").coef).max()
        for alpha, coef in zip(alphas, path.coefs, strict=True)
    ]
    figure(f"largest difference {max(gaps):.0e}")
    assert max(gaps) < 1e-7


@pytest.mark.claim("lasso-dantzig", 8)
@pytest.mark.parametrize("p", [400, pytest.param(2000, marks=pytest.mark.slow)])
def test_growing_programs_solve_large_problems_as_the_walk_does(p):
    # How long it takes is measured in benchmarks/bench_dantzig.py.
    rng = np.random.default_rng(0)
    X = standardised(rng, 200, p)
    y = X[:, :5].sum(axis=1) + rng.normal(size=200)
    alpha = 0.7 * penalty_level("universal", 200, p, 1.0)
    walked, grown = (DantzigSelector(alpha, solver=solver, **PLAIN).fit(X, y) for solver in ("path", "cg"))
    np.testing.assert_allclose(walked.coef_, grown.coef_, atol=1e-7)
    assert max(walked.dual_gap_, grown.dual_gap_) < 1e-8
