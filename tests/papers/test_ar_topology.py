"""Songsiri and Vandenberghe (2010), Topology selection in graphical models of autoregressive processes."""

import time

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.covariance import graphical_lasso

from fewer.datasets import simulate_sparse_var
from fewer.graph import (
    ARGraphicalLasso,
    ARTopologySelector,
    ConstrainedAR,
    SparsePrecisionCV,
    ar_covariance,
    ar_kl,
    partial_coherence,
)
from fewer.graph.series._dual import ascend, dual_point, largest_alpha, penalised, penalty_norm, projected
from fewer.graph.series._spectra import block_sums, block_toeplitz, inverse_spectrum, largest_root, yule_walker
from tolerances import rounding


def series(n_rows=300, n_columns=8, order=2, seed=0):
    X = simulate_sparse_var(n_rows, n_columns, order=order, n_nonzero=n_columns // 2, random_state=seed).X
    return (X - X.mean(axis=0)) / X.std(axis=0)


def random_blocks(rng, order, size):
    Z = rng.normal(size=(order + 1, size, size))
    Z[0] += Z[0].T
    return Z


@pytest.mark.claim("ar-topology", 1)
def test_the_two_operators_are_adjoint_and_the_gradient_is_right(figure):
    rng = np.random.default_rng(0)
    Z, X = random_blocks(rng, 2, 4), rng.normal(size=(12, 12))
    X += X.T
    toeplitz = block_toeplitz(Z)
    tolerance = rounding(X.size, np.linalg.norm(toeplitz) * np.linalg.norm(X))
    assert (toeplitz * X).sum() == pytest.approx((Z * block_sums(X, 4)).sum(), abs=tolerance)
    C = ar_covariance(series(200, 3, 1), 1)
    start = 0.01 * random_blocks(rng, 1, 3)

    def value(flat):
        blocks = flat.reshape(start.shape).copy()
        blocks[0] = (blocks[0] + blocks[0].T) / 2
        return dual_point(C, blocks).value

    numeric = approx_fprime(start.ravel(), value, 1e-7).reshape(start.shape)
    error = np.abs(numeric + dual_point(C, start).spectrum).max()
    figure(f"gradient within {error:.0e}")
    assert error < 1e-6 * np.abs(numeric).max()


@pytest.mark.claim("ar-topology", 2)
@pytest.mark.parametrize("penalty", ["inf", "2", "1"])
def test_order_zero_is_the_graphical_lasso(penalty, figure):
    X = series(100, 6, 1)
    S = X.T @ X / len(X)
    expected = graphical_lasso(S, alpha=0.1, tol=1e-12, enet_tol=1e-12, max_iter=500)[1]
    found = ARGraphicalLasso(0.1, order=0, penalty=penalty, tol=1e-13, with_std=False).fit(X).inverse_spectrum_[0]
    error = np.abs(found - expected).max()
    figure(f"penalty {penalty}: within {error:.0e}")
    assert error < 1e-8


@pytest.mark.claim("ar-topology", 3)
@pytest.mark.parametrize("penalty", ["inf", "2", "1"])
def test_the_largest_penalty_separates_the_series(penalty):
    X = series(200, 5, 2)
    C = ar_covariance(X, 2)
    largest = largest_alpha(C, 5, penalty)
    off = ~np.eye(5, dtype=bool)
    above = ARGraphicalLasso(1.001 * largest, order=2, penalty=penalty, tol=1e-15, with_std=False).fit(X)
    assert np.abs(above.inverse_spectrum_[:, off]).max() < 1e-8
    for column in range(5):
        alone, noise = yule_walker(ar_covariance(X[:, [column]], 2), 1)
        assert np.allclose(above.ar_coef_[:, column, column], alone[:, 0, 0], atol=1e-8)
        assert above.noise_cov_[column, column] == pytest.approx(noise[0, 0], abs=1e-8)
    below = ARGraphicalLasso(0.999 * largest, order=2, penalty=penalty, tol=1e-12, with_std=False).fit(X)
    assert np.abs(below.inverse_spectrum_[:, off]).max() > 1e-5


@pytest.mark.claim("ar-topology", 4)
def test_without_a_penalty_it_is_yule_walker():
    X = series(200, 5, 2)
    coef, noise = yule_walker(ar_covariance(X, 2), 5)
    found = ARGraphicalLasso(1e-9, order=2, tol=1e-15, with_std=False).fit(X)
    assert np.allclose(found.ar_coef_, coef, atol=1e-8)
    assert np.allclose(found.noise_cov_, noise, atol=1e-8)


@pytest.mark.claim("ar-topology", 5)
@pytest.mark.parametrize("penalty", ["inf", "2", "1"])
def test_the_gap_is_primal_minus_dual_and_falls(penalty, figure):
    X = series(200, 8, 2)
    C = ar_covariance(X, 2)
    alpha = 0.2 * largest_alpha(C, 8, penalty)
    values, gaps = [], []

    def watch(point):
        stacked = np.vstack([np.eye(8), -point.coef.T])
        primal_matrix = stacked @ np.linalg.solve(point.noise_cov, stacked.T)
        norm = alpha * penalty_norm(point, penalty)
        primal = np.linalg.slogdet(point.noise_cov)[1] + (C * primal_matrix).sum() + norm
        values.append(point.value)
        gaps.append((primal + point.value, norm - (point.Z * point.spectrum).sum()))
        return False

    solution = penalised(C, 8, alpha, penalty, 1e-8, 5000, after_step=watch)
    direct, reported = np.array(gaps).T
    figure(f"penalty {penalty}: gap {solution.gap:.0e} after {solution.n_iter} steps")
    assert solution.gap < 1e-8
    assert reported.min() > -1e-10
    assert np.allclose(direct, reported, atol=1e-10)
    assert np.all(np.diff(values) <= rounding(C.size, np.abs(values).max()))  # a trace and a log-determinant


def wrong_pairs(found, truth):
    return int((found != truth).sum()) // 2


def experiment(n_rows, seed):
    """Wrong pairs of the whole procedure, of least squares with a threshold, and of the static graph."""
    X, _, truth = simulate_sparse_var(n_rows, 20, random_state=seed)
    true = truth["adjacency"]
    chosen = ARTopologySelector(orders=(2,)).fit(X)
    plain = ConstrainedAR(order=2).fit(X)
    static = SparsePrecisionCV(criterion="bic").fit(X)
    rho = partial_coherence(static.precision_[None])
    return [
        wrong_pairs(found, true)
        for found in (
            chosen.adjacency_,
            (plain.partial_coherence_ > 0.1) & ~np.eye(20, dtype=bool),
            (rho > 0.1) & ~np.eye(20, dtype=bool),
        )
    ]


@pytest.mark.claim("ar-topology", 6)
@pytest.mark.parametrize("seed", range(4))
def test_the_first_experiment(seed, figure):
    ours, plain, static = experiment(512, seed)
    many = experiment(4096, seed)[0]
    figure(f"seed {seed}: {ours} wrong pairs, least squares {plain}, static {static}; {many} with 4,096 rows")
    assert ours <= 15
    assert plain >= 4 * ours
    assert static >= 1.5 * ours
    assert many <= 2


@pytest.mark.claim("ar-topology", 7)
def test_windowed_models_are_stable_of_full_rank_and_zero_off_the_graph(figure):
    radii = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4)).cumsum(axis=0) if seed % 2 else rng.normal(size=(40, 4))
        radii.append(largest_root(ARGraphicalLasso(0.05 * (seed % 5), order=2, tol=1e-3).fit(X).ar_coef_))
    figure(f"largest root {max(radii):.3f}")
    assert max(radii) < 1
    X = series(300, 6, 2)
    graph = np.eye(6, k=1, dtype=bool) | np.eye(6, k=-1, dtype=bool)
    fitted = ConstrainedAR(graph, order=2).fit(X)
    off = ~(graph | np.eye(6, dtype=bool))
    assert np.abs(fitted.inverse_spectrum_[:, off]).max() < 1e-6
    assert np.abs(fitted.inverse_spectrum_[:, graph]).max() > 0.1
    stacked = np.concatenate([np.eye(6)[None], -fitted.ar_coef_]).transpose(0, 2, 1).reshape(-1, 6)
    values = np.linalg.eigvalsh(stacked @ np.linalg.solve(fitted.noise_cov_, stacked.T))
    assert np.sum(values > 1e-10 * values[-1]) == 6


