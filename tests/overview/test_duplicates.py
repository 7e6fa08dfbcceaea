"""Exact duplicates: found when planted, and nothing else is."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewer.io import Dataset, read_table
from fewer.overview import describe
from fewer.overview._duplicates import first_equal_columns, first_equal_rows, groups_of_equals

small_tables = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 8)),
    elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, 2.0**60]),
)


def first_equal_columns_one_by_one(X):
    def same(a, b):
        return np.array_equal(a, b, equal_nan=True)

    return [next(i for i in range(j + 1) if same(X[:, i], X[:, j])) for j in range(X.shape[1])]


@given(small_tables)
def test_equal_columns_are_those_found_by_comparing_each_pair(X):
    assert first_equal_columns(X).tolist() == first_equal_columns_one_by_one(X)


@given(small_tables)
def test_equal_rows_are_the_equal_columns_of_the_transpose(X):
    assert first_equal_rows((X, np.arange(X.shape[1]))).tolist() == first_equal_columns_one_by_one(X.T)


@given(small_tables)
def test_sparse_duplicates_are_those_of_the_dense_table(X):
    assert first_equal_columns(sp.csr_matrix(X)).tolist() == first_equal_columns_one_by_one(X)
    assert first_equal_rows((sp.csc_matrix(X), np.arange(X.shape[1]))).tolist() == first_equal_columns_one_by_one(X.T)


def test_stored_zeros_and_repeated_entries_of_a_sparse_table_do_not_hide_a_duplicate():
    plain = sp.csc_matrix(np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]))
    untidy = sp.csc_matrix(
        (np.array([1.0, 2.0, 1.0, 0.0, 1.5, 0.5]), np.array([0, 2, 0, 1, 2, 2]), np.array([0, 2, 6])), shape=(3, 2)
    )
    assert (untidy.toarray() == plain.toarray()).all()
    assert first_equal_columns(untidy).tolist() == [0, 0]
    assert untidy.nnz == 6  # the table that was given is left as it was


def test_integers_that_are_equal_only_as_floats_are_not_duplicates():
    X = np.array([[2**60, 2**60 + 1], [1, 1]])
    assert first_equal_columns(X).tolist() == [0, 1]


def test_planted_duplicates_are_found_among_thousands_of_columns_and_nothing_else():
    X = np.random.default_rng(0).integers(0, 2, size=(80, 5000)).astype(np.float32)
    X[:, [700, 4000]] = X[:, [3]]
    X[:, 4999] = X[:, 1]
    assert groups_of_equals(first_equal_columns(X)) == [[1, 4999], [3, 700, 4000]]


def test_constant_columns_are_not_reported_as_duplicates_of_each_other():
    X = np.column_stack([np.ones(20), np.ones(20), np.arange(20.0)])
    description = describe(read_table(X))
    assert description.duplicates == ()
    assert [found.column for found in description.constants] == ["x0", "x1"]


def test_a_category_that_renames_another_says_the_same():
    rng = np.random.default_rng(0)
    ward = rng.choice(["north", "south", "east"], size=60)
    other = rng.choice(["north", "south", "east"], size=60)
    code = {"north": "N", "south": "S", "east": "E"}
    number = {"north": 10, "south": 20, "east": 5}
    frame = pl.DataFrame(
        {
            "ward": ward,
            "other": other,
            "letter": [code[w] for w in ward],
            "number": [number[w] for w in ward],
            "coarse": ["N" if w == "north" else "S" for w in ward],
        }
    )
    assert describe(read_table(frame)).duplicates == (("ward", "letter", "number"),)


def test_a_renaming_must_have_its_missing_cells_in_the_same_rows():
    values = ["a", "b", "a", "b", None, "a"] * 5
    frame = pl.DataFrame(
        {
            "one": values,
            "same": [None if v is None else v.upper() for v in values],
            "filled": ["a" if v is None else v for v in values],
        }
    )
    assert describe(read_table(frame)).duplicates == (("one", "same"),)


def test_identifiers_of_different_things_are_not_duplicates_though_both_are_all_distinct():
    names = [f"P{i:03d}" for i in range(40)]
    frame = pl.DataFrame({"patient": names, "sample": [f"S{i:03d}" for i in range(40)], "again": names})
    assert describe(read_table(frame)).duplicates == (("patient", "again"),)


def test_numbers_in_a_mixed_table_are_duplicates_by_value_only():
    values = np.random.default_rng(0).integers(0, 4, size=50)
    frame = pl.DataFrame({"a": values, "b": values.astype(float), "c": 3 - values, "word": ["x", "y"] * 25})
    assert describe(read_table(frame)).duplicates == (("a", "b"),)


def test_repeated_rows_are_counted_without_identifiers_and_contradictions_are_told():
    frame = pl.DataFrame(
        {
            "id": [f"P{i:02d}" for i in range(12)],
            "x": [1.5, 2.5, 1.5, 2.5, 1.5, *np.arange(7.0)],
            "w": ["a", "b", "a", "b", "c", *"defghij"],
            "y": ["s", "s", "s", "t", "t", *"stststs"],
        }
    )
    rows = describe(read_table(frame, target="y")).duplicate_rows
    assert (rows.repeats, rows.contradicting) == (2, 2)
    assert rows.examples == ((2, 4), (1, 3))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_rows_repeat_alike_in_dense_and_sparse_tables(form):
    X = np.random.default_rng(0).integers(0, 9, size=(30, 6)).astype(float)
    X[[5, 20]] = X[2]
    assert describe(read_table(form(X))).duplicate_rows.examples == ((3, 6, 21),)


def test_a_table_without_columns_has_no_repeated_rows():
    dataset = Dataset(np.empty((20, 0)), (), (), y=np.arange(20) % 2, target="y", task="binary")
    assert describe(dataset).duplicate_rows.repeats == 0
