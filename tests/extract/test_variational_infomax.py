"""VariationalInfoMax: bounds, starts, comparison with PCA, and the L-BFGS that climbs."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from fewer.extract import VariationalInfoMax, compare_to_pca, information_bound
from fewer.extract.information._bound import (
    Channel,
    GramForm,
    MomentForm,
    bound,
    decoders_of,
    form_for,
    polar,
    second_moments,
    softmax,
)
from fewer.extract.information._im_algorithm import Ascent, from_start
from fewer.extract.information._kernels import gram_inverse, projection_slopes, row_slopes, turned_value
from tolerances import rounding


def rows_with_outliers(n_rows=300, seed=0):
    """Most rows vary along the first column, one in twenty wildly along the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)) * [2.0, 0.2, 0.2, 0.2] + [5, 0, -3, 1]
    X[::20, 1] += rng.normal(scale=15, size=len(X[::20]))
    return X


X = rows_with_outliers()
NEW = rows_with_outliers(seed=1)


def printed_bound(X, model):
    """The formula of the bound, written out with full matrices."""
    centred = X - model.mean_
    v, b = model.aux_weights_
    logits = -(centred @ v.T + b)
    pi = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total = 0.0
    for j, decoder in enumerate(model.decoders_):
        U, S = decoder.U, decoder.S
        left = centred - centred @ model.components_.T @ U.T
        inverse = np.linalg.inv(S)
        L = -0.5 * (
            np.einsum("ip,pq,iq->i", left, inverse, left)
            + model.noise_variance * np.trace(U.T @ inverse @ U)
            + np.linalg.slogdet(S)[1]
            + X.shape[1] * np.log(2 * np.pi)
        )
        total += np.mean(pi[:, j] * (L + np.log(model.aux_prior_[j]) - np.log(pi[:, j])))
    return total


@pytest.mark.parametrize(("shape", "few"), [("tall", 50), ("wide", 50), ("wide", 0)])
def test_the_bound_is_the_printed_formula(shape, few, monkeypatch):
    monkeypatch.setattr("fewer.extract.information._bound._FEW_AXES", few)
    table = X if shape == "tall" else np.random.default_rng(0).normal(size=(12, 30)) ** 3
    model = VariationalInfoMax(2, n_init=2, noise_variance=0.7, random_state=0).fit(table)
    assert model.bound_[-1] == pytest.approx(printed_bound(table, model), abs=1e-8)
    assert model.score(table) == pytest.approx(model.bound_[-1], abs=1e-8)
    new = NEW if shape == "tall" else np.random.default_rng(1).normal(size=(9, 30))
    assert model.score(new) == pytest.approx(printed_bound(new, model), rel=1e-8)


def test_directions_count_by_their_span_and_rows_add_up_to_the_bound():
    rng = np.random.default_rng(0)
    Z, channel = rng.normal(size=(50, 5)), Channel(0.6, 0.2, 7)
    pi = rng.dirichlet([1, 1], size=50)
    C, shares = second_moments(Z, pi), pi.mean(axis=0)
    spectrum = np.linalg.eigh(C)
    condition = np.linalg.cond(C).max()
    for _ in range(3):
        B = rng.normal(size=(2, 5))
        value, gradient, forms, constants = projection_slopes(B, C, shares, *channel)
        expected = bound(pi, decoders_of(C, polar(B), channel), channel, sent=True)
        tolerance = rounding(50, abs(expected), condition)
        assert value == pytest.approx(expected, abs=tolerance)
        assert np.mean(np.sum(pi * row_slopes(Z, forms, constants), axis=1)) == pytest.approx(expected, abs=tolerance)
        turned, slope = turned_value(B, *spectrum, shares, *channel)
        assert turned == pytest.approx(expected, abs=tolerance)
        np.testing.assert_allclose(slope, gradient, rtol=0, atol=tolerance)


