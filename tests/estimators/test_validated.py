"""Errors about a table name the column that is wrong, as the caller knows it, and the cure."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from fewer._estimators import columns_known_as, encoded_classes, known_column, narrow_indices, validated
from fewer.datasets import load, make_five_classes
from fewer.extract import FastProjectiveClustering
from fewer.select import fisher_score, irrelevant_feature_curve, redundancy_groups
from fewer.select.objectives._decision_table import _coded
from fewer.select.objectives._discriminant import warn_of_separators

INCOMPLETE = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "height": [1.0, np.nan, 2.0, np.nan], "weight": [np.nan] * 4})
NAMES = ["age", "sex", "pulse"]


class Taker(BaseEstimator):
    """Takes tables of numbers, sparse ones too."""


def taken(X):
    return validated(Taker(), X, accept_sparse=True, dtype=(np.float64, np.float32))


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (INCOMPLETE, "'height'"),
        (pl.DataFrame(INCOMPLETE), "'height'"),
        (INCOMPLETE.to_numpy(), "1"),
        (INCOMPLETE.to_numpy().tolist(), "1"),
        (sparse.csr_array(INCOMPLETE.to_numpy()), "1"),
        (sparse.csc_array(INCOMPLETE.to_numpy()), "1"),
    ],
    ids=["pandas", "polars", "array", "list", "csr", "csc"],
)
def test_missing_values_are_told_by_column_and_row(X, column):
    expected = rf"^Input X contains NaN, in column {column} \(2 rows, the first is row 1\) and in 1 more\. Taker needs"
    with pytest.raises(ValueError, match=expected):
        taken(X)


def test_infinite_numbers_are_told_by_column_and_row():
    with pytest.raises(ValueError, match=r"^Input X contains infinity.*, in column 'b' \(row 2\)\. Taker needs"):
        taken(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, -np.inf]}))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_is_told_by_column_with_an_example(frame):
    X = frame({"size": [1.0, 2.0], "number": ["1", "2"], "colour": ["3", "red"]})
    with pytest.raises(ValueError, match=r"^Column 'colour' holds text, such as 'red'\. Taker needs numbers"):
        taken(X)
    assert taken(X[["size", "number"]]).tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_a_function_names_columns_too():
    with pytest.raises(ValueError, match=r"in column 'height' .* The score 'fisher' needs a number"):
        fisher_score(INCOMPLETE[["age", "height"]], [0, 1, 0, 1])


def test_other_refusals_stay_as_they_are():
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        taken(np.empty((0, 2)))
    with pytest.raises(ValueError, match="could not convert string to float"):
        validated(Taker(), ["red", "blue"], dtype=float, ensure_2d=False)


@pytest.mark.parametrize("data", [load("wine"), make_five_classes(random_state=0)], ids=["Dataset", "Problem"])
def test_a_table_with_its_target_is_not_a_table(data):
    with pytest.raises(TypeError, match=r"which holds a table and its target; pass data\.X"):
        taken(data)


def test_a_frame_may_have_columns_named_x_and_y():
    assert taken(pd.DataFrame({"X": [1.0, 2.0], "y": [3.0, 4.0]})).tolist() == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["a", "a"]), "Taker needs at least two classes, and y has one class only, 'a'"),
        (np.array([0.5, 1.5, 2.5]), "Unknown label type: continuous. Taker needs classes.* bin them first"),
        (np.eye(2), "y has several columns, and Taker takes one target only"),
        (np.array(["a", np.nan, "b"], dtype=object), "^Input y contains NaN: there is no label in row 1. Taker needs"),
        (np.array([None, "b", pd.NA], dtype=object), "no label in 2 rows, the first is row 0. .* leave these rows out"),
        (np.array([1.0, 0.0, np.nan]), "^Input y contains NaN: there is no label in row 2"),
        (np.array(["a", 3, "b"], dtype=object), r"labels of several kinds \(int, text\), .* make all of them text"),
        (np.array([1, 2], dtype=object), r"Unknown label type: unknown. .* Python objects \(int\); .* y.astype\(int\)"),
    ],
)
def test_targets_without_classes_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        encoded_classes(y, "Taker")


@pytest.mark.parametrize("dtype", ["str", object])
def test_a_series_with_missing_labels_is_told_by_its_row(dtype):
    labels = pd.Series(["a", "b", "b"], dtype=dtype)
    labels[1] = None
    with pytest.raises(ValueError, match=r"^Input y contains NaN: there is no label in row 1\. Taker needs a class"):
        validated(Taker(), np.eye(3), labels)


@pytest.mark.parametrize("y", [["1", "two"], np.array(["1", "two"]), pd.Series(["1", "two"])])
def test_text_where_numbers_are_predicted_is_told(y):
    with pytest.raises(ValueError, match=r"^y holds text, such as 'two', and Taker predicts numbers: give numbers"):
        validated(Taker(), np.eye(2), y, y_numeric=True)
    assert np.asarray(validated(Taker(), np.eye(2), ["1", "2"], y_numeric=True)[1], dtype=float).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("missing_value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_numbers_that_cannot_be_used_are_told_by_their_rows(missing_value, name):
    with pytest.raises(ValueError, match=f"^Input y contains {name}, in row 1. Taker needs a number there"):
        validated(Taker(), np.eye(3), np.array([0.5, missing_value, 1.5]))
    with pytest.raises(ValueError, match=f"contains {name}, in 2 rows, the first is row 1"):
        validated(Taker(), np.eye(3), np.array([0.5, missing_value, missing_value]))


def test_classes_are_coded_in_sorted_order():
    classes, codes = encoded_classes(np.array(["spam", "ham", "spam"]), "Taker")
    assert (classes.tolist(), codes.tolist()) == (["ham", "spam"], [1, 0, 1])


@pytest.mark.parametrize("function", [fisher_score, redundancy_groups, irrelevant_feature_curve])
def test_functions_take_no_dataset_either(function):
    with pytest.raises(TypeError, match=r"X is a Dataset, .* pass data\.X and data\.y"):
        function(load("wine"), load("wine").y)


def test_indices_of_64_bits_become_32_where_they_do_and_the_table_given_stays_as_it_is():
    X = sparse.random_array((6, 4), density=0.5, format="csr", rng=0)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = narrow_indices(X)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert X.indices.dtype == np.int64
    assert found.data is X.data
    assert (found != X).nnz == 0
    assert narrow_indices(found) is found


def test_columns_have_names_inside_and_places_outside():
    with columns_known_as(NAMES):
        assert known_column(1, 3) == "sex"
        assert known_column(1, 2) == 1  # part of the table, whose columns are others
        with columns_known_as(["x", "y"]):
            assert known_column(1, 2) == "y"
        assert known_column(2, 3) == "pulse"
    assert known_column(1, 3) == 1


def test_fits_on_arrays_name_the_columns_that_they_warn_of():
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[:, 1] = np.arange(150) % 2
    with columns_known_as(NAMES):
        with pytest.warns(UserWarning, match="Column 'sex' has at most"):
            model = FastProjectiveClustering().fit(X)
        with pytest.warns(UserWarning, match="Column 'age' has 150 different values"):
            _coded(X)
        with pytest.warns(UserWarning, match="Column 'sex' is constant within every class"):
            warn_of_separators(np.array([1.0, 0.0, 1.0]), np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert all(isinstance(column, int) for bounds in model.bounds_ for column in bounds)  # what is fitted is as ever
    with pytest.warns(UserWarning, match="Column 1 has at most"):
        FastProjectiveClustering().fit(X)
