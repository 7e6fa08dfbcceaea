import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

from fewer.learn import BasisPursuit, DantzigSelector, dantzig_path, penalty_level, solve_dantzig
from fewer.learn.dantzig._dantzig_problem import DantzigProblem
from fewer.theory import minimax_error


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(80, 30)) * np.linspace(0.5, 4, 30)
    return X, 2 * X[:, 3] - X[:, 7] + 0.5 * rng.normal(size=80) + 10


@pytest.mark.parametrize("solver", ["path", "cg", "highs"])
def test_scaling_and_shifting_columns_changes_no_prediction(table, solver):
    X, y = table
    plain = DantzigSelector(solver=solver).fit(X, y)
    moved = DantzigSelector(solver=solver).fit(100 * X - 7, y)
    np.testing.assert_allclose(plain.predict(X), moved.predict(100 * X - 7), atol=1e-6)
    assert plain.support_.tolist() == [3, 7]


def test_the_noise_is_estimated_within_its_sampling_error(table):
    X, y = table
    assert DantzigSelector().fit(X, y).sigma_ == pytest.approx(0.5, rel=0.2)
    assert DantzigSelector(sigma=0.7).fit(X, y).alpha_ == penalty_level("universal", 80, 30, 0.7)
    assert DantzigSelector(0.1).fit(X, y).sigma_ is None


def test_pure_noise_keeps_few_columns():
    counts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        counts.append(len(DantzigSelector().fit(rng.normal(size=(60, 100)), rng.normal(size=60)).support_))
    assert np.mean(counts) < 1


@pytest.mark.parametrize("solver", ["auto", "cg", "highs"])
def test_copies_of_columns_are_no_obstacle(table, solver):
    X, y = table
    doubled = np.hstack([X, X, -X])
    single, several = DantzigSelector(1.0).fit(X, y), DantzigSelector(1.0, solver=solver).fit(doubled, y)
    folded = several.coef_[:30] + several.coef_[30:60] - several.coef_[60:]
    np.testing.assert_allclose(folded, single.coef_, atol=1e-7)


def test_constant_columns_get_no_coefficient_and_a_warning(table):
    X, y = table
    X = np.insert(X, 5, 4.2, axis=1)
    with pytest.warns(UserWarning, match=r"Column \d+ is constant and cannot be scaled: no coefficient"):
        model = DantzigSelector().fit(X, y)
    assert model.coef_[5] == 0
    assert model.support_.tolist() == [3, 8]


def test_a_sparse_table_wider_than_long_is_not_made_dense_and_gives_the_same():
    rng = np.random.default_rng(1)
    X = sparse.random_array((40, 90), density=0.3, rng=rng, format="csr")
    y = X @ np.r_[5.0, -5.0, np.zeros(88)] + 0.1 * rng.normal(size=40)
    np.testing.assert_allclose(
        DantzigSelector(0.05).fit(X, y).coef_, DantzigSelector(0.05).fit(X.toarray(), y).coef_, atol=1e-8
    )


@pytest.mark.parametrize("solver", ["path", "cg"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_wide_table_gives_the_same_as_its_inner_products_without_holding_them(solver, make):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 4000)) * (rng.random((60, 4000)) < 0.3)
    y = X[:, :4] @ [3.0, -2.0, 2.0, 1.0] + 0.3 * rng.normal(size=60)
    DantzigSelector(0.1, solver=solver).fit(make(X[:, :70]), y)  # compiles, imports
    tracemalloc.start()
    wide = DantzigSelector(0.1, solver=solver).fit(make(X), y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000**2 * 8 / 4
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    seen = np.union1d(np.flatnonzero(wide.dual_), np.r_[wide.support_, 0:300])
    part = Z[:, seen]
    small = solve_dantzig(part.T @ part / 60, part.T @ (y - y.mean()) / 60, 0.1)
    np.testing.assert_allclose(wide.coef_[seen] * X.std(axis=0)[seen], small.coef, atol=1e-8)
    assert np.abs(Z.T @ (y - wide.predict(X)) / 60).max() <= 0.1 + 1e-9
    assert wide.dual_gap_ < 1e-8


def test_what_needs_all_pairs_of_columns_is_refused_with_the_memory_it_would_take():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(10, 40_000)), rng.normal(size=10)
    for refused in (DantzigSelector(0.1, solver="highs"), DantzigSelector(0.0)):
        with pytest.raises(ValueError, match=r"40,000 x 40,000 products .* about 160 GB"):
            refused.fit(X, y)
    with pytest.raises(ValueError, match=r"threshold='theory' needs .* 51 GB"):
        DantzigSelector(0.6, threshold="theory").fit(X, y)


def test_thresholds_cut_or_shrink_and_refits_are_least_squares(table):
    X, y = table
    kept = DantzigSelector(0.05, with_std=False).fit(X, y).coef_
    hard = DantzigSelector(0.05, with_std=False, threshold=0.5).fit(X, y).coef_
    soft = DantzigSelector(0.05, with_std=False, threshold=0.5, thresholding="soft").fit(X, y).coef_
    np.testing.assert_array_equal(hard, np.where(np.abs(kept) > 0.5, kept, 0))
    np.testing.assert_allclose(soft, np.sign(kept) * np.maximum(np.abs(kept) - 0.5, 0))
    model = DantzigSelector(0.05, with_std=False, threshold=0.5, refit=True).fit(X, y)
    least = np.linalg.lstsq(np.column_stack([X[:, [3, 7]], np.ones(80)]), y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_[[3, 7]], model.intercept_], least, atol=1e-8)


