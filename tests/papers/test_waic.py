"""Watanabe (2010): WAIC, Bayes cross-validation and DIC in singular models."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy.special import logsumexp
from scipy.stats import norm

from fewer.evaluate import bayes_loo, compare_models, dic, functional_cumulants, singular_diagnostics, waic
from fewer.evaluate.criteria._log_lik import relative_efficiency
from peers.arviz_numbers import shared_log_lik
from tolerances import rounding

PEERS = Path(__file__).parents[1] / "peers"

# x_i ~ N(mu, 1) with prior mu ~ N(0, tau2): everything in closed form.


def posterior(x, tau2):
    variance = 1 / (len(x) + 1 / tau2)
    return variance * x.sum(), variance


def closed_form(x, tau2):
    """Training loss, functional variance and leave-one-out loss."""
    mean, variance = posterior(x, tau2)
    train = -norm.logpdf(x, mean, np.sqrt(1 + variance)).mean()
    functional = np.sum(variance**2 / 2 + variance * (x - mean) ** 2)
    without = 1 / (len(x) - 1 + 1 / tau2)
    means = without * (x.sum() - x)
    return train, functional, -norm.logpdf(x, means, np.sqrt(1 + without)).mean()


def quadrature(x, tau2, n_nodes=80):
    """Log-likelihoods at Gauss-Hermite nodes of the posterior, and their log weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    mean, variance = posterior(x, tau2)
    return norm.logpdf(x, mean + np.sqrt(variance) * nodes[:, None]), np.log(weights)


@pytest.mark.claim("waic", 1)
def test_draws_and_quadrature_give_the_closed_form(figure):
    rng = np.random.default_rng(0)
    x = rng.normal(0.3, 1, size=50)
    train, functional, left_out = closed_form(x, 10.0)
    log_lik, log_weights = quadrature(x, 10.0)
    exact = waic(log_lik, log_weights=log_weights)
    found = [exact.bayes_train_loss, exact.functional_variance / 50, exact.loss]
    found.append(bayes_loo(log_lik, log_weights=log_weights, method="is").loss)
    expected = [train, functional / 50, train + functional / 50, left_out]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    mean, variance = posterior(x, 10.0)
    drawn = norm.logpdf(x, rng.normal(mean, np.sqrt(variance), size=20_000)[:, None])
    by_draws = waic(drawn)
    found = [by_draws.bayes_train_loss, by_draws.functional_variance / 50, by_draws.loss]
    for method in ("is", "psis"):
        np.testing.assert_allclose([*found, bayes_loo(drawn, method=method).loss], expected, atol=1e-3)
    figure(f"quadrature within {np.abs(np.array([exact.loss]) - expected[2]).max():.0e}")


