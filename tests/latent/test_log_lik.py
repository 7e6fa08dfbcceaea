"""Latent models with posterior draws give log-likelihoods of rows that the predictive criteria take."""

import numpy as np
import pytest
from scipy.special import logsumexp

from fewer.evaluate import bayes_loo, compare_models, waic
from fewer.latent import FactorAnalysis, HiddenMarkov, IQGMEClassifier, LatentClass, LatentProfile, VBGaussianMixture
from tolerances import rounding


def answers(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=n_rows)
    shares = np.where(classes[:, None] == 0, 0.15, 0.85)
    return (rng.random((n_rows, 6)) < shares).astype(float)


def test_draws_of_latent_classes_find_the_number_of_classes():
    X = answers()
    X[0, 0] = np.nan
    models = {
        number: LatentClass(number, solver="gibbs", n_draws=120, n_burn_in=60, random_state=0).fit(X)
        for number in (1, 2)
    }
    log_lik = models[2].log_lik(X)
    assert log_lik.shape == (2, 120, 150)
    expected = models[2].draws_.log_likelihoods
    np.testing.assert_allclose(log_lik.sum(axis=2), expected, rtol=rounding(150))
    found = compare_models({str(number): model.log_lik(X) for number, model in models.items()})
    assert found.names[0] == "2"
    assert found.differences[1] > 2 * found.difference_se[1]
    # Two classes of six items have 13 parameters.
    assert 8 < waic(log_lik).p_waic < 18


def test_variational_posteriors_of_latent_classes_can_be_drawn_from():
    X = answers()
    model = LatentClass(2, solver="variational_bayes", random_state=0).fit(X)
    log_lik = model.log_lik(X, n_draws=200, random_state=1)
    assert log_lik.shape == (1, 200, 150)
    np.testing.assert_array_equal(log_lik, model.log_lik(X, n_draws=200, random_state=1))
    assert bayes_loo(log_lik).loss > -model.score(X)
    with pytest.raises(ValueError, match="fit with solver='gibbs' or solver='variational_bayes'"):
        LatentClass(2, random_state=0).fit(X).log_lik(X)


def test_draws_of_a_variational_mixture_average_to_its_predictive_density():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(80, 2)), rng.normal(6, 2, size=(80, 2))] * [1.0, 100.0]
    model = VBGaussianMixture(2, random_state=0).fit(X)
    log_lik = model.log_lik(X, n_draws=4000)
    assert log_lik.shape == (4000, 160)
    predictive = logsumexp(log_lik, axis=0) - np.log(4000)
    densities = np.exp(log_lik - predictive)
    # Four standard errors of a mean of 4,000 densities.
    errors = 4.5 * densities.std(axis=0) / np.sqrt(4000)
    assert (np.abs(predictive - model.score_samples(X)) < errors + 1e-6).all()
    # Two components in two columns: 11 parameters.
    assert 7 < waic(log_lik).p_waic < 14


def test_draws_of_experts_are_those_of_their_density_and_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    X[::7, 1] = np.nan
    model = IQGMEClassifier(2, solver="gibbs", n_draws=3, n_burn_in=8, random_state=0).fit(X, y)
    alone, joint = model.log_lik(X), model.log_lik(X, y)
    assert alone.shape == joint.shape == (len(model._weights), 60)
    np.testing.assert_allclose(logsumexp(alone, axis=0) - np.log(len(alone)), model.score_samples(X), rtol=1e-9)
    given = np.exp(joint - alone).mean(axis=0)
    np.testing.assert_allclose(given, model.predict_proba(X)[np.arange(60), (y == "b").astype(int)], rtol=1e-9)
    assert np.isfinite(waic(joint).loss)
    with pytest.raises(ValueError, match="'c', which is not one of the classes"):
        model.log_lik(X, np.full(60, "c"))
    with pytest.raises(ValueError, match="60 rows, and y has the shape"):
        model.log_lik(X, y[:5])
    with pytest.raises(ValueError, match="fit with solver='gibbs'"):
        IQGMEClassifier(2, random_state=0).fit(X, y).log_lik(X)


