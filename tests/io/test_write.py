import datetime
import errno
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fewer.io import Dataset, TableError, read_table, write_table

N = 12
TEXT_AND_TYPES = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow", ".arff", ".arff.gz", ".xlsx", ".sqlite"]
WITH_LABELS = [".svm", ".npz", ".mat"]


@pytest.fixture
def mixed():
    return read_table(
        {
            "number": [1.5, None, 1e-300, -2.25] * 3,
            "count": [3, 4, 4, 7] * 3,
            "code": [f"K{j}" for j in range(N)],
            "colour": ["it's red", 'so "green"', None, "blue, \\dark"] * 3,
            "remark": [f"line one of {j}\nline two\there" for j in range(N)],
            "day": [datetime.date(2024, 2, j + 1) for j in range(N)],
            "moment": [datetime.datetime(2024, 2, j + 1, 13, 14, 15, 500_000) for j in range(N)],
            "empty": [None] * N,
            "kind of": ["a b", "c", "c"] * 4,
        },
        target="kind of",
    )


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) * 10.0 ** rng.integers(-200, 200, size=(N, 4))
    X[2, 1] = np.nan
    X[:, 3] = 0
    return read_table(X, target=[1, 2, 5] * 4)


@pytest.fixture
def sparse():
    rng = np.random.default_rng(0)
    X = sp.random(N, 6, density=0.3, format="csr", rng=rng)
    X.data[0] = np.nan
    X = sp.csr_array((X.data, X.indices, X.indptr), shape=(N, 8))  # the last columns are empty
    return read_table(X, target=rng.normal(size=N))


@pytest.mark.parametrize("suffix", TEXT_AND_TYPES)
def test_mixed_tables_come_back_the_same(mixed, tmp_path, suffix, assert_same):
    path = tmp_path / f"t{suffix}"
    write_table(mixed, path)
    assert_same(read_table(path, target="kind of"), mixed)


@pytest.mark.parametrize("suffix", [suffix for suffix in TEXT_AND_TYPES if suffix != ".xlsx"])
def test_numbers_come_back_the_same(numbers, tmp_path, suffix, assert_same):
    path = tmp_path / f"t{suffix}"
    write_table(numbers, path)
    assert_same(read_table(path, target="target"), numbers)


def test_numbers_come_back_from_excel_with_the_digits_that_it_holds(numbers, tmp_path):
    write_table(numbers, tmp_path / "t.xlsx")
    # 16 significant digits are written: half a unit of the last one is at most 5e-16 of the number.
    np.testing.assert_allclose(read_table(tmp_path / "t.xlsx", target="target").X, numbers.X, rtol=5e-16, atol=0)


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
@pytest.mark.parametrize("y", [[1, 2, 5] * 4, ["a b", "c"] * 6, np.linspace(0, 1, N)])
def test_arrays_come_back_the_same_with_target_and_names(tmp_path, suffix, y, assert_same):
    X = np.random.default_rng(0).normal(size=(N, 3))
    dataset = read_table(pd.DataFrame(X, columns=["a", "b c", "ä"]), target=pd.Series(y, name="outcome"))
    path = tmp_path / f"t{suffix}"
    write_table(dataset, path)
    back = read_table(path)
    assert back.target == "outcome"
    assert_same(back, dataset)


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".svm"])
def test_sparse_tables_come_back_the_same(sparse, tmp_path, suffix, assert_same):
    path = tmp_path / f"t{suffix}"
    write_table(sparse, path)
    assert_same(read_table(path), sparse)


def test_sparse_arff_comes_back_the_same(sparse, tmp_path, assert_same):
    classes = read_table(sparse.X, target=["no", "yes"] * 6)
    write_table(classes, tmp_path / "classes.arff")
    assert_same(read_table(tmp_path / "classes.arff"), classes)
    write_table(sparse, tmp_path / "t.arff")
    assert_same(read_table(tmp_path / "t.arff", target="target"), sparse)


def test_a_sparse_npz_is_one_that_scipy_reads(sparse, tmp_path):
    write_table(sparse, tmp_path / "t.npz")
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "t.npz").toarray(), sparse.X.toarray())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    X=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(allow_nan=True)),
    suffix=st.sampled_from([".csv", ".tsv", ".arff", ".npz", ".sqlite"]),
)
def test_any_floats_come_back_to_the_last_bit(tmp_path, X, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(X, path)
    np.testing.assert_array_equal(read_table(path).X, X)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".mat"])
