import numpy as np
import pytest
from scipy import sparse

from fewer.extract import SparsifiedRandomProjection


def test_squared_lengths_are_kept_on_average():
    x = np.random.default_rng(0).normal(size=(1, 300))
    ratios = [
        np.sum(SparsifiedRandomProjection(50, density=0.1, random_state=seed).fit_transform(x) ** 2) / np.sum(x**2)
        for seed in range(200)
    ]
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(200))


def test_components_have_the_density_and_sign_entries_one_size():
    X = np.zeros((5, 400))
    model = SparsifiedRandomProjection(100, distribution="sign", random_state=0).fit(X)
    assert model.density_ == pytest.approx(1 / 20)
    assert model.components_.nnz / 40_000 == pytest.approx(0.05, abs=0.005)
    np.testing.assert_allclose(np.abs(model.components_.data), np.sqrt(20 / 100))


def test_a_sparse_table_stays_sparse():
    X = sparse.random_array((20, 100), density=0.05, rng=np.random.default_rng(0), format="csr")
    model = SparsifiedRandomProjection(30, density=0.1, random_state=0).fit(X)
    assert sparse.issparse(model.transform(X))
    np.testing.assert_allclose(model.transform(X).toarray(), model.transform(X.toarray()))


def test_too_few_columns_for_the_bound_are_told_with_the_cure():
    with pytest.raises(ValueError, match="raise eps or give n_components"):
        SparsifiedRandomProjection().fit(np.zeros((50, 100)))
