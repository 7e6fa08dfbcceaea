"""Centred tables give the same products in every form; components of NIPALS are as good as with more digits."""

import numpy as np
import pytest
from scipy import sparse

from fewer.learn.pls import _solution, _table
from fewer.learn.pls._components import nipals
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
    # Sums of at most 50 products, of the size of the table as it is where its means are taken off afterwards.
    values = X if by_products else X - X.mean(axis=0)
    lengths = [np.linalg.norm(values, axis=axis).max() for axis in (1, 0)]
    for_V, for_T = (rounding(50, long * np.linalg.norm(each)) for long, each in zip(lengths, (V, T), strict=True))
    for_rows, for_columns = (rounding(50, long**2) for long in lengths)
    np.testing.assert_allclose(lean.times(V), exact.times(V), rtol=0, atol=for_V)
    np.testing.assert_allclose(lean.times(V[:, 0]), exact.times(V)[:, 0], rtol=0, atol=for_V)
    np.testing.assert_allclose(lean.back(T), exact.back(T), rtol=0, atol=for_T)
    np.testing.assert_allclose(lean.back(T[:, 0]), exact.back(T)[:, 0], rtol=0, atol=for_T)
    np.testing.assert_allclose(lean.row_products(), exact.row_products(), rtol=0, atol=for_rows)
    np.testing.assert_allclose(lean.column_products(), exact.column_products(), rtol=0, atol=for_columns)


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
        # Sums of at most 600 products; the sparse table's means, below its spread, are taken off afterwards.
        tolerance = rounding(X.size, max(np.abs(expected).max(), np.linalg.norm(exact.values)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


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


def ill_conditioned(n_rows, n_columns, decades, seed):
    """Singular values fall by so many powers of ten; the target goes with all directions."""
    rng = np.random.default_rng(seed)
    rank = min(n_rows - 1, n_columns)
    left = np.linalg.qr(rng.normal(size=(n_rows, rank)))[0]
    right = np.linalg.qr(rng.normal(size=(n_columns, rank)))[0]
    X = (left * 10 ** np.linspace(0, -decades, rank)) @ right.T
    y = X @ rng.normal(size=n_columns) + 0.1 * rng.normal(size=n_rows)
    return X - X.mean(axis=0), y - y.mean()


def with_more_digits(X, y, n_components):
    """Coefficients after the last component by the textbook's deflation, in 80 bits."""
    X, y = X.astype(np.longdouble), y.astype(np.longdouble)
    left, coef = X.copy(), np.zeros(X.shape[1], dtype=np.longdouble)
    weights, loadings, targets = [], [], []
    for _ in range(n_components):
        w = left.T @ y
        w /= np.sqrt(w @ w)
        t = left @ w
        p, q = left.T @ t / (t @ t), y @ t / (t @ t)
        left, y = left - np.outer(t, p), y - q * t
        weights.append(w), loadings.append(p), targets.append(q)
    # The rotations by the triangular P'W, one after the other.
    rotations = []
    for w in weights:
        r = w.copy()
        for p, earlier in zip(loadings, rotations, strict=False):
            r -= (p @ r) * earlier
        rotations.append(r)
    for q, r in zip(targets, rotations, strict=True):
        coef += q * r
    return coef.astype(np.float64)


@pytest.mark.parametrize("shape", [(40, 120), (120, 40)])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decades", [1, 4, 6])
def test_ill_conditioned_tables_cost_no_digits(shape, seed, decades):
    X, y = ill_conditioned(*shape, decades, seed)
    expected = with_more_digits(X, y, 8)
    found = nipals(CentredTable(X), y[:, None], 8)
    # The condition is that of the scores, which are far from as unequal as the singular values.
    condition = np.linalg.norm(X) / np.sqrt(found.squares.min())
    tolerance = rounding(max(shape), np.abs(expected).max(), condition)
    np.testing.assert_allclose(found.coefficients()[:, 0], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("shape", [(40, 120), (120, 40)])
def test_scores_are_orthogonal_and_given_by_the_rotations_and_weights_are_orthonormal(shape):
    X, y = ill_conditioned(*shape, 3, 0)
    found = nipals(CentredTable(X), y[:, None], 10)
    lengths = np.sqrt(found.squares)
    np.testing.assert_allclose(np.linalg.norm(found.scores, axis=0), lengths)
    # Deflation leaves of a direction rounding of the largest; weights come from slopes by the whole table.
    condition = np.linalg.norm(X) / lengths.min()
    tolerance = rounding(max(shape), condition=condition)
    units = found.scores / lengths
    np.testing.assert_allclose(units.T @ units, np.eye(10), rtol=0, atol=tolerance)
    scale = np.linalg.norm(X, axis=1).max() * np.linalg.norm(found.rotations, axis=0).max()
    np.testing.assert_allclose(X @ found.rotations, found.scores, rtol=0, atol=rounding(max(shape), scale))
    np.testing.assert_allclose(found.weights.T @ found.weights, np.eye(10), rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.x_loadings, X.T @ found.scores / found.squares, atol=1e-10)
    np.testing.assert_allclose(found.y_loadings[0], y @ found.scores / found.squares, atol=1e-10)
    assert (found.weights.max(axis=0) == np.abs(found.weights).max(axis=0)).all()


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
def test_a_target_of_few_directions_has_as_many_components(shape):
    """A table with three different singular values has three different powers of X'X, and so three components."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(np.column_stack([np.ones(shape[0]), rng.normal(size=(shape[0], 9))]))[0][:, 1:]
    right = np.linalg.qr(rng.normal(size=(shape[1], 9)))[0]
    X = (left * np.repeat([3.0, 2.0, 1.0], 3)) @ right.T
    y = X @ rng.normal(size=shape[1])
    assert nipals(CentredTable(X), y[:, None], 9).n_components == 3
    assert nipals(CentredTable(X), np.zeros((shape[0], 1)), 9).n_components == 0
