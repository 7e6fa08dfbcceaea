"""Mixtures of factor analysers: likelihood, missing values, shared noise, weights."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from fewer.latent import FactorAnalysis, MixtureOfFactorAnalyzers, select_n_components
from tolerances import rounding


def two_groups(n_rows=400, seed=0):
    """Two planes through nearly the same point, which differ in their directions only."""
    rng = np.random.default_rng(seed)
    group = np.arange(n_rows) % 2
    along = np.array([[2, 2, 2, 2, 0, 0, 0, 0], [0, 0, 0, 0, 2, -2, 2, -2]])[group]
    means = np.array([[0.0] * 8, [1.0] * 8])[group]
    return means + rng.normal(size=(n_rows, 1)) * along + 0.6 * rng.normal(size=(n_rows, 8)), group


def with_missing(X, share=0.15, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize("missing", [False, True])
def test_one_group_is_factor_analysis(missing):
    X, _ = two_groups()
    X = with_missing(X) if missing else X
    single = FactorAnalysis(2, tol=1e-12, noise_floor=1e-3).fit(X)
    for shared in (False, True):
        model = MixtureOfFactorAnalyzers(1, 2, shared_noise=shared, n_init=1, tol=1e-12, random_state=0).fit(X)
        assert model.score(X) == pytest.approx(single.score(X), rel=1e-8)
        assert model.n_parameters_ == single.n_parameters_


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_groups_that_differ_in_their_correlations_are_found(shared, missing):
    X, group = two_groups()
    X = with_missing(X) if missing else X
    model = MixtureOfFactorAnalyzers(2, shared_noise=shared, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(group, model.predict(X)) > 0.75
    assert (np.diff(model.objective_path_) > -1e-7).all()
    assert model.objective_path_[-1] == pytest.approx(model.score_samples(X).sum(), rel=1e-6)
    if shared:
        assert np.array_equal(model.noise_variance_[0], model.noise_variance_[1])
    assert model.n_parameters_ == 1 + 16 + 16 + (8 if shared else 16)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.factor_scores(X).shape == (400, 2, 1)


def test_the_likelihood_is_that_of_the_observed_entries():
    X = with_missing(two_groups(200)[0])
    X[3] = np.nan
    model = MixtureOfFactorAnalyzers(2, 2, n_init=2, random_state=0, max_iter=50, tol=1e-5).fit(X)
    scores = model.score_samples(X)
    for row in range(20):
        seen = ~np.isnan(X[row])
        if not seen.any():
            assert scores[row] == pytest.approx(0, abs=rounding(2))  # the weights sum to one
            assert model.predict_proba(X[[row]])[0] == pytest.approx(model.weights_)
            continue
        logs = [
            np.log(weight)
            + multivariate_normal.logpdf(X[row, seen], mean[seen], (W @ W.T + np.diag(noise))[np.ix_(seen, seen)])
            for weight, mean, W, noise in zip(
                model.weights_, model.means_, model.loadings_, model.noise_variance_, strict=True
            )
        ]
        assert scores[row] == pytest.approx(logsumexp(logs), abs=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_no_direction_raises_the_likelihood_at_the_maximum(shared):
    X = with_missing(two_groups()[0])
    model = MixtureOfFactorAnalyzers(2, shared_noise=shared, n_init=3, tol=1e-12, random_state=0).fit(X)
    best = model.score_samples(X).sum()
    rng = np.random.default_rng(0)
    for name in ("means_", "loadings_", "noise_variance_"):
        value = getattr(model, name)
        for _ in range(5):
            move = rng.normal(size=value.shape if not (shared and name == "noise_variance_") else value.shape[1:])
            setattr(model, name, value * (1 + 1e-3 * move) if name == "noise_variance_" else value + 1e-3 * move)
            assert model.score_samples(X).sum() < best
        setattr(model, name, value)


def test_weights_are_repetitions_and_draws_look_like_the_table():
    X, _ = two_groups(150)
    weights = np.arange(150) % 3
    weighted = MixtureOfFactorAnalyzers(2, n_init=2, random_state=0).fit(X, sample_weight=weights)
    repeated = MixtureOfFactorAnalyzers(2, n_init=2, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.objective_path_[-1] == pytest.approx(repeated.objective_path_[-1], rel=1e-6)
    drawn, groups = repeated.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(np.repeat(X, weights, axis=0).T), atol=0.25)
    # Shares of 20,000 draws are known to 0.0035; four standard errors.
    np.testing.assert_allclose(np.bincount(groups) / 20_000, repeated.weights_, atol=0.015)


def test_bic_finds_the_number_of_groups():
    X, _ = two_groups(400)
    model = MixtureOfFactorAnalyzers(n_init=2, max_iter=60, tol=1e-5, random_state=0)
    assert select_n_components(model, X, [1, 2, 3]).n_components == 2


def test_bad_tables_are_refused_or_reported():
    X, _ = two_groups(60)
    with pytest.raises(ValueError, match="n_factors=9 factors of n_features = 8 columns"):
        MixtureOfFactorAnalyzers(2, 9).fit(X)
    with pytest.raises(ValueError, match="n_components=70 groups of n_samples = 60 rows"):
        MixtureOfFactorAnalyzers(70).fit(X)
    X[:, 3] = 1
    with pytest.warns(UserWarning, match="is constant and does not affect"):
        model = MixtureOfFactorAnalyzers(2, n_init=1, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
