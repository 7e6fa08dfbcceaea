"""PLSRegressor: agreement with scikit-learn and the textbook; shapes of tables, missing values, streams, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import scale

from fewer.extract import PLSRegressor, pls_shrinkage
from fewer.learn.pls import _table
from tolerances import rounding

SHAPES = [(60, 12, 1), (60, 12, 3), (20, 50, 1), (20, 50, 3), (25, 8, 40)]
SAME_AS_NIPALS = ("nipals", "kernel")


def tables(n_rows, n_columns, n_targets, seed=0):
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(n_rows, 4))
    X = causes @ rng.normal(size=(4, n_columns)) + rng.normal(size=(n_rows, n_columns)) + 3
    return X, causes @ rng.normal(size=(4, n_targets)) + rng.normal(size=(n_rows, n_targets)) - 5


def sparse_table(n_rows=80, n_columns=200, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_columns), density=0.1, rng=rng, format="csr")
    return X, X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=n_rows)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("algorithm", SAME_AS_NIPALS)
@pytest.mark.parametrize("scaled", [False, True])
def test_everything_is_that_of_scikit_learn(shape, algorithm, scaled):
    X, Y = tables(*shape)
    ours = PLSRegressor(4, solver=algorithm, scale=scaled).fit(X, Y)
    theirs = PLSRegression(4, scale=scaled, tol=1e-24, max_iter=20_000).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    signs = np.sign(np.sum(ours.x_weights_ * theirs.x_weights_, axis=0))
    for name in ("x_weights_", "x_loadings_", "x_rotations_", "y_loadings_"):
        np.testing.assert_allclose(getattr(ours, name) * signs, getattr(theirs, name), atol=1e-8, err_msg=name)
    np.testing.assert_allclose(ours.transform(X) * signs, theirs.transform(X), atol=1e-8)


@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel", "krylov"])
@pytest.mark.parametrize("shape", [(60, 12, 1), (20, 50, 1)])
def test_all_algorithms_agree_on_one_target(algorithm, shape):
    X, Y = tables(*shape)
    expected = PLSRegressor(5).fit(X, Y[:, 0])
    found = PLSRegressor(5, solver=algorithm).fit(X, Y[:, 0])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_allclose(found.ritz_values_, expected.ritz_values_, rtol=1e-8)
    np.testing.assert_allclose(found.shrinkage_factors_, expected.shrinkage_factors_, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel"])
def test_the_first_components_are_those_of_a_smaller_fit(algorithm):
    X, Y = tables(40, 15, 3)
    small, large = (PLSRegressor(k, solver=algorithm).fit(X, Y) for k in (2, 6))
    np.testing.assert_allclose(large.transform(X)[:, :2], small.transform(X), atol=1e-9)
    np.testing.assert_allclose(large.coef_path_[1], small.coef_, atol=1e-9)
    np.testing.assert_allclose(large.predict_path(X)[1], small.predict(X), atol=1e-9)


def test_predictions_are_the_coefficients_and_the_path_ends_there():
    X, Y = tables(40, 15, 2)
    model = PLSRegressor(3, scale=True).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    np.testing.assert_allclose(model.coef_path_[-1], model.coef_, atol=1e-10)
    np.testing.assert_allclose(model.predict_path(X)[-1], model.predict(X), atol=1e-10)
    one = PLSRegressor(3).fit(X, Y[:, 0])
    assert one.coef_.shape == (15,)
    assert isinstance(one.intercept_, float)
    assert one.coef_path_.shape == (3, 15)
    assert one.predict_path(X).shape == (3, 40)


def test_scores_of_the_training_rows_are_those_of_transform():
    X, Y = tables(40, 15, 2)
    for algorithm in ("nipals", "simpls"):
        model = PLSRegressor(4, solver=algorithm).fit(X, Y)
        np.testing.assert_allclose(model.x_scores_, model.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.x_weights_.max(axis=0), np.abs(model.x_weights_).max(axis=0))


def test_shares_of_variance_add_up():
    X, y = load_diabetes(return_X_y=True)
    model = PLSRegressor(10).fit(X, y)
    assert model.explained_variance_ratio_x_.sum() == pytest.approx(1)
    assert model.explained_variance_ratio_y_.sum() == pytest.approx(LinearRegression().fit(X, y).score(X, y))
    assert np.mean(model.vip_**2) == pytest.approx(1)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel", "krylov"])
@pytest.mark.parametrize("scaled", [False, True])
def test_sparse_is_dense(form, algorithm, scaled):
    X, y = sparse_table()
    model = PLSRegressor(3, solver=algorithm, scale=scaled)
    expected = model.fit(X.toarray(), y).predict(X.toarray())
    np.testing.assert_allclose(model.fit(form(X), y).predict(form(X)), expected, atol=1e-9)


def test_a_sparse_table_is_never_made_dense(monkeypatch):
    X, y = sparse_table()
    dense = sparse.csr_array.toarray

    def refusing(self):
        assert self.shape != X.shape, "the table was made dense"
        return dense(self)

    monkeypatch.setattr(sparse.csr_array, "toarray", refusing)
    PLSRegressor(2).fit(X, y).predict(X)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_blocks_of_rows_give_the_whole(n_targets, scaled):
    X, Y = tables(90, 12, n_targets)
    X = X + 1000  # sums of squares would lose the digits that centred sums keep
    stream = PLSRegressor(3, solver="kernel", scale=scaled)
    for rows in np.array_split(np.arange(90), [1, 4, 30, 77]):
        stream.partial_fit(X[rows], Y[rows])
    for algorithm in SAME_AS_NIPALS:
        whole = PLSRegressor(3, solver=algorithm, scale=scaled).fit(X, Y)
        np.testing.assert_allclose(stream.coef_, whole.coef_, atol=1e-9)
        np.testing.assert_allclose(stream.predict(X), whole.predict(X), atol=1e-8)
    np.testing.assert_allclose(stream.vip_, whole.vip_, atol=1e-8)
    assert stream.x_scores_ is None


def test_sparse_blocks_give_the_whole():
    X, y = sparse_table(200, 30)
    stream = PLSRegressor(3)
    for rows in np.array_split(np.arange(200), 5):
        stream.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(stream.coef_, PLSRegressor(3).fit(X.toarray(), y).coef_, atol=1e-10)


def test_a_fit_starts_the_sums_anew():
    X, Y = tables(60, 5, 1)
    model = PLSRegressor(2).partial_fit(X[:30], Y[:30, 0]).fit(X[:30], Y[:30, 0]).partial_fit(X[30:], Y[30:, 0])
    np.testing.assert_allclose(model.coef_, PLSRegressor(2).fit(X[30:], Y[30:, 0]).coef_, atol=1e-10)


def test_partial_fit_refuses_what_does_not_work_from_sums():
    X, Y = tables(20, 5, 1)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as told:
        PLSRegressor(solver="simpls").partial_fit(X, Y)
    assert "take solver='kernel'" in str(told.value.__cause__)
    with pytest.raises(ValueError, match="NaN"):
        PLSRegressor().partial_fit(np.where(X > 5, np.nan, X), Y)


def test_missing_values_cost_little_when_columns_go_together():
    X, Y = tables(150, 40, 2)
    missing = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    whole, model = PLSRegressor(3).fit(X, Y), PLSRegressor(3).fit(missing, Y)
    assert model.score(X, Y) > whole.score(X, Y) - 0.03
    assert model.score(missing, Y) > whole.score(X, Y) - 0.05
    assert np.isfinite(model.coef_).all()


def test_missing_values_in_new_rows_are_bridged_and_rows_without_missing_values_go_straight():
    X, Y = tables(150, 40, 1)
    model = PLSRegressor(3).fit(np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X), Y[:, 0])
    part = X[:10].copy()
    part[0, :5], part[1] = np.nan, np.nan
    scores = model.transform(part)
    np.testing.assert_allclose(scores[2:], (part[2:] - model.mean_) @ model.components_.T, atol=1e-10)
    np.testing.assert_allclose(model.predict(part)[2:], part[2:] @ model.coef_ + model.intercept_, atol=1e-9)
    assert np.linalg.norm(scores[0] - model.transform(X[:1])[0]) < np.linalg.norm(scores[0])
    assert np.all(scores[1] == 0)  # a row without any entry is a row at the mean


@pytest.mark.parametrize("algorithm", ["simpls", "kernel", "krylov"])
def test_missing_values_are_refused_by_the_others(algorithm):
    X = pd.DataFrame(np.ones((6, 2)), columns=["red", "blue"])
    X.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match=r'column .blue..* Or take solver="nipals"'):
        PLSRegressor(solver=algorithm).fit(X, np.arange(6.0))


def test_gaps_in_several_targets_are_told_by_row():
    X, Y = tables(20, 5, 3)
    Y[4, 1] = Y[7, 2] = np.nan
    with pytest.raises(ValueError, match="y contains NaN, in 2 rows, the first is row 4"):
        PLSRegressor().fit(X, Y)


def test_more_components_than_there_are_is_said():
    X, Y = tables(30, 4, 1)
    for algorithm in ("nipals", "simpls", "kernel", "krylov"):
        with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 4"):
            model = PLSRegressor(9, solver=algorithm).fit(X, Y[:, 0])
        np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y[:, 0]).predict(X), atol=1e-8)
    assert PLSRegressor(None).fit(X, Y).n_components_ == 4


def test_columns_that_depend_on_each_other_count_once():
    X, Y = tables(30, 3, 2)
    X = np.hstack([X, X @ np.ones((3, 2)), np.ones((30, 1)), X[:, :1]])
    for algorithm in ("nipals", "simpls", "kernel"):
        model = PLSRegressor(None, solver=algorithm, scale=True).fit(X, Y)
        assert model.n_components_ == 3
        np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, Y).predict(X), atol=1e-7)


@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel", "krylov"])
@pytest.mark.parametrize("shape", [(20, 5), (10, 30)])
def test_a_constant_target_is_predicted_by_its_mean(algorithm, shape):
    X = np.random.default_rng(0).normal(size=shape)
    with pytest.warns(UserWarning, match="there are 0, for y is constant: its mean is predicted"):
        model = PLSRegressor(2, solver=algorithm).fit(X, np.full(shape[0], 7.0))
    np.testing.assert_allclose(model.predict(X), 7)
    assert model.transform(X).shape == (shape[0], 0)
    assert np.all(model.vip_ == 0)


def test_one_column_is_simple_regression():
    X, Y = tables(30, 1, 1)
    model = PLSRegressor(1).fit(X, Y[:, 0])
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, Y[:, 0]).coef_)


def test_krylov_is_for_one_target():
    with pytest.raises(ValueError, match="y has 3 columns; take 'nipals'"):
        PLSRegressor(solver="krylov").fit(*load_linnerud(return_X_y=True))


def test_float32_stays_float32():
    X, Y = tables(60, 12, 2)
    for algorithm in ("nipals", "simpls", "kernel"):
        model = PLSRegressor(3, solver=algorithm).fit(X.astype(np.float32), Y)
        assert model.transform(X.astype(np.float32)).dtype == np.float32
        assert model.coef_.dtype == np.float32
        np.testing.assert_allclose(model.predict(X), PLSRegressor(3, solver=algorithm).fit(X, Y).predict(X), atol=1e-3)


def test_frames_keep_names():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = PLSRegressor(2).fit(X, y).set_output(transform="polars")
    assert model.transform(pl.from_pandas(X)).columns == ["plsregressor0", "plsregressor1"]
    assert model.predict(X).shape == (442,)
    assert model.predict_path(X).shape == (2, 442)


def test_units_do_not_matter_with_scale():
    X, Y = tables(40, 6, 2)
    units = 10.0 ** np.arange(6)
    np.testing.assert_allclose(
        PLSRegressor(3, scale=True).fit(X * units, Y * [1, 1000]).predict(X * units) / [1, 1000],
        PLSRegressor(3, scale=True).fit(X, Y).predict(X),
        atol=1e-8,
    )


@pytest.mark.parametrize("max_iter", [500, 1])
def test_lanczos_gives_what_the_eigenproblem_gives(monkeypatch, max_iter):
    X, Y = tables(60, 30, 20)
    expected = [PLSRegressor(3, solver=each).fit(X, Y).coef_ for each in ("nipals", "simpls", "kernel")]
    monkeypatch.setattr(_table, "_LARGEST_EIGENPROBLEM", 5)
    for each, coef in zip(("nipals", "simpls", "kernel"), expected, strict=True):
        model = PLSRegressor(3, solver=each, max_iter=max_iter)
        np.testing.assert_allclose(model.fit(X, Y).coef_, coef, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_many_targets_of_noise_have_weights_to_the_last_digit():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 520)), rng.normal(size=(60, 510))
    model = PLSRegressor(1).fit(X, Y)
    left = np.linalg.svd((X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)))[0][:, 0]
    # Two unit vectors; an angle a between them, from the distance of the singular values, counts as a^2 / 2 only.
    np.testing.assert_allclose(abs(left @ model.x_weights_[:, 0]), 1, rtol=rounding(520))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scaled", [False, True])
def test_kernel_gives_scores_of_long_tables(form, scaled):
    X, Y = tables(60, 12, 3)
    expected = PLSRegressor(3, scale=scaled).fit(X, Y).x_scores_
    found = PLSRegressor(3, solver="kernel", scale=scaled).fit(form(X), Y).x_scores_
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_degrees_of_freedom_are_the_trace_of_the_derivative():
    for shape in ((14, 6, 1), (9, 30, 1)):
        X, Y = tables(*shape)
        y, step = Y[:, 0], 1e-4
        expected = [
            sum(
                np.subtract(*(PLSRegressor(k).fit(X, y + way * step * unit).predict(X)[row] for way in (1, -1)))
                for row, unit in enumerate(np.eye(len(y)))
            )
            / (2 * step)
            for k in (1, 3)
        ]
        np.testing.assert_allclose(pls_shrinkage(X, y, 3).degrees_of_freedom[[0, 2]], expected, rtol=1e-5)


def test_degrees_of_freedom_end_at_those_of_least_squares():
    X, y = load_diabetes(return_X_y=True)
    report = pls_shrinkage(scale(X), y, 10)
    assert report.degrees_of_freedom[-1] == pytest.approx(11, abs=1e-3)
    assert report.degrees_of_freedom[0] > 2  # one component and the mean, and more for the choice of its direction
    np.testing.assert_allclose(report.factors[-1], 1, atol=1e-4)
    assert [trace.name for trace in report.plot().data][:2] == ["least squares", "1"]
    assert "10 components, 10 principal directions" in repr(report)


def test_ridge_equivalents_have_the_same_degrees_of_freedom():
    X, y = load_diabetes(return_X_y=True)
    report = pls_shrinkage(X, y, 2)
    for gamma, wanted in zip(report.ridge_equivalents, report.degrees_of_freedom, strict=True):
        assert 1 + np.sum(report.eigenvalues / (report.eigenvalues + gamma)) == pytest.approx(wanted)


def test_pls_shrinkage_refuses_what_it_cannot_use():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="n_components=0"):
        pls_shrinkage(X, y, 0)
    with pytest.raises(ValueError, match="NaN"):
        pls_shrinkage(np.where(X > 0.1, np.nan, X), y, 1)
    with pytest.raises(ValueError, match="one target, and y has 2 columns"):
        pls_shrinkage(X, np.column_stack([y, y]), 1)
    with pytest.raises(ValueError, match="y holds 'high'"):
        pls_shrinkage(X, ["high"] * len(y), 1)
    with pytest.raises(ValueError, match="y contains NaN"):
        pls_shrinkage(X, np.where(y > 100, y, np.nan), 1)
    with pytest.warns(UserWarning, match="n_components=11 are asked for, and there are 10"):
        pls_shrinkage(X, y, 11)


def spectra(n_rows=60, n_columns=50, noise=0.01):
    """Overlapping bands: the directions of the table fall by orders of magnitude."""
    rng = np.random.default_rng(0)
    places = np.linspace(0, 1, n_columns)
    bands = np.exp(-(((places - rng.uniform(size=(7, 1))) / 0.15) ** 2))
    amounts = rng.gamma(4, 0.25, size=(n_rows, 7))
    X = amounts @ bands + noise * rng.normal(size=(n_rows, n_columns))
    return X, amounts[:, 0] + 0.05 * rng.normal(size=n_rows)


@pytest.mark.parametrize("n_components", [3, 10, 15])
@pytest.mark.parametrize("shape", [(60, 50), (50, 60)])
def test_shrinkage_factors_of_many_components_are_those_of_the_coefficients(n_components, shape):
    X, y = spectra(*shape)
    model, report = PLSRegressor(n_components).fit(X, y), pls_shrinkage(X, y, n_components)
    left, sizes, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    factors = (right @ model.coef_) / (left.T @ (y - y.mean()) / sizes)
    n_directions = len(report.eigenvalues)
    np.testing.assert_allclose(report.factors[-1], factors[:n_directions], atol=1e-7)
    np.testing.assert_allclose(model.shrinkage_factors_, factors[: len(model.shrinkage_factors_)], atol=1e-5)
    np.testing.assert_allclose(report.coef_path[-1], model.coef_, atol=1e-8 * np.abs(model.coef_).max())


def test_degrees_of_freedom_of_many_components_are_still_the_trace_of_the_derivative():
    X, y = spectra()
    step, traces = 1e-5, np.zeros(14)
    for row, unit in enumerate(np.eye(len(y))):
        up, down = (PLSRegressor(14).fit(X, y + way * step * unit).predict_path(X)[:, row] for way in (1, -1))
        traces += (up - down) / (2 * step)
    np.testing.assert_allclose(pls_shrinkage(X, y, 14).degrees_of_freedom, traces, rtol=1e-3)


def test_rounding_is_no_component():
    rng = np.random.default_rng(0)
    bands = np.exp(-(((np.linspace(0, 1, 100) - rng.uniform(size=(8, 1))) / 0.2) ** 2))
    amounts = rng.gamma(4, 0.25, size=(200, 8))
    X, y = (amounts @ bands).round(6), amounts[:, 0] + 0.01 * rng.normal(size=200)
    model = PLSRegressor(None).fit(X, y)
    assert 8 <= model.n_components_ < 40  # what rounding to six digits left of 100 columns is not all used up
    np.testing.assert_allclose(model.x_weights_.T @ model.x_weights_, np.eye(model.n_components_), atol=1e-10)


@pytest.mark.parametrize("shape", [(20, 6), (6, 20)])
@pytest.mark.parametrize("size", [1e-100, 1e-80, 1e80, 1e120])
@pytest.mark.parametrize("algorithm", ["nipals", "simpls", "kernel", "krylov"])
def test_units_in_which_numbers_are_huge_or_tiny_do_not_matter(algorithm, shape, size):
    X, Y = tables(*shape, 1)
    expected = PLSRegressor(2).fit(X, Y[:, 0]).predict(X)
    model = PLSRegressor(2, solver=algorithm)
    np.testing.assert_allclose(model.fit(size * X, Y[:, 0]).predict(size * X), expected)
    np.testing.assert_allclose(model.fit(X, size * Y[:, 0]).predict(X) / size, expected)
    np.testing.assert_allclose(model.fit(size * X, size * Y[:, 0]).predict(size * X) / size, expected)


@pytest.mark.parametrize("shape", [(20, 6), (6, 20)])
@pytest.mark.parametrize("size", [1e-26, 1e18])
def test_nor_do_they_in_single_precision(shape, size):
    X, Y = tables(*shape, 1)
    single = (size * (X - X.mean(axis=0))).astype(np.float32)
    expected = PLSRegressor(2).fit(X, Y[:, 0]).predict(X)
    np.testing.assert_allclose(PLSRegressor(2).fit(single, Y[:, 0]).predict(single), expected, rtol=1e-4)


def test_blocks_of_rows_have_the_same_targets():
    X, Y = tables(20, 5, 2)
    model = PLSRegressor(1).partial_fit(X[:10], Y[:10])
    with pytest.raises(ValueError, match="The number of targets is 1 here, and in the rows before it was 2"):
        model.partial_fit(X[10:], Y[10:, 0])
    assert model.partial_fit(X[10:], Y[10:]).coef_.shape == (2, 5)


def test_the_spread_of_a_column_with_missing_values_is_that_of_what_is_observed():
    X, Y = tables(30, 4, 1)
    X[2:, 1] = np.nan
    model = PLSRegressor(1, scale=True).fit(X, Y[:, 0])
    np.testing.assert_allclose(model._x_scale, [np.std(column[~np.isnan(column)], ddof=1) for column in X.T])


@pytest.mark.parametrize("share", [1.0, 1e-6])
def test_loadings_of_a_wide_table_are_those_of_the_scores(share):
    """Also where a large direction of the table has next to nothing to do with y, of which its score takes little."""
    rng = np.random.default_rng(0)
    y = scale(rng.normal(size=40))
    beside = rng.normal(size=40)
    along = scale(beside - beside @ y / (y @ y) * y) + share * y
    X = 100 / share * np.outer(along, rng.normal(size=90)) + rng.normal(size=(40, 90))
    model = PLSRegressor(5).fit(X, y)
    scores = model.x_scores_.astype(np.longdouble)
    exact = ((X - X.astype(np.longdouble).mean(axis=0)).T @ scores / np.sum(scores**2, axis=0)).astype(float)
    errors = np.linalg.norm(model.x_loadings_ - exact, axis=0) / np.linalg.norm(exact, axis=0)
    # A loading is read from its own weight and the next. The rounding of the table, eps |X|, counts more in a weight
    # the less of the table its score takes, and then in the loading before.
    condition = np.linalg.norm(X) / np.linalg.norm(X @ model.x_weights_, axis=0).min()
    assert errors.max() < rounding(X.shape[1], condition=condition)
    if share < 1:  # the next weight says little about the first loading, which is then a product with the table
        assert errors[0] < rounding(X.shape[0])


@pytest.mark.parametrize("algorithm", ["nipals", "kernel", "simpls", "krylov"])
@pytest.mark.parametrize("shape", [(60, 12, 1), (20, 50, 1)])
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
def test_an_infinite_cell_is_told(algorithm, shape):
    X, Y = tables(*shape)
    X[3, 2] = -np.inf
    with pytest.raises(ValueError, match="infinity"):
        PLSRegressor(solver=algorithm).fit(X, Y[:, 0])
    X[4, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        PLSRegressor(solver=algorithm).fit(X, Y[:, 0])
