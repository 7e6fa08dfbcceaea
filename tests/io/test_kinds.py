import datetime
import sys
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import KINDS, TableError, _frame, _kinds, read_table
from fewer.overview import describe

N = 20
RUNNING = list(range(5, 5 + N))


def kind_of(values, name="column"):
    return read_table(pl.DataFrame({name: values, "other": [1.5] * len(values)})).kinds[0]


SCATTERED = [j * j + 3 for j in range(N)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3.0] * N, "constant"),
        ([None] * N, "constant"),
        (["same", None] * 10, "constant"),
        ([True, False] * 10, "boolean"),
        ([0, 1] * 10, "boolean"),
        ([0.0, 1.0, None, 1.0] * 5, "boolean"),
        (["Yes", "no"] * 10, "boolean"),
        (["T", "f", None, "t"] * 5, "boolean"),
        (["true", "FALSE"] * 10, "boolean"),
        ([0.0, 0.5, 1.0, 1.0] * 5, "numeric"),
        ([1, 2] * 10, "numeric"),
        (SCATTERED, "numeric"),
        ([float(number) for number in RUNNING], "numeric"),
        (RUNNING, "identifier"),
        (RUNNING[::-1], "identifier"),
        (RUNNING[:9], "numeric"),
        ([f"P-{j}" for j in range(N)], "identifier"),
        ([f"P-{j}" for j in range(9)], "categorical"),
        (["red", "green", "blue", "red"] * 5, "categorical"),
        (["yes", "no", "maybe", "no"] * 5, "categorical"),
        ([f"the patient was seen on day {j}" for j in range(N)], "text"),
        (["very long remark here"] * 10 + ["another long remark here"] * 10, "categorical"),
        ([f"{j:060d}x" for j in range(N)], "text"),
        ([datetime.date(2024, 1, j + 1) for j in range(N)], "date"),
        ([f"2024-01-{j + 1:02d}" for j in range(N)], "date"),
        ([f"2024-01-{j + 1:02d} 10:30" for j in range(N)], "date"),
        ([f"2024-01-{j + 1:02d}T10:30:00.5Z" for j in range(N)], "date"),
        ([f"2024-01-{j + 1:02d}" for j in range(N - 1)] + ["soon"], "identifier"),
        ([f"2024-13-{j + 1:02d}" for j in range(N)], "identifier"),
    ],
)
def test_kind_follows_from_the_values(values, kind):
    assert kind_of(values) == kind


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "patientId", "index", "unnamed_1", "row", "key"])
def test_distinct_whole_numbers_are_identifiers_when_their_name_says_so(name):
    assert kind_of(SCATTERED, name) == "identifier"


@pytest.mark.parametrize("name", ["width", "acid", "humid", "keys pressed", "age"])
def test_distinct_whole_numbers_with_other_names_are_numeric(name):
    assert kind_of(SCATTERED, name) == "numeric"


def test_an_array_of_whole_numbers_has_identifiers_that_run_on_or_are_named_so():
    assert read_table(np.column_stack([RUNNING, SCATTERED])).kinds == ("identifier", "numeric")
    assert read_table({"a": RUNNING, "id": SCATTERED, "b": SCATTERED}).kinds == ("identifier", "identifier", "numeric")


def test_an_identifier_keeps_its_kind_beside_columns_with_fractions():
    dataset = read_table({"id": SCATTERED, "height": np.linspace(0, 1, N)})
    assert dataset.kinds == ("identifier", "numeric")
    assert dataset.X.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool])
def test_arrays_frames_and_sparse_matrices_agree_on_kinds(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(30, 4)).astype(dtype)
    X[:, 1] = 1
    X[:, 2] = rng.integers(0, 2, size=30)
    names = [f"x{j}" for j in range(4)]
    kinds = read_table(X).kinds
    assert kinds[1:3] == ("constant", "boolean")
    assert kinds == read_table(pl.DataFrame(X, schema=names)).kinds == read_table(sp.csc_array(X)).kinds


def test_missing_cells_do_not_count_in_arrays_and_sparse_matrices():
    X = np.array([[0.0, 1.0, 2.0, np.nan], [1.0, np.nan, 2.0, np.nan], [np.nan, 3.0, np.nan, np.nan]])
    kinds = ("boolean", "numeric", "constant", "constant")
    assert read_table(X).kinds == kinds
    assert read_table(sp.csr_array(X)).kinds == kinds


def test_empty_columns_of_a_sparse_matrix_are_constant():
    X = sp.csr_array(([2.0, -1.0, 1.0], ([0, 1, 2], [1, 1, 3])), shape=(3, 5))
    assert read_table(X).kinds == ("constant", "numeric", "constant", "boolean", "constant")


