import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import Dataset, TableError, read_table


@pytest.fixture
def mixed():
    n = 12
    return read_table(
        {
            "number": [1.5, None, 2.5] * 4,
            "word": ["red", "green", None, "blue"] * 3,
            "flag": [True, False] * 6,
            "day": [datetime.date(2024, 1, j + 1) for j in range(n)],
            "ill": ["no", "yes", "no"] * 4,
        },
        target="ill",
    )


@pytest.fixture
def sparse():
    X = sp.csr_array(np.array([[0, 1.0, 0], [np.nan, 0, 0], [2, 0, 3], [0, 0, 4]]))
    return read_table(X, target=["a", "b", "a", "b"])


def test_summary_says_what_a_person_wants_to_know(mixed):
    assert repr(mixed) == (
        "dict of columns: 12 rows, 4 columns\n"
        "  kinds    1 numeric, 1 boolean, 1 categorical, 1 date\n"
        "  missing  7 cells (14.6%), in 2 columns and 6 rows\n"
        "  target   ill: binary (no: 8, yes: 4)"
    )


def test_summary_of_a_sparse_regression_table_with_infinities():
    X = sp.csr_array(np.array([[0, np.inf], [0, 0], [1, 0], [2, 0]]))
    text = read_table(X, target=[0.5, 1.5, 2.5, 3.0]).summary()
    assert "sparse (37.5% stored)" in text
    assert "values in 1 column" in text
    assert "regression (from 0.5 to 3, median 2)" in text


def test_html_is_escaped():
    dataset = read_table({"a": [1, 2, 3], "<b>": ["<i>", "y", "y"]}, target="<b>")
    assert "&lt;b&gt;: binary (&lt;i&gt;: 1" in dataset._repr_html_()


def test_missing_is_found_in_frames_arrays_and_sparse_matrices(mixed, sparse):
    assert mixed.missing.dtype == bool
    assert mixed.missing.sum(axis=0).tolist() == mixed.missing_by_column.tolist() == [4, 3, 0, 0]
    assert mixed.missing_by_row.tolist() == mixed.missing.sum(axis=1).tolist()
    assert sparse.missing.format == "csr"
    assert sparse.missing.nnz == 1
    assert sparse.missing_by_column.tolist() == [1, 0, 0]
    assert sparse.missing_by_row.tolist() == [0, 1, 0, 0]
    assert read_table(np.array([[1.0, np.nan]])).missing.tolist() == [[False, True]]
    assert not read_table(np.eye(2, dtype=int)).has_missing


def test_take_accepts_numbers_masks_and_slices(mixed, sparse):
    assert mixed.take([3, 0]).X["day"].to_list() == [datetime.date(2024, 1, 4), datetime.date(2024, 1, 1)]
    assert mixed.take([3, 0]).y.tolist() == ["no", "no"]
    assert mixed.take(np.arange(12) < 5).n_rows == 5
    assert mixed.take(slice(0, 2)).n_rows == 2
    assert mixed.take([]).shape == (0, 4)
    assert sparse.take([-1]).X.toarray().tolist() == [[0, 0, 4]]
    assert mixed.take([0]).kinds == mixed.kinds
    assert mixed.take([0]).task == "binary"


def test_take_refuses_rows_that_do_not_exist(mixed):
    with pytest.raises(TableError, match=r"Row 12 .*there are 12 rows"):
        mixed.take([12])
    with pytest.raises(TableError, match=r"Row -13 .*there are 12 rows"):
        mixed.take([3, -13])
    with pytest.raises(TableError, match="mask of rows needs 12 entries"):
        mixed.take([True, False])


def test_keep_takes_columns_by_name_in_the_order_asked_for(mixed, sparse):
    assert mixed.keep(["flag", "number"]).kinds == ("boolean", "numeric")
    assert mixed.keep(["flag"]).X.columns == ["flag"]
    assert sparse.keep(["x2", "x0"]).X.toarray()[2].tolist() == [3, 2]
    with pytest.raises(TableError, match=r"no column 'flagg'.*Did you mean 'flag'"):
        mixed.keep(["flagg"])


