"""GeneralizedEigenProjector: its special cases are Fisher's directions, PLS and regression; bad input is told."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.cross_decomposition import PLSSVD
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import scale

from fewer.extract import GeneralizedEigenProjector, RegularizedFisher


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), np.array(["barolo", "grignolino", "barbera"])[y]


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_a_ridge_on_classes_is_the_regularised_fisher(wine, alpha):
    X, y = wine
    ours = GeneralizedEigenProjector(f_coeffs=(alpha, 0, 1)).fit(X, y)
    fisher = RegularizedFisher(alpha=alpha, scaling="orthonormal").fit(X, y)
    np.testing.assert_allclose(ours.components_, fisher.components_, atol=1e-10)
    np.testing.assert_allclose(ours.eigenvalues_, fisher.eigenvalues_, atol=1e-10)


def test_a_constant_f_is_partial_least_squares(wine):
    X, _ = wine
    ours = GeneralizedEigenProjector(f_coeffs=(1,)).fit(X[:, :8], X[:, 8:])
    theirs = PLSSVD(n_components=5, scale=False).fit(X[:, :8], X[:, 8:])
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.x_weights_.T), atol=1e-8)


def test_one_number_as_target_without_a_ridge_is_regression():
    X, y = load_diabetes(return_X_y=True)
    ours = GeneralizedEigenProjector(f_coeffs=(0, 0, 1)).fit(X, y)
    coef = LinearRegression().fit(X, y).coef_
    assert ours.n_components_ == 1
    cosine = ours.components_[0] @ coef / np.linalg.norm(ours.components_) / np.linalg.norm(coef)
    assert abs(cosine) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
@pytest.mark.parametrize("center", [True, False])
def test_directions_solve_the_generalised_eigenproblem_dense_and_sparse(shape, center):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    Y = rng.normal(size=(shape[0], 3))
    f_coeffs = (2.0, 0.7, 0.0, 0.1)
    table, target = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if center else (X, Y)
    _, sizes, V = linalg.svd(table)
    sizes = np.append(sizes, np.zeros(shape[1] - len(sizes)))
    f_of_q = V.T * np.polynomial.polynomial.polyval(sizes, f_coeffs) @ V
    products = table.T @ target
    expected = linalg.eigh(products @ products.T, f_of_q, eigvals_only=True)[::-1][:3]
    for form in (np.asarray, sparse.csr_array):
        model = GeneralizedEigenProjector(f_coeffs=f_coeffs, with_mean=center).fit(form(X), Y)
        A = model.components_.T
        np.testing.assert_allclose(A.T @ f_of_q @ A, np.eye(3), atol=1e-8)
        np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-8)
        np.testing.assert_allclose(A.T @ products @ products.T @ A, np.diag(expected), atol=1e-7)


def test_whole_numbers_are_classes_when_few_and_numbers_when_told(wine):
    X, _ = wine
    y = np.arange(len(X)) % 3
    assert GeneralizedEigenProjector().fit(X, y).n_components_ == 2
    assert GeneralizedEigenProjector(target="numbers").fit(X, y).n_components_ == 1
    assert GeneralizedEigenProjector().fit(X, np.arange(len(X))).n_components_ == 1


@pytest.mark.parametrize("f_coeffs", [(-1, 0, 1), (0, 0), (), (np.nan,)])
def test_coefficients_that_make_no_norm_are_refused(wine, f_coeffs):
    with pytest.raises(ValueError, match="f_coeffs"):
        GeneralizedEigenProjector(f_coeffs=f_coeffs).fit(*wine)


def test_constant_tables_and_targets_are_told(wine):
    X, y = wine
    for table, target in ((np.ones_like(X), y), (X, np.full(len(X), 0.5))):
        with pytest.raises(ValueError, match="No direction of the table goes with the target"):
            GeneralizedEigenProjector().fit(table, target)
