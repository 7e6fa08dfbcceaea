"""Predictive criteria: what they take, what they refuse, what they warn of."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import genpareto, multivariate_normal, norm

from fewer.evaluate import (
    bayes_loo,
    compare_models,
    dic,
    exact_loo,
    free_energy,
    functional_cumulants,
    metropolis_draws,
    singular_diagnostics,
    waic,
)
from fewer.evaluate.criteria._draw_kernels import pareto_fit, smooth_tail
from fewer.evaluate.criteria._log_lik import as_draws, relative_efficiency
from tolerances import rounding

ROWS = np.random.default_rng(0).normal(size=40)


def draws_of(rows=ROWS, n_draws=500, seed=1, spread=0.2):
    return norm.logpdf(rows, np.random.default_rng(seed).normal(rows.mean(), spread, size=(n_draws, 1)))


def apart(log_lik):
    """How far rounding may bring two sums over the draws of a row: a logarithm moves by the relative error."""
    return rounding(len(log_lik), np.abs(log_lik).max())


def array_of(values, dims=("chain", "draw", "row")):
    """What ArviZ's arrays have: values, names of their axes, and a way to reorder these."""

    def transpose(*order):
        return array_of(values.transpose([dims.index(name) for name in order]), order)

    return SimpleNamespace(values=values, dims=dims, transpose=transpose)


def test_chains_arrays_and_arviz_objects_give_the_same():
    log_lik = draws_of()
    chains = log_lik.reshape(4, 125, 40)
    swapped = array_of(chains.transpose(1, 2, 0), ("draw", "row", "chain"))
    data = SimpleNamespace(log_likelihood=SimpleNamespace(data_vars={"x": swapped}))
    # However they are given, the same draws are summed in the same order.
    for given in (chains, data, data.log_likelihood, log_lik.tolist()):
        np.testing.assert_array_equal(waic(given).pointwise, waic(log_lik).pointwise)
    wide = array_of(chains.reshape(4, 125, 8, 5), ("chain", "draw", "place", "time"))
    two = SimpleNamespace(log_likelihood=SimpleNamespace(data_vars={"x": wide, "z": wide}))
    np.testing.assert_array_equal(waic(two, var_name="z").pointwise, waic(log_lik).pointwise)
    with pytest.raises(ValueError, match="x, z; choose one by var_name"):
        waic(two)
    with pytest.raises(ValueError, match="var_name='y' is not one of x, z"):
        waic(two, var_name="y")


def test_stacked_chains_and_objects_without_log_likelihoods_are_recognised():
    log_lik = draws_of()
    # Like arviz.extract, which puts the axis of chains and draws last.
    stacked = array_of(log_lik.T.reshape(8, 5, 500), ("place", "time", "sample"))
    np.testing.assert_array_equal(waic(stacked).pointwise, waic(log_lik).pointwise)
    one_chain = array_of(log_lik.T, ("row", "draw"))
    np.testing.assert_array_equal(bayes_loo(one_chain).pointwise, bayes_loo(log_lik).pointwise)
    parameter = array_of(log_lik[:, 0].reshape(4, 125), ("chain", "draw"))
    with pytest.raises(ValueError, match="no axis of rows: its axes are chain, draw"):
        waic(parameter)
    data = SimpleNamespace(groups=["/posterior"], posterior=SimpleNamespace(data_vars={"mean": parameter}))
    tree = SimpleNamespace(groups=("/", "/posterior"), data_vars={})
    for given in (data, tree):
        with pytest.raises(ValueError, match="no group log_likelihood"):
            waic(given)


def test_tables_larger_than_a_block_are_read_in_parts():
    log_lik = draws_of(np.random.default_rng(0).normal(size=900), n_draws=700)
    assert len(list(as_draws(log_lik).blocks())) > 1
    whole = bayes_loo(log_lik, r_eff=1.0)
    parts = [bayes_loo(log_lik[:, part], r_eff=1.0) for part in (slice(0, 500), slice(500, 900))]
    np.testing.assert_array_equal(whole.pointwise, np.r_[parts[0].pointwise, parts[1].pointwise])
    np.testing.assert_array_equal(whole.pareto_k, np.r_[parts[0].pareto_k, parts[1].pareto_k])
    assert waic(log_lik).bayes_train_loss == pytest.approx(whole.bayes_train_loss, abs=apart(log_lik))


