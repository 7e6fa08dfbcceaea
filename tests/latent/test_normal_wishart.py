"""Normal-Wishart distributions: conjugacy, evidence, divergence, predictive density and draws."""

import numpy as np
import pytest
from scipy import stats

from fewer.latent._normal_wishart import (
    NormalWishart,
    divergence_from_prior,
    draw_normal_wishart,
    expectations,
    log_evidence,
    log_predictive_densities,
    mean_squared_distances,
    normal_wishart_posterior,
    single_normal_wishart,
)
from tolerances import rounding

PRIOR = single_normal_wishart([0.5, -1.0, 0.0], 0.3, np.array([[2.0, 0.4, 0.0], [0.4, 1.0, 0.1], [0, 0.1, 1.5]]), 4.5)


def posterior_of(X, prior=PRIOR):
    mean = X.mean(axis=0)
    return normal_wishart_posterior(prior, np.array([float(len(X))]), mean[None], ((X - mean).T @ (X - mean))[None])


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(30, 3)) @ np.array([[1.0, 0.5, 0], [0, 1, 0.2], [0, 0, 2]])


def test_two_updates_are_one(rows):
    at_once, in_two = posterior_of(rows), posterior_of(rows[12:], posterior_of(rows[:12]))
    for one, other in zip(at_once, in_two, strict=True):
        np.testing.assert_allclose(one, other, rtol=rounding(100), atol=rounding(100))


def test_the_evidence_is_the_product_of_predictive_densities(rows):
    posterior = posterior_of(rows)
    seen, total = PRIOR, 0.0
    for row in rows:
        total += log_predictive_densities(row[None], seen)[0, 0]
        seen = posterior_of(row[None], seen)
    evidence = log_evidence(posterior, PRIOR, np.array([len(rows)]))[0]
    assert evidence == pytest.approx(total, rel=rounding(1000))


def test_the_evidence_is_the_expected_log_likelihood_less_the_divergence(rows):
    posterior = posterior_of(rows)
    known = expectations(posterior)
    fit = (known.log_det_precisions - 3 * np.log(2 * np.pi) - mean_squared_distances(rows, posterior)).sum() / 2
    bound = fit - divergence_from_prior(posterior, PRIOR, known)[0]
    assert bound == pytest.approx(log_evidence(posterior, PRIOR, np.array([len(rows)]))[0], rel=rounding(1000))


def test_the_predictive_density_is_that_of_student(rows):
    posterior = posterior_of(rows)
    degrees = posterior.degrees_of_freedom[0] - 2
    u = posterior.mean_precisions[0]
    shape = posterior.inverse_scales[0] * (1 + u) / (u * degrees)
    expected = stats.multivariate_t(posterior.means[0], shape, df=degrees).logpdf(rows)
    np.testing.assert_allclose(log_predictive_densities(rows, posterior)[:, 0], expected, rtol=1e-9)


def test_nothing_learnt_is_no_divergence():
    assert divergence_from_prior(PRIOR, PRIOR)[0] == pytest.approx(0, abs=rounding(100))


def test_draws_have_the_moments_of_the_distribution(rows):
    n = 20_000
    posterior = posterior_of(rows)
    many = NormalWishart(*(np.repeat(part, n, axis=0) for part in posterior))
    means, precisions = draw_normal_wishart(many, np.random.default_rng(1))
    known = expectations(posterior)
    # Five standard errors: Var(Lambda_pq) = nu (B_pq^2 + B_pp B_qq), Cov(mu) = B^-1 / (u (nu - P - 1)).
    scale, degrees = known.scales[0], posterior.degrees_of_freedom[0]
    spread = np.sqrt(degrees * (scale**2 + np.outer(np.diag(scale), np.diag(scale))))
    assert np.all(np.abs(precisions.mean(axis=0) - known.precisions[0]) < 5 * spread / np.sqrt(n))
    variance = np.diag(posterior.inverse_scales[0]) / (posterior.mean_precisions[0] * (degrees - 4))
    assert np.all(np.abs(means.mean(axis=0) - posterior.means[0]) < 5 * np.sqrt(variance / n))
    assert np.all(np.abs(means.var(axis=0) / variance - 1) < 5 * np.sqrt(3 / n))
    log_dets = np.linalg.slogdet(precisions)[1]
    assert abs(log_dets.mean() - known.log_det_precisions[0]) < 5 * log_dets.std() / np.sqrt(n)