@pytest.mark.parametrize("rows", [["a"], [0.5], [None]])
def test_take_refuses_what_is_no_row_number(mixed, rows):
    with pytest.raises(TableError, match=r"integers or .* mask, not by "):
        mixed.take(rows)


def test_keep_refuses_a_column_named_twice(mixed, sparse):
    for dataset, name in ((mixed, "flag"), (sparse, "x0")):
        with pytest.raises(TableError, match=f"keep names '{name}' more than once"):
            dataset.keep([name, name])


def test_keeping_no_column_keeps_the_rows(mixed, sparse):
    assert mixed.keep([]).shape == (12, 0)
    assert sparse.keep([]).shape == (4, 0)
    assert mixed.keep([]).to_polars().columns == ["ill"]
    assert mixed.keep([]).missing_by_row.tolist() == [0] * 12


def test_a_dataset_can_be_pickled(mixed, assert_same):
    assert mixed.has_missing
    assert_same(pickle.loads(pickle.dumps(mixed)), mixed)


def test_kinds_are_found_by_name(mixed):
    assert mixed.kind_of("day") == "date"
    assert mixed.columns_of_kind("boolean") == ["flag"]
    with pytest.raises(TableError, match="'bool' is not a kind"):
        mixed.columns_of_kind("bool")


def test_split_keeps_the_share_of_classes_and_every_row_once():
    X = np.arange(100.0)[:, None]
    dataset = read_table(X, target=["a"] * 80 + ["b"] * 20)
    train, test = dataset.split(test_size=0.25, random_state=0)
    assert (train.n_rows, test.n_rows) == (75, 25)
    assert (test.y == "b").sum() == 5
    assert sorted([*train.X.ravel(), *test.X.ravel()]) == X.ravel().tolist()
    again = dataset.split(test_size=0.25, random_state=0)[1]
    np.testing.assert_array_equal(again.X, test.X)


def test_split_keeps_groups_together():
    groups = np.repeat(list("abcdefgh"), 5)
    dataset = read_table({"value": np.arange(40.0), "group": groups}, target=np.arange(40) % 2)
    for split_groups in ("group", groups, groups.astype(object)):
        train, test = dataset.split(groups=split_groups, random_state=0)
        assert not set(train.X["group"]) & set(test.X["group"])
        assert train.n_rows + test.n_rows == 40


@pytest.mark.parametrize("groups", [[1.0, np.nan, 2.0, 2.0], ["a", None, "b", "b"]])
def test_split_refuses_rows_without_a_group(groups):
    dataset = read_table({"value": [1.5, 2.5, 3.5, 4.5], "group": groups})
    for given in ("group", groups):
        with pytest.raises(TableError, match="groups= is missing in 1 of 4 rows"):
            dataset.split(groups=given)


def test_split_refuses_a_class_of_one():
    dataset = read_table(np.eye(5), target=["a", "a", "b", "b", "c"])
    with pytest.raises(TableError, match=r"single row.*'c'.*stratify=False"):
        dataset.split()
    assert dataset.split(stratify=False, random_state=0)[0].n_rows == 3


def test_to_polars_puts_the_target_last_and_null_for_missing(mixed):
    frame = mixed.to_polars()
    assert frame.columns == ["number", "word", "flag", "day", "ill"]
    array = read_table(np.array([[1.0, np.nan], [2.0, 3.0]]), target=[0, 1])
    assert array.to_polars().rows() == [(1.0, None, 0), (2.0, 3.0, 1)]


def test_sparse_is_never_made_dense_silently(sparse):
    with pytest.raises(TableError, match=r"sparse.*dense=True"):
        sparse.to_polars()
    assert sparse.to_polars(dense=True)["x2"].to_list() == [0, 0, 3, 4]
    frame = sparse.to_pandas()
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes[:3])
    assert sp.issparse(sparse.to_numpy())


def test_sparse_pandas_and_back_is_the_same(sparse, assert_same):
    assert_same(read_table(sparse.to_pandas(), target="target"), sparse)
    numbers = read_table(sparse.X, target=[0.5, 1.5, 0.0, 3.0])
    assert_same(read_table(numbers.to_pandas(), target="target"), numbers)
    strings = sparse.to_pandas().assign(word="x")
    with pytest.raises(TableError, match="not numbers: 'target', 'word'"):
        read_table(strings)


