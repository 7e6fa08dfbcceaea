"""HDDA: estimates of every model, rules for dimensions, small and degenerate classes, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from fewer.extract import HDDA, with_components


def flat_classes(n_rows=300, n_columns=20, dims=(2, 4), seed=0, noise=1.0):
    """Classes about the origin, each spread along its own first columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % len(dims)
    X = noise * rng.normal(size=(n_rows, n_columns))
    start = 0
    for label, d in enumerate(dims):
        X[y == label, start : start + d] *= 6
        start += d
    return X, y


def log_likelihood(model, X, y):
    """By the density of scipy, of rows with known classes."""
    total = 0.0
    for each, label in enumerate(model.classes_):
        Q = model.subspaces_[each]
        covariance = model.a_[each] * Q @ Q.T + model.b_[each] * (np.eye(X.shape[1]) - Q @ Q.T)
        logs = multivariate_normal(model.means_[each], covariance).logpdf(X[y == label])
        total += np.sum(logs + np.log(model.priors_[each]))
    return total


@pytest.mark.parametrize("model", ["full", "isometric", "homothetic", "common_noise"])
def test_variances_maximise_the_likelihood_of_their_model(model):
    X, y = flat_classes(noise=1.5)
    X[y == 1] *= 2
    fitted = HDDA(model, n_dims=[2, 4]).fit(X, y)
    best = log_likelihood(fitted, X, y)
    assert fitted.bic_ == pytest.approx(-2 * best + fitted.n_parameters_ * np.log(len(X)))

    free = {
        "full": lambda v: (v[:2], v[2:]),
        "isometric": lambda v: (v[[0, 0]], v[[1, 1]]),
        "common_noise": lambda v: (v[:2], v[[2, 2]]),
        "homothetic": lambda v: (v[:2], v[:2] * v[2]),  # a common ratio
    }[model]
    n_free = {"full": 4, "isometric": 2, "common_noise": 3, "homothetic": 3}[model]

    def worth(logs):
        a, b = free(np.exp(logs))
        fitted.a_, fitted.b_ = a, b
        return -log_likelihood(fitted, X, y)

    searched = minimize(
        worth, np.zeros(n_free), method="Nelder-Mead", options={"maxiter": 150, "xatol": 1e-3, "fatol": 0.1}
    )
    assert best >= -searched.fun - 1e-6


def test_parameters_are_counted_as_in_the_paper():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 100)), np.arange(400) % 4
    assert HDDA(n_dims=10).fit(X, y).n_parameters_ == 4195


def test_subspaces_are_the_principal_axes_of_each_class():
    X, y = load_wine(return_X_y=True)
    model = HDDA(n_dims=2).fit(X, y)
    for label, Q, eigenvalues in zip(range(3), model.subspaces_, model.eigenvalues_, strict=True):
        covariance = np.cov(X[y == label].T, bias=True)
        values, vectors = np.linalg.eigh(covariance)
        np.testing.assert_allclose(eigenvalues, values[::-1][:2], rtol=1e-8)
        np.testing.assert_allclose(Q @ Q.T, vectors[:, -2:] @ vectors[:, -2:].T, atol=1e-8)
        assert model.b_[label] == pytest.approx(values[:-2].mean())
        assert model.a_[label] == pytest.approx(values[-2:].mean())


@pytest.mark.parametrize("n_columns", [20, 200])
def test_few_rows_and_many_give_the_same_by_either_matrix_of_products(n_columns):
    X, y = flat_classes(60, n_columns)
    model = HDDA(n_dims=3).fit(X, y)
    for label in range(2):
        rows = X[y == label] - X[y == label].mean(axis=0)
        _, sizes, V = np.linalg.svd(rows, full_matrices=False)
        np.testing.assert_allclose(model.eigenvalues_[label], sizes[:3] ** 2 / len(rows), rtol=1e-8)
        np.testing.assert_allclose(model.subspaces_[label] @ model.subspaces_[label].T, V[:3].T @ V[:3], atol=1e-8)


def test_dimensions_are_found_by_every_rule():
    X, y = flat_classes(600, 30, dims=(2, 4))
    for rule in ("scree", "bic"):
        np.testing.assert_array_equal(HDDA(n_dims=rule).fit(X, y).dims_, [2, 4])
    np.testing.assert_array_equal(HDDA(scree_threshold="cv").fit(X, y).dims_, [2, 4])
    assert HDDA(n_dims="cv").fit(X, y).score(X, y) > 0.9


def test_dimensions_by_held_out_rows_are_those_of_fits_one_by_one():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    folds = StratifiedKFold(3)
    chosen = HDDA("isometric", n_dims="cv", cv=folds).fit(X, y).dims_
    right = {}
    for d in range(1, 14):
        model = HDDA("isometric", n_dims=d)
        right[d] = sum(np.sum(model.fit(X[t], y[t]).predict(X[v]) == y[v]) for t, v in folds.split(X, y))
    assert len(set(chosen)) == 1
    assert chosen[0] == max(right, key=lambda d: (right[d], -d))


def test_a_dimension_that_is_too_large_is_lowered():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=r"n_dims=99 is more than .* class 0 allow, so that it has 3 \(and 2 more"):
        assert (HDDA(n_dims=99).fit(X, y).dims_ == 3).all()  # one less than columns
    few = np.r_[0:3, 50:90]
    with pytest.warns(UserWarning, match="n_dims=3 is more than"):
        model = HDDA(n_dims=3).fit(X[few], y[few])
    assert model.dims_[0] < 3
    assert np.isfinite(model.predict_proba(X)).all()