def wide_rows(n_rows=25, n_axes=24):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n_rows, n_axes)) * np.linspace(3, 0.1, n_axes)
    return Z, rng.normal(size=(3, n_axes + 1)), rng.normal(size=(2, n_axes))


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize(("n_rows", "n_axes"), [(25, 24), (40, 20), (12, 30)])
def test_products_of_rows_give_the_bound_and_the_gradients_that_moments_give(n_rows, n_axes, sent):
    Z, weights, B = wide_rows(n_rows, n_axes)
    forms = [form(Z, Channel(0.6, 0.2, n_axes + 5)) for form in (MomentForm, GramForm)]
    for push in (0.1, 1, 30):  # from states that rows share to states of their own
        expected, found = (form.softmax_bound(push * weights, B, sent) for form in forms)
        # The matrices that are inverted have the noise, of variance 0.2 at least, beside squares of the rows.
        condition = np.linalg.norm(Z, 2) ** 2 / n_rows / 0.2
        assert found[0] == pytest.approx(expected[0], rel=rounding(n_rows, condition=condition))
        for slope, other in zip(found[1:], expected[1:], strict=True):
            # Of states that rows have for themselves, what is left of the slopes is small.
            tolerance = rounding(n_rows, abs(expected[0]) + np.abs(other).max())
            np.testing.assert_allclose(slope, other, rtol=1e-10, atol=tolerance)


def test_rows_are_worth_the_same_in_both_forms_also_in_states_where_they_are_not():
    Z, weights, B = wide_rows()
    hard = np.eye(4)[np.r_[:25] % 3]  # and nobody is in the last one
    for pi in (softmax(Z, weights[:, :-1], weights[:, -1]), hard):
        moments, products = (form(Z, Channel(0.6, 0.2, 40)).at(pi) for form in (MomentForm, GramForm))
        value, gradient = moments.value(B)
        found, slope = products.value(B)
        tolerance = rounding(len(Z), abs(value), condition=np.linalg.norm(Z, 2) ** 2 / len(Z) / 0.2)
        assert found == pytest.approx(value, abs=tolerance)
        np.testing.assert_allclose(slope, gradient, rtol=0, atol=tolerance)
        np.testing.assert_allclose(products.worth(B), moments.worth(B), rtol=1e-10)


@pytest.mark.parametrize("size", [1, 32, 33, 97, 200])
def test_the_inverse_of_weighted_products_of_rows(size):
    rng = np.random.default_rng(0)
    Z, roots, rows = rng.normal(size=(size + 5, 10)), rng.random(size), rng.permutation(size + 5)[:size]
    found, log_det = gram_inverse(Z @ Z.T, rows, roots, 0.1)
    G = roots[:, None] * (Z[rows] @ Z[rows].T) * roots + 0.1 * np.eye(size)
    # Ten products in an entry, then steps of an inverse whose largest entries are at most 1 / 0.1.
    tolerance = rounding(size + 10, 1 / 0.1, np.linalg.cond(G))
    np.testing.assert_allclose(found, np.linalg.inv(G), rtol=0, atol=tolerance)
    assert log_det == pytest.approx(np.linalg.slogdet(G)[1])


def test_products_of_rows_serve_where_rows_are_few_and_digits_are_enough():
    rng = np.random.default_rng(0)
    wide, tall, small = (rng.normal(size=shape) for shape in [(80, 79), (200, 60), (20, 19)])
    assert isinstance(form_for(wide, Channel(1.0, 0.05, 100)), GramForm)
    assert isinstance(form_for(tall, Channel(1.0, 0.05, 60)), MomentForm)
    assert isinstance(form_for(small, Channel(1.0, 0.05, 100)), MomentForm)
    assert isinstance(form_for(wide, Channel(1.0, 0.0, 79)), MomentForm)
    assert isinstance(form_for(wide, Channel(1.0, 1e-9, 79)), MomentForm)