def test_pandas_and_back_is_the_same(mixed, assert_same):
    assert_same(read_table(mixed.to_pandas(), target="ill"), mixed)


def test_polars_and_back_is_the_same(mixed, assert_same):
    assert_same(Dataset.from_frame(mixed.to_polars(), target="ill"), mixed)


def test_identifiers_leave_as_whole_numbers(assert_same):
    dataset = read_table({"id": range(10, 30), "x": np.linspace(0, 1, 20)})
    assert dataset.to_polars().schema["id"] == pl.Int64
    assert_same(read_table(dataset.to_polars()), dataset)


def test_numbers_called_identifiers_keep_their_fractions():
    dataset = read_table({"code": [1.5, 2.5, 3.0], "x": [1, 2, 4]}, kinds={"code": "identifier"})
    assert dataset.to_polars()["code"].to_list() == [1.5, 2.5, 3.0]


def test_to_numpy_names_the_columns_that_are_not_numbers(mixed):
    with pytest.raises(TableError, match="not numbers: 'word', 'day'"):
        mixed.to_numpy()
    numbers = mixed.keep(["number", "flag"]).to_numpy()
    assert numbers.dtype == np.float64
    assert numbers[:2].tolist()[0] == [1.5, 1.0]


def test_a_dataset_checks_its_parts():
    with pytest.raises(TableError, match="2 columns, but 1 names"):
        Dataset(X=np.eye(2), columns=("a",), kinds=("numeric",))
    with pytest.raises(TableError, match="'number': not a kind"):
        Dataset(X=np.eye(1), columns=("a",), kinds=("number",))
    with pytest.raises(TableError, match="does not fit no target"):
        Dataset(X=np.eye(1), columns=("a",), kinds=("numeric",), task="binary")
    with pytest.raises(TableError, match=r"shape \(3,\), but there are 1 rows"):
        Dataset(X=np.eye(1), columns=("a",), kinds=("numeric",), y=np.arange(3), task="regression")
    with pytest.raises(TableError, match="CSR or CSC"):
        Dataset(X=sp.eye(2).tocoo(), columns=("a", "b"), kinds=("numeric",) * 2)


def test_names_and_kinds_given_as_lists_cannot_be_changed_afterwards():
    dataset = Dataset(np.eye(2), ["a", "b"], ["numeric", "numeric"])
    assert (dataset.columns, dataset.kinds) == (("a", "b"), ("numeric", "numeric"))


def test_groups_of_any_type_stay_together_in_a_split():
    words = ["left", "right", "middle", "top"] * 5
    for groups in (words, pl.Series(words, dtype=pl.Categorical), [len(word) for word in words]):
        dataset = read_table(pl.DataFrame({"site": groups, "word": words, "x": np.linspace(0, 1, 20)}))
        train, test = dataset.split(groups="site", random_state=0)
        assert train.n_rows + test.n_rows == 20
        assert not set(train.X["site"].to_list()) & set(test.X["site"].to_list())


def test_dropped_columns_are_set_aside_with_their_rows():
    """A row without a target is left out of them as well; a column that cannot be read is not kept."""
    columns = {"a": [1.0, 2.0, 3.0], "who": ["p", "q", "q"], "list": [[1], [2], [3]], "y": [0.1, None, 0.3]}
    with pytest.warns(UserWarning, match="missing in 1 of 3 rows"):
        read = Dataset.from_frame(pl.DataFrame(columns), target="y", drop=["who", "list"])
    assert read.columns == ("a",)
    assert [each.columns for each in read.dropped] == [("who",)]
    assert read.dropped[0].X["who"].to_list() == ["p", "q"]
    assert read.take([1]).dropped[0].X["who"].to_list() == ["q"]
    again = Dataset.from_frame({"a": [1.0, 2.0], "b": [3.5, 4.5], "c": [5.5, 6.5]}).drop("b").drop(["c"])
    assert again.columns == ("a",)
    assert [each.columns for each in again.dropped] == [("b",), ("c",)]