def test_a_column_scaled_to_the_unit_interval_is_not_boolean_for_a_late_fraction():
    X = np.zeros((3000, 2))
    X[::2] = 1
    X[2900, 0] = 0.25
    assert read_table(X).kinds == ("numeric", "boolean")


def test_kinds_can_be_overridden():
    dataset = read_table({"zip": [1, 2, 3], "b": [1.5, 2.5, 0.0]}, kinds={"zip": "categorical"})
    assert dataset.kinds == ("categorical", "numeric")


def test_overriding_with_an_impossible_kind_says_why():
    with pytest.raises(TableError, match=r"'a' cannot be of the kind 'numeric'.*numbers.*missing_values="):
        read_table({"a": ["1", "two", "3"]}, kinds={"a": "numeric"})
    with pytest.raises(TableError, match=r"not known. Use one of " + ", ".join(KINDS)):
        read_table({"a": [1, 2]}, kinds={"a": "number"})
    with pytest.raises(TableError, match=r"no column 'hight' \(given by kinds=\). Did you mean 'height'"):
        read_table({"height": [1, 2]}, kinds={"hight": "numeric"})


@pytest.mark.parametrize("day", ["{:02d}.03.2024", "3/{}/24", "2024/03/{:02d}", "{}-03-2024 10:15"])
def test_dates_in_another_order_than_iso_are_told_with_the_cure(day):
    days = [day.format(j + 1) for j in range(N)]
    with pytest.warns(
        UserWarning, match=r"\(column 'seen'\) are read as strings, in 1 of 2 columns. Write dates as 2024-05"
    ):
        read_table({"seen": [None, *days], "value": np.arange(N + 1) + 0.5})


@pytest.mark.parametrize(
    "values", [["10.0.0.1", "10.0.0.2"], ["1/2", "3/4"], ["1-2-3", "x"], ["2024-01-02", "2024-01-03"]]
)
def test_other_words_are_not_taken_for_dates(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table({"words": values, "value": [1.5, 2.5]})


def test_short_columns_of_strings_get_the_kinds_that_tall_ones_get(monkeypatch):
    columns = [["Yes ", "no"], ["t", "F", None], ["yes", "no", "maybe"], ["a", None], ["red", "green", None], ["", "b"]]
    columns += [[f"s{row}" for row in range(12)], [f"four words of prose{row}" for row in range(12)]]
    columns += [["x" * 60, "y" * 60], [letter * 60 for letter in "abcdefgh"], ["yes", "true"], [None]]
    table = pl.DataFrame(
        {str(place): pl.Series((values * 12)[:12], dtype=pl.String) for place, values in enumerate(columns)}
    )
    short = _kinds.kinds_of(table, table.columns)
    assert set(short) == {"constant", "boolean", "categorical", "identifier", "text"}
    monkeypatch.setattr(_kinds, "SHORT", 0)
    assert _kinds.kinds_of(table, table.columns) == short


def words_and_numbers(n_columns):
    rng = np.random.default_rng(0)
    words = {f"w{j}": rng.choice(["AA", "AG", "GG"], 30).tolist() for j in range(n_columns)}
    numbers = {f"n{j}": [None, *rng.normal(size=29)] for j in range(n_columns)}
    return pl.DataFrame(words | numbers)


def calls_of(action, argument):
    """Number of Python functions that an action enters."""
    count = 0

    def counted(frame, event, value):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        action(argument)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("look", [read_table, lambda table: describe(read_table(table))], ids=["read", "describe"])
def test_wide_tables_of_words_need_no_query_for_each_column(look):
    look(words_and_numbers(5))  # imports what it needs
    few, many = (calls_of(look, words_and_numbers(width)) for width in (50, 150))
    assert (many - few) / 200 < 150  # a query of polars alone takes about 100


def test_columns_that_are_read_together_and_one_by_one_are_the_same(monkeypatch, assert_same):
    table = pl.DataFrame(
        {
            "padded": [" 1", "+2", "3 "],
            "fraction": ["1.5", "NA", "2e3"],
            "mixed": ["1", "x", "2"],
            "empty": ["?", "", "NA"],
            "day": ["2024-05-31", None, "2024-06-01"],
            "moment": ["2024-05-31T10:00Z", "2024-05-31 12:00:00+01:00", "?"],
            "late": ["?", "", "word"],
        }
    )
    together = read_table(table)
    assert together.kinds == ("numeric", "numeric", "categorical", "constant", "date", "date", "constant")
    assert together.X["padded"].to_list() == [1, 2, 3]
    monkeypatch.setattr(_frame, "BATCH_CELLS", 1)
    assert_same(read_table(table), together)
