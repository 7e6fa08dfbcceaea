"""ReconstructionPCA agrees with scikit-learn's PCA, and keeps its word on sparse, wide and degenerate tables."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from fewer.extract import ReconstructionPCA
from tolerances import rounding


def low_rank(n_rows, n_columns, rank, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_columns)) + noise * rng.normal(
        size=(n_rows, n_columns)
    )


def sparse_table(n_rows, n_columns, seed=0):
    """Columns of very different size, so that a few directions hold most of the variance."""
    table = sparse.random_array((n_rows, n_columns), density=0.05, rng=np.random.default_rng(seed), format="csr")
    return (table @ sparse.diags_array(0.9 ** np.arange(n_columns))).tocsr()


@pytest.mark.parametrize("shape", [(200, 20), (30, 300)])
def test_attributes_equal_those_of_scikit_learn(shape):
    X = low_rank(*shape, rank=5, noise=0.5)
    ours = ReconstructionPCA(n_components=4).fit(X)
    theirs = PCA(n_components=4, svd_solver="full").fit(X)
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-10, err_msg=name)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)))


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.01, 1e-6])
def test_one_direction_less_would_lose_too_much(epsilon):
    X = load_digits().data[:500]
    pca = ReconstructionPCA(epsilon=epsilon).fit(X)
    lost = [
        np.sum(
            (X - PCA(m, svd_solver="full").fit(X).inverse_transform(PCA(m, svd_solver="full").fit_transform(X))) ** 2
        )
        / np.sum((X - X.mean(axis=0)) ** 2)
        for m in (pca.n_components_ - 1, pca.n_components_)
    ]
    assert lost[1] < epsilon <= lost[0]
    # Shares of the total: the rounding of an eigenvalue is one of the largest, and 64 of them are summed.
    assert pca.discarded_ratio_ == pytest.approx(lost[1], abs=rounding(500 + 64))
    assert pca.discarded_ratios_[pca.n_components_ - 1] == pytest.approx(lost[0], abs=rounding(500 + 64))


@pytest.mark.parametrize("shape", [(300, 80), (60, 400), (500, 200)])
@pytest.mark.parametrize("epsilon", [0.3, 0.05, 1e-9])
def test_sparse_route_equals_dense_route(shape, epsilon, monkeypatch):
    monkeypatch.setattr("fewer.extract._reconstruction_pca._FEW_COLUMNS", 100)  # so that small tables go all ways
    X = sparse_table(*shape)
    on_sparse = ReconstructionPCA(epsilon=epsilon, random_state=0).fit(X)
    on_dense = ReconstructionPCA(epsilon=epsilon).fit(X.toarray())
    assert on_sparse.n_components_ == on_dense.n_components_
    assert on_sparse.reconstruction_error_ == pytest.approx(on_dense.reconstruction_error_, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(
        np.abs(on_sparse.transform(X)[:, :2]), np.abs(on_dense.transform(X.toarray())[:, :2]), atol=1e-6
    )


def test_sparse_table_is_never_densified(monkeypatch):
    X = sparse_table(400, 3000)
    for form in (sparse.csr_array, sparse.csc_array):
        monkeypatch.setattr(form, "toarray", lambda *_, **__: pytest.fail("densified"))
        monkeypatch.setattr(form, "todense", lambda *_, **__: pytest.fail("densified"))
    assert ReconstructionPCA(epsilon=0.1, random_state=0).fit(X).transform(X).shape[0] == 400


def test_constant_table_keeps_one_direction_and_loses_nothing():
    pca = ReconstructionPCA().fit(np.ones((10, 3)))
    assert pca.n_components_ == 1
    assert pca.reconstruction_error_ == 0
    np.testing.assert_array_equal(pca.inverse_transform(pca.transform(np.ones((2, 3)))), np.ones((2, 3)))


def test_too_many_directions_are_refused_with_the_number_that_is_possible():
    with pytest.raises(ValueError, match=r"n_components=4.*5 rows and 3 columns.*at most 3"):
        ReconstructionPCA(n_components=4).fit(np.random.default_rng(0).normal(size=(5, 3)))


@pytest.mark.parametrize("n_columns", [50, 1500])
def test_all_directions_of_a_wide_table_rebuild_it_exactly(n_columns):
    X = low_rank(20, n_columns, rank=19, noise=0)
    for table in (X, sparse.csr_array(X)):
        pca = ReconstructionPCA(n_components=19, random_state=0).fit(table)
        assert pca.reconstruction_error_ == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(pca.inverse_transform(pca.transform(table)), X, atol=1e-6)
    with pytest.raises(ValueError, match="at most 19"):
        ReconstructionPCA(n_components=20).fit(X)


def test_nearly_flat_directions_of_a_wide_table_stay_orthonormal():
    rng = np.random.default_rng(0)
    X = low_rank(20, 100, rank=10, noise=0) * 1e6 + 1e-3 * rng.normal(size=(20, 100))
    pca = ReconstructionPCA(n_components=15).fit(X)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(15), atol=1e-8)