@pytest.mark.claim("waic", 2)
@pytest.mark.parametrize("n_replicates", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_leave_one_out_and_generalisation_add_up_to_a_constant(n_replicates, figure):
    rng, said = np.random.default_rng(0), []
    settings = {20: (0.048, 0.16), 50: (0.019, 0.10), 100: (0.010, 0.07), 200: (0.005, 0.05)}
    for n in (20, 100) if n_replicates < 1000 else settings:
        gap_expected, sd = settings[n]
        rows = []
        for _ in range(n_replicates):
            x = rng.normal(size=n)
            log_lik, log_weights = quadrature(x, 100.0, 40)
            criterion = waic(log_lik, log_weights=log_weights)
            left_out = bayes_loo(log_lik, log_weights=log_weights, method="is").loss
            mean, variance = posterior(x, 100.0)
            # Expected loss of N(m, 1 + s2) under N(0, 1), less the entropy.
            general = 0.5 * np.log(1 + variance) + (1 + mean**2) / (2 * (1 + variance)) - 0.5
            own = left_out + norm.logpdf(x).mean()
            rows.append([n**2 * abs(left_out - criterion.loss), criterion.functional_variance, general, own])
        gap, functional, general, own = np.array(rows).T
        total = n * (general + own)
        error = 4 / np.sqrt(n_replicates)
        assert abs(gap.mean() - gap_expected) < error * gap.std() + 0.001
        assert abs(functional.mean() - 1) < error * functional.std() + 2 / n
        assert abs(total.mean() - 1) < 0.02 + error * total.std()
        assert abs(total.std() - sd) < 0.04
        assert np.corrcoef(general, own)[0, 1] < -0.97
        said.append(f"n = {n}: {total.mean():.3f} (sd {total.std():.3f})")
    figure(", ".join(said))


# x_i ~ N(a^2, 1), truth a = 0, flat prior on [-3, 3]: singular, lambda = 1/4.


@pytest.mark.claim("waic", 3)
@pytest.mark.parametrize(
    ("n", "n_replicates", "n_grid", "sd"),
    [
        (50, 200, 1201, 0.042),
        pytest.param(50, 1500, 6001, 0.042, marks=pytest.mark.slow),
        pytest.param(200, 1500, 6001, 0.021, marks=pytest.mark.slow),
        pytest.param(800, 1500, 6001, 0.010, marks=pytest.mark.slow),
    ],
)
def test_a_singular_model_has_half_the_excess_of_a_regular_one(n, n_replicates, n_grid, sd, figure):
    # a and -a are the same model: the points above 0 of the grid on [-3, 3] stand for both, and the mean of a is 0.
    grid = np.linspace(0, 3, n_grid // 2 + 1)
    log_prior = np.where(grid > 0, np.log(2), 0.0)
    rng, rows = np.random.default_rng(0), []
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(60)
    node_weights = node_weights / node_weights.sum()
    for _ in range(n_replicates):
        x = rng.normal(size=n)
        log_posterior = log_prior - 0.5 * n * (x.mean() - grid**2) ** 2
        kept = log_posterior > log_posterior.max() - 60
        a, log_weights = grid[kept], log_posterior[kept]
        log_lik = -0.5 * (x - (a**2)[:, None]) ** 2 - 0.5 * np.log(2 * np.pi)
        best = -norm.logpdf(x).mean()
        criterion = waic(log_lik, log_weights=log_weights)
        left_out = bayes_loo(log_lik, log_weights=log_weights, method="is").loss
        weights = np.exp(log_weights - logsumexp(log_weights))
        predictive = logsumexp(norm.logpdf(nodes, (a**2)[:, None]), b=weights[:, None], axis=0)
        general = node_weights @ (norm.logpdf(nodes) - predictive)
        at_mean = norm.logpdf(x, 0.0)
        dics = [
            dic(log_lik, at_mean, method="mean", log_weights=log_weights).loss,
            dic(log_lik, log_weights=log_weights).loss,
        ]
        # lambda of this one data set is half of the sum below.
        diagnostics = singular_diagnostics(
            log_lik, log_weights=log_weights, test_loss=general, best_losses=(0.0, best), n_parameters=1
        )
        np.testing.assert_allclose(diagnostics.learning_coefficient, n * (general + left_out - best) / 2)
        rows.append([general, left_out - best, criterion.functional_variance / n, *(np.array(dics) - best)])
    general, own, functional, by_mean, by_variance = n * np.array(rows).T
    error = 4 / np.sqrt(n_replicates)
    total = general + own
    assert abs(total.mean() - 0.5) < 0.01 + error * total.std()
    assert abs(total.std() - sd) < 0.012
    for values, expected, room in ((general, 0.25, 0.03), (own, 0.25, 0.03), (functional, 0.35, 0.02)):
        assert abs(values.mean() - expected) < room + error * values.std()
    # The target of both is 0.25, too.
    assert abs(by_variance.mean() - 0.45) < 0.04 + error * by_variance.std()
    assert by_mean.mean() < 0.09 + error * by_mean.std()
    figure(
        f"n = {n}: sum {total.mean():.3f} (sd {total.std():.3f}), V {functional.mean():.2f}, DIC by variance "
        f"{by_variance.mean():.2f} and by mean {by_mean.mean():.2f} for 0.25"
    )


@pytest.mark.claim("waic", 4)
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_both_criteria_come_from_one_generating_function(beta):
    rng = np.random.default_rng(1)
    log_lik = norm.logpdf(rng.normal(size=30), rng.normal(0, 0.3, size=(200, 1)))
    found = functional_cumulants(log_lik, beta=beta)
    leave_one_out = bayes_loo(log_lik, beta=beta, method="is").loss
    criterion = waic(log_lik, beta=beta)
    # Sums of 200 draws, then of 30 rows; a logarithm of a mean moves by its relative error.
    scale = np.abs(log_lik).max() * max(1, beta)
    tolerance = rounding(230, scale)
    generated = found.generating(-beta) - found.generating(1 - beta)
    np.testing.assert_allclose(leave_one_out, generated, rtol=0, atol=tolerance)
    np.testing.assert_allclose(criterion.loss, -found.generating(1) + beta * found.values[1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.values[0], -criterion.gibbs_train_loss, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.values[1], criterion.functional_variance / 30, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.gap, leave_one_out - criterion.loss, rtol=0, atol=tolerance)
    shifts = rng.normal(size=30)
    shifted = functional_cumulants(log_lik + shifts, beta=beta)
    # The entries are rounded once more; the cumulant of order four is of the order of their spread to that power.
    spread = np.abs(log_lik - log_lik.mean(axis=0)).max()
    tolerance = rounding(230, scale + np.abs(shifts).max(), max(1, spread) ** 3)
    np.testing.assert_allclose(shifted.values[1:], found.values[1:], rtol=0, atol=tolerance)
    step = 1e-2
    derivatives = [found.generating(k * step) for k in (-1, 1)]
    np.testing.assert_allclose((derivatives[1] - derivatives[0]) / (2 * step), found.values[0], atol=1e-4)


@pytest.mark.claim("waic", 4)
def test_the_gap_is_a_twelfth_of_the_fourth_cumulant(figure):
    x = np.random.default_rng(0).normal(size=100)
    log_lik, log_weights = quadrature(x, 100.0)
    found = functional_cumulants(log_lik, log_weights=log_weights)
    mean, variance = posterior(x, 100.0)
    fourth = (48 * variance**4 + 192 * variance**3 * (x - mean) ** 2) / 16
    np.testing.assert_allclose(found.values[3], fourth.mean(), rtol=1e-6)
    np.testing.assert_allclose(found.gap, found.expected_gap, rtol=0.01)
    figure(f"{found.gap:.4e} measured, {found.expected_gap:.4e} expected")


# A network with three hidden units where one is true: y = sum_h a_h tanh(b_h x) + noise.

TRUE_A, TRUE_B = np.array([1.0, -1.0, 0.5]), np.array([0.5, 0.5, -0.5])


@njit(cache=True)
def loss_of(w, X, Y, log_lik):
    """Log-likelihoods of the rows for 3 hidden units, without their constant; gives the sum."""
    total = 0.0
    for i in range(X.shape[0]):
        error = 0.0
        hidden = np.empty(3)
        for h in range(3):
            hidden[h] = np.tanh(w[9 + 3 * h] * X[i, 0] + w[10 + 3 * h] * X[i, 1] + w[11 + 3 * h] * X[i, 2])
        for j in range(3):
            fitted = w[j] * hidden[0] + w[3 + j] * hidden[1] + w[6 + j] * hidden[2]
            error += (Y[i, j] - fitted) ** 2
        log_lik[i] = -error / (2 * 0.01)
        total += log_lik[i]
    return total


@njit(cache=True)
def metropolis(X, Y, start, n_burn_in, n_draws, thin, rng):
    """Draws of the weights under a normal prior with standard deviation 10, by steps of 0.005."""
    n_rows = X.shape[0]
    w, draws = start.copy(), np.empty((n_draws, 18))
    current = np.empty(n_rows)
    log_posterior = loss_of(w, X, Y, current) - (w**2).sum() / 200
    for step in range(n_burn_in + n_draws * thin):
        proposal = w + 0.005 * rng.normal(0.0, 1.0, 18)
        new = loss_of(proposal, X, Y, current) - (proposal**2).sum() / 200
        if np.log(rng.random()) < new - log_posterior:
            w, log_posterior = proposal, new
        if step >= n_burn_in and (step - n_burn_in) % thin == thin - 1:
            draws[(step - n_burn_in) // thin] = w
    return draws


def true_weights():
    """Weights of the true network, whose other two hidden units have none."""
    w = np.zeros((2, 3, 3))
    w[0, 0], w[1, 0] = TRUE_A, TRUE_B
    return w.ravel()


def network_rows(rng, n):
    X = rng.normal(0, 2, size=(n, 3))
    return X, np.tanh(X @ TRUE_B)[:, None] * TRUE_A + 0.1 * rng.normal(size=(n, 3))


def log_lik_of(draws, X, Y):
    constant = -1.5 * np.log(2 * np.pi * 0.01)
    found = np.empty((len(draws), len(X)))
    for line, w in zip(found, draws, strict=True):
        loss_of(w, X, Y, line)
    return found + constant


@cache
def network_study(n_sets, n_chains, n_burn_in, n_draws, thin):
    """For each data set: generalisation, leave-one-out, WAIC, DIC by mean and by variance, less the best losses."""
    rng, rows = np.random.default_rng(0), []
    truth = true_weights()
    X_new, Y_new = network_rows(rng, 2000)
    for _ in range(n_sets):
        X, Y = network_rows(rng, 200)
        starts = 0.5 * rng.normal(size=(n_chains, 18))  # which know nothing of the truth
        draws = np.concatenate([metropolis(X, Y, start, n_burn_in, n_draws, thin, rng) for start in starts])
        own, new = log_lik_of(draws, X, Y), log_lik_of(draws, X_new, Y_new)
        best, best_new = (-log_lik_of(truth[None], *each)[0] for each in ((X, Y), (X_new, Y_new)))
        general = np.mean(np.log(len(draws)) - logsumexp(new, axis=0) - best_new)
        at_mean = log_lik_of(draws.mean(axis=0)[None], X, Y)[0]
        losses = [bayes_loo(own, method="is").loss, waic(own).loss, dic(own, at_mean, method="mean").loss]
        rows.append([general, *(np.array([*losses, dic(own).loss]) - best.mean())])
    return np.array(rows).T


@pytest.mark.claim("waic", 5)
def test_waic_is_leave_one_out_in_a_network_and_dic_is_not(figure):
    _, left_out, criterion, by_mean, _ = network_study(4, 3, 6000, 50, 60)
    assert np.corrcoef(left_out, criterion)[0, 1] > 0.98
    assert abs(left_out.mean() - criterion.mean()) < 0.003
    assert by_mean.mean() < -5
    figure(f"short chains: LOO {left_out.mean():.4f}, WAIC {criterion.mean():.4f}, DIC by mean {by_mean.mean():.1f}")


@pytest.mark.slow
@pytest.mark.claim("waic", 5)
def test_low_cross_validation_loss_goes_with_high_generalisation_loss(figure):
    general, left_out, criterion, by_mean, by_variance = network_study(12, 6, 20_000, 80, 100)
    assert np.corrcoef(left_out, criterion)[0, 1] > 0.98
    assert np.corrcoef(general, left_out)[0, 1] < -0.6
    assert abs(left_out.mean() - criterion.mean()) < 0.003
    assert by_mean.mean() < -5
    total = general + left_out
    assert 0.05 < total.mean() < 0.065
    assert total.std() < general.std()
    figure(
        f"BG {general.mean():.4f}, CV {left_out.mean():.4f}, WAIC {criterion.mean():.4f}, DIC {by_mean.mean():.1f} and "
        f"{by_variance.mean():.4f}, BG + CV {total.mean():.4f} (sd {total.std():.4f})"
    )


@pytest.mark.claim("waic", 6)
@pytest.mark.parametrize("package", ["loo", "arviz"])
def test_predictive_criteria_are_those_of_loo_and_arviz(package):
    log_lik = shared_log_lik()
    n_draws = log_lik.shape[0] * log_lik.shape[1]
    left_out, criterion = bayes_loo(log_lik, r_eff=0.7), waic(log_lik)
    if package == "arviz":
        peer = json.loads((PEERS / "arviz.json").read_text())
        np.testing.assert_allclose(-left_out.pointwise, peer["loo_i"], rtol=1e-9)
        np.testing.assert_allclose(-criterion.pointwise, peer["waic_i"], rtol=1e-9)
        np.testing.assert_allclose([left_out.elpd, criterion.elpd], [peer["elpd_loo"], peer["elpd_waic"]], rtol=1e-9)
        np.testing.assert_allclose(bayes_loo(log_lik, r_eff=1.0).pareto_k, peer["pareto_k_reff_1"], rtol=1e-9)
        correction = 1.0
    else:
        peer = json.loads((PEERS / "peers.json").read_text())["criteria"]
        np.testing.assert_allclose(left_out.pointwise, peer["loo_i"], rtol=1e-9)
        # These draws are spread more evenly than random ones; the two estimates end their sums at different places.
        np.testing.assert_allclose(relative_efficiency(np.exp(log_lik)), peer["r_eff"], rtol=0.15)
        # It divides by one less than the number of draws.
        correction = n_draws / (n_draws - 1)
        np.testing.assert_allclose(
            criterion.pointwise + (correction - 1) * criterion.variances, peer["waic_i"], rtol=1e-9
        )
    np.testing.assert_allclose(left_out.pareto_k, peer["pareto_k"], rtol=1e-9)
    np.testing.assert_allclose(
        [left_out.p_loo, correction * criterion.p_waic], [peer["p_loo"], peer["p_waic"]], rtol=1e-9
    )


def gibbs_mixture(x, n_components, n_burn_in, n_draws, rng):
    """Draws of (weights, means, variances) of a mixture of normals, and of the log-likelihoods of its rows."""
    n, K = len(x), n_components
    prior_mean, prior_precision, shape, scale = x.mean(), 1 / (4 * x.var()), 2.0, 0.5 * x.var()
    means, variances, weights = rng.choice(x, K), np.full(K, x.var()), np.full(K, 1 / K)
    parameters, log_lik = [], []
    for step in range(n_burn_in + n_draws):
        log_parts = np.log(weights) + norm.logpdf(x[:, None], means, np.sqrt(variances))
        totals = logsumexp(log_parts, axis=1)
        shares = np.cumsum(np.exp(log_parts - totals[:, None]), axis=1)
        labels = np.minimum((rng.random(n)[:, None] > shares).sum(axis=1), K - 1)
        counts = np.bincount(labels, minlength=K)
        sums = np.bincount(labels, x, minlength=K)
        weights = rng.dirichlet(1 + counts)
        precision = counts / variances + prior_precision
        means = rng.normal((sums / variances + prior_precision * prior_mean) / precision, 1 / np.sqrt(precision))
        squares = np.bincount(labels, (x - means[labels]) ** 2, minlength=K)
        variances = (scale + squares / 2) / rng.gamma(shape + counts / 2)
        if step >= n_burn_in:
            parts = np.log(weights) + norm.logpdf(x[:, None], means, np.sqrt(variances))
            parameters.append([weights, means, variances])
            log_lik.append(logsumexp(parts, axis=1))
    return np.array(parameters), np.array(log_lik)


@pytest.mark.claim("waic", 7)
def test_waic_finds_the_components_of_a_mixture_where_dic_at_the_mean_does_not(figure):
    rng = np.random.default_rng(1)
    x = np.r_[rng.normal(-2, 0.7, size=100), rng.normal(2, 0.7, size=100)]
    models, at_mean = {}, {}
    for n_components in (1, 2, 3, 4):
        parameters, log_lik = gibbs_mixture(x, n_components, 300, 500, rng)
        models[str(n_components)] = log_lik
        weights, means, variances = parameters.mean(axis=0)
        at_mean[str(n_components)] = logsumexp(
            np.log(weights) + norm.logpdf(x[:, None], means, np.sqrt(variances)), axis=1
        )
    found = compare_models(models)
    assert found.by_waic[0] in ("2", "3")
    assert found.waic["1"].loss > found.waic["2"].loss + 0.1
    losses = {name: dic(models[name], at_mean[name], method="mean").loss for name in models}
    for name in models:
        assert abs(found.waic[name].loss - found.loo[name].loss) < found.loo[name].se
    # Components change places, so that their mean is no component: DIC reports a far too small loss, and prefers it.
    gaps = {name: losses[name] - found.loo[name].loss for name in models}
    assert abs(gaps["1"]) < 0.02
    assert min(gaps[name] for name in ("3", "4")) < -0.1
    assert min(losses, key=losses.get) in ("3", "4")
    figure(", ".join(f"{name}: WAIC {found.waic[name].loss:.3f}, DIC {losses[name]:.3f}" for name in models))