def test_no_dimensions_make_classes_spheres():
    X, y = load_iris(return_X_y=True)
    model = HDDA("isometric", n_dims=0).fit(X, y)
    nearest = np.linalg.norm(X[:, None] - model.means_, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    assert model.transform(X).shape == (150, 0)
    assert HDDA("homothetic", n_dims=0).fit(X, y).score(X, y) > 0.9


def test_one_row_constant_classes_and_repeated_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = np.repeat(["a", "b", "c", "d"], [19, 10, 10, 1])
    X[29:39] = 5.0  # all rows of a class the same
    X = np.column_stack([X, X[:, 0], np.ones(40)])
    for model in ("full", "isometric", "homothetic", "common_noise"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fitted = HDDA(model).fit(X, y)
        alone = any("single row" in str(each.message) and "'d'" in str(each.message) for each in told)
        assert alone == (model in ("full", "homothetic")), "a class of one row matters where variances are its own"
        assert np.isfinite(fitted.predict_proba(X)).all()
        assert (fitted.b_ > 0).all()
    with pytest.raises(ValueError, match="Class 'd' has a single row"):
        HDDA(n_dims="cv").fit(X, y)


def test_one_column_and_a_constant_table():
    X, y = np.arange(12.0)[:, None], np.arange(12) // 6
    with pytest.warns(UserWarning, match="for the table has one column only: transform gives no columns"):
        model = HDDA().fit(X, y)
    assert (model.dims_ == 0).all()  # one direction always lies outside
    assert model.score(X, y) == 1
    with pytest.warns(UserWarning, match="no direction stands out: transform gives no columns.*constant columns"):
        model = HDDA().fit(np.ones((12, 3)), y)
    assert np.isfinite(model.predict_proba(np.ones((2, 3)))).all()
    with pytest.raises(ValueError, match="squares are beyond"):
        HDDA().fit(1e170 * np.eye(12), y)


def test_new_columns_are_axes_of_the_classes_in_turn():
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = np.array(["barolo", "grignolino", "barbera"])[y]
    model = HDDA(n_dims=[1, 3, 2]).fit(X, y)
    assert model.get_feature_names_out().tolist() == [
        "hdda_barbera_0",
        "hdda_barolo_0",
        "hdda_grignolino_0",
        "hdda_barolo_1",
        "hdda_grignolino_1",
        "hdda_barolo_2",
    ]
    framed = model.set_output(transform="pandas").transform(X)
    assert isinstance(framed, pd.DataFrame)
    np.testing.assert_allclose(framed.filter(like="barolo"), model.transform_class(X, "barolo"))
    fewer_columns = with_components(model, 4).fit(X, y)
    assert fewer_columns.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()[:4]
    np.testing.assert_allclose(fewer_columns.set_output().transform(X), framed.to_numpy()[:, :4])
    np.testing.assert_array_equal(fewer_columns.cost(X), model.cost(X))
    with pytest.warns(UserWarning, match="n_components=7 are asked for, and there are 6"):
        with_components(model, 7).fit(X, y)
    with pytest.raises(ValueError, match="no class 'merlot'"):
        model.transform_class(X, "merlot")


@pytest.mark.parametrize("n_columns", [15, 90])
def test_sparse_gives_what_dense_gives(n_columns):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(60, n_columns)).astype(float)
    y = np.arange(60) % 3
    X[y == 1, 0] += rng.poisson(5, size=20)
    for options in ({}, {"n_dims": "cv"}, {"n_dims": "bic", "model": "common_noise"}):
        dense, thin = HDDA(**options).fit(X, y), HDDA(**options).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(thin.cost(sparse.csc_array(X)), dense.cost(X), rtol=1e-6)
        np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-7)


def test_large_offsets_cost_no_digits():
    X, y = flat_classes()
    np.testing.assert_allclose(HDDA().fit(X + 1e5, y).cost(X + 1e5), HDDA().fit(X, y).cost(X), rtol=1e-5)


def test_priors_shift_the_costs():
    X, y = load_iris(return_X_y=True)
    plain, given = HDDA(n_dims=1).fit(X, y), HDDA(n_dims=1, priors=[0.2, 0.3, 0.5]).fit(X, y)
    shift = -2 * np.log(np.array([0.2, 0.3, 0.5]) * 3)
    np.testing.assert_allclose(given.cost(X) - plain.cost(X), np.tile(shift, (150, 1)), atol=1e-9)
    for priors in ([0.5, 0.5], [0.5, 0.6, 0.2], [-1, 1, 1]):
        with pytest.raises(ValueError, match="priors"):
            HDDA(priors=priors).fit(X, y)


@pytest.mark.parametrize("n_dims", [[1, 2], [1, 2, -1], [0.5, 1, 1], [[1, 1, 1]]])
def test_dimensions_that_do_not_fit_the_classes_are_refused(n_dims):
    with pytest.raises(ValueError, match="n_dims"):
        HDDA(n_dims=n_dims).fit(*load_iris(return_X_y=True))


def test_an_unfinished_iteration_is_told():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="still moved by"):
        HDDA("homothetic", max_iter=1, tol=0).fit(X, y)
