"""Keshavan, Montanari and Oh (2010): matrix completion from noisy entries."""

import time
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from fewer.complete import OptSpace, SoftImpute, estimate_rank, oracle_rmse
from fewer.complete._entries import leading_triplets, observed_entries
from fewer.complete._observed import Observed
from fewer.complete._optspace import Incoherence, descended, trimmed

N = 600


@cache
def problem(seed, n_observed, rank, sigma=1.0):
    """Truth and table with missing values; drawn in the order U, V, permutation, noise."""
    rng = np.random.default_rng(seed)
    size = np.sqrt(20 / np.sqrt(N))
    truth = (size * rng.normal(size=(N, rank))) @ (size * rng.normal(size=(N, rank))).T
    seen = np.zeros(truth.size, dtype=bool)
    seen[rng.permutation(truth.size)[:n_observed]] = True
    noise = sigma * rng.normal(size=truth.shape)
    return truth, np.where(seen.reshape(truth.shape), truth + noise, np.nan)


def rmse(truth, model):
    return np.sqrt(np.mean((truth - model) ** 2))


def model_of(fitted):
    return fitted.scores_ @ fitted.loadings_.T + fitted.mean_


def check_against_the_oracle(seeds, figure):
    said = []
    for n_observed, rank in ((72_000, 2), (72_000, 5), (48_000, 2)):
        oracle = oracle_rmse(N, N, rank, n_observed, 1.0)
        ratios = []
        for seed in seeds:
            truth, table = problem(seed, n_observed, rank)
            first = OptSpace(rank=rank, method="svd", random_state=0).fit(table)
            entries = observed_entries(Observed(table))
            errors = []
            descent = descended(
                entries,
                first.initial_[0],
                first.initial_[2],
                tol=1e-6,
                max_iter=50,
                incoherence=Incoherence(0.0, 1.0),
                on_step=lambda s, errors=errors, truth=truth: errors.append(rmse(truth, s.U @ s.S @ s.V.T)) is not None,
            )
            assert descent.converged
            ratios.append([rmse(truth, model_of(first)), errors[min(10, len(errors) - 1)], errors[-1]])
        ratios = np.array(ratios) / oracle
        assert (ratios[:, 0] >= 1.5).all()
        assert (ratios[:, 1] <= 1.12).all()
        assert (ratios[:, 2] <= 1.08).all()
        said.append(f"{n_observed}, rank {rank}: {ratios[:, 2].mean():.3f}")
    figure("error / oracle at " + "; ".join(said))


@pytest.mark.claim("optspace", 1)
def test_it_comes_near_the_oracle_in_ten_steps(figure):
    check_against_the_oracle([0], figure)


@pytest.mark.slow
@pytest.mark.claim("optspace", 1)
def test_it_comes_near_the_oracle_on_five_seeds(figure):
    check_against_the_oracle(range(5), figure)


@pytest.mark.claim("optspace", 2)
def test_the_objective_falls_and_the_spaces_stay_orthonormal(figure):
    _, table = problem(0, 48_000, 2, 0.001)
    entries = observed_entries(Observed(table))
    U, _, V = leading_triplets(entries, trimmed(entries, "zero", 0).values, 2)
    gaps = []

    def on_step(state):
        gaps.extend(np.abs(side.T @ side - np.eye(2)).max() for side in (state.U, state.V))
        return False

    descent = descended(entries, U, V, tol=1e-10, max_iter=60, incoherence=Incoherence(0.0, 1.0), on_step=on_step)
    fall = descent.gradient_norms[0] / descent.gradient_norms[-1]
    figure(f"gradient falls by {fall:.0e}, orthonormal to {max(gaps):.0e}")
    assert (np.diff(descent.objectives) <= 0).all()
    assert max(gaps) < 1e-8
    assert fall >= 1e4


@pytest.mark.claim("optspace", 3)
def test_little_noise_leaves_little_error(figure):
    truth, table = problem(0, 48_000, 2, 0.001)
    model = OptSpace(rank=2, max_iter=40, random_state=0).fit(table)
    error = rmse(truth, model_of(model))
    assert error <= 2.6e-4
    assert 0.9e-3 <= model.fit_error_[-1] <= 1.05e-3
    truth, table = problem(0, 48_000, 2, 0.0)
    exact = OptSpace(rank=2, tol=1e-8, max_iter=100, random_state=0).fit(table)
    without = np.linalg.norm(model_of(exact) - truth) / np.linalg.norm(truth)
    figure(f"error {error:.1e}, fit {model.fit_error_[-1]:.1e} in {model.n_iter_} steps; without noise {without:.0e}")
    assert without < 1e-6


