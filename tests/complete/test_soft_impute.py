"""SoftImpute beyond the paper's claims: edges of its input, its options, its three ways to one minimum."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fewer.complete import SoftImpute, SoftImputeCV, soft_threshold_svd
from tolerances import rounding


def low_rank_table(n_rows=40, n_columns=30, rank=3, noise=0.3, missing=0.3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns))
    table = truth + noise * rng.normal(size=truth.shape)
    return truth, np.where(rng.random(truth.shape) < missing, np.nan, table)


def model_of(fitted):
    return fitted.scores_ @ fitted.loadings_.T + fitted.mean_


@pytest.mark.parametrize("alpha", [0.5, 3.0])
def test_shrinking_singular_values_is_the_same_for_arrays_sparse_tables_and_operators(alpha):
    W = np.random.default_rng(0).normal(size=(30, 20))
    U, d, V = soft_threshold_svd(W, alpha)
    for form in (sparse.csr_array(W), aslinearoperator(W)):
        U2, d2, V2 = soft_threshold_svd(form, alpha)
        np.testing.assert_allclose(d2, d, rtol=1e-8)
        np.testing.assert_allclose(U2 * d2 @ V2.T, U * d @ V.T, atol=1e-8)
    assert len(soft_threshold_svd(W, 0.0, max_rank=4)[1]) == 4


def test_shrinking_takes_frames_and_refuses_missing_values_in_words():
    W = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(soft_threshold_svd(pd.DataFrame(W), 0.5)[1], soft_threshold_svd(W, 0.5)[1])
    W[2, 1] = np.nan
    with pytest.raises(ValueError, match="column 1"):
        soft_threshold_svd(W, 0.5)
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        soft_threshold_svd(np.eye(3), -1.0)


@pytest.mark.parametrize("alpha", [2.0, 8.0])
def test_all_ways_come_to_one_minimum(alpha):
    _, table = low_rank_table()
    fits = [
        SoftImpute(alpha=alpha, solver=solver, tol=1e-10, max_iter=5000).fit(table)
        for solver in ("auto", "dense", "als")
    ]
    fits.append(SoftImpute(alpha=alpha, momentum=False, tol=1e-10, max_iter=20000).fit(table))
    for other in fits[1:]:
        assert other.path_[-1]["objective"] == pytest.approx(fits[0].path_[-1]["objective"], rel=1e-8)
        np.testing.assert_allclose(model_of(other), model_of(fits[0]), atol=1e-3)


def test_a_space_that_grows_with_the_rank_finds_what_whole_svds_find():
    """80 columns or more, so that not all singular vectors are carried along."""
    _, table = low_rank_table(110, 90, rank=5, missing=0.4)
    options = {"n_alphas": 4, "eps": 0.2, "tol": 1e-7, "max_iter": 5000}
    few, whole = (SoftImpute(solver=solver, **options).fit(table) for solver in ("auto", "dense"))
    assert few.rank_ == whole.rank_
    np.testing.assert_allclose(model_of(few), model_of(whole), atol=1e-3 * np.abs(model_of(whole)).max())


@pytest.mark.parametrize("solver", ["auto", "als"])
def test_sparse_and_dense_forms_of_one_table_give_one_fit(solver):
    _, table = low_rank_table(80, 70, missing=0.93, noise=0.1)
    rows, columns = np.nonzero(~np.isnan(table))
    stored = sparse.coo_array((table[rows, columns], (rows, columns)), shape=table.shape).tocsr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some rows may be empty
        fits = [SoftImpute(alpha=4.0, solver=solver, tol=1e-9, max_iter=5000).fit(X) for X in (table, stored)]
    np.testing.assert_allclose(model_of(fits[0]), model_of(fits[1]), atol=1e-6)


def test_a_stored_zero_is_an_observation():
    stored = sparse.csr_array(([1.0, 0.0, 2.0], ([0, 0, 1], [0, 1, 0])), shape=(2, 2))
    assert SoftImpute(alpha=0.1).fit(stored).n_observed_.tolist() == [2, 1]


def test_one_row_is_filled_by_the_closed_form():
    _, table = low_rank_table()
    model = SoftImpute(alpha=2.0).fit(table)
    row = table[4]
    seen = ~np.isnan(row)
    V = model.V_[seen]
    scores = np.linalg.solve(V.T @ V + np.diag(2.0 / model.d_), V.T @ row[seen])
    np.testing.assert_allclose(model.project(row[None])[0], scores, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.transform(row[None])[0][~seen], (model.V_ @ scores)[~seen], rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("post", ["none", "unshrink", "full"])
@pytest.mark.parametrize("with_mean", [False, True, "both"])
def test_training_rows_are_filled_by_transform_as_in_the_fit(post, with_mean):
    _, table = low_rank_table()
    model = SoftImpute(
        alpha=2.0, post=post, with_mean=with_mean, with_std=bool(with_mean), tol=1e-9, max_iter=5000
    ).fit(table)
    np.testing.assert_allclose(model.project(table), model.scores_, atol=2e-3 * np.abs(model.scores_).max())


@pytest.mark.parametrize("post", ["unshrink", "full"])
def test_undoing_the_shrinkage_is_least_squares_over_the_observed_entries(post):
    _, table = low_rank_table()
    plain = SoftImpute(alpha=6.0).fit(table)
    refitted = SoftImpute(alpha=6.0, post=post).fit(table)
    seen = ~np.isnan(table)
    pairs = [(k, k) for k in range(plain.rank_)]
    if post == "full":
        pairs = [(k, m) for k in range(plain.rank_) for m in range(plain.rank_)]
    design = np.column_stack([np.outer(plain.U_[:, k], plain.V_[:, m])[seen] for k, m in pairs])
    expected = design @ np.linalg.lstsq(design, table[seen])[0]
    np.testing.assert_allclose(model_of(refitted)[seen], expected, atol=1e-6)
    assert (refitted.d_ >= 0).all()


def test_a_large_core_is_found_without_its_normal_equations():
    _, table = low_rank_table(60, 50, rank=20, missing=0.2)
    refitted = SoftImpute(alpha=1.0, post="full").fit(table)
    assert refitted.rank_ > 12
    seen = ~np.isnan(table)
    gradient = refitted.U_.T @ np.where(seen, table - model_of(refitted), 0) @ refitted.V_
    assert np.abs(gradient).max() < 1e-4 * np.abs(refitted.U_.T @ np.nan_to_num(table) @ refitted.V_).max()


def test_many_weights_are_found_without_their_normal_equations():
    _, table = low_rank_table(90, 80, rank=50, missing=0.2)
    refitted = SoftImpute(alpha=1.0, post="unshrink").fit(table)
    assert refitted.rank_ > 40
    left = np.where(np.isnan(table), 0, table - model_of(refitted))
    gradient = np.einsum("ij,ij->j", refitted.U_, left @ refitted.V_)
    assert np.abs(gradient).max() < 1e-6 * refitted.d_[0]


def test_rows_are_filled_alike_whether_their_systems_are_solved_together_or_one_by_one(monkeypatch):
    _, table = low_rank_table()
    model = SoftImpute(alpha=1.0).fit(table)
    together = model.project(table)
    for largest in (200, 1):  # a few rows at a time, then each on its own
        monkeypatch.setattr("fewer.complete._entries._PRODUCTS", largest * model.rank_**2)
        np.testing.assert_allclose(model.project(table), together, rtol=1e-8, atol=1e-10)


def test_max_rank_holds_the_rank_down():
    _, table = low_rank_table()
    for solver in ("auto", "als"):
        assert SoftImpute(max_rank=2, eps=0.05, n_alphas=5, solver=solver).fit(table).rank_ == 2
    assert SoftImpute(max_rank=500, alpha=1.0).fit(table).rank_ <= 30


def test_offsets_leave_nothing_but_offsets_at_the_largest_penalty():
    rng = np.random.default_rng(0)
    table = 5 + 3 * rng.normal(size=(50, 1)) + 10 * rng.normal(size=(1, 8)) + rng.normal(size=(50, 8))
    table[rng.random(table.shape) < 0.2] = np.nan
    columns = SoftImpute(alpha=1e6, with_mean=True).fit(table)
    np.testing.assert_allclose(model_of(columns), np.broadcast_to(np.nanmean(table, axis=0), table.shape))
    both = SoftImpute(alpha=1e6, with_mean="both").fit(table)
    left = np.where(np.isnan(table), np.nan, table - model_of(both))
    np.testing.assert_allclose(np.nanmean(left, axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(np.nanmean(left, axis=1), 0, atol=1e-8)


def test_scaling_makes_units_of_columns_irrelevant():
    _, table = low_rank_table()
    units = np.geomspace(1e-3, 1e3, 30)
    model = SoftImpute(alpha=1.0, with_mean=True, with_std=True, tol=1e-8)
    np.testing.assert_allclose(model.fit_transform(table * units) / units, model.fit_transform(table), atol=1e-6)


def test_rows_and_columns_with_nothing_observed_are_told_and_get_zero():
    _, table = low_rank_table()
    table[3], table[:, 5] = np.nan, np.nan
    model = SoftImpute(alpha=2.0, keep_empty_features=True)
    with pytest.warns(UserWarning, match="1 of 40 rows") as said:
        model.fit(table)
    assert any("1 of 30 columns" in str(warning.message) for warning in said)
    filled = model.transform(table)
    assert not np.isnan(filled).any()
    assert (filled[3] == 0).all()
    assert (filled[:, 5] == 0).all()
    with pytest.warns(UserWarning, match="1 of 30 columns"):
        assert SoftImpute(alpha=2.0).fit(table).transform(table).shape == (40, 29)


def test_one_column_and_constant_columns_are_filled():
    one = np.array([[1.0], [2.0], [np.nan], [3.0]])
    assert SoftImpute(with_mean=True).fit_transform(one)[2, 0] == pytest.approx(2.0)
    _, table = low_rank_table()
    table[:, 3] = np.where(np.isnan(table[:, 3]), np.nan, 7.0)
    filled = SoftImpute(alpha=3.0, with_mean=True, with_std=True).fit_transform(table)
    np.testing.assert_allclose(filled[:, 3], 7.0, atol=1e-6)


def test_a_table_of_zeros_has_the_solution_zero():
    model = SoftImpute().fit(np.zeros((5, 4)))
    assert model.rank_ == 0
    assert (model.transform(np.full((1, 4), np.nan)) == 0).all()


def test_a_column_that_outweighs_the_others_by_its_unit_is_named():
    _, table = low_rank_table()
    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(30)])
    frame["c7"] = 1e4 * frame["c7"]
    for form in (frame, frame.to_numpy()):
        with pytest.warns(UserWarning, match=r"column .*7.* with_std=True .*with_mean=True"):
            SoftImpute(alpha=2.0).fit(form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SoftImpute(alpha=2.0, with_std=True).fit(frame)
        SoftImpute(alpha=2.0).fit(table)


def test_infinity_is_refused_with_its_column():
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0], "income": [1.0, np.inf, 3.0]})
    with pytest.raises(ValueError, match="income"):
        SoftImpute().fit(table)


def test_too_few_steps_are_told_with_the_gap_reached():
    _, table = low_rank_table()
    with pytest.warns(ConvergenceWarning, match=r"relative gap .*Raise max_iter"):
        SoftImpute(alpha=0.5, max_iter=2).fit(table)


def test_float32_tables_are_fitted_in_float32():
    _, table = low_rank_table()
    model = SoftImpute(alpha=2.0).fit(table.astype(np.float32))
    assert model.U_.dtype == model.scores_.dtype == np.float32
    np.testing.assert_allclose(model_of(model), model_of(SoftImpute(alpha=2.0).fit(table)), atol=0.02)


def test_held_out_entries_choose_a_penalty_near_the_best():
    truth, table = low_rank_table(60, 40, rank=3, noise=1.0, missing=0.4, seed=1)
    is_missing = np.isnan(table)
    chosen = SoftImputeCV(random_state=0, n_repeats=2).fit(table)
    errors = []
    for alpha in np.geomspace(chosen.alpha_max_, 0.05 * chosen.alpha_max_, 8):
        errors.append(np.square((model_of(SoftImpute(alpha=alpha).fit(table)) - truth)[is_missing]).mean())
    assert np.square((model_of(chosen) - truth)[is_missing]).mean() < 1.1 * min(errors)
    assert np.isfinite(chosen.errors_).any()
    assert chosen.alpha_ == chosen.alphas_[chosen.errors_.mean(axis=0).argmin()]


@pytest.mark.parametrize(("noise", "better"), [(0.3, "unshrink"), (6.0, "none")])
def test_held_out_entries_choose_whether_the_shrinkage_is_undone(noise, better):
    _, table = low_rank_table(150, 25, rank=3, noise=noise, missing=0.2)
    chosen = SoftImputeCV(random_state=0).fit(table)
    assert chosen.post_ == better
    errors = [SoftImputeCV(post=post, random_state=0).fit(table).errors_.min() for post in ("none", "unshrink")]
    assert chosen.errors_.min() == pytest.approx(min(errors), rel=1e-6)


def test_penalty_is_chosen_without_a_look_at_the_held_out_entries():
    """Errors on entries that are pure noise can not be small, however the fit was done."""
    table = np.random.default_rng(0).normal(size=(60, 40))
    assert SoftImputeCV(random_state=0, n_repeats=3).fit(table).errors_.min() > 0.9


def test_imputing_in_folds_never_sees_held_out_rows():
    """Rows with the target in every column stand beside those to be filled: nothing of it may reach them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), rng.normal(size=60)
    X[rng.random(X.shape) < 0.2] = np.nan
    for imputer in (SoftImpute(alpha=1.0), SoftImputeCV(random_state=0)):
        score = cross_val_score(make_pipeline(imputer, LinearRegression()), X, y, cv=5).mean()
        assert score < 0.1
    # A fitted model fills a row in the same way, whatever rows stand beside it.
    model = SoftImpute(alpha=1.0).fit(X[:40])
    together = model.transform(X[40:])
    alone = np.vstack([model.transform(row[None]) for row in X[40:]])
    tolerance = rounding(6, np.abs(together).max(), condition=(model.d_.max() / model.d_.min()) ** 2)
    np.testing.assert_allclose(together, alone, rtol=0, atol=tolerance)
    with_target = model.transform(np.vstack([X[40:], np.column_stack([y[40:]] * 6)]))[:20]
    np.testing.assert_allclose(with_target, together, rtol=0, atol=tolerance)
