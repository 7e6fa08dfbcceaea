"""KernelPLS and PolynomialPLSRegressor: the loop of the paper, kernels of every kind, bends, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from fewer.extract import KernelPLS, PLSRegressor, PolynomialPLSRegressor


def bent(n_rows=80, n_targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    Y = np.column_stack([np.sin(X[:, 0] + place) + X[:, 1] ** 2 for place in range(n_targets)])
    Y += 0.1 * rng.normal(size=Y.shape)
    return X, Y[:, 0] if n_targets == 1 else Y


def textbook(K, Y, n_components):
    """Predictions of the training rows by the loop of the paper, with K deflated."""
    n_rows = len(K)
    centring = np.eye(n_rows) - 1 / n_rows
    K0 = K = centring @ K @ centring
    mean = Y.mean(axis=0)
    Y0 = Y = Y - mean
    T, U = [], []
    for _ in range(n_components):
        u = Y[:, 0]
        for _ in range(2000):
            t = K @ u
            t /= np.linalg.norm(t)
            u = Y @ (Y.T @ t)
            u /= np.linalg.norm(u)
        rest = np.eye(n_rows) - np.outer(t, t)
        K, Y = rest @ K @ rest, rest @ Y
        T.append(t)
        U.append(u)
    T, U = np.array(T).T, np.array(U).T
    return K0 @ U @ np.linalg.solve(T.T @ K0 @ U, T.T @ Y0) + mean


@pytest.mark.parametrize("n_targets", [1, 3])
def test_predictions_are_those_of_the_loop(n_targets):
    X, y = bent(n_targets=n_targets)
    model = KernelPLS(4, gamma=0.5).fit(X, y)
    expected = textbook(rbf_kernel(X, gamma=0.5), y.reshape(80, -1), 4)
    np.testing.assert_allclose(model.predict(X).reshape(80, -1), expected, atol=1e-7)
    np.testing.assert_allclose(model.transform(X), model.x_scores_, atol=1e-9)
    np.testing.assert_allclose(model.x_scores_.T @ model.x_scores_, np.eye(4), atol=1e-10)


def test_dual_coefficients_predict_and_the_path_ends_there():
    X, y = bent()
    model = KernelPLS(5, gamma=0.5).fit(X[:60], y[:60])
    K = rbf_kernel(X[60:], X[:60], gamma=0.5) - model.kernel_means_
    np.testing.assert_allclose(K @ model.dual_coef_ + model.y_mean_, model.predict(X[60:]), atol=1e-10)
    np.testing.assert_allclose(model.predict_path(X[60:])[-1], model.predict(X[60:]), atol=1e-10)
    np.testing.assert_allclose(
        model.predict_path(X[60:])[1], KernelPLS(2, gamma=0.5).fit(X[:60], y[:60]).predict(X[60:])
    )


def test_new_rows_are_centred_by_the_training_rows():
    X, Y = bent(n_targets=2)
    linear = KernelPLS(2, kernel="linear").fit(X[:50] + 100, Y[:50])
    expected = PLSRegressor(2).fit(X[:50] + 100, Y[:50])
    np.testing.assert_allclose(linear.predict(X[50:] + 100), expected.predict(X[50:] + 100), atol=1e-7)


def test_a_precomputed_kernel_is_the_kernel():
    X, y = bent()
    K = rbf_kernel(X, gamma=0.5)
    expected = KernelPLS(4, gamma=0.5).fit(X[:60], y[:60]).predict(X[60:])
    found = KernelPLS(4, kernel="precomputed").fit(K[:60, :60], y[:60]).predict(K[60:, :60])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(ValueError, match="precomputed kernel has one row and one column"):
        KernelPLS(kernel="precomputed").fit(X, y)


def test_sparse_callable_and_uncentred_kernels():
    X, y = bent()
    dense = KernelPLS(3, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(KernelPLS(3, gamma=0.5).fit(sparse.csr_array(X), y).predict(X), dense.predict(X))
    by_hand = KernelPLS(3, kernel=lambda a, b: np.exp(-0.5 * np.sum((a - b) ** 2))).fit(X, y)
    np.testing.assert_allclose(by_hand.predict(X), dense.predict(X), atol=1e-9)
    plain = KernelPLS(3, gamma=0.5, with_mean=False).fit(X, y)
    assert np.all(plain.kernel_means_ == 0)
    assert plain.score(X, y) > 0.3


def test_a_smooth_kernel_runs_out_of_components_and_says_so():
    x = np.linspace(0, 1, 60)[:, None]
    with pytest.warns(UserWarning, match="n_components=40 are asked for"):
        model = KernelPLS(40, gamma=0.5).fit(x, np.sin(6 * x[:, 0]))
    assert model.n_components_ < 15
    assert model.score(x, np.sin(6 * x[:, 0])) > 0.999


def test_constant_targets_are_predicted_by_their_mean():
    X, _ = bent()
    with pytest.warns(UserWarning, match="there are 0"):
        model = KernelPLS(2).fit(X, np.full(80, 3.0))
    np.testing.assert_allclose(model.predict(X), 3)


def test_more_targets_than_rows():
    X, Y = bent(12, n_targets=30)
    expected = PLSRegressor(2).fit(X, Y).predict(X)
    np.testing.assert_allclose(KernelPLS(2, kernel="linear").fit(X, Y).predict(X), expected, atol=1e-8)


def test_a_polynomial_of_degree_one_is_pls():
    X, Y = bent(n_targets=2)
    straight, expected = PolynomialPLSRegressor(2, degree=1).fit(X, Y), PLSRegressor(2).fit(X, Y)
    np.testing.assert_allclose(straight.transform(X)[:, 0], expected.transform(X)[:, 0], atol=1e-9)
    one = PolynomialPLSRegressor(3, degree=1, scale=True).fit(X, Y[:, 0])
    np.testing.assert_allclose(one.predict(X), PLSRegressor(3, scale=True).fit(X, Y[:, 0]).predict(X), atol=1e-9)


def test_a_polynomial_follows_a_bend_along_a_straight_direction():
    rng = np.random.default_rng(0)
    t = rng.normal(size=300)
    X = np.outer(t, rng.normal(size=20)) + 0.3 * rng.normal(size=(300, 20))
    y = 1 + t + t**2
    straight, curved = (cross_val_score(each, X, y).mean() for each in (PLSRegressor(1), PolynomialPLSRegressor(1)))
    assert curved > 0.95 > straight + 0.3
    model = PolynomialPLSRegressor(2, degree=3).fit(X, y)
    assert model.inner_coef_.shape == (2, 4)
    np.testing.assert_allclose(model.predict_path(X)[-1], model.predict(X))
    np.testing.assert_allclose(model.predict_path(X)[0], PolynomialPLSRegressor(1, degree=3).fit(X, y).predict(X))
    products = model.x_scores_.T @ model.x_scores_
    assert abs(products[0, 1]) < 1e-9 * products[0, 0]


def test_a_polynomial_of_a_sparse_table():
    X, y = bent()
    X[np.abs(X) < 0.5] = 0
    np.testing.assert_allclose(
        PolynomialPLSRegressor(2).fit(sparse.csr_array(X), y).predict(X), PolynomialPLSRegressor(2).fit(X, y).predict(X)
    )


def test_a_kernel_beyond_memory_is_told_with_the_cure(monkeypatch):
    def too_large(*args):
        raise MemoryError

    monkeypatch.setattr(KernelPLS, "_kernel_with", too_large)
    with pytest.raises(MemoryError, match=r"kernel of 20 rows .* LandmarkFeatures"):
        KernelPLS().fit(np.eye(20), np.arange(20.0))