def test_floats_of_any_bits_come_back_from_another_process(tmp_path, suffix):
    X = np.frombuffer(np.random.default_rng(0).bytes(8 * 2000)).reshape(100, 20)
    write_table(X, tmp_path / f"t{suffix}")
    np.testing.assert_array_equal(read_table(tmp_path / f"t{suffix}").X, X)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=8).map(
    lambda word: f"w{word}w"
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.none() | WORDS, st.integers(-9, 9), WORDS), min_size=1, max_size=6),
    names=st.lists(WORDS, min_size=3, max_size=3, unique=True),
    suffix=st.sampled_from([".csv", ".tsv", ".arff", ".sqlite"]),
)
def test_any_words_and_names_come_back_the_same(tmp_path, rows, names, suffix):
    frame = pl.DataFrame(rows, schema=dict(zip(names, [pl.String, pl.Int64, pl.String], strict=True)), orient="row")
    path = tmp_path / f"t{suffix}"
    write_table(frame, path)
    back = read_table(path)
    assert back.columns == tuple(names)
    assert back.X.rows() == frame.rows()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_are_written_as_they_are(tmp_path, suffix, make):
    path = tmp_path / f"t{suffix}"
    write_table(make({"code": ["007", "008"], "x": [1.5, 2.5]}), path)
    if suffix == ".parquet":
        assert pl.read_parquet(path)["code"].to_list() == ["007", "008"]
    else:
        assert path.read_text() == "code,x\n007,1.5\n008,2.5\n"


def test_a_missing_value_at_the_end_of_a_single_column_is_kept(tmp_path):
    write_table({"a": [1.5, None]}, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").n_rows == 2


def test_the_format_can_be_named(tmp_path):
    write_table({"a": [1, 2]}, tmp_path / "table.out", format="parquet")
    assert pl.read_parquet(tmp_path / "table.out")["a"].to_list() == [1, 2]
    with pytest.raises(TableError, match="format is not clear"):
        write_table({"a": [1, 2]}, tmp_path / "table.out")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "t.csv"
    path.write_text("precious")

    def fail(self, file, **options):
        file.write_text("a,b\n1")
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_csv", fail)
    with pytest.raises((TableError, KeyboardInterrupt)) as caught:
        write_table({"a": [1], "b": [2]}, path)
    if isinstance(error, OSError):
        assert "t.csv could not be written: No space left on device" in str(caught.value)
    assert path.read_text() == "precious"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table({"a": [1], "b": [2]}, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a,b\n1,2\n"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(TableError, match=r"there is no folder .*nowhere"):
        write_table({"a": [1]}, tmp_path / "nowhere" / "t.csv")


def test_a_database_with_other_tables_is_not_overwritten(tmp_path):
    path = tmp_path / "t.sqlite"
    write_table({"a": [1, 2]}, path)
    write_table({"a": [3, 4]}, path)
    assert read_table(path).X.ravel().tolist() == [3, 4]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(TableError, match="holds other tables, which would be lost: 'other'"):
        write_table({"a": [5, 6]}, path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx", ".sqlite"])
def test_sparse_tables_are_not_made_dense_silently(sparse, tmp_path, suffix):
    with pytest.raises(TableError, match="sparse"):
        write_table(sparse, tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", WITH_LABELS)
def test_matrix_files_name_the_columns_that_they_cannot_hold(mixed, tmp_path, suffix):
    numbered = Dataset(mixed.X, mixed.columns, mixed.kinds, y=np.arange(N) % 2, target="t", task="binary")
    with pytest.raises(TableError, match="not numbers: 'code', 'colour', 'remark', 'day', 'moment'"):
        write_table(numbered, tmp_path / f"t{suffix}")


def test_svmlight_needs_a_target_of_numbers(tmp_path):
    with pytest.raises(TableError, match="starts with the target, but this table has none"):
        write_table(np.eye(3), tmp_path / "t.svm")
    with pytest.raises(TableError, match="'target' holds strings"):
        write_table(read_table(np.eye(3), target=["a", "b", "a"]), tmp_path / "t.svm")


def test_excel_says_what_it_cannot_hold(tmp_path):
    with pytest.raises(TableError, match="infinite values, as in the columns 'x0'"):
        write_table(np.array([[np.inf, 1.0]]), tmp_path / "t.xlsx")
    with pytest.raises(TableError, match=r"16,384 columns at most, but the table has 1 and 16,385"):
        write_table(np.zeros((1, 16_385)), tmp_path / "t.xlsx")


@pytest.mark.parametrize("suffix", [".csv", ".arff", ".xlsx"])
def test_lists_are_refused(tmp_path, suffix):
    with pytest.raises(TableError, match="'a'"):
        write_table({"a": [[1, 2], [3]]}, tmp_path / f"t{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_repeated_names_are_refused(tmp_path):
    with pytest.raises(TableError, match="'a' is the name of columns 1, 2"):
        write_table(pd.DataFrame([[1, 2.5]], columns=["a", "a"]), tmp_path / "t.csv")
