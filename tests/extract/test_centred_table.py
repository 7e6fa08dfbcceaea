"""Coordinates without correlations, which several families of extractors start from."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from fewer.extract import SIR
from fewer.extract._centred_table import rows_along, uncorrelated

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_rows", [150, 7], ids=["tall", "wide"])
def test_new_coordinates_have_unit_variance_and_no_correlation(made, n_rows):
    table = np.random.default_rng(0).normal(size=(n_rows, 9)) * np.geomspace(1e-3, 1e3, 9)
    found = uncorrelated(made(table))
    new = rows_along(made(table), found)
    np.testing.assert_allclose(np.cov(new, rowvar=False, bias=True), np.eye(min(9, n_rows - 1)), atol=1e-6)


@pytest.mark.parametrize("value", [7.0, 0.1, 1e9])
def test_a_constant_column_has_no_say_whatever_its_value(value):
    with_constant = np.column_stack([X, np.full(len(X), value)])
    plain, other = SIR().fit(X, y), SIR().fit(with_constant, y)
    np.testing.assert_allclose(other.components_[:, :4], plain.components_, atol=1e-8)
    assert (other.components_[:, 4] == 0).all()


def test_row_weights_count_like_repeated_rows():
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    weighted = uncorrelated(X, row_weights=times / times.sum())
    repeated = uncorrelated(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.to @ weighted.to.T, repeated.to @ repeated.to.T)
