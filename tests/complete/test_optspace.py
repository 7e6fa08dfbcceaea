"""OptSpace beyond the paper's claims: edges of its input, trimming, the optional penalty."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fewer.complete import HardImpute, OptSpace, estimate_rank, oracle_rmse
from fewer.complete._entries import observed_entries
from fewer.complete._observed import Observed
from fewer.complete._optspace import Incoherence, _at, _slopes, trimmed


def low_rank_table(n_rows=60, n_columns=45, rank=3, noise=0.1, missing=0.5, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    table = truth + noise * rng.normal(size=truth.shape)
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, table)


def model_of(fitted):
    return fitted.scores_ @ fitted.loadings_.T + fitted.mean_


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_slopes_are_those_of_the_objective(rho):
    """Finite differences along a curve of orthonormal matrices."""
    _, table = low_rank_table(12, 10, rank=2, missing=0.3)
    entries = observed_entries(Observed(table))
    rng = np.random.default_rng(1)
    U, V = np.linalg.qr(rng.normal(size=(12, 2)))[0], np.linalg.qr(rng.normal(size=(10, 2)))[0]
    penalty = Incoherence(rho, 0.2)  # so strict that it is felt
    slopes = _slopes(entries, _at(entries, U, V, None, penalty), penalty)
    for side in (0, 1):
        direction = rng.normal(size=(U, V)[side].shape)
        base = (U, V)[side]
        direction -= base @ (base.T @ direction)

        def value(t, side=side, base=base, direction=direction):
            moved = np.linalg.qr(base + t * direction)[0]
            pair = (moved, V) if side == 0 else (U, moved)
            return _at(entries, *pair, None, penalty).objective

        measured = (value(1e-5) - value(-1e-5)) / 2e-5
        assert measured == pytest.approx(float(np.sum(slopes[side] * direction)), rel=1e-4)


def test_it_ends_where_hard_impute_ends():
    _, table = low_rank_table()
    descent = OptSpace(rank=3, tol=1e-10, max_iter=500, random_state=0).fit(table)
    filling = HardImpute(rank=3, tol=1e-14, max_iter=20000).fit(table)
    np.testing.assert_allclose(model_of(descent), model_of(filling), atol=1e-3)


def test_a_penalty_on_uneven_rows_changes_little_where_rows_are_even():
    _, table = low_rank_table()
    plain, held = (OptSpace(rank=3, rho=rho, random_state=0).fit(table) for rho in (0.0, 1000.0))
    np.testing.assert_allclose(model_of(held), model_of(plain), atol=0.05)


def test_directions_of_very_different_strength_are_found_alike():
    rng = np.random.default_rng(0)
    truth = (rng.normal(size=(80, 3)) * [100.0, 1.0, 0.01]) @ rng.normal(size=(3, 60))
    table = np.where(rng.random(truth.shape) < 0.4, np.nan, truth)
    found = OptSpace(rank=3, tol=1e-12, max_iter=500, random_state=0).fit(table).transform(table)
    np.testing.assert_allclose(found, truth, atol=1e-4)


@pytest.mark.parametrize("how", ["zero", "random", "none"])
def test_trimming_leaves_no_row_or_column_overfull(how):
    rng = np.random.default_rng(0)
    table = np.where(rng.random((80, 60)) < 0.9, np.nan, 1.0)
    table[:2], table[:, 5] = 1.0, 1.0
    entries = observed_entries(Observed(table))
    cut = trimmed(entries, how, 0)
    assert cut.rows.tolist() == [0, 1]
    assert cut.columns.tolist() == [5]
    kept = np.abs(entries.matrix(cut.values)) > 0
    limits = 2 * entries.n_observed / np.array([80, 60])
    assert (kept[:2].sum(axis=1) <= limits[0]).all() == (how != "none")
    if how == "random":
        assert kept[:2].any(axis=1).all()
        assert kept[:, 5].any()
    if how == "zero":
        assert not kept[:2].any()
        assert not kept[:, 5].any()


def test_sparse_and_dense_forms_of_one_table_give_one_fit():
    _, table = low_rank_table(90, 80, rank=2, missing=0.93, noise=0.0)
    rows, columns = np.nonzero(~np.isnan(table))
    stored = sparse.coo_array((table[rows, columns], (rows, columns)), shape=table.shape).tocsr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [OptSpace(rank=2, random_state=0, max_iter=20).fit(X) for X in (table, stored)]
    np.testing.assert_allclose(fits[0].fit_error_, fits[1].fit_error_, rtol=1e-6)


def test_training_rows_are_filled_by_transform_as_in_the_fit():
    _, table = low_rank_table()
    model = OptSpace(rank=3, tol=1e-12, max_iter=500, with_mean=True, random_state=0).fit(table)
    np.testing.assert_allclose(model.project(table), model.scores_, atol=1e-4 * np.abs(model.scores_).max())


def test_the_first_estimate_can_be_all():
    _, table = low_rank_table()
    model = OptSpace(rank=3, method="svd", random_state=0).fit(table)
    U, d, V = model.initial_
    np.testing.assert_allclose(model_of(model), U * d @ V.T, atol=1e-10)
    assert model.n_iter_ == 0


@pytest.mark.parametrize("rank", [1, 8])
def test_rank_one_and_full_rank_work(rank):
    _, table = low_rank_table(20, 8, rank=2, missing=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(OptSpace(rank=rank).fit_transform(table)).all()


def test_constant_tables_one_column_and_empty_rows_are_filled():
    constant = np.full((8, 5), 3.0)
    constant[1, 2] = np.nan
    np.testing.assert_allclose(OptSpace(rank=1).fit_transform(constant), 3.0, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = OptSpace(rank=1, with_mean=True).fit_transform(np.array([[1.0], [3.0], [np.nan]]))
        assert one[2, 0] == pytest.approx(2.0)
        _, table = low_rank_table()
        table[4], table[:, 2] = np.nan, np.nan
        filled = OptSpace(rank=3, keep_empty_features=True).fit_transform(table)
    assert np.isfinite(filled).all()
    assert (filled[:, 2] == 0).all()
    assert (filled[4] == 0).all()


def test_too_few_entries_for_the_rank_are_told():
    _, table = low_rank_table(30, 30, missing=0.8)
    with pytest.warns(UserWarning, match="free numbers"):
        OptSpace(rank=6).fit(table)
    _, table = low_rank_table(30, 30, rank=2)
    table[0, 1:] = np.nan
    table[0, 0] = 1.0
    with pytest.warns(UserWarning, match="1 rows and 0 columns have fewer observed entries than the rank, 2"):
        OptSpace(rank=2).fit(table)


def test_bad_input_is_refused_in_words():
    _, table = low_rank_table()
    table[0, 3] = np.inf
    with pytest.raises(ValueError, match="column 3"):
        OptSpace(rank=2).fit(table)
    with pytest.raises(ValueError, match="column 3"):
        estimate_rank(table)
    with pytest.raises(ValueError, match="trim must be"):
        estimate_rank(np.ones((3, 3)), trim="some")
    with pytest.raises(ValueError, match="no observed entry"):
        estimate_rank(np.full((3, 3), np.nan))
    with pytest.warns(UserWarning, match="rank=90 is more than"):
        OptSpace(rank=90).fit(np.nan_to_num(table, posinf=0.0))


def test_too_few_steps_are_told():
    _, table = low_rank_table(noise=0.0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        OptSpace(rank=3, max_iter=2).fit(table)


def test_the_rank_is_estimated_when_none_is_given():
    _, table = low_rank_table(150, 120, rank=2, missing=0.3)
    assert estimate_rank(table) == OptSpace(random_state=0).fit(table).rank_ == 2
    assert estimate_rank(np.zeros((4, 3))) == 1


def test_the_oracle_error_counts_free_numbers():
    assert oracle_rmse(10, 10, 10, 100, 2.0) == pytest.approx(2.0)


def test_the_oracle_is_not_asked_about_impossible_tables():
    with pytest.raises(ValueError, match="between 0 and 5"):
        oracle_rmse(10, 5, 6, 20, 1.0)
    with pytest.raises(ValueError, match="n_observed"):
        oracle_rmse(10, 5, 2, 0, 1.0)
