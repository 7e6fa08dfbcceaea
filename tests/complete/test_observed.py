"""What counts as observed, in dense and in sparse tables."""

import numpy as np
import pytest
from scipy import sparse

from fewer.complete._observed import Observed

HOLES = np.array([[1.0, np.nan, 0.0], [np.nan, np.nan, np.nan], [4.0, 5.0, np.nan], [7.0, np.nan, 9.0]])


def stored(X):
    """A sparse table that stores the entries of a dense one that are not NaN, zeros too."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.coo_array((X[rows, columns], (rows, columns)), shape=X.shape).tocsr()


@pytest.fixture(params=["dense", "csr", "csc", "stored NaN"])
def table(request):
    if request.param == "dense":
        return Observed(HOLES)
    if request.param == "stored NaN":
        full = sparse.csr_array((HOLES.ravel(), np.tile(range(3), 4), range(0, 13, 3)), shape=(4, 3))
        return Observed(full)
    return Observed(stored(HOLES).asformat(request.param))


def test_a_stored_zero_is_an_observation_and_nan_a_hole(table):
    assert table.n_observed == 6
    np.testing.assert_array_equal(table.row_counts, [2, 0, 2, 2])
    np.testing.assert_array_equal(table.column_counts, [3, 1, 2])
    np.testing.assert_array_equal(table.with_holes(), HOLES)
    np.testing.assert_array_equal(table.by_rows.data, [1, 0, 4, 5, 7, 9])
    np.testing.assert_array_equal(table.by_columns.data, [1, 4, 7, 5, 0, 9])
    np.testing.assert_array_equal(table.column_means, [4, 5, 4.5])
    assert not table.is_complete


def test_rows_with_holes_in_the_same_places_share_a_pattern(table):
    labels, examples = table.row_patterns
    assert len(examples) == 3
    assert labels[0] == labels[3] != labels[2]
    np.testing.assert_array_equal(labels[examples], [0, 1, 2])
    assert len(table.column_patterns.examples) == 3


def test_rows_and_hidden_entries_are_tables_again(table):
    np.testing.assert_array_equal(table.rows(np.array([2, 0])).with_holes(), HOLES[[2, 0]])
    hidden = HOLES.copy()
    hidden[2, 1] = np.nan
    np.testing.assert_array_equal(table.hidden(np.array([3])).with_holes(), hidden)
    emptied = HOLES.copy()
    emptied[:, 0] = np.nan
    np.testing.assert_array_equal(table.without(np.array([True, False, False])).with_holes(), emptied)
    np.testing.assert_array_equal(table.with_holes(), HOLES)


def test_columns_are_divided_chosen_and_described(table):
    np.testing.assert_allclose(table.divided(np.array([2.0, 1.0, 3.0])).with_holes(), HOLES / [2, 1, 3])
    np.testing.assert_array_equal(table.columns(np.array([2, 0])).with_holes(), HOLES[:, [2, 0]])
    np.testing.assert_allclose(table.column_deviations, [np.sqrt(6), 0, 4.5])


def test_many_rows_are_grouped_as_by_comparing_them_whole():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 6)) < 0.4, np.nan, 1.0)
    expected = np.unique(~np.isnan(X), axis=0, return_inverse=True)[1].ravel()  # a column in NumPy 2.0
    labels = Observed(X).row_patterns.labels
    assert len(set(zip(expected, labels, strict=True))) == len(set(expected)) == len(set(labels))


def test_a_sparse_table_never_gives_a_dense_mask():
    with pytest.raises(TypeError, match="sparse"):
        _ = Observed(stored(HOLES)).mask


def test_the_given_table_is_left_as_it_was():
    unsorted = sparse.csr_array((np.array([2.0, 1.0, np.nan]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(Observed(unsorted).by_rows.data, [1, 2])
    np.testing.assert_array_equal(unsorted.data, [2, 1, np.nan])
