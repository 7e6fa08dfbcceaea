"""A centred table that is centred itself, or only in its products, gives the same products."""

import numpy as np
import pytest
from scipy import sparse

from fewer.learn.pls import _solution, _table
from fewer.learn.pls._table import CentredTable
from tolerances import rounding


@pytest.mark.parametrize(("shift", "by_products"), [(3.0, True), (1e6, False)])
def test_products_are_centred_where_the_means_are_small_and_a_copy_where_not(shift, by_products):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 50)) + shift
    V, T = rng.normal(size=(50, 2)), rng.normal(size=(30, 2))
    exact, lean = CentredTable(X), CentredTable(X, products_only=True)
    assert lean.by_products == by_products
    assert np.shares_memory(lean.values, X) == by_products
    # Where the mean is small, the squares are those about zero less those of the mean: 1 + shift^2 times as large.
    condition = 1 + shift**2 if by_products else 1
    np.testing.assert_allclose(lean.square, exact.square, rtol=rounding(X.size, condition=condition))
    np.testing.assert_allclose(lean.times(V), exact.times(V), atol=1e-11)
    np.testing.assert_allclose(lean.times(V[:, 0]), exact.times(V)[:, 0], atol=1e-11)
    np.testing.assert_allclose(lean.back(T), exact.back(T), atol=1e-11)
    np.testing.assert_allclose(lean.back(T[:, 0]), exact.back(T)[:, 0], atol=1e-11)
    np.testing.assert_allclose(lean.row_products(), exact.row_products(), atol=1e-11)
    np.testing.assert_allclose(lean.column_products(), exact.column_products(), atol=1e-11)


@pytest.mark.parametrize("scale", [False, True])
def test_a_sparse_table_gives_the_products_of_a_dense_one(scale):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.4, size=(20, 30)).astype(float)
    X[:, 4] = 0
    V, T = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    exact, thin = CentredTable(X, scale=scale), CentredTable(sparse.csr_array(X), scale=scale)
    for found, expected in (
        (thin.square, exact.square),
        (thin.times(V), exact.times(V)),
        (thin.back(T), exact.back(T)),
        (thin.row_products(), exact.row_products()),
        (thin.column_products(), exact.column_products()),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("shift", [3.0, 1e6])
def test_there_and_back_by_blocks_is_one_way_after_the_other(form, shift, monkeypatch):
    rng = np.random.default_rng(0)
    X, v = rng.normal(size=(31, 5)) + shift, rng.normal(size=5)
    exact = CentredTable(X)
    for name, cells in (("_AT_HAND", 0), ("ROW_BLOCK", 20), ("COLUMN_BLOCK", 20)):
        monkeypatch.setattr(_table, name, cells)  # so that there are four rows or columns in a block
    along, back = CentredTable(form(X), products_only=True).forth_and_back(v)
    # Both products are sums of cells about zero, from which the means go afterwards.
    one_way = rounding(5, np.linalg.norm(X, axis=1).max() * np.linalg.norm(v))
    there_and_back = rounding(31 + 5, np.linalg.norm(X) * np.linalg.norm(exact.values, 2) * np.linalg.norm(v))
    np.testing.assert_allclose(along, exact.times(v), rtol=0, atol=one_way)
    np.testing.assert_allclose(back, exact.back(exact.times(v)), rtol=0, atol=there_and_back)
    back, along = CentredTable(form(X.T), products_only=True).back_and_forth(v)
    exact = CentredTable(X.T)
    np.testing.assert_allclose(back, exact.back(v), rtol=0, atol=one_way)
    np.testing.assert_allclose(along, exact.times(exact.back(v)), rtol=0, atol=there_and_back)


def test_in_single_precision_means_are_taken_from_a_copy():
    """Taken from the sum of squares instead, they would cost more than an order of magnitude of its precision."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 2000)) + 9.5).astype(np.float32)
    square = CentredTable(X.astype(np.float64)).square
    assert CentredTable(X, products_only=True).square == pytest.approx(square, rel=5e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_over_blocks_of_rows_are_those_of_all_rows(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(50, 3)) + 5).astype(dtype), rng.normal(size=(50, 2)) - 7
    monkeypatch.setattr(_solution, "ROW_BLOCK", 0)  # six rows, twice as many as columns
    found = _solution.Moments.of(X, Y)
    X = X.astype(np.float64)
    centred, targets = X - X.mean(axis=0), Y - Y.mean(axis=0)
    assert found.n_rows == 50
    np.testing.assert_allclose(found.x_mean, X.mean(axis=0), rtol=1e-6)
    # The mean of the rows before, of size 5 or 7, moves from block to block, and its rounding adds to the squares.
    by_column, by_target = np.linalg.norm(centred, axis=0).max(), np.linalg.norm(targets, axis=0).max()
    of_xx, of_xy = (rounding(50, by_column * size, condition=7) for size in (by_column, by_target))
    np.testing.assert_allclose(found.xx, centred.T @ centred, atol=of_xx if dtype is np.float64 else 1e-4)
    np.testing.assert_allclose(found.xy, centred.T @ targets, atol=of_xy if dtype is np.float64 else 1e-4)
    np.testing.assert_allclose(found.yy, (targets**2).sum(axis=0))
