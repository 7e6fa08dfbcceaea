"""PCA in the presence of missing values: Ilin and Raiko (2010)."""

import tracemalloc

import numpy as np
import pytest
from scipy import linalg, sparse

from fewer.complete import PCAMissing
from tolerances import rounding

pytestmark = pytest.mark.filterwarnings("ignore:The fit had not settled", "ignore:.*fewer observed entries than")


def artificial(n_columns, n_rows, rank, noise, missing, seed):
    """The paper's artificial data: the whole table, rows as samples, and which entries are observed."""
    rng = np.random.default_rng(seed)
    loadings = linalg.qr(rng.normal(size=(n_columns, n_columns)))[0][:, :rank] * np.arange(1, rank + 1)
    scores = rng.normal(size=(rank, n_rows))
    mean = rng.normal(size=(n_columns, 1)) * np.sqrt(10)
    table = loadings @ scores + mean + rng.normal(size=(n_columns, n_rows)) * noise
    observed = rng.random((n_columns, n_rows)) >= missing
    for column in np.flatnonzero(~observed.any(axis=1)):
        observed[column, 0] = True
    for row in np.flatnonzero(~observed.any(axis=0)):
        observed[0, row] = True
    return table.T, observed.T


def errors(table, observed, model):
    """Root mean squared errors of a fit at the hidden entries, and at the observed ones."""
    model.fit(np.where(observed, table, np.nan))
    wrong = model.reconstruct(model.scores_) - table
    return np.sqrt(np.mean(wrong[~observed] ** 2)), np.sqrt(np.mean(wrong[observed] ** 2))


def mean_errors(problem, seeds, **options):
    rank = problem[2]
    return np.mean(
        [errors(*artificial(*problem, seed), PCAMissing(rank, random_state=0, **options)) for seed in seeds], axis=0
    )


SMALL_30 = (10, 1000, 5, 0.5, 0.3)
SMALL_50 = (10, 1000, 5, 0.5, 0.5)
SQUARE_75 = (100, 100, 10, 0.1, 0.75)


@pytest.mark.claim("pca-missing", 1)
def test_probabilistic_pca_of_a_complete_table_has_its_closed_form(figure):
    X, _ = artificial(8, 300, 3, 0.5, 0.0, 0)
    model = PCAMissing(3, method="ppca", tol=1e-12, max_iter=20_000, random_state=0).fit(X)
    centred = X - X.mean(axis=0)
    eigenvalues, axes = linalg.eigh(centred.T @ centred / len(X))
    eigenvalues, axes = eigenvalues[::-1], axes[:, ::-1]
    np.testing.assert_allclose(model.explained_variance_ + model.noise_variance_, eigenvalues[:3], rtol=1e-5)
    assert model.noise_variance_ == pytest.approx(eigenvalues[3:].mean(), rel=1e-4)
    angle = linalg.subspace_angles(model.loadings_, axes[:, :3]).max()
    assert angle < 1e-6
    moments = model.scores_.T @ model.scores_ / len(X) + model.scores_cov_.mean(axis=0)
    np.testing.assert_allclose(moments, np.eye(3), atol=1e-4)
    figure(f"noise variance {model.noise_variance_:.6f} for {eigenvalues[3:].mean():.6f}, angle {angle:.1e}")


def test_variational_bayes_beats_least_squares_where_rows_are_many():
    bayes, squares = (mean_errors(SMALL_30, [0], method=name)[0] for name in ("vb", "ls-imputation"))
    assert bayes <= 1.15
    assert bayes < squares


@pytest.mark.claim("pca-missing", 2)
@pytest.mark.slow
def test_the_methods_rank_as_in_the_paper_where_rows_are_many(figure):
    found = {name: mean_errors(SMALL_30, range(5), method=name)[0] for name in ("vb", "ppca", "map", "ls-imputation")}
    figure(", ".join(f"{name} {error:.2f}" for name, error in found.items()))
    assert found["vb"] <= 1.15
    assert found["ppca"] <= 1.15
    assert found["map"] <= 1.40
    assert found["ls-imputation"] >= 1.5
    assert found["vb"] < found["map"] < found["ls-imputation"]


@pytest.mark.claim("pca-missing", 3)
@pytest.mark.slow
def test_variational_bayes_overfits_least_where_much_is_missing(figure):
    found = {name: mean_errors(SQUARE_75, range(3), method=name) for name in ("vb", "ppca", "ls-imputation")}
    figure(", ".join(f"{name} {test:.3f} (training {train:.3f})" for name, (test, train) in found.items()))
    assert found["vb"][0] <= 0.38
    assert found["vb"][0] < found["ppca"][0] < found["ls-imputation"][0]
    assert found["ls-imputation"][1] < found["vb"][1]


@pytest.mark.claim("pca-missing", 3)
def test_variational_bayes_overfits_least_on_one_table(figure):
    bayes = mean_errors(SQUARE_75, [0], method="vb")
    probabilistic = mean_errors(SQUARE_75, [0], method="ppca")
    figure(f"one table: vb {bayes[0]:.3f} (training {bayes[1]:.3f}), ppca {probabilistic[0]:.3f}")
    assert bayes[0] <= 0.38
    assert bayes[0] < probabilistic[0]
    assert bayes[1] > probabilistic[1]


@pytest.mark.claim("pca-missing", 4)
def test_without_broad_priors_at_the_start_useful_components_are_lost(figure):
    warm = mean_errors(SQUARE_75, range(3))[0]
    cold = mean_errors(SQUARE_75, range(3), n_broad_iter=0, broad_var=1e-3)[0]
    figure(f"{cold:.2f} without, {warm:.2f} with them")
    assert cold >= 2 * warm


