"""Mazumder, Hastie and Tibshirani (2010): spectral regularisation of large incomplete matrices."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from fewer.complete import MMMF, HardImpute, OptSpace, SoftImpute
from fewer.complete._entries import observed_entries, spectral_norm
from fewer.complete._observed import Observed
from fewer.complete.soft_impute._path import PathOptions, grid, refitted_core, solutions
from tolerances import rounding

FIGURE_2 = {"rank": 10, "snr": 1.0, "observed": 0.5}
FIGURE_3 = {"rank": 6, "snr": 1.0, "observed": 0.5}
FIGURE_4 = {"rank": 5, "snr": 10.0, "observed": 0.2}


def problem(seed, rank, snr, observed, n_rows=100, n_columns=100):
    """Truth, incomplete table, and where it is observed; drawn in the order U, V, noise, permutation of the cells."""
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(n_rows, rank)), rng.normal(size=(n_columns, rank))
    truth = U @ V.T
    table = truth + truth.std() / snr * rng.normal(size=truth.shape)
    seen = np.zeros(truth.size, dtype=bool)
    seen[rng.permutation(truth.size)[: round(observed * truth.size)]] = True
    seen = seen.reshape(truth.shape)
    return truth, np.where(seen, table, np.nan), seen


def test_error(truth, seen, model):
    return np.sum((truth - model)[~seen] ** 2) / np.sum(truth[~seen] ** 2)


test_error.__test__ = False


@cache
def best_on_path(seed, least, n_points, tol=1e-4, **setting):
    """Least test error on a path, with the rank there: (Soft, rank, Soft+, rank)."""
    truth, table, seen = problem(seed, **setting)
    entries = observed_entries(Observed(table))
    alphas = grid(spectral_norm(entries, entries.values), least, n_points)[1:]
    best = [np.inf, 0, np.inf, 0]
    for solution in solutions(entries, alphas, PathOptions(tol, 2000, 100)):
        Z = solution.Z
        core = refitted_core(entries, Z, "unshrink")
        for at, middle in ((0, np.diag(Z.d)), (2, core)):
            error = test_error(truth, seen, Z.U @ middle @ Z.V.T)
            if error < best[at]:
                best[at : at + 2] = error, Z.rank
    return best


def model_of(fitted):
    return fitted.scores_ @ fitted.loadings_.T + fitted.mean_


def check_figure_3(seeds, figure):
    soft, _, plus, ranks = np.array([best_on_path(seed, 0.25, 12, **FIGURE_3) for seed in seeds]).T
    figure(f"Soft {soft.mean():.3f}, Soft+ {plus.mean():.3f}, rank 6 on {np.sum(ranks == 6)} of {len(seeds)} seeds")
    assert 0.37 <= soft.mean() <= 0.44
    assert 0.30 <= plus.mean() <= 0.36
    assert np.sum(ranks == 6) >= 0.9 * len(seeds)
    assert (plus < soft).all()


@pytest.mark.claim("soft-impute", 1)
def test_unshrinking_finds_the_rank_and_halves_the_way_to_the_truth(figure):
    check_figure_3(range(2), figure)


@pytest.mark.slow
@pytest.mark.claim("soft-impute", 1)
def test_unshrinking_finds_the_rank_on_ten_seeds(figure):
    check_figure_3(range(10), figure)


@pytest.mark.claim("soft-impute", 2)
def test_cutting_off_is_worse_with_much_noise_and_better_with_little(figure):
    soft = best_on_path(0, 0.25, 8, **FIGURE_2)[0]
    truth, table, seen = problem(0, **FIGURE_2)
    hard = min(test_error(truth, seen, model_of(HardImpute(rank=rank).fit(table))) for rank in (2, 3, 4, 5))
    assert hard > soft + 0.15
    truth, table, seen = problem(0, **FIGURE_4)
    cut = test_error(truth, seen, model_of(HardImpute(rank=5).fit(table)))
    descent = test_error(truth, seen, model_of(OptSpace(rank=5, max_iter=500, random_state=0).fit(table)))
    little = best_on_path(0, 0.03, 6, tol=1e-2, **FIGURE_4)[0]
    figure(f"much noise: Hard {hard:.2f}, Soft {soft:.2f}; little: Hard {cut:.4f}, Soft {little:.2f}")
    assert cut <= 0.02
    assert cut == pytest.approx(descent, rel=0.05)
    assert little >= 0.10


@pytest.mark.slow
@pytest.mark.claim("soft-impute", 2)
def test_cutting_off_beside_soft_impute_on_ten_seeds(figure):
    gaps, cuts, littles = [], [], []
    for seed in range(10):
        truth, table, seen = problem(seed, **FIGURE_2)
        hard = [test_error(truth, seen, model_of(HardImpute(rank=rank).fit(table))) for rank in range(1, 11)]
        gaps.append(min(hard) - best_on_path(seed, 0.2, 20, **FIGURE_2)[0])
        truth, table, seen = problem(seed, **FIGURE_4)
        cuts.append(test_error(truth, seen, model_of(HardImpute(rank=5).fit(table))))
        descent = test_error(truth, seen, model_of(OptSpace(rank=5, max_iter=500, random_state=0).fit(table)))
        assert cuts[-1] == pytest.approx(descent, rel=0.05)
        littles.append(best_on_path(seed, 0.003, 20, tol=1e-3, **FIGURE_4)[0])
    figure(f"gap {np.mean(gaps):.2f}, Hard {np.mean(cuts):.4f}, Soft {np.mean(littles):.3f}")
    assert np.mean(gaps) > 0.15
    assert max(cuts) <= 0.02
    assert np.mean(littles) >= 0.10


@pytest.mark.claim("soft-impute", 3)
def test_objective_and_steps_only_fall_and_the_minimum_is_certified(figure):
    _, table, seen = problem(0, 4, 3.0, 0.5, 60, 50)
    entries = observed_entries(Observed(table))
    alphas = grid(spectral_norm(entries, entries.values), 0.2, 3)[1:]
    worst = 0.0
    for momentum in (False, True):
        options = PathOptions(1e-7, 20000, 50, momentum=momentum)
        for alpha, solution in zip(alphas, solutions(entries, alphas, options), strict=True):
            tolerance = rounding(table.size, solution.objectives[0])
            assert (np.diff(solution.objectives) <= tolerance).all()
            if not momentum:
                assert (np.diff(solution.step_lengths) <= 1e-6 * solution.step_lengths[0]).all()
            Z = solution.Z
            G = np.where(seen, table - Z.U * Z.d @ Z.V.T, 0)
            worst = max(worst, np.linalg.norm(G, 2) / alpha - 1, np.abs(Z.U.T @ G @ Z.V / alpha - np.eye(Z.rank)).max())
    figure(f"optimality to {worst:.0e} of alpha")
    assert worst < 1e-3


@pytest.mark.claim("soft-impute", 4)
def test_alternating_factors_come_to_the_nuclear_norms_minimum(figure):
    _, table, _ = problem(0, 4, 3.0, 0.5, 60, 50)
    ranks, gaps = [], []
    for share in (0.5, 0.25, 0.1):
        alpha = share * np.linalg.norm(np.nan_to_num(table), 2)
        soft = SoftImpute(alpha=alpha, tol=1e-10, max_iter=20000).fit(table)
        factors = MMMF(rank=soft.rank_, alpha=alpha, tol=1e-13, max_iter=5000).fit(table)
        ranks.append(soft.rank_)
        assert factors.objective_history_[-1] == pytest.approx(soft.path_[0]["objective"], rel=1e-8)
        gaps.append(np.linalg.norm(model_of(factors) - model_of(soft)) / np.linalg.norm(model_of(soft)))
    figure(f"ranks {ranks}, matrices within {max(gaps):.0e}")
    assert ranks == [4, 4, 17]
    assert max(gaps) < 1e-5


@pytest.mark.claim("soft-impute", 5)
def test_a_complete_table_is_shrunk_and_the_largest_penalty_leaves_nothing(figure):
    table = np.random.default_rng(0).normal(size=(40, 25))
    U, d, Vt = np.linalg.svd(table, full_matrices=False)
    model = SoftImpute(alpha=4.0).fit(table)
    gap = np.abs(model_of(model) - U * np.maximum(d - 4.0, 0) @ Vt).max()
    figure(f"within {gap:.0e}")
    assert gap < 1e-10
    assert (model_of(SoftImpute(alpha=d[0]).fit(table)) == 0).all()
    assert SoftImpute(alpha=d[0] * (1 - 1e-3)).fit(table).rank_ >= 1


@pytest.mark.claim("soft-impute", 6)
def test_a_warm_path_takes_about_half_the_steps(figure):
    _, table, _ = problem(0, 4, 3.0, 0.5, 60, 50)
    options = {"n_alphas": 30, "eps": 0.1, "tol": 1e-4}
    warm = SoftImpute(**options).fit(table)
    cold = SoftImpute(warm_start=False, **options).fit(table)
    ratio = warm.n_iter_ / cold.n_iter_
    gap = np.linalg.norm(model_of(warm) - model_of(cold)) / np.linalg.norm(model_of(cold))
    figure(f"{warm.n_iter_} steps, {ratio:.2f} of {cold.n_iter_}; fits within {gap:.0e}")
    assert ratio < 0.55
    assert gap < 2e-4


def sparse_problem(n_rows, n_columns, n_observed, rank, snr, seed=0):
    rng = np.random.default_rng(seed)
    cells = np.unique(rng.integers(0, n_rows * n_columns, size=n_observed))
    rows, columns = cells // n_columns, cells % n_columns
    U, V = rng.normal(size=(n_rows, rank)), rng.normal(size=(n_columns, rank))
    values = np.einsum("ij,ij->i", U[rows], V[columns]) + np.sqrt(rank) / snr * rng.normal(size=len(cells))
    return sparse.csr_array((values, (rows, columns)), shape=(n_rows, n_columns))


@pytest.mark.claim("soft-impute", 7)
def test_sparse_tables_are_fitted_as_their_dense_forms(figure):
    stored = sparse_problem(150, 150, 4200, 5, 10.0)
    dense = np.full(stored.shape, np.nan)
    entries = stored.tocoo()
    dense[entries.row, entries.col] = entries.data
    alpha = np.linalg.norm(np.nan_to_num(dense), 2) / 1.5
    sparse_fit = SoftImpute(alpha=alpha, tol=1e-7).fit(stored)
    dense_fit = SoftImpute(alpha=alpha, solver="dense", tol=1e-6, max_iter=5000).fit(dense)
    gap = np.linalg.norm(model_of(sparse_fit) - model_of(dense_fit)) / np.linalg.norm(model_of(dense_fit))
    figure(f"within {gap:.0e}")
    assert gap < 1e-2
    assert sparse_fit.path_[0]["objective"] == pytest.approx(dense_fit.path_[0]["objective"], rel=1e-5)


@pytest.mark.slow
@pytest.mark.claim("soft-impute", 7)
def test_a_million_entries_of_a_large_table_never_make_it_dense(figure):
    """benchmarks/bench_soft_impute.py measures seconds and memory; a dense table of this size would need 3 GB."""
    stored = sparse_problem(20_000, 20_000, 1_000_000, 5, 10.0)
    alpha = spectral_norm(*(lambda entries: (entries, entries.values))(observed_entries(Observed(stored)))) / 1.5
    model = SoftImpute(alpha=alpha).fit(stored)
    figure(f"rank {model.rank_} in {model.n_iter_} sweeps, gap {model.path_[0]['gap']:.0e}")
    assert model.rank_ == 5
    assert model.path_[0]["gap"] < 1e-5


@pytest.mark.claim("soft-impute", 8)
def test_a_training_row_is_filled_as_in_the_fit(figure):
    _, table, _ = problem(0, 4, 3.0, 0.5, 60, 50)
    model = SoftImpute(eps=0.1, n_alphas=10, tol=1e-7).fit(table)
    rows = model.reconstruct(model.project(table))
    gap = np.max(np.linalg.norm(rows - model_of(model), axis=1) / np.linalg.norm(model_of(model), axis=1))
    figure(f"within {gap:.0e} of the row")
    assert gap < 1e-3
