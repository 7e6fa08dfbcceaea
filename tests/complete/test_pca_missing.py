"""PCAMissing at its edges: what is handled, what is refused, and what the fitted model promises."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from fewer.complete import PCAMissing
from fewer.complete.pca_missing._fits import METHODS, guided_method, uses_gradient
from tolerances import rounding

ALL = pytest.mark.parametrize("method", METHODS)
UNSURE = ("vb", "ppca", "vb-diag", "ppca-diag")


def low_rank(n_rows=80, n_columns=12, rank=2, noise=0.1, missing=0.2, seed=0):
    """A table, and the same with missing values."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns)) + 3 * rng.normal(size=n_columns)
    table += noise * rng.normal(size=table.shape)
    return table, np.where(rng.random(table.shape) < missing, np.nan, table)


def stored(X):
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


@ALL
def test_missing_values_are_filled_far_better_than_by_column_means(method):
    table, X = low_rank()
    filled = PCAMissing(2, method=method, random_state=0).fit_transform(X)
    is_missing = np.isnan(X)
    error = np.sqrt(np.mean((filled - table)[is_missing] ** 2))
    by_means = np.sqrt(np.mean((np.nanmean(X, axis=0) - table)[is_missing] ** 2))
    assert error < 0.2 < by_means / 4
    np.testing.assert_array_equal(filled[~is_missing], table[~is_missing])


@ALL
def test_of_a_complete_table_it_is_ordinary_pca(method):
    table, _ = low_rank(missing=0, noise=0.5)
    model = PCAMissing(2, method=method, tol=1e-9, random_state=0, max_iter=5000).fit(table)
    pca = PCA(2).fit(table)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=2e-3)
    agreement = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    assert agreement.min() > (1 - 1e-8 if method in ("ls", "ls-imputation", "ppca") else 1 - 1e-5)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)
    if method in ("ls", "ls-imputation"):
        n = len(table)
        np.testing.assert_allclose(model.explained_variance_ * n / (n - 1), pca.explained_variance_, rtol=1e-6)
        ours = model.scores_ * np.sqrt(model.explained_variance_)
        signs = np.sign(np.sum(model.components_ * pca.components_, axis=1))
        np.testing.assert_allclose(ours * signs, pca.transform(table), atol=1e-5)
    if method == "ppca":
        np.testing.assert_allclose(model.get_covariance(), pca.get_covariance(), rtol=0.03, atol=0.01)
        assert model.score(table) == pytest.approx(pca.score(table), rel=0.01)


@ALL
def test_rows_and_columns_with_nothing_observed(method):
    _, X = low_rank()
    X[5] = np.nan
    X[:, 3] = np.nan
    with pytest.warns(UserWarning, match="Nothing is observed of 1 of 12 columns"):
        model = PCAMissing(2, method=method, keep_empty_features=True, random_state=0).fit(X)
    filled = model.transform(X)
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled[5], model.mean_)
    np.testing.assert_array_equal(model.scores_[5], 0)
    np.testing.assert_array_equal(filled[:, 3], 0)
    # A value in a column that nothing is known of stays, and changes nothing else.
    row = X[:1].copy()
    row[0, 3] = 100.0
    np.testing.assert_allclose(np.delete(model.transform(row), 3), np.delete(filled[:1], 3))
    assert model.transform(row)[0, 3] == 100
    without = PCAMissing(2, method=method, random_state=0).fit(np.delete(np.delete(X, 3, axis=1), 5, axis=0))
    np.testing.assert_allclose(np.delete(model.mean_, 3), without.mean_)
    np.testing.assert_allclose(np.delete(model.loadings_, 3, axis=0), without.loadings_)