def steps_up(history):
    """The largest rise from one round to the next, relative to the cost."""
    return np.max(np.diff(history) / np.abs(history[:-1]))


@pytest.mark.claim("pca-missing", 5)
def test_the_cost_never_rises(figure):
    X, observed = artificial(60, 60, 6, 0.1, 0.7, 0)
    X = np.where(observed, X, np.nan)
    kept = {"variance_shape_prior": 0.0, "variance_scale_prior": 0.0, "random_state": 0, "max_iter": 200, "tol": 0}
    plain = PCAMissing(6, rotate=False, **kept).fit(X).history_[51:]
    turned = PCAMissing(6, **kept).fit(X).history_[51:]
    filled = PCAMissing(6, method="ls-imputation", **kept).fit(X).history_
    tolerance = rounding(X.size)  # a sum over the cells
    assert steps_up(plain) <= tolerance
    assert steps_up(turned) <= 1e-6
    assert steps_up(filled) <= tolerance
    figure(f"largest relative rise {steps_up(plain):.0e} without rotation, {steps_up(turned):.0e} with it")


@pytest.mark.claim("pca-missing", 5)
def test_rotation_to_the_basis_of_pca_speeds_up_convergence(figure):
    X, observed = artificial(60, 60, 6, 0.1, 0.7, 0)
    X = np.where(observed, X, np.nan)
    turned, plain = (
        PCAMissing(6, rotate=rotate, random_state=0, max_iter=200, tol=0).fit(X).history_[-1]
        for rotate in (True, False)
    )
    figure(f"cost after 200 rounds {turned:.0f} with rotation, {plain:.0f} without")
    assert turned < plain - 20


@pytest.mark.claim("pca-missing", 6)
def test_the_mean_is_not_that_of_what_is_observed(figure):
    misses, naive = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=200)
        y = 1.1 + 0.5 * x + 0.2 * rng.normal(size=200)
        shown = np.where(x < 0, np.nan, y)
        model = PCAMissing(1, random_state=0).fit(np.column_stack([x, shown]))
        misses.append(abs(model.mean_[1] - y.mean()))
        naive.append(np.nanmean(shown) - y.mean())
    figure(f"off by at most {max(misses):.3f}; the observed mean by {min(naive):.2f} to {max(naive):.2f}")
    assert max(misses) < 0.05
    assert min(naive) > 0.3


@pytest.mark.claim("pca-missing", 7)
def test_restarts_escape_a_local_minimum_of_least_squares(figure):
    X = np.array([[0.8, 0.8], [1, np.nan], [np.nan, 1]]).T
    options = {"method": "ls", "with_mean": False, "tol": 1e-10, "max_iter": 300}
    best = PCAMissing(1, n_init=20, random_state=0, **options).fit(X)
    assert -best.lower_bound_ < 1e-8
    np.testing.assert_allclose(best.components_[0], [0.49, 0.62, 0.62], atol=0.01)
    figure(f"cost {-best.lower_bound_:.0e}, direction {best.components_[0].round(2).tolist()}")


@pytest.mark.claim("pca-missing", 8)
def test_variational_bayes_is_level_with_vbpca_where_it_converges_and_far_better_where_not(figure):
    found = [mean_errors(SMALL_50, [seed])[0] for seed in range(3)]
    np.testing.assert_allclose(found, [1.25, 1.55, 1.36], rtol=0.01)
    square = mean_errors(SQUARE_75, range(3))[0]
    assert square < 0.9 / 2
    figure(f"{', '.join(f'{error:.3f}' for error in found)} on 10-5-g; {square:.3f} on 100-10-g")


def sparse_low_rank(n_rows, n_columns, n_entries, rank, rng):
    rows, columns = rng.integers(0, n_rows, n_entries), rng.integers(0, n_columns, n_entries)
    loadings, scores = rng.normal(size=(n_columns, rank)), rng.normal(size=(n_rows, rank))
    values = np.einsum("ij,ij->i", scores[rows], loadings[columns]) + rng.normal(size=n_entries)
    table = sparse.csr_array((values, (rows, columns)), shape=(n_rows, n_columns))
    return table, scores, loadings


def peak_memory_of_fit(model, X):
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.claim("pca-missing", 8)
@pytest.mark.slow
def test_a_large_sparse_table_is_never_made_dense(figure):
    rng = np.random.default_rng(0)
    X, scores, loadings = sparse_low_rank(20_000, 2_000, 1_000_000, 10, rng)
    model = PCAMissing(10, method="vb-diag", random_state=0)
    peak = peak_memory_of_fit(model, X)
    rows, columns = rng.integers(0, 20_000, 50_000), rng.integers(0, 2_000, 50_000)
    truth = np.einsum("ij,ij->i", scores[rows], loadings[columns])
    error = np.sqrt(np.mean((model.predict_entries(rows, columns) - truth) ** 2))
    figure(f"peak {peak / 1e6:.0f} MB where a dense table takes 320 MB; error {error:.2f} for values of deviation 3.2")
    assert peak < 200e6
    assert error < 0.7


@pytest.mark.claim("pca-missing", 8)
def test_a_sparse_table_is_never_made_dense():
    X, _, _ = sparse_low_rank(4_000, 2_000, 20_000, 2, np.random.default_rng(0))
    peak = peak_memory_of_fit(PCAMissing(2, method="vb-diag", max_iter=60, random_state=0), X)
    assert peak < 0.2 * X.shape[0] * X.shape[1] * 8
