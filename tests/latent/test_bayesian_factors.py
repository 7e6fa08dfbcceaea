"""Variational Bayes and Gibbs sampling of factors, against the integral over the factors of a few rows."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import invgamma, multivariate_normal, norm

from fewer.latent import FactorAnalysis, MixtureOfFactorAnalyzers, match_components, select_n_components
from fewer.latent.factors._bayesian_factors import (
    Priors,
    expected_posterior,
    starting_belief,
    stretched,
    variational_step,
)
from fewer.latent.factors._factor_model import Factors, rows_of
from tolerances import rounding

LOADINGS, MEANS, NOISE = 1.0, 0.1, 1.0  # rows that the default priors count for
FEW = np.array([[1.0, 2.0, 0.5], [3.0, 5.5, -1.0], [2.0, 4.0, np.nan]])
EXACT = {"solver": "variational_bayes", "max_iter": 5000, "tol": 1e-13}


def table(n_rows=300, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    W = np.array([[2.0, 2.0, 2.0, 0, 0, 0], [0, 0, 0, 1.0, 1.0, 1.0]])
    X = 5 + rng.normal(size=(n_rows, 2)) @ W + rng.normal(size=(n_rows, 6))
    X[rng.random(X.shape) < missing] = np.nan
    return X


def factor_grid():
    """Factors of the three rows, and their log weights."""
    points, weights = np.polynomial.hermite_e.hermegauss(41)
    Z = np.array(list(product(points, repeat=3)))
    return Z, np.sum(list(product(np.log(weights / weights.sum()), repeat=3)), axis=1)


def column_evidence(x, Z):
    """Log evidence of the entries of a column given the factors of their rows, and E[1 / psi]."""
    seen = ~np.isnan(x)
    z, x, n = Z[:, seen], x[seen], seen.sum()
    design = np.stack([z, np.ones_like(z)], axis=2)
    P = np.swapaxes(design, 1, 2) @ design + np.diag([LOADINGS, MEANS])
    right = np.swapaxes(design, 1, 2) @ x
    left = x @ x - np.sum(right * np.linalg.solve(P, right[:, :, None])[:, :, 0], axis=1)
    a, b = (NOISE + n) / 2, (NOISE + left) / 2
    value = gammaln(a) - gammaln(NOISE / 2) + NOISE / 2 * np.log(NOISE / 2) - a * np.log(b)
    value += (np.log(LOADINGS * MEANS) - np.log(np.linalg.det(P))) / 2 - n / 2 * np.log(2 * np.pi)
    return value, a / b


def standardised_rows():
    return (FEW - np.nanmean(FEW, axis=0)) / np.nanstd(FEW, axis=0)


def given_the_factors():
    """On the grid: log weights of the rows with them, and of each column E[1 / psi]."""
    Z, logs = factor_grid()
    found = [column_evidence(x, Z) for x in standardised_rows().T]
    return logs + sum(each[0] for each in found), np.array([each[1] for each in found])


def given_the_groups():
    """Log evidence of the rows with each assignment to two groups, and the assignments."""
    (Z, logs), X = factor_grid(), standardised_rows()
    paths = np.array(list(product(range(2), repeat=3)))
    totals = []
    for path in paths:
        counts = np.bincount(path, minlength=2)
        of_path = gammaln(2) + gammaln(counts + 1).sum() - gammaln(5)
        inside = [column_evidence(x[path == k], Z[:, path == k])[0] for x in X.T for k in range(2) if counts[k]]
        totals.append(of_path + logsumexp(logs + np.sum(inside, axis=0)))
    return np.array(totals), paths


def test_the_bound_of_groups_is_below_the_evidence_of_all_assignments_and_near_it():
    totals, _ = given_the_groups()
    exact = logsumexp(totals) - (~np.isnan(FEW) @ np.log(np.nanstd(FEW, axis=0))).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two factors of three columns
        wide = MixtureOfFactorAnalyzers(3, 2, n_init=1, **EXACT | {"max_iter": 200}).fit(table(30)[:, :3])
    model = MixtureOfFactorAnalyzers(2, n_init=5, random_state=0, **EXACT).fit(FEW)
    # Orders of the groups and signs of the factors are modes of their own.
    assert exact - 4.5 < model.lower_bound_ < exact
    assert model.log_evidence() == pytest.approx(model.lower_bound_ + np.log(2))
    for each in (model, wide):
        assert (np.diff(each.objective_path_) > -1e-10 * np.abs(each.objective_path_[1:])).all()


def test_the_bound_of_groups_far_apart_is_that_of_each_and_of_their_sizes():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [40, 25])
    X = 50 * group[:, None] + rng.normal(size=(65, 1)) + rng.normal(size=(65, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    options = {"n_init": 1, "random_state": 0, "weight_concentration_prior": 2.0}
    model = MixtureOfFactorAnalyzers(2, **EXACT | options).fit(X)
    standard = (X - model._offset) / model._unit
    priors, total = Priors(LOADINGS, MEANS, NOISE), 0.0
    for k in range(2):
        rows = rows_of(standard[group == k], np.ones(np.sum(group == k)))
        mean = np.nanmean(standard[group == k], axis=0)
        belief = starting_belief(rows, Factors(mean, np.full((3, 1), 0.02), np.full(3, 0.01)), priors)
        for _ in range(3000):
            belief, bound = variational_step(rows, priors, belief)
        total += bound
    a = np.array([42.0, 27.0])
    total += gammaln(a).sum() - gammaln(a.sum()) - 2 * gammaln(2.0) + gammaln(4.0)
    assert model.lower_bound_ + (~np.isnan(X) @ np.log(model._unit)).sum() == pytest.approx(total, abs=1e-5)


def test_draws_of_groups_have_the_posterior_of_all_assignments():
    totals, paths = given_the_groups()
    posterior = np.exp(totals - logsumexp(totals))
    counts = np.array([np.bincount(path, minlength=2) for path in paths]) + 1.0
    expected = posterior @ ((counts * (counts + 1)).sum(axis=1) / (5 * 6))
    options = {"solver": "gibbs", "n_draws": 3000, "n_burn_in": 100, "n_chains": 2, "random_state": 0}
    model = MixtureOfFactorAnalyzers(2, **options).fit(FEW)
    drawn = (model.draws_.weights**2).sum(axis=1)
    blocks = drawn.reshape(-1, 200).mean(axis=1)
    assert drawn.mean() == pytest.approx(expected, abs=4 * blocks.std() / np.sqrt(len(blocks)))


def test_solvers_find_the_same_groups():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [140, 100])
    along = np.array([[1, 1, 1, 0, 0], [0, 0, 1, -1, 1]])[group]
    X = 4 * group[:, None] + 2 * rng.normal(size=(240, 1)) * along + 0.4 * rng.normal(size=(240, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    short = {"n_init": 2, "n_draws": 100, "n_burn_in": 50, "n_chains": 1, "random_state": 0}
    models = {
        solver: MixtureOfFactorAnalyzers(2, solver=solver, **short).fit(X)
        for solver in ("em", "variational_bayes", "gibbs")
    }
    for solver, model in models.items():
        assert np.mean(model.predict(X) == group) > 0.97
        np.testing.assert_allclose(np.abs(model.loadings_), np.abs(models["em"].loadings_), atol=0.3)
        # The prior of the noise, at the variance of the column, counts as one row.
        assert model.score(X) == pytest.approx(models["em"].score(X), abs=0.3)
        if solver != "em":
            assert 15 < model.dic(X, n_draws=50).n_effective < 40
    draws = models["gibbs"].draws_
    np.testing.assert_allclose(draws.loadings.mean(axis=0), models["gibbs"].loadings_, atol=1e-8)
    np.testing.assert_allclose(draws.means.mean(axis=0), models["gibbs"].means_)
    bayes = MixtureOfFactorAnalyzers(solver="variational_bayes", **short)
    assert select_n_components(bayes, X, [1, 2, 3], criterion="bound").n_components == 2
    with pytest.raises(ValueError, match="shared_noise=True needs solver='em'"):
        MixtureOfFactorAnalyzers(shared_noise=True, solver="gibbs").fit(X)


def test_the_bound_is_below_the_log_evidence_and_near_it():
    logs, _ = given_the_factors()
    units = (~np.isnan(FEW) @ np.log(np.nanstd(FEW, axis=0))).sum()
    exact = logsumexp(logs) - units
    model = FactorAnalysis(1, **EXACT).fit(FEW)
    # The two signs of the factor are two modes, of which the bound describes one.
    assert exact - np.log(2) - 1.5 < model.lower_bound_ < exact
    assert model.log_evidence() == model.lower_bound_
    assert model.objective_path_[-1] == pytest.approx(model.lower_bound_, rel=1e-9)


def test_the_bound_is_the_mean_of_its_definition_over_draws():
    """``E[log p(x, z, b, psi) - log q(z, b, psi)]``, with densities of scipy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    X[0, 1] = X[5, 2] = np.nan
    rows, priors = rows_of(X, np.ones(8)), Priors(2.0, 0.5, 3.0)
    start = Factors(np.zeros(3), rng.normal(size=(3, 2)), np.ones(3))
    belief = variational_step(rows, priors, starting_belief(rows, start, priors))[0]
    bound, q = variational_step(rows, priors, belief)[1], expected_posterior(rows, belief)
    n_draws, total = 4000, np.zeros(4000)
    noise = invgamma(belief.shapes, scale=belief.rates).rvs((n_draws, 3), random_state=rng)
    total += invgamma(1.5, scale=1.5).logpdf(noise).sum(axis=1)
    total -= invgamma(belief.shapes, scale=belief.rates).logpdf(noise).sum(axis=1)
    factors = np.empty((n_draws, 8, 2))
    for row, pattern in enumerate(rows.pattern):
        own = multivariate_normal(q.means[row], q.covariances[pattern])
        factors[:, row] = own.rvs(n_draws, random_state=rng)
        total += multivariate_normal(np.zeros(2)).logpdf(factors[:, row]) - own.logpdf(factors[:, row])
    extended = np.concatenate([factors, np.ones((n_draws, 8, 1))], axis=2)
    prior = np.diag([1 / 2, 1 / 2, 1 / 0.5])
    for j in range(3):
        scale = np.sqrt(noise[:, j])
        unit = multivariate_normal(np.zeros(3), belief.inverses[j]).rvs(n_draws, random_state=rng)
        b = belief.means[j] + scale[:, None] * unit
        total -= multivariate_normal(np.zeros(3), belief.inverses[j]).logpdf(unit)
        total += multivariate_normal(np.zeros(3), prior).logpdf(b / scale[:, None])
        seen = ~np.isnan(X[:, j])
        expected = np.einsum("dna,da->dn", extended[:, seen], b)
        total += norm(expected, scale[:, None]).logpdf(X[seen, j]).sum(axis=1)
    assert abs(total.mean() - bound) < 4 * total.std() / np.sqrt(n_draws)
    assert total.std() / np.sqrt(n_draws) < 0.06