@pytest.mark.parametrize("solver", ["gibbs", "variational_bayes"])
def test_draws_of_latent_profiles_are_in_the_units_of_the_columns(solver):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(80, 2)), rng.normal(5, 1, size=(80, 2))] * [1.0, 100.0]
    X[0, 0] = np.nan
    settings = {"solver": solver, "n_draws": 150, "n_burn_in": 60, "n_init": 2, "random_state": 0}
    models = {str(number): LatentProfile(number, **settings).fit(X) for number in (1, 2)}
    log_lik = models["2"].log_lik(X, n_draws=300)
    assert log_lik.shape == (2, 150, 160) if solver == "gibbs" else (1, 300, 160)
    if solver == "gibbs":
        np.testing.assert_allclose(log_lik.sum(axis=2), models["2"].draws_.log_likelihoods, rtol=rounding(160))
    # The mean density over draws is near that at the posterior means.
    predictive = logsumexp(log_lik, axis=(0, 1)) - np.log(300)
    assert abs(predictive.mean() - models["2"].score(X)) < 0.05
    found = compare_models({name: model.log_lik(X) for name, model in models.items()})
    assert found.names[0] == "2"
    assert found.differences[1] > 2 * found.difference_se[1]


@pytest.mark.parametrize("solver", ["gibbs", "variational_bayes"])
def test_draws_of_hidden_states_are_judged_by_whole_sequences(solver):
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(300) < 0.2) % 2
    X = rng.normal(size=(300, 2)) + 3 * states[:, None]
    groups = np.repeat(np.arange(30), 10)
    settings = {"solver": solver, "n_draws": 60, "n_burn_in": 30, "n_init": 1, "random_state": 0}
    models = {str(number): HiddenMarkov(number, **settings).fit(X, groups=groups) for number in (1, 2)}
    log_lik = models["2"].log_lik(X, groups, n_draws=120)
    assert log_lik.shape == (2, 60, 30) if solver == "gibbs" else (1, 120, 30)
    if solver == "gibbs":
        np.testing.assert_allclose(log_lik.sum(axis=2), models["2"].draws_.log_likelihoods, rtol=1e-9)
    order = np.arange(300).reshape(30, 10).T.ravel()  # the rows of all sequences in turn
    np.testing.assert_allclose(models["2"].log_lik(X[order], groups[order], n_draws=120), log_lik, rtol=1e-9)
    found = compare_models({name: model.log_lik(X, groups) for name, model in models.items()})
    assert found.names[0] == "2"
    with pytest.raises(ValueError, match="by sequences"):
        models["2"].log_lik(X)


@pytest.mark.parametrize("solver", ["gibbs", "variational_bayes"])
def test_draws_of_factors_find_how_many_there_are(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 1)) @ rng.normal(size=(1, 6)) + 0.7 * rng.normal(size=(150, 6))
    X = 50 + X * [1.0, 100.0, 1.0, 0.1, 1.0, 1.0]
    X[0, 0] = np.nan
    settings = {"solver": solver, "n_draws": 100, "n_burn_in": 50, "random_state": 0}
    model = FactorAnalysis(1, **settings).fit(X)
    log_lik = model.log_lik(X, n_draws=200)
    assert log_lik.shape[-1] == 150
    if solver == "gibbs":
        np.testing.assert_allclose(log_lik.sum(axis=2), model.draws_.log_likelihoods, rtol=1e-6)
    predictive = logsumexp(log_lik, axis=(0, 1)) - np.log(log_lik.shape[0] * log_lik.shape[1])
    assert abs(predictive.mean() - model.score(X)) < 0.1
    # One factor of six columns has 18 parameters.
    assert 10 < waic(log_lik).p_waic < 26