def test_equal_log_weights_change_nothing_and_repeated_draws_weigh_twice():
    log_lik = draws_of()
    for criterion in (waic, functional_cumulants, dic):
        plain, weighted = criterion(log_lik), criterion(log_lik, log_weights=np.full(500, 7.0))
        assert repr(plain) == repr(weighted)
    twice = np.r_[log_lik, log_lik[:100]]
    weights = np.log(np.r_[np.full(100, 2.0), np.ones(400)])
    by_weights, by_rows = waic(log_lik, log_weights=weights), waic(twice)
    np.testing.assert_allclose(by_weights.pointwise, by_rows.pointwise, rtol=0, atol=apart(twice))
    by_weights, by_rows = bayes_loo(log_lik, log_weights=weights, method="is"), bayes_loo(twice, method="is")
    np.testing.assert_allclose(by_weights.pointwise, by_rows.pointwise, rtol=0, atol=apart(twice))
    np.testing.assert_allclose(by_weights.p_loo, by_rows.p_loo, rtol=1e-9)


def test_scales_are_those_of_arviz_and_aic():
    found = waic(draws_of())
    np.testing.assert_allclose(found.elpd, -40 * found.loss)
    np.testing.assert_allclose(found.deviance, 80 * found.loss)
    np.testing.assert_allclose(found.se, found.pointwise.std() / np.sqrt(40))
    assert found.to_dict()["p_waic"] == found.p_waic


def test_very_small_likelihoods_do_not_overflow():
    log_lik = draws_of() - 5000
    assert bayes_loo(log_lik).loss == pytest.approx(bayes_loo(log_lik + 5000).loss + 5000, abs=apart(log_lik))
    np.testing.assert_allclose(waic(log_lik).p_waic, waic(log_lik + 5000).p_waic, rtol=1e-8)


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(bad):
    log_lik = draws_of().reshape(2, 250, 40)
    log_lik[1, 7, 3] = bad
    for criterion in (waic, bayes_loo, functional_cumulants, dic):
        with pytest.raises(ValueError, match="draw 7, row 3 of chain 1"):
            criterion(log_lik)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: waic(np.zeros(5)), "has the shape"),
        (lambda: waic(np.zeros((0, 5))), "empty"),
        (lambda: waic(draws_of(), beta=0), "beta=0"),
        (lambda: waic(draws_of(), log_weights=[0.0, 1.0]), "2 entries"),
        (lambda: waic(draws_of(), log_weights=np.full(500, -np.inf)), "log_weights"),
        (lambda: bayes_loo(draws_of(), method="cv"), "method='cv'"),
        (lambda: bayes_loo(draws_of(), r_eff=0), "r_eff"),
        (lambda: bayes_loo(draws_of(), method="is").plot(), "psis"),
        (lambda: functional_cumulants(draws_of(), 5), "order=5"),
        (lambda: dic(draws_of(), method="mean"), "log_lik_at_mean"),
        (lambda: dic(draws_of(), method="median"), "method='median'"),
        (lambda: compare_models({"a": draws_of()}), "two models"),
        (lambda: compare_models({"a": draws_of(), "b": draws_of(ROWS[:9])}), "different numbers of rows"),
        (lambda: singular_diagnostics(draws_of(), test_loss=1.0), "belong together"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_row_far_out_is_named_as_unreliable():
    log_lik = draws_of(np.append(ROWS, 12.0), spread=0.5, n_draws=2000)
    left_out, criterion = bayes_loo(log_lik), waic(log_lik)
    assert left_out.unreliable_rows.tolist() == [40]
    assert 40 in criterion.unreliable_rows
    assert "in 1 row (40)" in left_out.reading
    assert "not reliable" in criterion.reading
    assert not bayes_loo(draws_of()).warnings
    assert len(left_out.plot().data) == 1


def test_the_shape_of_a_pareto_tail_is_found():
    rng = np.random.default_rng(0)
    for shape in (-0.2, 0.3, 0.8):
        found = [pareto_fit(np.sort(genpareto.rvs(shape, size=500, random_state=rng)))[0] for _ in range(40)]
        # The standard error of one is about (1 + k) / sqrt(500); the prior adds 10 values of 1/2.
        expected = (500 * shape + 5) / 510
        assert abs(np.mean(found) - expected) < 4 * (1 + shape) / np.sqrt(500 * 40) + 0.02


def test_smoothing_keeps_the_order_and_the_small_weights():
    ratios = np.random.default_rng(0).standard_t(2, size=1000)
    ratios -= ratios.max()
    smoothed = ratios.copy()
    shape = smooth_tail(smoothed, 1.0)
    assert shape > 0
    n_tail = int(np.ceil(min(200, 3 * np.sqrt(1000))))
    changed = np.flatnonzero(smoothed != ratios)
    assert set(changed) <= set(np.argsort(ratios)[-n_tail:])
    np.testing.assert_array_equal(np.argsort(smoothed, kind="stable"), np.argsort(ratios, kind="stable"))
    assert smoothed.max() <= 0
    assert smooth_tail(np.zeros(3), 1.0) == np.inf


def test_chains_that_move_slowly_have_few_effective_draws():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 2000, 3))
    slow = np.empty_like(noise)
    slow[:, 0] = noise[:, 0]
    for step in range(1, 2000):
        slow[:, step] = 0.8 * slow[:, step - 1] + 0.6 * noise[:, step]
    # An autoregression of 0.8 has (1 - 0.8) / (1 + 0.8) as many.
    np.testing.assert_allclose(relative_efficiency(slow), 1 / 9, rtol=0.25)
    np.testing.assert_allclose(relative_efficiency(noise), 1, rtol=0.15)
    apart = noise + 5 * np.arange(4)[:, None, None]
    assert (relative_efficiency(apart) < 0.01).all()
    log_lik = norm.logpdf(ROWS, 0.2 * slow[:, :, :1])
    given = bayes_loo(log_lik, r_eff=relative_efficiency(np.exp(log_lik)))
    np.testing.assert_allclose(bayes_loo(log_lik).pointwise, given.pointwise, rtol=1e-9)


