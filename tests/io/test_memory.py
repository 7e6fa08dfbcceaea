import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import TableError, read_table


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_arrays_keep_their_type_and_are_not_copied(dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    dataset = read_table(X)
    assert dataset.X is X
    assert dataset.columns == ("x0", "x1", "x2")


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"a": np.float32([1.5, 2]), "b": np.float32([1, 2])}, np.float32),
        ({"a": np.float32([1.5, 2]), "b": np.float64([1, 2])}, np.float64),
        ({"a": np.float32([1.5, 2]), "b": np.int8([1, 2])}, np.float64),
        ({"a": [True, False], "b": [False, True]}, bool),
        ({"a": [True, False], "b": np.int8([3, 4])}, np.int8),
        ({"a": [1, 2], "b": [3, 4]}, np.int64),
        ({"a": [1, None], "b": [3, 4]}, np.float64),
        ({"a": [True, None], "b": [True, False]}, np.float64),
        ({"a": [None, None], "b": [3, 4]}, np.float64),
    ],
)
@pytest.mark.parametrize("library", [pl, pd])
def test_frames_of_numbers_become_arrays_of_the_common_type(columns, dtype, library):
    dataset = read_table(library.DataFrame(columns))
    assert isinstance(dataset.X, np.ndarray)
    assert dataset.X.dtype == dtype
    expected = [[np.nan if value is None else float(value) for value in values] for values in columns.values()]
    np.testing.assert_array_equal(dataset.X.T.astype(float), expected)


def test_nan_in_a_mixed_frame_becomes_null():
    dataset = read_table(pl.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]}))
    assert dataset.X["a"].to_list() == [1.0, None]
    assert dataset.missing_by_column.tolist() == [1, 0]


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_rows_and_columns_stay_as_they_came(format):
    X = sp.random(6, 5, density=0.4, format=format, random_state=0)
    assert read_table(X).X is X


@pytest.mark.parametrize("format", ["coo", "lil", "dok"])
def test_other_sparse_formats_become_csr(format):
    X = sp.random(6, 5, density=0.4, format=format, random_state=0)
    dataset = read_table(X)
    assert dataset.X.format == "csr"
    np.testing.assert_array_equal(dataset.X.toarray(), X.toarray())


def test_pandas_types_arrive_with_their_meaning():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "category": pd.Categorical(["b", None, "a"], categories=["b", "a", "c"]),
            "moment": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "zone": pd.to_datetime(["2024-07-01 12:00", None, "2024-07-03 12:00"]).tz_localize("Europe/Rome"),
            "word": ["x", None, "y"],
            "object": np.array([1, None, 2.5], dtype=object),
            "mixed": np.array([1, None, "a"], dtype=object),
            "pause": pd.to_timedelta([1, None, 3], unit="s"),
            "month": pd.PeriodIndex(["2024-01", None, "2024-03"], freq="M"),
            "range": pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]),
        },
        index=[7, 8, 9],
    )
    X = read_table(frame).X
    assert X["nullable"].to_list() == [1, None, 3]
    assert X["flag"].to_list() == [True, None, False]
    assert X["category"].to_list() == ["b", None, "a"]
    assert X.schema["category"] == pl.Enum(["b", "a", "c"])
    assert str(X["moment"][2]) == "2024-01-03 00:00:00"
    assert X["zone"][0].isoformat() == "2024-07-01T12:00:00+02:00"
    assert X["word"].to_list() == ["x", None, "y"]
    assert X["object"].to_list() == [1.0, None, 2.5]
    assert X["mixed"].to_list() == ["1", None, "a"]
    assert X["pause"].null_count() == 1
    assert str(X["month"][2]) == "2024-03-01 00:00:00"
    assert X["range"].to_list() == ["(0, 1]", "(1, 2]", "(2, 3]"]


def test_categories_of_numbers_and_strings_are_joined_by_their_text():
    frame = pd.DataFrame({"c": pd.Categorical([1, "1", None, 2]), "x": [1, 2, 3, 4]})
    assert read_table(frame).X["c"].to_list() == ["1", "1", None, "2"]
    empty = pd.DataFrame({"c": pd.Categorical([None, None]), "x": ["a", "b"]})
    assert read_table(empty).kinds == ("constant", "categorical")


def test_pandas_names_become_strings():
    assert read_table(pd.DataFrame(np.eye(2), columns=[0, 1])).columns == ("0", "1")
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    assert read_table(pd.DataFrame(np.eye(2), columns=names)).columns == ("a_1", "a_2")
    assert read_table(pd.DataFrame(np.eye(4), columns=[1, 2, 3, 4]), target=4).target == "4"