def overfull_columns(seed):
    """A rank-one table of signs: few entries of each column, but five columns whole."""
    rng = np.random.default_rng(seed)
    u, v = rng.choice([-1.0, 1.0], size=(2, N))
    seen = rng.random((N, N)) < 6 / N
    seen[:, :5] = True
    return v, np.where(seen, np.outer(u, v), np.nan)


@pytest.mark.claim("optspace", 4)
def test_trimming_finds_what_overfull_columns_hide(figure):
    cosines = {"zero": [], "none": []}
    for seed in range(5):
        v, table = overfull_columns(seed)
        entries = observed_entries(Observed(table))
        for how, found in cosines.items():
            right = leading_triplets(entries, trimmed(entries, how, 0).values, 1)[2][:, 0]
            found.append(abs(right @ v) / np.sqrt(N))
    figure(f"cosine {np.mean(cosines['zero']):.2f} trimmed, {np.mean(cosines['none']):.2f} not")
    assert min(cosines["zero"]) > 0.8
    assert max(cosines["none"]) < 0.4


@pytest.mark.claim("optspace", 5)
def test_a_complete_table_gives_its_truncated_svd(figure):
    table = np.random.default_rng(0).normal(size=(60, 40)) * np.geomspace(1, 30, 40)
    U, d, Vt = np.linalg.svd(table, full_matrices=False)
    model = OptSpace(rank=4, random_state=0).fit(table)
    best = U[:, :4] * d[:4] @ Vt[:4]
    gap = np.linalg.norm(model_of(model) - best) / np.linalg.norm(best)
    figure(f"within {gap:.0e}")
    assert gap < 1e-8
    np.testing.assert_allclose(model.S_, np.diag(d[:4]), atol=1e-8)


@pytest.mark.claim("optspace", 6)
def test_the_rank_is_found_where_it_is_small():
    for n_observed, rank in ((48_000, 2), (72_000, 2), (72_000, 5)):
        for seed in range(3):
            assert estimate_rank(problem(seed, n_observed, rank)[1], n_sv=20) == rank


@pytest.mark.claim("optspace", 7)
def test_with_little_noise_it_beats_the_nuclear_norm(figure):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(100, 5)) @ rng.normal(size=(100, 5)).T
    table = truth + truth.std() / 10 * rng.normal(size=truth.shape)
    seen = np.zeros(truth.size, dtype=bool)
    seen[rng.permutation(truth.size)[:2000]] = True
    seen = seen.reshape(truth.shape)
    incomplete = np.where(seen, table, np.nan)
    total = np.sum(truth[~seen] ** 2)
    descent = (
        np.sum((truth - model_of(OptSpace(rank=5, max_iter=300, random_state=0).fit(incomplete)))[~seen] ** 2) / total
    )
    largest = np.linalg.norm(np.where(seen, table, 0), 2)
    nuclear = min(
        np.sum((truth - model_of(SoftImpute(alpha=share * largest, tol=1e-2).fit(incomplete)))[~seen] ** 2) / total
        for share in (0.1, 0.04)
    )
    figure(f"OptSpace {descent:.3f}, SoftImpute {nuclear:.3f}")
    assert descent < nuclear


@pytest.mark.claim("optspace", 8)
def test_thirty_steps_take_little_time(figure):
    """CPU seconds, measured here because the bound is far above what is needed; a slow machine does not fail it."""
    _, table = problem(0, 72_000, 2)
    model = OptSpace(rank=2, tol=0.0, max_iter=30, random_state=0)
    started = time.process_time()
    model.fit(table)
    figure(f"{time.process_time() - started:.2f} s CPU for {model.n_iter_} steps")
    assert model.n_iter_ <= 30


@pytest.mark.slow
@pytest.mark.claim("optspace", 8)
def test_a_large_sparse_table_is_never_made_dense(figure):
    """A dense table of this size would need 3 GB; benchmarks/bench_soft_impute.py measures seconds and memory."""
    rng = np.random.default_rng(0)
    size = 20_000
    cells = np.unique(rng.integers(0, size * size, size=2_000_000))
    rows, columns = cells // size, cells % size
    U, V = rng.normal(size=(2, size, 5))
    values = np.einsum("ij,ij->i", U[rows], V[columns]) + 0.1 * rng.normal(size=len(cells))
    table = sparse.csr_array((values, (rows, columns)), shape=(size, size))
    model = OptSpace(rank=5, max_iter=100, random_state=0).fit(table)
    some = rng.integers(0, size, size=(2, 10_000))
    gap = rmse(np.einsum("ij,ij->i", U[some[0]], V[some[1]]), model.predict_entries(*some))
    figure(f"error {gap:.3f}, oracle {oracle_rmse(size, size, 5, len(cells), 0.1):.3f}")
    assert gap < 1.3 * oracle_rmse(size, size, 5, len(cells), 0.1)
