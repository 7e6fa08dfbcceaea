"""PenalizedKernelCCA: the eigenproblem of the paper, both of its sides, targets of every kind."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from fewer.extract import PenalizedKernelCCA, RegularizedFisher
from fewer.extract.fisher._penalized_kernel_cca import View, _by_eigenvectors, _by_factors


@pytest.fixture
def views():
    X, _ = load_wine(return_X_y=True)
    X = scale(X)[::2]
    return X[:, :7], X[:, 7:]


def test_variates_solve_the_eigenproblem_of_the_paper(views):
    X, Y = views
    a_x, a_y = 0.3, 0.7
    model = PenalizedKernelCCA(n_components=3, alpha_x=a_x, alpha_y=a_y, gamma=0.1).fit(X, Y)
    n_rows = len(X)
    H, identity = np.eye(n_rows) - 1 / n_rows, np.eye(n_rows)
    C_x, C_y = (H @ rbf_kernel(view, gamma=0.1) @ H for view in views)
    operator = linalg.inv(C_x + a_x * identity) @ linalg.inv(C_y + a_y * identity) @ C_y @ C_x
    W = model.x_coef_
    np.testing.assert_allclose(operator @ W, W * model.eigenvalues_, atol=1e-8 * np.abs(W).max())
    largest = np.sort(linalg.eigvals(operator).real)[::-1][:3]
    np.testing.assert_allclose(model.eigenvalues_, largest, rtol=1e-8)
    other = linalg.inv(C_y + a_y * identity) @ C_x @ W
    cosines = (
        np.sum(other * model.y_coef_, axis=0) / np.linalg.norm(other, axis=0) / np.linalg.norm(model.y_coef_, axis=0)
    )
    np.testing.assert_allclose(cosines, 1, atol=1e-8)


def test_variates_have_unit_variance_and_the_correlations_told(views):
    X, Y = views
    model = PenalizedKernelCCA(alpha_x=0.5, alpha_y=2, kernels=("rbf", "linear")).fit(X, Y)
    U, V = model.transform(X), model.transform_y(Y)
    np.testing.assert_allclose([U.std(axis=0), V.std(axis=0)], 1, atol=1e-8)
    for pair, expected in enumerate(model.correlations_):
        assert np.corrcoef(U[:, pair], V[:, pair])[0, 1] == pytest.approx(expected, abs=1e-8)
    assert (np.diff(model.eigenvalues_) <= 0).all()


def test_fewer_components_are_the_first_ones(views):
    X, Y = views
    two, four = (PenalizedKernelCCA(n_components=k).fit(X, Y) for k in (2, 4))
    np.testing.assert_allclose(two.transform(X), four.transform(X)[:, :2], atol=1e-9)
    with pytest.warns(UserWarning, match="n_components=99"):
        assert PenalizedKernelCCA(n_components=99, kernels="linear").fit(X, Y).n_components_ == 6


def test_with_classes_and_no_ridge_on_them_it_is_the_regularised_fisher():
    X, y = load_wine(return_X_y=True)
    X, y = scale(X), np.array(["a", "b", "c"])[y]
    ours = PenalizedKernelCCA(kernels="linear", alpha_x=5.0, alpha_y=0.0).fit(X, y)
    fisher = RegularizedFisher(alpha=5.0).fit(X, y)
    assert list(ours.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(ours.eigenvalues_, fisher.eigenvalues_, atol=1e-10)
    along = fisher.transform(X)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(along / along.std(axis=0)), atol=1e-8)
    assert ours.transform_y(["b"]).shape == (1, 2)
    with pytest.raises(ValueError, match="class 'd'"):
        ours.transform_y(["d"])


@pytest.mark.parametrize("n_columns", [10, 90])
@pytest.mark.parametrize("kernels", ["linear", "rbf"])
def test_sparse_views_give_what_dense_ones_give(n_columns, kernels):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(40, n_columns)).astype(float)
    Y = rng.normal(size=(40, 3)) + X[:, :3]
    model = PenalizedKernelCCA(n_components=2, kernels=kernels)
    dense = model.fit(X, Y).transform(X)
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), Y).transform(sparse.csr_array(X)), dense, atol=1e-7)


@pytest.mark.parametrize("kernels", [("rbf",), ("rbf", "nonsense"), ["rbf", "linear", "rbf"]])
def test_a_pair_of_kernels_is_two(views, kernels):
    with pytest.raises(ValueError, match="kernels is one kernel or a pair"):
        PenalizedKernelCCA(kernels=kernels).fit(*views)


def test_constant_views_are_told(views):
    X, Y = views
    with pytest.raises(ValueError, match="nothing in common"):
        PenalizedKernelCCA().fit(np.ones_like(X), Y)


@pytest.mark.parametrize("n_targets", [1, 4])
def test_factors_give_what_eigenvectors_give(n_targets):
    # One smooth column has a kernel of low rank; several have one of full rank.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    Y = X[:, :n_targets] ** 2 + 0.1 * rng.normal(size=(80, n_targets))
    options = {"gamma": "mean_distance", "degree": 3, "coef0": 1}
    x, y = View(X, "rbf", **options), View(Y, "rbf", **options)
    by_factors = _by_factors(x.centred, y.centred, 0.5, 2.0, 1e-6, 5)
    by_vectors = _by_eigenvectors(x.eigenpairs(), y.eigenpairs(), 0.5, 2.0, 1e-6)
    np.testing.assert_allclose(by_factors.eigenvalues, by_vectors.eigenvalues[:5], rtol=1e-8)
    np.testing.assert_allclose(by_factors.correlations, by_vectors.correlations[:5], rtol=1e-8)
    for side, view in (("x", x), ("y", y)):
        ours, theirs = (view.centred @ getattr(found, side)[:, :5] for found in (by_factors, by_vectors))
        signs = np.sign(np.einsum("ik,ik->k", ours, theirs))
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-6)