@pytest.mark.parametrize("settings", [{}, {"aux": "free"}, {"objective": "hybrid"}])
def test_a_wide_table_comes_to_the_same_end_in_both_forms(settings, monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 80)) + 3 * np.eye(3)[rng.integers(3, size=60)] @ rng.normal(size=(3, 80))
    model = VariationalInfoMax(2, n_init=2, random_state=0, **settings)
    quick = model.fit(table).bound_
    monkeypatch.setattr("fewer.extract.information._bound._MANY_ROWS", 0)
    np.testing.assert_allclose(model.fit(table).bound_, quick, atol=1e-6)


def test_gaussian_is_pca():
    model = VariationalInfoMax(2, objective="gaussian").fit(X)
    peer = PCA(2).fit(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(peer.transform(X)), atol=1e-8)
    assert model.bound_[-1] == model.gaussian_bound_
    assert model.aux_weights_ is None
    assert (model.predict_aux(X) == 0).all()
    # Decoding is the regression of the rows on their noisy codes.
    codes = peer.transform(X)
    shrunk = codes * peer.explained_variance_ * 299 / 300 / (peer.explained_variance_ * 299 / 300 + 1)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), peer.inverse_transform(shrunk), atol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"aux": "free"}, {"objective": "hybrid"}, {"init": "random"}])
def test_few_rows_with_most_of_the_variance_do_not_attract_it(settings):
    model = VariationalInfoMax(1, n_init=4, random_state=0, **settings).fit(X)
    assert np.abs(model.components_[0, 0]) > 0.95
    assert np.abs(PCA(1).fit(X).components_[0, 1]) > 0.95
    assert model.bound_[-1] == model.restart_bounds_.max() > model.gaussian_bound_ + 1


def test_new_columns_are_uncorrelated_and_fall_in_variance():
    table = StandardScaler().fit_transform(load_wine().data)
    model = VariationalInfoMax(4, n_init=2, random_state=0).fit(table)
    codes = model.transform(table)
    spread = np.cov(codes.T, bias=True)
    np.testing.assert_allclose(spread, np.diag(np.diag(spread)), atol=1e-10)
    assert (np.diff(np.diag(spread)) < 0).all()
    np.testing.assert_allclose(codes, (table - model.mean_) @ model.components_.T, atol=1e-10)
    largest = np.take_along_axis(model.components_, np.abs(model.components_).argmax(axis=1)[:, None], axis=1)
    assert (largest > 0).all()


def test_the_noise_of_the_channel_is_that_asked_for():
    model = VariationalInfoMax(2, n_init=1, noise_variance=4.0, random_state=0).fit(X)
    noise = model.transform(X, noise=True) - model.transform(X)
    assert noise.std() == pytest.approx(2, rel=0.1)
    np.testing.assert_array_equal(model.transform(X, noise=True), model.transform(X, noise=True))


def test_decoding_with_and_without_the_decoder_told():
    model = VariationalInfoMax(1, objective="hybrid", n_init=4, random_state=0).fit(X)
    z, codes = model.predict_aux(X), model.transform(X)
    by_hand = np.array([model.decoders_[j].U @ code for j, code in zip(z, codes, strict=True)]) + model.mean_
    np.testing.assert_allclose(model.inverse_transform(codes, z), by_hand, atol=1e-10)
    mixed = model.inverse_transform(codes)
    each = np.stack([model.inverse_transform(codes, np.full(len(X), j)) for j in range(len(model.decoders_))])
    assert (mixed >= each.min(axis=0) - 1e-9).all()
    assert (mixed <= each.max(axis=0) + 1e-9).all()
    with pytest.raises(ValueError, match="one number from 0 to 2 for each of the 300 rows"):
        model.inverse_transform(codes, z + 5)
    with pytest.raises(ValueError, match="A code has 1 numbers, and X has 2 columns"):
        model.inverse_transform(np.ones((3, 2)))


