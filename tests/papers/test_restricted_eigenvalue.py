"""Raskutti, Wainwright and Yu (2010), Restricted eigenvalue properties for correlated Gaussian designs."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.stats import spearmanr

from fewer.datasets import make_gaussian_design
from fewer.learn import BasisPursuit, L1LinearRegressor
from fewer.theory import restricted_eigenvalue, restricted_nullspace
from fewer.theory.design._cones import compatibility, eigenvalue_lower_bound, root_of, semidefinite_bound


def bracket(sigma, S, a):
    return restricted_eigenvalue(sigma, S, a=a, precomputed=True, random_state=0)


def random_covariance(rng, p):
    X = rng.normal(size=(rng.integers(5, 30), p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    X /= np.sqrt((X**2).mean(axis=0))
    return X.T @ X / len(X)


@pytest.mark.claim("restricted-eigenvalue", 1)
@pytest.mark.parametrize("a", [1.0, 3.0])
def test_identity_and_spiked_identity_have_their_closed_forms(a, figure):
    found = bracket(np.eye(8), [1, 4], a)
    np.testing.assert_allclose([found.lower, found.upper, found.compatibility], 1, atol=1e-4)
    for share in (0.3, 0.5):
        spiked = (1 - share) * np.eye(8) + share
        for S in ([0, 1], [0, 3, 5], [0, 1, 2, 3]):
            found = bracket(spiked, S, a)
            np.testing.assert_allclose([found.lower, found.upper], 1 - share, atol=1e-4)
        assert bracket(spiked, [2, 6], a).compatibility == pytest.approx(1 - share, abs=1e-4)
    figure(f"a = {a:g}: {found.lower:.4f} to {found.upper:.4f} for 1 - a = .5")


@pytest.mark.claim("restricted-eigenvalue", 2)
@pytest.mark.parametrize("n_draws", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_bounds_are_in_order_and_every_direction_has_its_value(n_draws):
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        sigma, a = random_covariance(rng, 8), (1.0, 2.0, 3.0)[seed % 3]
        S = np.sort(rng.permutation(8)[: 1 + seed % 3])
        found = bracket(sigma, S, a)
        # The certificate itself, not what the bracket makes of it.
        certified = compatibility(root_of(sigma), S, a).certified
        assert certified <= found.compatibility + 1e-9
        assert eigenvalue_lower_bound(sigma, S, None, a, certified) <= found.upper + 1e-9
        assert np.linalg.eigvalsh(sigma)[0] <= found.lower + 1e-9
        assert found.lower <= found.upper <= found.compatibility + 1e-6
        u = found.argmin
        assert np.abs(np.delete(u, S)).sum() <= a * np.abs(u[S]).sum() + 1e-8
        assert u @ sigma @ u / (u @ u) == pytest.approx(found.upper, abs=1e-9)


def recovers_every_pattern(X, S, rng):
    for signs in product((1, -1), repeat=len(S)):
        truth = np.zeros(X.shape[1])
        truth[S] = np.array(signs) * rng.uniform(0.5, 2, size=len(S))
        if np.abs(BasisPursuit().fit(X, X @ truth).coef_ - truth).max() > 1e-6:
            return False
    return True


@pytest.mark.claim("restricted-eigenvalue", 3)
@pytest.mark.parametrize("n_draws", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_the_verdict_on_the_nullspace_is_what_basis_pursuit_does(n_draws, figure):
    verdicts = []
    for seed, k in product(range(n_draws), (2, 3)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, 30))
        S = list(range(k))
        verdict = restricted_nullspace(X, S).verdict == "holds"
        assert verdict == recovers_every_pattern(X, S, rng)
        verdicts.append(verdict)
    figure(f"all of {len(verdicts)} agree, {sum(verdicts)} hold")
    assert 0 < sum(verdicts) < len(verdicts)


def frequency(n, p, k, n_draws):
    draws = (np.random.default_rng(seed).normal(size=(n, p)) for seed in range(n_draws))
    return np.mean([restricted_nullspace(X, range(k)).certified for X in draws])


@pytest.mark.slow
@pytest.mark.claim("restricted-eigenvalue", 4)
def test_the_nullspace_property_is_lost_between_one_and_four_columns(figure):
    found = [frequency(10, 30, k, 30) for k in (1, 2, 3, 4)]
    figure("k = 1 to 4: " + ", ".join(f"{value:.2f}" for value in found))
    assert found[0] >= 0.95
    assert 0.6 <= found[1] <= 1
    assert found[2] <= 0.45
    assert found[3] <= 0.1


@pytest.mark.claim("restricted-eigenvalue", 4)
def test_the_nullspace_property_is_lost_in_short(figure):
    first, last = frequency(10, 30, 1, 8), frequency(10, 30, 4, 8)
    figure(f"8 draws: {first:.2f} at k = 1, {last:.2f} at k = 4")
    assert first == 1
    assert last <= 0.25


def least_on_grid(sigma, polar, azimuth):
    """The smallest quotient over directions of the cone ``|u_1| + |u_2| <= |u_0|``, and the angles that have it."""
    polar, azimuth = (angles.ravel() for angles in np.meshgrid(polar, azimuth, indexing="ij"))
    u = np.stack([np.cos(polar), np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth)])
    values = np.where(np.abs(u[1]) + np.abs(u[2]) <= np.abs(u[0]), (u * (sigma @ u)).sum(axis=0), np.inf)
    best = np.argmin(values)
    return values[best], polar[best], azimuth[best]


@pytest.mark.claim("restricted-eigenvalue", 5)
def test_three_columns_agree_with_a_grid_over_the_sphere(figure):
    coarse, fine = [], []
    for seed in range(5):
        sigma = random_covariance(np.random.default_rng(seed), 3)
        upper = bracket(sigma, [0], 1.0).upper
        least, polar, azimuth = least_on_grid(sigma, np.linspace(0, np.pi, 400), np.linspace(0, 2 * np.pi, 800))
        coarse.append(least - upper)
        near = np.linspace(-0.02, 0.02, 400)
        fine.append(least_on_grid(sigma, polar + near, azimuth + near)[0] - upper)
    figure(f"grid above the bound by up to {max(coarse):.1e}, refined by up to {max(fine):.0e}")
    assert min(fine) > -1e-8
    assert max(fine) < 1e-4
    assert np.median(coarse) < 1e-3


@pytest.mark.claim("restricted-eigenvalue", 6)
def test_the_semidefinite_bound_beats_the_smallest_eigenvalue(figure):
    sigma = toeplitz(0.5 ** np.arange(16))
    bound, smallest = semidefinite_bound(sigma, width=8.0), np.linalg.eigvalsh(sigma)[0]
    figure(f"{bound:.4f} against {smallest:.4f}")
    assert smallest == pytest.approx(0.3361, abs=1e-4)
    assert bound >= 0.339
    assert bound <= bracket(sigma, [0, 5], 1.0).upper


@pytest.mark.claim("restricted-eigenvalue", 7)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_twenty_rows_and_forty_columns_are_enough_for_three(k, figure):
    found = frequency(20, 40, k, 20)
    figure(f"k = {k}: {found:.2f}")
    assert found >= 0.95


def errors_and_constants(n_designs, n_noises):
    S, beta = np.arange(3), np.r_[1.0, -1.0, 1.0, np.zeros(37)]
    alpha = 2 * 0.5 * np.sqrt(2 * np.log(40) / 60)
    constants, errors = [], []
    for number in range(n_designs):
        kind = ("toeplitz", "spiked")[number % 2]
        share = 0.9 * (number // 2) / (n_designs // 2 - 1)
        X = make_gaussian_design(60, 40, kind, a=share, random_state=number).X
        X = X / np.sqrt((X**2).mean(axis=0))
        constants.append(compatibility(root_of(X.T @ X / 60), S, 3.0)[0])
        rng = np.random.default_rng(number)
        errors.append(
            np.mean(
                [
                    np.linalg.norm(
                        L1LinearRegressor(alpha, fit_intercept=False).fit(X, X @ beta + 0.5 * rng.normal(size=60)).coef_
                        - beta
                    )
                    for _ in range(n_noises)
                ]
            )
        )
    return constants, errors


@pytest.mark.claim("restricted-eigenvalue", 8)
@pytest.mark.parametrize(("n_designs", "n_noises"), [(12, 3), pytest.param(40, 20, marks=pytest.mark.slow)])
def test_designs_with_a_small_constant_have_large_errors(n_designs, n_noises, figure):
    correlation = spearmanr(*errors_and_constants(n_designs, n_noises)).statistic
    figure(f"rank correlation {correlation:.2f} over {n_designs} designs")
    assert correlation < -0.6
