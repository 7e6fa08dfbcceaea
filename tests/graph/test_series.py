"""Graphs of time series: limits, units, errors, and what the criteria choose."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold

from fewer.datasets import simulate_sparse_var
from fewer.graph import (
    ARGraphicalLasso,
    ARTopologySelector,
    ConstrainedAR,
    SparsePrecision,
    ar_covariance,
    ar_kl,
    edge_stability,
    partial_coherence,
    welch_partial_coherence,
)
from fewer.graph.series._ar_topology import information_criterion, n_parameters
from fewer.graph.series._spectra import inverse_spectrum, spectral_blocks, yule_walker
from tolerances import rounding


def series(n_rows=300, n_columns=5, order=1, seed=0, **options):
    return simulate_sparse_var(n_rows, n_columns, order=order, n_nonzero=n_columns - 1, random_state=seed, **options)


@pytest.mark.parametrize("penalty", ["inf", "2", "1"])
@pytest.mark.parametrize("n_rows", [200, 12])
def test_order_zero_is_the_sparse_precision_at_the_same_alpha(penalty, n_rows):
    X = series(n_rows, 20).X
    static = SparsePrecision(0.2, covariance="pearson", tol=1e-12).fit(X)
    moving = ARGraphicalLasso(0.2, order=0, penalty=penalty, tol=1e-12, threshold=1e-5).fit(X)
    assert np.allclose(moving.inverse_spectrum_[0], static.precision_, atol=1e-5)
    assert np.allclose(moving.noise_cov_, static.covariance_, atol=1e-5)
    assert np.array_equal(moving.adjacency_, static.adjacency_)
    raw = ARGraphicalLasso(0.2, order=0, penalty=penalty, tol=1e-12, with_std=False).fit(X)
    assert np.allclose(raw.inverse_spectrum_[0], SparsePrecision(0.2, tol=1e-12).fit(X).precision_, atol=1e-5)


def test_lags_are_those_of_the_rows_before():
    X = np.zeros((400, 2))
    noise = np.random.default_rng(0).normal(size=(400, 2))
    X[:, 0] = noise[:, 0]
    X[1:, 1] = 0.8 * X[:-1, 0] + 0.1 * noise[1:, 1]
    cov = ar_covariance(X, 1)
    assert cov[1, 2] == pytest.approx(0.8, abs=0.1)  # x1(t) with x0(t - 1)
    assert abs(cov[0, 3]) < 0.1
    coef = ConstrainedAR().fit(X).ar_coef_[0]
    assert coef[1, 0] == pytest.approx(0.8, abs=0.05)
    assert abs(coef[0, 1]) < 0.1


def test_a_ridge_is_chosen_by_scikit_learns_search_and_helps_with_few_rows():
    X = series(60, 8, 2).X
    search = GridSearchCV(ConstrainedAR(order=2), {"alpha": [0.0, 0.1, 0.5, 2.0]}, cv=KFold(5)).fit(X)
    assert search.best_params_["alpha"] > 0
    fresh = series(500, 8, 2).X
    assert search.score(fresh) > ConstrainedAR(order=2).fit(X).score(fresh)


def test_windows_that_are_complete_are_least_squares():
    X = series(200, 3, 2).X
    centred = X - X.mean(axis=0)
    past = np.hstack([centred[1:-1], centred[:-2]])
    expected = np.linalg.lstsq(past, centred[2:], rcond=None)[0].T
    found = ConstrainedAR(order=2, windowed=False).fit(X).ar_coef_
    assert np.allclose(np.hstack(list(found)), expected, atol=1e-8)


def test_an_empty_graph_gives_each_series_its_own_model():
    X = series(200, 4, 2).X
    together = ConstrainedAR("empty", order=2, tol=1e-10).fit(X)
    for column in range(4):
        alone, _ = yule_walker(ar_covariance(X[:, [column]], 2), 1)
        assert np.allclose(together.ar_coef_[:, column, column], alone[:, 0, 0], atol=1e-6)
    assert np.abs(together.inverse_spectrum_[:, ~np.eye(4, dtype=bool)]).max() < 1e-6


def test_units_do_not_matter_unless_asked_for():
    X = series().X
    units = np.array([1e-3, 1, 10, 1e3, 5])
    first, second = (ARGraphicalLasso(0.05, tol=1e-9).fit(each) for each in (X, X * units + 7))
    assert np.allclose(second.partial_coherence_, first.partial_coherence_, atol=1e-6)
    assert np.allclose(second.ar_coef_[0] / units[:, None] * units, first.ar_coef_[0], atol=1e-6)
    assert np.allclose(second.noise_cov_ / np.outer(units, units), first.noise_cov_, atol=1e-6)


def test_the_spectrum_is_that_of_its_coefficients():
    fitted = ARGraphicalLasso(0.03, order=2).fit(series(300, 4, 2).X)
    again = inverse_spectrum(fitted.ar_coef_, fitted.noise_cov_)
    assert np.allclose(again, fitted.inverse_spectrum_, rtol=1e-6, atol=1e-9)
    transfer = np.eye(4) - sum(
        coef[None] * np.exp(-1j * lag * np.linspace(0, np.pi, 9))[:, None, None]
        for lag, coef in enumerate(fitted.ar_coef_, start=1)
    )
    direct = transfer.conj().transpose(0, 2, 1) @ np.linalg.inv(fitted.noise_cov_) @ transfer
    assert np.allclose(spectral_blocks(fitted.inverse_spectrum_, 9), direct, atol=1e-8)


def test_the_truth_of_the_generator_is_its_spectrum_and_its_graph():
    X, _, truth = series(20_000, 5, 2)
    assert np.allclose(inverse_spectrum(truth["ar_coef"], truth["noise_cov"]), truth["inverse_spectrum"])
    fitted = ConstrainedAR(truth["adjacency"], order=2).fit(X)
    assert np.allclose(fitted.ar_coef_, truth["ar_coef"], atol=0.05)  # 1 / sqrt(20,000) is 0.007
    coherence = partial_coherence(truth["inverse_spectrum"])
    # Sums of five products at three lags, of sizes of 1; the smallest coherence of an edge is 0.29.
    assert np.array_equal(coherence > rounding(15), truth["adjacency"] | np.eye(5, dtype=bool))


def test_divergence_is_zero_at_the_truth_and_has_two_directions():
    first, second = np.array([[[1.0]], [[0.5]]]), np.array([[[2.0]]])
    # Traces and log-determinants at 513 frequencies, where the spectrum goes from 2 down to 0.
    assert ar_kl(first, first) == pytest.approx(0, abs=rounding(513))
    assert ar_kl(first, second) != pytest.approx(ar_kl(second, first), rel=0.1)
    # Two white Gaussian series of variances 1 and 1/2.
    assert ar_kl([[[1.0]]], second) == pytest.approx((2 - 1 - np.log(2)) / 2)


def test_the_score_tells_which_model_a_series_comes_from():
    models = {seed: ARGraphicalLasso(0.02).fit(series(400, seed=seed).X) for seed in (1, 2)}
    for seed in (1, 2):
        fresh = simulate_like(models, seed)
        assert max(models, key=lambda name: models[name].score(fresh)) == seed


def simulate_like(models, seed):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(5), models[seed].noise_cov_, size=300)
    for t in range(1, 300):
        X[t] += models[seed].ar_coef_[0] @ X[t - 1]
    return X + models[seed].location_


def test_the_score_is_the_mean_log_density_of_the_innovations():
    X = series(200, 3).X
    model = ConstrainedAR().fit(X)
    residuals = (X[1:] - model.location_) - (X[:-1] - model.location_) @ model.ar_coef_[0].T
    from scipy.stats import multivariate_normal

    expected = multivariate_normal(np.zeros(3), model.noise_cov_).logpdf(residuals).mean()
    assert model.score(X) == pytest.approx(expected)


def test_parameters_are_counted_and_criteria_are_their_formulas():
    chain = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    assert n_parameters(chain, 2) == 10 - 3 + 2 * (16 - 6)
    assert information_criterion("bic", -5.0, 7, 100) == pytest.approx(10 + 7 * np.log(100))
    assert information_criterion("aicc", -5.0, 7, 100) == pytest.approx(10 + 1400 / 92)


@pytest.mark.parametrize("alphas", [None, "tradeoff", (0.02, 0.2)])
def test_the_selector_finds_order_and_graph(alphas):
    X, _, truth = series(3000, 6, 2, seed=3)
    found = ARTopologySelector(orders=(0, 1, 2, 3), alphas=alphas).fit(X)
    assert found.order_ == 2
    assert np.array_equal(found.adjacency_, truth["adjacency"])
    assert found.criterion_ == found.path_["criterion"].min()
    refit = ConstrainedAR(found.adjacency_, order=2).fit(X)
    assert np.allclose(found.ar_coef_, refit.ar_coef_, atol=1e-5)
    if alphas == "tradeoff":
        assert 3 <= (found.path_["order"] == 2).sum() <= 9


def test_few_rows_are_enough_for_a_penalised_model_and_an_empty_graph():
    X = series(10, 6).X
    assert ARGraphicalLasso(0.3, order=2).fit(X).gap_ <= 6e-5
    alone, _ = yule_walker(ar_covariance(X[:, [3]] / X[:, 3].std(), 1), 1)
    assert ConstrainedAR("empty").fit(X).ar_coef_[0, 3, 3] == pytest.approx(alone[0, 0, 0])
    with pytest.raises(ValueError, match="singular"):
        ConstrainedAR(order=2).fit(X)
    with pytest.warns(UserWarning, match=r"has \d+ parameters and X has 10 rows"):
        assert np.isfinite(ARTopologySelector(orders=(1,), n_alphas=4).fit(X).criterion_)


def test_bad_series_are_refused():
    X = series(50).X
    with pytest.raises(ValueError, match=r"constant \(x5\)"):
        ARGraphicalLasso().fit(np.c_[X, np.ones(50)])
    with pytest.raises(ValueError, match="lower the order"):
        ARGraphicalLasso(order=50).fit(X)
    gap = X.copy()
    gap[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN, in column 2 .*interpolate or ffill"):
        ARTopologySelector().fit(gap)
    with pytest.raises(ValueError, match="5 x 5"):
        ConstrainedAR(np.eye(4)).fit(X)
    with pytest.raises(ValueError, match="none below 0"):
        ARTopologySelector(orders=(-1,)).fit(X)
    with pytest.raises(ValueError, match="not negative"):
        ARTopologySelector(alphas=[-1, 0.1]).fit(X)
    with pytest.warns(ConvergenceWarning, match="the largest entry off the graph is"):
        ARTopologySelector(orders=(1,), alphas=[0.3], max_iter=2).fit(X)
    with pytest.warns(ConvergenceWarning, match="duality gap is"):
        ARGraphicalLasso(0.05, max_iter=1).fit(X)


def test_welch_sees_a_direct_relation_and_not_one_that_others_explain():
    rng = np.random.default_rng(0)
    first = rng.normal(size=8000)
    second = first + 0.5 * rng.normal(size=8000)
    third = second + 0.5 * rng.normal(size=8000)
    coherence = welch_partial_coherence(np.c_[first, second, third])
    assert coherence[0, 1] > 0.6
    assert coherence[0, 2] < 0.35
    with pytest.raises(ValueError, match="more windows than series"):
        welch_partial_coherence(rng.normal(size=(100, 5)))


def test_edges_of_series_come_back_on_stretches():
    X, _, truth = series(1500, 5)
    stability = edge_stability(ARGraphicalLasso(0.03), X, n_pairs=4, n_edges_each=4, random_state=0)
    assert 3 <= stability.n_stable <= truth["adjacency"].sum() // 2
    assert np.all(truth["adjacency"][stability.adjacency])