def test_units_make_no_difference():
    model = VariationalInfoMax(1, n_init=4, random_state=0).fit(X)
    scaled = VariationalInfoMax(1, n_init=4, noise_variance=1e6, random_state=0).fit(1000 * X)
    np.testing.assert_allclose(np.abs(scaled.components_), np.abs(model.components_), atol=1e-4)
    assert scaled.bound_[-1] == pytest.approx(model.bound_[-1] - 4 * np.log(1000), abs=1e-4)


def test_a_wide_table_is_worked_on_in_the_span_of_its_rows():
    rng = np.random.default_rng(0)
    small = rng.normal(size=(20, 6)) ** 3
    turned = np.linalg.qr(rng.normal(size=(400, 6)))[0]
    model, wide = (
        VariationalInfoMax(2, n_init=6, aux="free", reg_covar=0.1, random_state=0).fit(table)
        for table in (small, small @ turned.T)
    )
    flat = 394 * 0.5 * (np.log(0.1) + np.log(2 * np.pi))
    assert wide.gaussian_bound_ == pytest.approx(model.gaussian_bound_ - flat, abs=1e-8)
    assert wide.decoders_[0].S.shape == (400, 400)
    decoded = wide.inverse_transform(wide.transform(small @ turned.T))
    np.testing.assert_allclose(decoded @ turned @ turned.T, decoded, atol=1e-8)


