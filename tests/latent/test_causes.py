"""Cooperative vector quantisation: likelihood, bound, solvers, missing values, weights."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from fewer.latent import CooperativeVQ
from fewer.latent.factors._causes import (
    Causes,
    aligned,
    centred,
    exact_expectations,
    maximised,
    table_of,
    variational_expectations,
)

EFFECTS = np.array([[3, 3, 0, 0, 0, 0], [0, 0, 2, 2, 0, 1], [0, 1, 0, 0, 3, -2.0]])


def three_switches(n_rows=400, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    states = rng.random((n_rows, 3)) < [0.45, 0.3, 0.2]
    X = 5 + states @ EFFECTS + 0.5 * rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < missing] = np.nan
    return X, states


def random_causes(seed=0, M=3, S=2, p=4):
    rng = np.random.default_rng(seed)
    return Causes(rng.normal(size=(M, S, p)), rng.dirichlet(np.ones(S), size=M), rng.uniform(0.3, 1, p))


def some_rows(seed=0, n=30, p=4):
    X = np.random.default_rng(seed).normal(size=(n, p))
    X[::4, 1] = np.nan
    X[3] = np.nan
    return X


def test_expectations_are_sums_over_all_combinations_of_states():
    causes, X = random_causes(S=3), some_rows()
    found = exact_expectations(table_of(X, np.ones(len(X))), causes)
    for row in (0, 1, 3, 4):
        seen = ~np.isnan(X[row])
        logs, indicators = [], []
        for states in product(range(3), repeat=3):
            mean = sum(causes.codebooks[m][s] for m, s in enumerate(states))
            density = norm.logpdf(X[row, seen], mean[seen], np.sqrt(causes.noise[seen])).sum()
            logs.append(density + sum(np.log(causes.priors[m][s]) for m, s in enumerate(states)))
            indicators.append(np.concatenate([np.eye(3)[s] for s in states]))
        chances, indicators = np.exp(logs - logsumexp(logs)), np.array(indicators)
        assert found.log_likelihoods[row] == pytest.approx(logsumexp(logs), abs=1e-10)
        np.testing.assert_allclose(found.means[row], chances @ indicators, atol=1e-10)
        np.testing.assert_allclose(found.products[row], (indicators.T * chances) @ indicators, atol=1e-10)


def test_the_bound_is_below_the_likelihood_and_equal_for_one_cause():
    X = some_rows()
    table = table_of(X, np.ones(len(X)))
    for seed in range(5):
        causes = random_causes(seed)
        exact, bound = exact_expectations(table, causes), variational_expectations(table, causes)
        assert (bound.log_likelihoods <= exact.log_likelihoods + 1e-10).all()
        assert (exact.log_likelihoods - bound.log_likelihoods).max() > 1e-4
        single = random_causes(seed, M=1, S=3)
        exact, bound = exact_expectations(table, single), variational_expectations(table, single)
        np.testing.assert_allclose(bound.log_likelihoods, exact.log_likelihoods, atol=1e-10)
        np.testing.assert_allclose(bound.products, exact.products, atol=1e-10)


@pytest.mark.parametrize("expectations", [exact_expectations, variational_expectations])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_steps_climb(expectations, share):
    X, _ = three_switches(missing=share)
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    table, causes = table_of(X, np.ones(len(X))), random_causes(p=6)
    path = []
    for _ in range(15):
        found = expectations(table, causes)
        path.append(found.log_likelihoods.sum())
        causes = maximised(table, found, (3, 2, 6), 1e-6)
    assert (np.diff(path) > -1e-8).all()


@pytest.mark.parametrize("solver", ["em", "variational_em", "gibbs"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_every_solver_finds_the_switches(solver, missing):
    X, states = three_switches(missing=missing)
    options = {"n_init": 2, "n_draws": 60, "n_burn_in": 30} if solver == "gibbs" else {"n_init": 5}
    model = CooperativeVQ(3, solver=solver, random_state=0, **options).fit(X)
    steps = model.codebooks_[:, 1] - model.codebooks_[:, 0]
    order = [int(np.abs(steps @ each).argmax()) for each in EFFECTS]
    assert sorted(order) == [0, 1, 2]
    signs = np.sign(np.sum(steps[order] * EFFECTS, axis=1))
    # an effect is the difference of two means of at least 80 rows with noise 0.5: five standard errors
    assert np.abs(steps[order] * signs[:, None] - EFFECTS).max() < 5 * 0.5 * np.sqrt(1 / (80 * (1 - missing)) * 1.3)
    found = model.predict(X)[:, order]
    assert np.mean((found == 1) == (states == (signs > 0))) > 0.95
    assert model.noise_variance_ == pytest.approx(0.25, abs=0.08)
    assert model.lower_bound_ <= model.log_likelihood_
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum(), rel=1e-9)
    assert model.transform(X).shape == (400, 6)
    assert model.transform(X).reshape(-1, 3, 2).sum(axis=2) == pytest.approx(1)
    rebuilt = model.inverse_transform(model.transform(X))
    assert np.nanmean((rebuilt - X) ** 2) < 0.35
    assert (model.draws_ is None) == (solver != "gibbs")


def test_draws_show_how_sure_the_effects_are():
    X, _ = three_switches(1000)
    model = CooperativeVQ(3, solver="gibbs", n_init=1, n_draws=100, n_burn_in=50, random_state=1).fit(X)
    assert model.draws_.codebooks.shape == (100, 3, 2, 6)
    effect = model.draws_.codebooks[:, :, 1] - model.draws_.codebooks[:, :, 0]
    assert effect.std(axis=0).max() < 0.1  # 0.5 times the root of two over 200 rows, twice
    assert effect.std(axis=0).min() > 0.01


def test_many_combinations_take_the_bound():
    X, _ = three_switches(100)
    model = CooperativeVQ(11, n_init=1, max_iter=5, random_state=0)
    with pytest.warns(UserWarning, match="raise max_iter"):
        model.fit(X)
    assert model.solver_ == "variational_em"
    assert model.score_type_ == "lower bound"
    assert np.isnan(model.log_likelihood_)
    with pytest.raises(ValueError, match="too many for solver='em'"):
        CooperativeVQ(11, solver="em").fit(X)
    assert CooperativeVQ(3, n_init=1, random_state=0).fit(X).solver_ == "em"


def test_causes_are_aligned_whatever_their_order():
    _, causes = centred(random_causes(S=3))
    shuffled = Causes(causes.codebooks[[2, 0, 1]][:, [1, 2, 0]], causes.priors[[2, 0, 1]][:, [1, 2, 0]], causes.noise)
    back = aligned(shuffled, causes)
    np.testing.assert_allclose(back.codebooks, causes.codebooks)
    np.testing.assert_allclose(back.priors, causes.priors)


def test_weights_are_repetitions_and_draws_look_like_the_table():
    X, _ = three_switches(200, missing=0.1)
    weights = np.arange(200) % 3
    weighted = CooperativeVQ(3, n_init=2, random_state=0).fit(X, sample_weight=weights)
    repeated = CooperativeVQ(3, n_init=2, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-6)
    by_draws = CooperativeVQ(3, solver="gibbs", n_init=1, n_draws=5, n_burn_in=5, random_state=0)
    expected = by_draws.fit(np.repeat(X, weights, axis=0)).log_likelihood_
    assert by_draws.fit(X, sample_weight=weights).log_likelihood_ == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ValueError, match="whole numbers"):
        by_draws.fit(X, sample_weight=weights + 0.5)
    drawn = repeated.sample(20_000, random_state=0)
    assert drawn.mean(axis=0) == pytest.approx(np.nanmean(np.repeat(X, weights, axis=0), axis=0), abs=0.15)
    assert repeated.n_parameters_ == 6 + 3 * 7 + 6