def test_draws_have_the_posterior_of_the_integral():
    logs, precisions = given_the_factors()
    expected = precisions @ np.exp(logs - logsumexp(logs))
    model = FactorAnalysis(1, solver="gibbs", n_draws=3000, n_burn_in=200, random_state=0).fit(FEW)
    drawn = np.nanstd(FEW, axis=0) ** 2 / model.draws_.noise_variances
    blocks = drawn.reshape(30, 200, 3).mean(axis=1)
    assert (np.abs(drawn.mean(axis=0) - expected) < 4 * blocks.std(axis=0) / np.sqrt(30)).all()


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_the_bound_never_falls(n_components, missing):
    X = table(80, missing=missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = FactorAnalysis(n_components, **EXACT | {"max_iter": 200}).fit(X).objective_path_
    assert (np.diff(path) > -1e-10 * np.abs(path[1:])).all()


def test_no_other_stretch_of_the_factors_raises_the_bound_more():
    """The belief after it, with all posteriors of factors mapped along, is where the map is the identity."""
    rng = np.random.default_rng(0)
    rows, priors = rows_of(rng.normal(size=(50, 4)), rng.uniform(0.5, 2, 50)), Priors(1.0, 0.1, 1.0)
    belief = starting_belief(rows, Factors(np.zeros(4), rng.normal(size=(4, 2)), np.ones(4)), priors)
    for _ in range(2000):
        belief, bound = variational_step(rows, priors, belief)
    after, later = variational_step(rows, priors, belief)
    # Of 2,000 steps, all but the first few hundred change nothing that rounding leaves: sums over 200 entries.
    assert later == pytest.approx(bound, rel=rounding(200, condition=10))
    again = stretched(after, expected_posterior(rows, after), rows, priors)
    one, two = after.means[:, :2], again.means[:, :2]  # up to a rotation
    np.testing.assert_allclose(two @ two.T, one @ one.T, rtol=1e-5, atol=1e-7)


def test_solvers_agree_and_variational_deviations_are_smaller():
    X = table()
    by_em, by_bound, by_draws = (
        FactorAnalysis(2, rotation="varimax", solver=solver, n_draws=500, n_burn_in=200, random_state=0).fit(X)
        for solver in ("em", "variational_bayes", "gibbs")
    )
    for model in (by_bound, by_draws):
        order = match_components(by_em.loadings_.T, model.loadings_.T, metric="cosine").partners
        assert (np.abs(model.loadings_[:, order] - by_em.loadings_) < by_em.loading_errors_ + 0.02).all()
        assert 10 < model.dic(X, n_draws=200).n_effective < by_em.n_parameters_ + 3
        assert model.score(X) == pytest.approx(by_em.score(X), abs=0.02)
    order = match_components(by_em.loadings_.T, by_draws.loadings_.T, metric="cosine").partners
    assert by_draws.loading_errors_[:, order] == pytest.approx(by_em.loading_errors_, rel=0.35)
    assert (by_bound.loading_errors_.mean() < by_draws.loading_errors_.mean()).all()
    assert by_draws.draws_.components.shape == (1000, 2, 6)
    np.testing.assert_allclose(by_draws.draws_.components.mean(axis=0), by_draws.components_, rtol=1e-9)
    assert "rotation varimax (posterior standard deviations)" in repr(by_draws.loadings_table())


def test_a_heywood_case_keeps_its_noise():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 1)) @ np.ones((1, 4)) + 0.8 * rng.normal(size=(30, 4))
    X[:, 3] = X[:, 0] + X[:, 1]
    with pytest.warns(UserWarning, match="Heywood"):
        FactorAnalysis(1).fit(X[:, [0, 1, 3]] + [0, 0, 0])
    assert FactorAnalysis(1, solver="variational_bayes").fit(X[:, [0, 1, 3]]).uniquenesses_.min() > 0.005