def test_sparse_float32_and_frames_give_the_same():
    table = np.where(np.abs(X) < 0.2, 0, X)
    model = VariationalInfoMax(2, n_init=2, random_state=0).fit(table)
    for form in (sparse.csr_array(table), sparse.csc_matrix(table)):
        found = VariationalInfoMax(2, n_init=2, random_state=0).fit(form)
        np.testing.assert_allclose(found.transform(form), model.transform(table), atol=1e-4)
        assert found.score(form) == pytest.approx(model.score(table), abs=1e-6)
    single = VariationalInfoMax(2, n_init=2, random_state=0).fit(table.astype(np.float32))
    assert single.transform(table.astype(np.float32)).dtype == np.float32
    assert single.inverse_transform(single.transform(table.astype(np.float32))).dtype == np.float32
    frame = pd.DataFrame(table, columns=list("abcd"))
    framed = VariationalInfoMax(2, n_init=2, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(framed.transform(frame).columns) == ["variationalinfomax0", "variationalinfomax1"]


def test_many_rows_choose_their_start_on_some_of_them(monkeypatch):
    monkeypatch.setattr("fewer.extract.information._im_algorithm._MANY_ROWS", 150)
    table = rows_with_outliers(600)
    for aux in ("softmax", "free"):
        model = VariationalInfoMax(1, n_init=4, aux=aux, random_state=0).fit(table)
        assert np.abs(model.components_[0, 0]) > 0.95
        assert model.bound_[-1] > model.gaussian_bound_ + 1


@pytest.mark.parametrize("table", [X, np.random.default_rng(0).normal(size=(60, 90))], ids=["tall", "wide"])
def test_threads_make_no_difference(table):
    first, second = (VariationalInfoMax(1, n_init=4, n_jobs=jobs, random_state=0).fit(table) for jobs in (None, 2))
    np.testing.assert_array_equal(first.components_, second.components_)


def test_small_matrices_are_multiplied_on_one_thread(monkeypatch):
    seen = []

    def watched(*given):
        seen.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return from_start(*given)

    monkeypatch.setattr("fewer.extract.information._im_algorithm.from_start", watched)
    with threadpool_limits(2, user_api="blas"):
        VariationalInfoMax(1, n_init=1, random_state=0).fit(X)
        after = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    assert set(seen) == {1}
    assert set(after) == {2}


def test_giving_up_is_told_with_the_figure_reached():
    with pytest.warns(ConvergenceWarning, match="still gained .* nats in the last of 1 steps; raise max_iter or tol"):
        VariationalInfoMax(1, max_iter=1, n_init=2, random_state=0).fit(X)


def test_more_directions_and_states_than_possible():
    with pytest.warns(
        UserWarning, match="n_components=9 are asked for, and there are 4, the rank of the centred table"
    ):
        model = VariationalInfoMax(9, n_init=1, random_state=0).fit(X)
    assert model.n_components_ == 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = VariationalInfoMax(1, n_aux=8, n_init=4, objective="hybrid", aux="free", random_state=0).fit(X[:3])
    assert len(few.decoders_) <= 3


def test_constant_columns_duplicates_and_one_column():
    odd = np.column_stack([X, X[:, :2], np.ones(300)])
    model = VariationalInfoMax(2, n_init=2, random_state=0).fit(odd)
    assert np.isfinite(model.bound_).all()
    np.testing.assert_allclose(model.components_[:, -1], 0, atol=1e-10)
    assert VariationalInfoMax(1, n_init=2, random_state=0).fit(X[:, :1]).components_.shape == (1, 1)


def test_what_cannot_be_done_is_told_with_the_cure():
    with pytest.raises(ValueError, match="All rows of X are the same"):
        VariationalInfoMax().fit(np.ones((5, 3)))
    with pytest.raises(ValueError, match="Set reg_covar above 0"):
        VariationalInfoMax(reg_covar=0, n_init=1).fit(np.random.default_rng(0).normal(size=(5, 9)))


def test_in_a_pipeline_it_feeds_a_classifier():
    table, wine = load_wine(return_X_y=True)
    reduce = VariationalInfoMax(4, n_init=2, random_state=0)
    model = make_pipeline(StandardScaler(), reduce, LogisticRegression()).fit(table[::2], wine[::2])
    assert model.score(table[1::2], wine[1::2]) > 0.9


def test_any_projection_can_be_rated():
    model = VariationalInfoMax(1, n_init=4, random_state=0).fit(X)
    own = information_bound(X, model.components_, model)
    principal = information_bound(X, PCA(1).fit(X).components_, model)
    assert own > model.bound_[-1] - 1e-3
    assert own > principal + 0.3
    assert information_bound(X, PCA(1).fit(X).components_) == pytest.approx(model.gaussian_bound_)
    assert information_bound(sparse.csr_array(X), model.components_, model) == pytest.approx(own, abs=1e-6)


def test_what_is_no_projection_is_told():
    with pytest.raises(ValueError, match=r"np.linalg.qr\(W.T\)\[0\].T makes them so"):
        information_bound(X, np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"W has shape \(2, 3\); it needs a row for each direction, of 4 entries"):
        information_bound(X, np.eye(3)[:2])
    with pytest.raises(ValueError, match='neither "gaussian" nor a VariationalInfoMax'):
        information_bound(X, np.eye(4)[:2], "laplace")


def test_the_comparison_tells_directions_from_decoders():
    found = compare_to_pca(VariationalInfoMax(1, n_init=4, random_state=0), X, NEW, random_state=0)
    assert found.gain_of_directions > 0.3
    assert found.gain == pytest.approx(found.new_bounds[0] - found.new_bounds[3])
    assert found.overlap[0] < 0.5
    assert "On new rows" in found.reading
    assert "PCA, one decoder" in repr(found)
    assert len(found.plot().data) == 2
    assert json.loads(json.dumps(found.to_dict()))["projections"][0] == "fitted"


def test_the_comparison_takes_a_fitted_model_and_says_when_pca_is_better():
    rng = np.random.default_rng(0)
    table, new = rng.normal(size=(40, 8)), rng.normal(size=(200, 8))
    model = VariationalInfoMax(2, n_aux=4, aux="free", n_init=2, reg_covar=0.01, random_state=0).fit(table)
    found = compare_to_pca(model, table, new, random_state=0)
    assert "PCA is the better choice here" in found.reading
    alone = compare_to_pca(model, table, random_state=0)
    assert alone.new_bounds is None
    assert "pass some as X_new" in alone.reading
    with pytest.raises(ValueError, match="X has 8 columns, and X_new has 3"):
        compare_to_pca(model, table, new[:, :3])
    with pytest.raises(ValueError, match="fitted to 8 columns, and X has 3"):
        compare_to_pca(model, table[:, :3])


@pytest.mark.parametrize("seed", range(3))
def test_in_a_comparison_fitted_directions_keep_what_the_fit_found(seed):
    table = StandardScaler().fit_transform(load_wine().data)
    model = VariationalInfoMax(random_state=seed).fit(table)
    found = compare_to_pca(model, table, random_state=0)
    assert found.bounds[0] >= model.bound_[-1] - 1e-8
    # Decoders of a model that was fitted to other rows, with another reg, are fitted anew.
    elsewhere = VariationalInfoMax(random_state=seed).fit(2 * table[:50])
    assert compare_to_pca(elsewhere, table, random_state=0).bounds[0] > elsewhere.score(table)


def test_what_cannot_be_compared_is_told():
    with pytest.raises(TypeError, match="is no VariationalInfoMax; PCA is what that is compared to"):
        compare_to_pca(PCA(2), X)
    with pytest.raises(ValueError, match='neither "gaussian" nor a VariationalInfoMax'):
        information_bound(X, np.eye(4)[:2], PCA(2))


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_with_which_nothing_can_be_reckoned_are_told(unit):
    with pytest.raises(ValueError, match=r"mean variance of .*: give X in other units, or standardise the columns"):
        VariationalInfoMax(1, random_state=0).fit(unit * X)


@pytest.mark.filterwarnings("error")
def test_models_of_frames_are_compared_on_frames():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    model = VariationalInfoMax(1, n_init=1, random_state=0).fit(frame)
    found = compare_to_pca(model, frame, frame[:20], random_state=0)
    plain = VariationalInfoMax(1, n_init=1, random_state=0).fit(frame.to_numpy())
    expected = compare_to_pca(plain, frame.to_numpy(), frame[:20].to_numpy(), random_state=0)
    np.testing.assert_array_equal(found.bounds, expected.bounds)
    with pytest.raises(ValueError, match="feature names"):
        compare_to_pca(model, frame[list("cba")])


def valley(x):
    """Minus the function of Rosenbrock: a curved ridge, with its top at (1, 1)."""
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return -value, -np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


def test_the_top_of_a_curved_ridge_is_found_and_no_move_goes_down():
    ascent = Ascent(valley, np.array([-1.2, 1.0]))
    values = [ascent.value]
    for _ in range(12):
        ascent.move(5)
        values.append(ascent.value)
    np.testing.assert_allclose(ascent.x, 1, atol=1e-5)
    assert (np.diff(values) >= 0).all()
    ascent.move(5)
    np.testing.assert_allclose(ascent.x, 1, atol=1e-5)


def test_it_stays_where_the_function_has_a_value():
    seen = []

    def logarithm(x):
        seen.append(x[0])
        return (np.log(x[0]) - x[0], 1 / x - 1) if x[0] > 0 else (-np.inf, np.ones(1))

    ascent = Ascent(logarithm, np.array([5.0]))
    ascent.move(30)
    assert ascent.x[0] == pytest.approx(1, abs=1e-6)
    far = Ascent(lambda x: (-np.inf, np.ones(1)) if x[0] > 1 + 1e-3 else (float(x[0]), np.ones(1)), np.array([1.0]))
    far.move(3)
    assert 1 < far.x[0] <= 1 + 1e-3


def test_it_goes_on_with_a_function_that_has_changed():
    centre = np.zeros(3)

    def hill(x):
        return -float(np.sum(np.array([1, 10, 100]) * (x - centre) ** 2)), -2 * np.array([1, 10, 100]) * (x - centre)

    ascent = Ascent(hill, np.ones(3))
    ascent.move(20)
    centre = np.array([1.0, -1.0, 2.0])
    ascent.turn_to(hill)
    ascent.move(20)
    np.testing.assert_allclose(ascent.x, centre, atol=1e-6)
