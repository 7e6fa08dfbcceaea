"""Titterington (2006): latent structure analysis; factors, traits and lattices."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import FactorAnalysis as ScikitLearnFactorAnalysis

from fewer.latent import FactorAnalysis, HiddenIsing, LatentTrait
from fewer.latent.lattices._ising import (
    Noise,
    gibbs_sweep,
    half_log_odds,
    log_partition,
    mean_field,
    neighbour_sums,
    pseudolikelihood_coupling,
    row_bounds,
)
from tolerances import rounding


@pytest.mark.claim("latent-structure", 4)
@pytest.mark.parametrize("table", [load_iris, load_wine])
@pytest.mark.parametrize("n_factors", [1, 2])
def test_factor_analysis_reaches_the_likelihood_of_scikit_learn(figure, table, n_factors):
    X = table().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iris is a Heywood case, where EM never quite converges
        options = {"tol": 1e-10, "max_iter": 12_000, "svd_method": "lapack", "noise_variance_init": X.var(axis=0)}
        peer = ScikitLearnFactorAnalysis(n_factors, **options).fit(X)
        model = FactorAnalysis(n_factors, tol=1e-12).fit(X)
    gap = model.score(X) - peer.score(X)
    covariance = peer.get_covariance()
    apart = np.abs(model.get_covariance() - covariance).max() / np.abs(covariance).max()
    figure(f"{table.__name__[5:]}, {n_factors} factors: log-likelihood of a row {gap:+.1e}, covariance {apart:.1e}")
    assert abs(gap) < 1e-4
    assert apart < 1e-3


def ising_draws(eta, n_images, random, size=64, n_sweeps=400):
    shape = (n_images, size, size)
    z = np.where(random.uniform(size=shape) < 0.5, -1.0, 1.0)
    for _ in range(n_sweeps):
        z = gibbs_sweep(z, np.zeros(shape), eta, random.uniform(size=shape))
    return z


@pytest.mark.claim("latent-structure", 6)
@pytest.mark.parametrize("eta", [0.2, 0.3, 0.4])
def test_pseudolikelihood_finds_the_coupling(figure, eta):
    found = [pseudolikelihood_coupling(z[None]) for z in ising_draws(eta, 4, np.random.RandomState(0))]
    figure(f"eta = {eta}: {np.mean(found):.3f}, sd {np.std(found, ddof=1):.3f}")
    # the sheet's standard deviation of one lattice is 0.010, so 0.03 is three of them
    assert np.abs(np.array(found) - eta).max() < 0.03


@pytest.mark.claim("latent-structure", 6)
@pytest.mark.parametrize("noise", [0.7, 1.0])
def test_mean_field_halves_the_error_of_a_threshold(figure, noise):
    random = np.random.RandomState(0)
    z = ising_draws(0.42, 3, random)
    y = z + noise * random.standard_normal(z.shape)
    threshold = np.mean(np.where(y > 0, 1, -1) != z)
    flat = y.reshape(len(y), -1)
    errors = {}
    for solver in ("mean_field", "icm"):
        model = HiddenIsing((64, 64), solver=solver, random_state=0).fit(flat)
        errors[solver] = np.mean(model.predict(flat) != z.reshape(flat.shape))
    figure(
        f"noise {noise}: threshold {threshold:.3f}, mean field {errors['mean_field']:.3f}, ICM {errors['icm']:.3f}, "
        f"eta {model.eta_:.3f}"
    )
    assert errors["mean_field"] / threshold < 0.65
    assert errors["icm"] / threshold < 0.65
    assert model.eta_ == pytest.approx(0.42, abs=0.03)


@pytest.mark.claim("latent-structure", 7)
def test_the_bound_is_below_the_likelihood_of_a_small_lattice_and_equal_without_coupling(figure):
    random = np.random.RandomState(0)
    states = np.array(list(product([-1.0, 1.0], repeat=9))).reshape(-1, 3, 3)
    gaps = []
    for eta in (1.0, 0.5, 0.3, 0.1, 0.01, 0.0):
        noise = Noise(-1.0, 1.0, 0.8)
        y = random.choice([-1, 1], (20, 3, 3)) + np.sqrt(0.8) * random.standard_normal((20, 3, 3))
        y[:, 0, 0] = np.nan
        energies = 0.5 * eta * np.sum(states * neighbour_sums(states), axis=(1, 2))
        log_z = logsumexp(energies)
        # Logarithms of sums of 512 states; exponents of at most this size, each a sum over nine places.
        size = np.abs(energies).max() + np.log(len(states))
        assert log_partition(3, 3, eta) == (pytest.approx(log_z, abs=rounding(len(states), size)), True)
        means = np.where(states > 0, 1.0, -1.0)
        logs = -(np.log(2 * np.pi * 0.8) + (y[:, None] - means) ** 2 / 0.8) / 2
        exact = logsumexp(np.nansum(logs, axis=(2, 3)) + energies, axis=1) - log_z
        size += np.nansum(np.abs(logs), axis=(2, 3)).max()
        tolerance = rounding(len(states), size)
        m = mean_field(half_log_odds(y, noise), eta)
        bound = row_bounds(y, m, noise, eta, log_z)
        gaps.append(float(np.max(exact - bound)))
        assert (bound <= exact + tolerance).all()
        others = row_bounds(y, np.clip(m + 0.1 * random.standard_normal(m.shape), -1, 1), noise, eta, log_z)
        assert (others <= exact + tolerance).all()
    figure(f"largest gap {', '.join(f'{gap:.1e}' for gap in gaps)} at eta 1, 0.5, 0.3, 0.1, 0.01, 0")
    assert gaps[-1] < tolerance
    assert gaps[-2] < 0.01 * gaps[-3] * 1.5 + tolerance  # the gap falls with the square of eta


@pytest.mark.claim("latent-structure", 5)
def test_slopes_and_scores_of_ten_binary_items(figure):
    random = np.random.default_rng(0)
    ability = random.normal(size=2000)
    logits = 1.5 * (ability[:, None] - np.linspace(-1.5, 1.5, 10))
    X = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    likelihoods = {}
    for n_quadrature in (21, 41):
        model = LatentTrait(n_quadrature=n_quadrature, tol=1e-11).fit(X)
        likelihoods[n_quadrature] = model.score_samples(X).sum()
        slopes = model.components_[0]
        error = np.sqrt(np.mean((slopes - 1.5) ** 2))
        correlation = np.corrcoef(model.transform(X)[:, 0], ability)[0, 1]
        assert error < 0.15
        assert correlation > 0.85
    change = abs(likelihoods[41] - likelihoods[21]) / abs(likelihoods[41])
    figure(f"slope RMSE {error:.3f}, correlation {correlation:.3f}, log-likelihood changes by {change:.1e} of its size")
    assert change < 1e-6