def test_the_threshold_of_theory_is_used_where_it_is_certified(table):
    X, y = table
    model = DantzigSelector(threshold="theory", sigma=0.5).fit(X[:, :10], y)
    assert model.threshold_ > 2 * model.alpha_
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(20, 100))
    with pytest.warns(UserWarning, match="No threshold is certified"):
        uncut = DantzigSelector(0.1, threshold="theory").fit(wide, wide[:, :8].sum(axis=1))
    assert uncut.threshold_ == 0


def test_special_penalties():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(DantzigSelector(0.0, fit_intercept=False).fit(X, y).coef_, least, atol=1e-8)
    largest = np.abs(X.T @ y / 30).max()
    assert not DantzigSelector(largest, fit_intercept=False, with_std=False).fit(X, y).coef_.any()
    wide = rng.normal(size=(10, 25))
    target = wide[:, :2].sum(axis=1)
    np.testing.assert_allclose(
        DantzigSelector(0.0, fit_intercept=False, with_std=False).fit(wide, target).coef_,
        BasisPursuit().fit(wide, target).coef_,
        atol=1e-7,
    )


def test_a_dual_proves_each_solver_right():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 40))
    problem = DantzigProblem(X.T @ X / 25, X.T @ rng.normal(size=25) / 25)
    for solver in ("path", "cg", "highs"):
        found = solve_dantzig(problem.gram, problem.products, 0.05, solver=solver)
        assert problem.is_solved(found.coef, found.dual, 0.05)
    assert problem.gap(1.01 * found.coef, found.dual, 0.05) > 1e-4


def test_a_path_draws_itself_and_survives_a_table_of_copies(table):
    X, y = table
    path = dantzig_path(X, y)
    assert (np.diff(path.alphas) < 0).all()
    assert path.plot(2).data
    several = dantzig_path(np.hstack([X, X]), y, alphas=[1.0, 0.5])
    np.testing.assert_allclose(
        several.coefs[:, :30] + several.coefs[:, 30:], dantzig_path(X, y, alphas=[1.0, 0.5]).coefs, atol=1e-7
    )


def test_basis_pursuit_proves_that_no_smaller_coefficients_fit():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(15, 40))
    y = rng.normal(size=15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BasisPursuit().fit(X, y)
    np.testing.assert_allclose(X @ model.coef_, y, atol=1e-9)
    levels = X.T @ model.certificate_
    assert np.abs(levels).max() <= 1 + 1e-8
    np.testing.assert_allclose(levels[model.support_], np.sign(model.coef_[model.support_]), atol=1e-8)
    assert y @ model.certificate_ == pytest.approx(np.abs(model.coef_).sum())


def test_basis_pursuit_says_when_nothing_fits_exactly():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
    with pytest.warns(UserWarning, match="out of reach"):
        model = BasisPursuit().fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)


def test_penalty_levels_are_their_formulas():
    assert penalty_level("minimax_l0", 100, 50, 2.0, k=5) == pytest.approx(0.2 * np.sqrt(2 * np.log(10)))
    assert penalty_level("minimax_lr", 100, 50, 1.0, r=0.5, R=0.4) == pytest.approx(
        0.1 * np.sqrt(2 * np.log(np.sqrt(0.1) * 50 / np.sqrt(0.4)))
    )
    assert penalty_level("universal", 100, 50, 1.0, eps=0.1) == pytest.approx(np.sqrt(0.02 * np.log(500)))
    assert penalty_level("universal", 100, 50, 1.0, xi=3) == 2 * penalty_level("universal", 100, 50, 1.0)
    assert minimax_error(100, 50, 2.0, k=5, q=1) == pytest.approx(5 * penalty_level("minimax_l0", 100, 50, 2.0, k=5))
    level = penalty_level("minimax_lr", 100, 50, 1.0, r=0.5, R=0.4)
    assert minimax_error(100, 50, 1.0, r=0.5, R=0.4) == pytest.approx(np.sqrt(0.4) * level**1.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: penalty_level("other", 10, 5, 1.0), "choose"),
        (lambda: penalty_level("minimax_l0", 10, 5, 1.0), "from 1 to n_features=5"),
        (lambda: penalty_level("minimax_lr", 10, 5, 1.0, r=2, R=1), "power"),
        (lambda: penalty_level("universal", 10, 5, 1.0, xi=1), "above 1"),
        (lambda: penalty_level("minimax_l0", 10, 5, 1.0, k=1, eps=0.1), "universal"),
        (lambda: minimax_error(10, 5, 1.0), "either"),
        (lambda: solve_dantzig(np.eye(3), [1.0, 2.0], 0.1), "symmetric"),
        (lambda: dantzig_path(np.eye(3), [1.0, 2.0, 3.0], alphas=[-1.0]), "not negative"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