def test_the_number_of_factors_is_chosen_by_bound_and_dic():
    X = table()
    bayes = FactorAnalysis(solver="variational_bayes")
    assert select_n_components(bayes, X, [1, 2, 3], criterion="bound").n_components == 2
    draws = FactorAnalysis(solver="gibbs", n_draws=150, n_burn_in=100, n_chains=1, random_state=0)
    assert select_n_components(draws, X, [1, 2], criterion="dic").n_components == 2


def test_weights_are_repetitions_and_units_and_constant_columns_do_no_harm():
    X = table(60)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    for solver in ("variational_bayes", "gibbs"):
        options = {"solver": solver, "n_draws": 30, "n_burn_in": 10, "random_state": 0, "tol": 1e-12, "max_iter": 3000}
        weighted = FactorAnalysis(2, **options).fit(X, sample_weight=weights)
        repeated = FactorAnalysis(2, **options).fit(np.repeat(X, weights, axis=0))
        assert weighted.score(X) == pytest.approx(repeated.score(X), rel=1e-5)
        scaled = FactorAnalysis(2, **options).fit(X * 1000, sample_weight=weights)
        np.testing.assert_allclose(scaled.components_, weighted.components_ * 1000, rtol=1e-3, atol=1)
        with pytest.warns(UserWarning, match="without variance"):
            constant = FactorAnalysis(2, **options).fit(np.column_stack([X, np.ones(len(X))]))
        assert constant.dic(np.column_stack([X, np.ones(len(X))]), n_draws=20).n_effective > 0
    with pytest.raises(ValueError, match="whole numbers"):
        FactorAnalysis(2, solver="gibbs").fit(X, sample_weight=weights + 0.5)
    with pytest.raises(ValueError, match="Only solver='variational_bayes'"):
        FactorAnalysis(1).fit(X).log_evidence()
    with pytest.raises(ValueError, match="DIC needs draws"):
        FactorAnalysis(1).fit(X).dic(X)