def test_exact_leave_one_out_is_the_closed_form():
    x = ROWS[:15]

    def log_lik_of(train, test):
        nodes = norm.ppf((np.arange(2000) + 0.5) / 2000)
        return norm.logpdf(x[test], (x[train].mean() + nodes / np.sqrt(len(train)))[:, None])

    means = (x.sum() - x) / 14
    expected = -norm.logpdf(x, means, np.sqrt(1 + 1 / 14))
    np.testing.assert_allclose(exact_loo(log_lik_of, 15).pointwise, expected, atol=2e-3)
    np.testing.assert_allclose(exact_loo(log_lik_of, 15, rows=[3, 8]).pointwise, expected[[3, 8]], atol=2e-3)


def test_a_model_without_parameters_can_be_left_out_exactly():
    log_lik = np.tile(norm.logpdf(np.linspace(-2, 2, 9)), (200, 1))
    found = bayes_loo(log_lik)
    np.testing.assert_allclose(found.pointwise, -log_lik[0], rtol=0, atol=apart(log_lik))
    assert (found.pareto_k == -np.inf).all()
    assert not found.warnings
    loo = compare_models({"fixed": log_lik, "free": draws_of(np.linspace(-2, 2, 9))}).loo
    assert abs(loo["fixed"].p_loo) < 9 * apart(log_lik)  # a difference of sums over nine rows