def test_repeated_names_are_reported_with_their_positions():
    frame = pd.DataFrame([[1, 2, "x"]], columns=["a", "b", "a"])
    with pytest.raises(TableError, match="'a' is the name of columns 1, 3"):
        read_table(frame)


def test_strings_that_are_numbers_become_numbers():
    dataset = read_table({"a": ["1", " 2.5", "?", "+1e3"], "b": ["1", "2", "NA", "4"]})
    np.testing.assert_array_equal(dataset.X, [[1, 1], [2.5, 2], [np.nan, np.nan], [1000, 4]])


def test_missing_markers_can_be_chosen():
    columns = {"a": [1, -999, 3], "b": ["x", "unknown", "?"]}
    dataset = read_table(columns, missing_values=["unknown", -999])
    assert dataset.X["a"].to_list() == [1, None, 3]
    assert dataset.X["b"].to_list() == ["x", None, "?"]
    np.testing.assert_array_equal(read_table(np.array([[1, -999]]), missing_values=-999).X, [[1, np.nan]])
    marked = read_table(sp.csr_array([[0, -1.0], [2.0, 0]]), missing_values=[-1])
    assert marked.missing_by_column.tolist() == [0, 1]
    with pytest.raises(TableError, match="0 cannot mark missing values in a sparse table"):
        read_table(sp.csr_array([[0, -1.0]]), missing_values=[0])


def test_the_callers_array_is_left_alone():
    X = np.array([[1.0, -999.0]])
    read_table(X, missing_values=[-999])
    assert X.tolist() == [[1.0, -999.0]]


def test_columns_can_be_dropped():
    columns = {"a": [1, 2], "b": [[1], [2]], "c": [3, 5]}
    assert read_table(columns, drop=["b"]).columns == ("a", "c")
    assert read_table(np.eye(3), drop="x1").columns == ("x0", "x2")
    with pytest.raises(TableError, match=r"no column 'd' \(given by drop=\)"):
        read_table(columns, drop=["d"])


def test_columns_of_lists_are_refused_with_the_cure():
    with pytest.raises(TableError, match=r"column 'b' holds values of type List.*drop=\['b'\]"):
        read_table({"a": [1, 2], "b": [[1], [2]]})


def test_arrays_of_objects_and_structured_arrays_are_read():
    assert read_table(np.array([[1, "a"], [2, "b"]], dtype=object)).X.rows() == [(1, "a"), (2, "b")]
    structured = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", int), ("x", float)])
    assert read_table(structured).columns == ("n", "x")
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(masked).X, [[1, np.nan], [3, 4]])
    assert read_table([[1, 2], [3, 5]]).X.tolist() == [[1, 2], [3, 5]]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.arange(3), r"two dimensions.*reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.eye(2) * 1j, "complex"),
        ([[1, 2], [3]], "different lengths"),
        ({"a": [1, 2], "b": [1]}, "equal length"),
        (np.zeros((0, 3)), "the table has no rows"),
        (pl.DataFrame({"a": []}), "the table has no rows"),
        (pl.DataFrame(), "the table has no rows"),
        (42, "A int is not a table"),
        (None, "A NoneType is not a table"),
    ],
)
def test_what_is_no_table_is_refused(source, message):
    with pytest.raises(TableError, match=message):
        read_table(source)


def test_arrow_tables_are_read():
    import pyarrow as pa

    dataset = read_table(pa.table({"a": [1, 2], "b": ["x", "y"]}))
    assert dataset.source == "pyarrow Table"
    assert dataset.X.rows() == [(1, "x"), (2, "y")]


def test_pandas_goes_in_and_out_without_pyarrow():
    script = """
        import sys
        sys.modules["pyarrow"] = None  # as if it were not installed
        import pandas as pd
        from fewer.io import read_table
        frame = pd.DataFrame({
            "n": [1.5, None], "i": pd.array([1, None], dtype="Int64"), "s": ["x", None],
            "c": pd.Categorical(["u", "v"]),
            "d": pd.to_datetime(["2024-01-01", None]), "b": [True, False], "y": ["p", "q"],
        })
        dataset = read_table(frame, target="y")
        out = dataset.to_pandas()
        assert list(out.columns) == list(frame.columns)
        assert out["s"].tolist()[0] == "x" and out["s"].isna().tolist() == [False, True]
        assert out["c"].dtype == "category" and out["d"].isna().tolist() == [False, True]
        assert dataset.to_polars().height == 2
        print("fine")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "fine", done.stderr


def test_importing_and_reading_do_not_import_pandas_or_scikit_learn(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    script = f"""
        import sys
        from fewer.io import read_table
        read_table({str(tmp_path / "t.csv")!r}, target="b")
        print([name for name in ("pandas", "sklearn", "pyarrow", "fastexcel") if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