@pytest.mark.claim("ar-topology", 8)
def test_a_hundred_series_reach_their_gap(figure):
    X = series(600, 100, 2, seed=1)
    begin = time.perf_counter()
    fitted = ARGraphicalLasso(0.1, order=2, tol=1e-5).fit(X)
    figure(f"gap {fitted.gap_:.0e} in {time.perf_counter() - begin:.1f} s")
    assert 0 <= fitted.gap_ <= 1e-3


@pytest.mark.claim("ar-topology", 9)
def test_with_rows_enough_the_refitted_graph_is_nearest_to_the_truth(figure):
    X, _, truth = simulate_sparse_var(2000, 10, n_nonzero=5, random_state=0)
    chosen = ARTopologySelector(orders=(2,)).fit(X)
    plain = ConstrainedAR(order=2).fit(X)
    static = ARGraphicalLasso(0.02, order=0).fit(X)
    divergences = [ar_kl(truth["inverse_spectrum"], each.inverse_spectrum_) for each in (chosen, plain, static)]
    figure("divergence {:.3f}, least squares {:.3f}, static {:.3f}".format(*divergences))
    assert divergences[0] < divergences[1] < divergences[2]


def test_the_steps_of_the_search_do_not_depend_on_the_projection():
    # A projection that keeps everything inside is the likelihood without any penalty.
    C = ar_covariance(series(100, 3, 1), 1)
    coef, noise = yule_walker(C, 3)
    solution = ascend(C, lambda Z: projected(Z, 0.0, 0), lambda point: 0.0, 1.0, 10, [np.zeros((2, 3, 3))])
    assert np.allclose(inverse_spectrum(coef, noise), solution.point.spectrum)