def test_draws_and_rows_that_show_nothing_are_refused():
    for call, message in (
        (lambda: waic(np.zeros((1, 9))), "single draw"),
        (lambda: bayes_loo(np.zeros((1, 1, 9))), "single draw"),
        (lambda: waic(np.full((5, 9), np.nan)), "NaN .* Compute the log-likelihood"),
        (lambda: waic(np.full((5, 9), -np.inf)), "probability 0"),
        (lambda: exact_loo(lambda train, test: np.zeros((5, 1)), 9, rows=[9]), "from 0 to 8, and has 9"),
        (lambda: exact_loo(lambda train, test: np.zeros((5, 1)), 9, rows=[]), "is empty"),
        (lambda: singular_diagnostics(draws_of(), n_parameters=0), "n_parameters=0"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert "needs order=4" in functional_cumulants(draws_of(), 2).reading
    assert exact_loo(lambda train, test: np.zeros((1, 1)), 9).loss == 0  # one fit is a posterior of one point


def test_a_fluctuation_within_its_error_is_no_sign_of_a_singular_model():
    signs = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=40)
        log_lik = norm.logpdf(x, rng.normal(x.mean(), 1 / np.sqrt(40), size=(1000, 1)))
        found = singular_diagnostics(log_lik, n_parameters=1)
        signs.append("singular here" in found.reading)
        assert 0.05 < found.fluctuation_se < 0.4
    # 4,000 draws of the closed form give 3%.
    assert np.mean(signs) <= 0.15


def test_models_are_ranked_with_paired_differences():
    log_lik = draws_of(n_draws=1000)
    worse = log_lik - 0.3 + 0.1 * np.sin(np.arange(40))
    found = compare_models({"worse": worse, "better": log_lik, "the same": log_lik[::-1]})
    assert set(found.names[:2]) == {"better", "the same"}
    assert found.names[2] == "worse"
    expected = 0.3 - 0.1 * np.sin(np.arange(40))
    np.testing.assert_allclose(found.differences[2], expected.mean(), atol=rounding(1000, 10, 100))
    np.testing.assert_allclose(found.difference_se[2], expected.std() / np.sqrt(40), atol=1e-9)
    assert "within two standard errors" in found.reading
    assert len(found.plot().data) == 2


def test_singular_diagnostics_compare_with_half_the_parameters():
    rows = (ROWS - ROWS.mean()) / ROWS.std()
    assert "no sign" in singular_diagnostics(draws_of(rows, spread=1 / np.sqrt(40)), n_parameters=1).reading
    assert "singular here" in singular_diagnostics(draws_of(spread=0.02), n_parameters=1).reading


@pytest.mark.parametrize("first", [0.0, -1e4, 1e4, -350.0, 1e8])
def test_moments_do_not_depend_on_the_first_draw(first):
    from scipy.special import logsumexp

    from fewer.evaluate.criteria._draw_kernels import row_moments
    from fewer.evaluate.criteria._log_lik import as_draws

    values = np.random.default_rng(0).normal(-3, 1, size=(500, 7))
    values[0, 2] += first
    found = row_moments(as_draws(values))
    sizes = np.abs(values)
    expected = logsumexp(values, axis=0) - np.log(500)
    assert (np.abs(found.log_mean - expected) <= rounding(500) * np.maximum(np.abs(expected), 1)).all()
    assert (np.abs(found.mean_log - values.mean(axis=0)) <= rounding(500) * sizes.mean(axis=0)).all()
    assert found.central[:, 0] == pytest.approx(values.var(axis=0), rel=1e-10)


def test_comparisons_warn_of_rows_whose_log_likelihood_varies():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=40), 8.0)
    steady, wild = draws_of(x, spread=0.16), draws_of(x, spread=0.3)
    found = compare_models({"steady": steady, "wild": wild})
    assert any("WAIC is not reliable for" in said and "wild" in said for said in found.warnings)
    np.testing.assert_allclose(found.gaps, [found.loo[name].loss - found.waic[name].loss for name in found.names])
    assert all(said in found.reading for said in found.warnings)
    assert compare_models({"a": draws_of(), "b": draws_of(seed=2)}).warnings == []


def normal_posterior(beta, n_rows=ROWS.size):
    """Mean and standard deviation of the posterior of a mean with prior N(0, 1) at an inverse temperature."""
    precision = 1 + n_rows * beta
    return beta * ROWS.sum() / precision, 1 / np.sqrt(precision)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_metropolis_draws_have_the_moments_of_the_tempered_posterior(beta):
    mean, std = normal_posterior(beta)
    found = metropolis_draws(
        lambda w: norm.logpdf(ROWS, w), lambda w: norm.logpdf(w[:, 0]), np.zeros((50, 1)),
        step_size=2.4 * std, beta=beta, n_draws=200, n_burn_in=50, thin=4, random_state=0,
    )  # fmt: skip
    assert found.log_lik.shape == (50, 200, ROWS.size)
    np.testing.assert_allclose(found.log_lik[3, 7], norm.logpdf(ROWS, found.parameters[3, 7]), rtol=rounding(2))
    # 50 chains are independent: the standard error is that of their means.
    means, squares = found.parameters.mean(axis=(1, 2)), (found.parameters**2).mean(axis=(1, 2))
    for values, expected in ((means, mean), (squares, mean**2 + std**2)):
        assert abs(values.mean() - expected) < 4.5 * values.std(ddof=1) / np.sqrt(50)
    assert 0.3 < found.acceptance.mean() < 0.6