@ALL
@pytest.mark.filterwarnings("ignore:.*fewer observed entries")
def test_one_column_and_one_row(method):
    column = np.array([[1.0], [2.0], [np.nan], [4.0]])
    filled = PCAMissing(method=method, random_state=0).fit_transform(column)
    assert filled[2, 0] == pytest.approx(7 / 3, rel=0.05)
    row = PCAMissing(method=method, random_state=0).fit(np.array([[1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(row.transform(np.array([[np.nan, 2.0, np.nan]])), [[1, 2, 3]], atol=1e-6)


@ALL
def test_constant_columns_stay_what_they_are(method):
    _, X = low_rank()
    X[:, 4] = np.where(np.isnan(X[:, 4]), np.nan, 7.0)
    filled = PCAMissing(2, method=method, random_state=0).fit_transform(X)
    np.testing.assert_allclose(filled[:, 4], 7, atol=0.05)
    everything = np.full((6, 3), 2.0)
    everything[0, 0] = np.nan
    np.testing.assert_allclose(PCAMissing(1, method=method, random_state=0).fit_transform(everything), 2.0)


@ALL
@pytest.mark.filterwarnings("ignore:.*fewer observed entries", "ignore:The fit had not settled")
def test_more_components_than_the_table_can_hold_are_lowered(method):
    _, X = low_rank(n_rows=20, n_columns=4)
    with pytest.warns(UserWarning, match="n_components=9 is more than a table of 20 x 4 can hold; 4 will be used"):
        model = PCAMissing(9, method=method, max_iter=200, random_state=0).fit(X)
    assert model.n_components_ == 4
    assert np.isfinite(model.transform(X)).all()


@ALL
@pytest.mark.parametrize("rotate", [True, False])
def test_a_table_without_noise_is_filled_exactly_even_by_plain_maximum_likelihood(method, rotate):
    table, X = low_rank(noise=0, n_rows=60)
    model = PCAMissing(
        2, method=method, variance_shape_prior=0, variance_scale_prior=0, rotate=rotate, tol=1e-6, random_state=0
    )
    np.testing.assert_allclose(model.fit_transform(X), table, atol=1e-4)


def test_infinities_are_refused_by_name():
    frame = pd.DataFrame({"height": [1.0, np.nan, 2.0], "weight": [3.0, -np.inf, 4.0]})
    with pytest.raises(ValueError, match=r"infinity.*'weight' \(row 1\)"):
        PCAMissing(1).fit(frame)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "ls-imputation"])
def test_sparse_and_dense_tables_give_the_same_model(method):
    _, X = low_rank()
    X[0, 0] = 0.0
    dense = PCAMissing(2, method=method, random_state=0).fit(X)
    for form in (stored(X), stored(X).tocsc()):
        found = PCAMissing(2, method=method, random_state=0).fit(form)
        np.testing.assert_allclose(found.loadings_, dense.loadings_, atol=1e-7)
        np.testing.assert_allclose(found.transform(form), dense.transform(X), atol=1e-7)
        np.testing.assert_allclose(found.predict_entries([3, 4], [0, 5]), dense.predict_entries([3, 4], [0, 5]))


def test_imputation_refuses_a_sparse_table_with_a_way_out():
    with pytest.raises(ValueError, match="method='ls'"):
        PCAMissing(2, method="ls-imputation").fit(stored(low_rank()[1]))


@ALL
def test_units_and_offsets_make_no_difference(method):
    _, X = low_rank(n_rows=40)
    options = {"method": method, "random_state": 0}
    plain = PCAMissing(2, **options).fit(X)
    moved = PCAMissing(2, **options).fit(1e-6 * X + 5)
    np.testing.assert_allclose(1e6 * (moved.transform(1e-6 * X + 5) - 5), plain.transform(X), atol=1e-5)
    np.testing.assert_allclose(moved.noise_variance_ * 1e12, plain.noise_variance_, rtol=1e-5)


@ALL
def test_with_std_the_units_of_single_columns_make_no_difference(method):
    _, X = low_rank(n_rows=40)
    units = 10.0 ** np.arange(-5, 7)
    options = {"method": method, "with_std": True, "random_state": 0}
    plain, moved = PCAMissing(2, **options).fit(X), PCAMissing(2, **options).fit(X * units)
    np.testing.assert_allclose(moved.transform(X * units) / units, plain.transform(X), atol=1e-6)
    np.testing.assert_allclose(moved.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(moved.get_covariance() / np.outer(units, units), plain.get_covariance(), atol=1e-6)
    assert moved.score(X * units) == pytest.approx(plain.score(X) - (~np.isnan(X) @ np.log(units)).mean())
    if method in UNSURE:
        np.testing.assert_allclose(
            moved.impute(X * units, return_std=True)[1] / units, plain.impute(X, return_std=True)[1], atol=1e-6
        )


def test_scaled_it_is_pca_of_the_scaled_table():
    table, _ = low_rank(missing=0, noise=0.5)
    table = table * np.arange(1, 13)
    model = PCAMissing(2, method="ls-imputation", with_std=True).fit(table)
    pca = PCA(2).fit((table - table.mean(axis=0)) / table.std(axis=0))
    assert np.abs(np.sum(model.components_ * pca.components_, axis=1)).min() > 1 - 1e-8
    np.testing.assert_allclose(model.scale_, table.std(axis=0))


def row_tolerance(model, filled):
    """Rounding in a filled cell: sums over the columns, and a system of products of loadings."""
    sizes = np.linalg.svd(model.loadings_, compute_uv=False)
    return rounding(len(model.loadings_), np.abs(filled).max(), condition=(sizes[0] / sizes[-1]) ** 2)


@ALL
def test_a_row_is_filled_from_itself_and_the_model_alone(method):
    _, X = low_rank()
    model = PCAMissing(2, method=method, random_state=0).fit(X[:60])
    together = model.transform(X[60:])
    alone = np.vstack([model.transform(X[row : row + 1]) for row in range(60, 80)])
    np.testing.assert_allclose(together, alone, rtol=0, atol=row_tolerance(model, together))


@ALL
def test_a_target_that_other_held_out_rows_give_away_stays_hidden(method):
    """Every held-out row comes twice, with and without the target; only what looks across rows can copy it."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=160)
    X = np.column_stack([y, rng.normal(size=(160, 5))])
    model = PCAMissing(2, method=method, max_iter=300, random_state=0).fit(X[:100])
    shown, hidden = X[100:], X[100:].copy()
    hidden[:, 0] = np.nan
    batch = np.vstack([shown, hidden])
    leaking = KNNImputer(n_neighbors=1).fit_transform(batch)[60:, 0]
    assert np.corrcoef(leaking, y[100:])[0, 1] > 0.99
    guess = model.transform(batch)[60:, 0]
    assert abs(np.corrcoef(guess, y[100:])[0, 1]) < 0.3
    filled = model.transform(hidden)
    np.testing.assert_allclose(guess, filled[:, 0], rtol=0, atol=row_tolerance(model, filled))


def test_in_a_pipeline_each_fold_is_filled_by_a_model_of_the_other_rows():
    _, X = low_rank(n_rows=60)
    y = np.arange(60.0)
    pipeline = make_pipeline(PCAMissing(2, random_state=0), Ridge())
    folds = KFold(3)
    predicted = cross_val_predict(pipeline, X, y, cv=folds)
    for train, held_out in folds.split(X):
        spoilt = X.copy()
        spoilt[held_out] = 1e6
        model = clone(pipeline).fit(spoilt[train], y[train])
        np.testing.assert_array_equal(model.predict(X[held_out]), predicted[held_out])


@pytest.mark.parametrize("method", UNSURE)
def test_standard_deviations_cover_the_hidden_entries(method):
    table, X = low_rank(n_rows=400, noise=0.5, missing=0.3)
    is_missing = np.isnan(X)
    filled, std = PCAMissing(2, method=method, random_state=0).fit(X).impute(X, return_std=True)
    assert (std[~is_missing] == 0).all()
    distance = (np.abs(filled - table)[is_missing]) / std[is_missing]
    assert 0.93 < np.mean(distance < stats.norm.ppf(0.975)) < 0.97
    _, of_value = PCAMissing(2, method=method, random_state=0).fit(X).impute(X, return_std=True, with_noise=False)
    assert (of_value[is_missing] < std[is_missing]).all()


def test_variances_are_those_of_the_formula():
    _, X = low_rank(n_rows=30, n_columns=6)
    model = PCAMissing(2, random_state=0).fit(X)
    _, std = model.impute(X, return_std=True, with_noise=False)
    row, column = np.argwhere(np.isnan(X))[0]
    w, score = model.loadings_[column], model.scores_[row]
    cov_w, cov_x = model.loadings_cov_[column], model.scores_cov_[row]
    expected = w @ cov_x @ w + score @ cov_w @ score + np.trace(cov_x @ cov_w) + model._mean_variances[column]
    assert std[row, column] ** 2 == pytest.approx(expected)


def test_methods_without_uncertainty_say_so():
    _, X = low_rank()
    with pytest.raises(ValueError, match="method='map' gives no uncertainty"):
        PCAMissing(2, method="map", random_state=0).fit(X).impute(X, return_std=True)


def test_scores_have_covariances_of_the_documented_shapes():
    _, X = low_rank()
    full = PCAMissing(2, random_state=0).fit(X)
    assert full.scores_cov_.shape == (80, 2, 2)
    assert full.loadings_cov_.shape == (12, 2, 2)
    diagonal = PCAMissing(2, method="vb-diag", random_state=0).fit(X)
    assert diagonal.scores_cov_.shape == (80, 2)
    assert diagonal.loadings_cov_.shape == (12, 2)
    point = PCAMissing(2, method="ls", random_state=0).fit(X)
    assert point.scores_cov_ is point.loadings_cov_ is None


@ALL
def test_scores_of_training_rows_are_those_of_fit_and_rebuild_them(method):
    table, X = low_rank()
    model = PCAMissing(2, method=method, random_state=0).fit(X)
    np.testing.assert_allclose(model.project(X), model.scores_, atol=1e-10)
    assert np.sqrt(np.mean((model.reconstruct(model.scores_) - table) ** 2)) < 0.2
    np.testing.assert_allclose(
        model.predict_entries([0, 7], [3, 11]), model.reconstruct(model.scores_)[[0, 7], [3, 11]]
    )


def test_the_likelihood_is_that_of_a_normal_law_on_what_is_observed():
    _, X = low_rank(n_rows=20, n_columns=5)
    model = PCAMissing(2, random_state=0).fit(X)
    covariance = model.get_covariance()
    expected = []
    for row in X:
        seen = ~np.isnan(row)
        law = stats.multivariate_normal(model.mean_[seen], covariance[np.ix_(seen, seen)])
        expected.append(law.logpdf(row[seen]))
    assert model.score(X) == pytest.approx(np.mean(expected))


def test_unneeded_components_are_switched_off():
    _, X = low_rank(n_rows=200, n_columns=20, rank=3, noise=0.5)
    assert PCAMissing(8, random_state=0).fit(X).n_components_effective_ == 3


def test_gradient_steps_and_closed_forms_reach_the_same_least_squares_fit():
    _, X = low_rank(missing=0.1, noise=0.5)
    by_steps, in_turn = (
        PCAMissing(2, method="ls", solver=solver, tol=1e-8, curvature_power=1.0, random_state=0, max_iter=5000).fit(X)
        for solver in ("gradient", "als")
    )
    assert by_steps.lower_bound_ == pytest.approx(in_turn.lower_bound_, rel=1e-4)
    np.testing.assert_allclose(by_steps.transform(X), in_turn.transform(X), atol=0.02)


def test_map_by_gradient_steps_is_close_to_map_by_closed_forms():
    table, X = low_rank(missing=0.3, noise=0.5, n_rows=300)
    is_missing = np.isnan(X)
    errors = [
        np.sqrt(
            np.mean(
                (PCAMissing(2, method="map", solver=solver, random_state=0).fit_transform(X) - table)[is_missing] ** 2
            )
        )
        for solver in ("gradient", "als")
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.03)


@pytest.mark.filterwarnings("ignore:.*fewer observed entries", "ignore:The fit had not settled")
def test_early_stopping_ends_before_it_overfits():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 20)) + rng.normal(size=(60, 20))
    X = np.where(rng.random(table.shape) < 0.5, np.nan, table)
    options = {"method": "ls", "solver": "gradient", "random_state": 0, "max_iter": 1000, "tol": 1e-6}
    early = PCAMissing(8, early_stopping=True, **options).fit(X)
    late = PCAMissing(8, **options).fit(X)
    assert early.n_iter_ < late.n_iter_
    is_missing = np.isnan(X)
    assert np.mean((early.reconstruct(early.scores_) - table)[is_missing] ** 2) < np.mean(
        (late.reconstruct(late.scores_) - table)[is_missing] ** 2
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "vb", "solver": "als"}, "has one way only"),
        ({"method": "vb", "early_stopping": True}, "early_stopping goes with"),
        ({"method": "ls", "solver": "als", "early_stopping": True}, "closed-form updates"),
    ],
)
def test_combinations_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        PCAMissing(2, **options).fit(low_rank()[1])


@pytest.mark.filterwarnings("ignore:The fit had not settled")
def test_rows_with_fewer_entries_than_components_are_told_of_by_least_squares():
    _, X = low_rank()
    X[0, 1:] = np.nan
    with pytest.warns(UserWarning, match=r"1 rows have fewer observed entries than there are components \(3\)"):
        PCAMissing(3, method="ls", max_iter=50, random_state=0).fit(X)


def test_a_fit_that_has_not_settled_says_so():
    with pytest.warns(ConvergenceWarning, match="after 5 rounds.*Raise max_iter"):
        PCAMissing(2, max_iter=5, random_state=0).fit(low_rank()[1])


def test_more_starts_never_give_a_worse_bound():
    _, X = low_rank(n_rows=30, missing=0.6, rank=3)
    bounds = [PCAMissing(3, n_init=n, tol=1e-2, random_state=0).fit(X).lower_bound_ for n in (1, 4)]
    assert bounds[1] >= bounds[0]


@pytest.mark.parametrize(
    ("shape", "share", "rank", "dense", "expected"),
    [
        ((1000, 100), 0.99, 5, True, "ls-imputation"),
        ((100_000, 1000), 0.99, 5, True, "ls"),
        ((1000, 100), 0.99, 5, False, "ls"),
        ((1000, 100), 0.7, 5, True, "ppca"),
        ((1000, 200), 0.7, 5, True, "vb"),
        ((100_000, 1000), 0.7, 10, True, "ppca-diag"),
        ((20_000, 20_000), 0.1, 10, False, "vb-diag"),
    ],
)
def test_auto_follows_the_guide(shape, share, rank, dense, expected):
    assert guided_method(shape, int(share * shape[0] * shape[1]), rank, dense) == expected


def test_auto_is_told_by_the_fitted_model():
    assert PCAMissing(2, method="auto", random_state=0).fit(low_rank(missing=0.4)[1]).method_ == "vb"


def test_large_problems_of_least_squares_are_solved_by_gradient_steps():
    assert uses_gradient("ls", "auto", 100_000_000, 10)
    assert not uses_gradient("ls", "auto", 1_000_000, 10)
    assert uses_gradient("vb-diag", "auto", 10, 1)


def test_frames_in_frames_out():
    _, X = low_rank(n_columns=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(80) + 1000)
    filled = PCAMissing(2, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == ["a", "b", "c"]
    assert filled.index.equals(frame.index)
    assert not filled.isna().any(axis=None)
