"""KernelRegularizedFisher: formulas of the paper, kernels of every kind, bad input."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import scale

from fewer.extract import KernelRegularizedFisher


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def test_projections_are_those_of_the_printed_formula(wine):
    X, y = wine
    model = KernelRegularizedFisher(gamma=0.1, alpha=0.5, scaling="orthonormal").fit(X[:120], y[:120])
    n_rows, labels = 120, np.unique(y[:120])
    indicator = (y[:120, None] == labels) / np.sqrt((y[:120, None] == labels).sum(axis=0))
    K, H = rbf_kernel(X[:120], gamma=0.1), np.eye(n_rows) - 1 / n_rows
    inverse = linalg.inv(H @ K @ H + 0.5 * np.eye(n_rows))
    R = indicator.T @ (H @ K @ H) @ inverse @ indicator
    eigenvalues, V = linalg.eigh(R)
    kept = slice(None, -model.n_components_ - 1, -1)
    eigenvalues, V = eigenvalues[kept], V[:, kept]
    centred = H @ (rbf_kernel(X[:120], X, gamma=0.1) - K.mean(axis=1, keepdims=True))
    expected = (V / np.sqrt(eigenvalues)).T @ indicator.T @ inverse @ centred
    np.testing.assert_allclose(model.eigenvalues_, eigenvalues, atol=1e-10)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected.T), atol=1e-8)


def test_the_width_is_the_mean_distance():
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    model = KernelRegularizedFisher().fit(X, [0, 0, 1, 1])
    assert model.gamma_ == pytest.approx(1 / np.mean([1, 3, 3, 2, 2, 0]) ** 2)


def test_a_precomputed_kernel_and_a_function_give_what_the_name_gives(wine):
    X, y = wine
    X, y = X[::4], y[::4]
    named = KernelRegularizedFisher(kernel="poly", gamma=0.2, degree=2, coef0=1).fit(X, y)
    K = polynomial_kernel(X, degree=2, gamma=0.2, coef0=1)
    ready = KernelRegularizedFisher(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(ready.transform(K), named.transform(X), atol=1e-9)
    function = KernelRegularizedFisher(kernel=lambda a, b: (0.2 * a @ b + 1) ** 2).fit(X, y)
    np.testing.assert_allclose(function.transform(X), named.transform(X), atol=1e-9)
    assert ready.gamma_ is None


def test_a_precomputed_kernel_has_to_be_square(wine):
    X, y = wine
    with pytest.raises(ValueError, match="one row and one column for each training row"):
        KernelRegularizedFisher(kernel="precomputed").fit(X, y)


def test_the_legacy_solver_is_another_regularisation(wine):
    X, y = wine
    new, old = (KernelRegularizedFisher(alpha=1.0, solver=solver).fit(X, y) for solver in ("svd", "legacy"))
    assert np.abs(new.eigenvalues_ - old.eigenvalues_).max() > 0.01
    new, old = (KernelRegularizedFisher(alpha=0.0, solver=solver).fit(X, y) for solver in ("svd", "legacy"))
    np.testing.assert_allclose(new.eigenvalues_, old.eigenvalues_, atol=1e-10)


def test_sparse_rows_stay_sparse(wine):
    X, y = wine
    X = np.where(X > 0.5, X, 0)
    on_sparse = KernelRegularizedFisher().fit(sparse.csr_array(X), y)
    assert sparse.issparse(on_sparse.X_fit_)
    np.testing.assert_allclose(
        on_sparse.transform(sparse.csr_array(X)), KernelRegularizedFisher().fit(X, y).transform(X), atol=1e-8
    )


def test_repeated_rows_without_a_ridge_and_a_class_of_one_row(wine):
    X, y = wine
    X, y = np.vstack([X[::3], X[:3]]), np.append(y[::3], [7, 0, 0])
    model = KernelRegularizedFisher(alpha=0, solver="evd").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="No direction in the space of this kernel"):
        KernelRegularizedFisher().fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