def test_chains_may_belong_to_different_data_sets():
    tables = np.random.default_rng(1).normal(size=(6, 30)) + np.arange(6)[:, None]
    found = metropolis_draws(
        lambda w: norm.logpdf(tables, w), lambda w: norm.logpdf(w[:, 0], scale=10), np.arange(6.0)[:, None],
        step_size=0.4, n_draws=400, n_burn_in=100, thin=3, random_state=0,
    )  # fmt: skip
    # The posterior standard deviation is 0.18, and 400 draws are worth some hundred.
    np.testing.assert_allclose(found.parameters.mean(axis=(1, 2)), tables.mean(axis=1), atol=0.1)


def test_thermodynamic_integration_gives_the_evidence():
    rng, log_liks = np.random.default_rng(0), {}
    for beta in np.linspace(0, 1, 24) ** 5:
        log_liks[beta] = norm.logpdf(ROWS, rng.normal(*normal_posterior(beta), size=(2, 1000, 1)))
    found = free_energy(log_liks)
    exact = -multivariate_normal(np.zeros(ROWS.size), np.eye(ROWS.size) + 1).logpdf(ROWS)
    # The corrected rule is exact up to fourth derivatives, which add less than a hundredth.
    assert abs(found.value - exact) < 4 * found.se + 0.01
    assert found.se < 0.1
    np.testing.assert_allclose(found.energies[-1], ROWS.size * waic(log_liks[1.0]).gibbs_train_loss, rtol=1e-10)
    assert found.log_evidence == -found.value
    assert len(found.plot().data) == 1


def test_tempered_draws_refuse_what_they_cannot_use():
    log_lik, log_prior = (lambda w: norm.logpdf(ROWS, w)), (lambda w: norm.logpdf(w[:, 0]))
    with pytest.raises(ValueError, match=r"from 0 \(the prior\) to 1, and has 0\.5, 1"):
        free_energy({0.5: draws_of(), 1.0: draws_of()})
    with pytest.raises(ValueError, match="the same rows"):
        free_energy({0.0: draws_of(), 1.0: draws_of()[:, :9]})
    with pytest.raises(ValueError, match="start of chain 1 is not finite"):
        metropolis_draws(log_lik, lambda w: np.where(np.abs(w[:, 0]) < 1, 0.0, -np.inf), [[0.0], [3.0]], step_size=1)
    with pytest.raises(ValueError, match=r"log_lik must give an array of shape \(2, n_samples\)"):
        metropolis_draws(lambda w: np.zeros(3), log_prior, np.zeros((2, 1)), step_size=1)
    with pytest.raises(ValueError, match="step_size must be positive"):
        metropolis_draws(log_lik, log_prior, np.zeros((2, 1)), step_size=0)
    with pytest.raises(ValueError, match="x0 must hold finite numbers"):
        metropolis_draws(log_lik, log_prior, [0.0], step_size=1)


def test_models_and_temperatures_need_names_and_efficiencies_a_row_each():
    for call, message in (
        (lambda: compare_models([draws_of(), draws_of()]), "must name each model"),
        (lambda: free_energy([draws_of(), draws_of()]), "inverse temperatures for keys"),
        (lambda: bayes_loo(draws_of(), r_eff=[1.0, 0.5]), "an entry for each of 40 rows"),
        (lambda: exact_loo(None, 5), "must be a function"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert set(compare_models({1: draws_of(), 2: draws_of(seed=3)}).names) == {"1", "2"}


def test_memory_is_that_of_a_few_blocks():
    rng = np.random.default_rng(0)
    log_lik = -0.5 * (rng.normal(size=4000) - rng.normal(0, 0.1, size=(4, 250, 1))) ** 2
    for criterion, most in ((waic, 1e6), (lambda each: bayes_loo(each, r_eff=1.0), 8e6), (bayes_loo, 24e6)):
        criterion(log_lik[:, :, :10])
        tracemalloc.start()
        criterion(log_lik)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most < log_lik.nbytes
