"""`read_table`: paths, formats, options, and files that ask for far more time or memory than their size."""

import gzip
import io
import sqlite3
import zipfile

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewer.io import TableError, _csv, _database, _errors, read_table


def test_a_wrong_path_offers_near_names(file):
    path = file("a,b\n1,2\n", "patients.csv")
    with pytest.raises(TableError, match=r"patient\.csv does not exist. Did you mean 'patients\.csv'"):
        read_table(path.with_name("patient.csv"))


def test_a_wrong_folder_says_how_far_the_path_exists(tmp_path):
    with pytest.raises(TableError, match=rf"no folder .*deep/down \(.* exists is {tmp_path}\)"):
        read_table(tmp_path / "deep" / "down" / "t.csv")


def test_a_folder_lists_its_files(file):
    path = file("a,b\n1,2\n", "patients.csv")
    with pytest.raises(TableError, match=r"is a folder. Give the path of one of its files: 'patients\.csv'\.$"):
        read_table(path.parent)


def test_an_unknown_suffix_says_which_are_known(file):
    path = file("a,b\n1,2\n", "table.dat")
    with pytest.raises(TableError, match=r"table\.dat: the format.*\.parquet.*format="):
        read_table(path)
    assert read_table(path, format="csv").columns == ("a", "b")
    with pytest.raises(TableError, match=r"format='cvs' is not known. Use one of csv"):
        read_table(path, format="cvs")


def test_suffixes_in_capitals_and_paths_as_strings_are_fine(file):
    assert read_table(str(file("a,b\n1,2\n", "TABLE.CSV"))).columns == ("a", "b")


@pytest.mark.parametrize("option", [{"query": "select 1"}, {"sheet": 2}, {"table": "t"}])
def test_an_option_without_meaning_is_refused(file, option):
    with pytest.raises(TableError, match=f"option {next(iter(option))}= does not apply"):
        read_table(file("a,b\n1,2\n"), **option)
    with pytest.raises(TableError, match="A table in memory"):
        read_table({"a": [1, 2]}, **option)


def test_the_source_is_the_path(file):
    path = file("a,b\n1,2\n")
    assert read_table(path).source == str(path)


@pytest.mark.parametrize("uri", ["https://example.org/t.csv", "mysql://me@host/db"])
def test_other_uris_are_refused_with_the_cure(uri):
    with pytest.raises(TableError, match=r"is not supported; postgresql://"):
        read_table(uri)


def test_missing_target_option_is_checked():
    with pytest.raises(TableError, match="missing_target='keep' is not known"):
        read_table({"a": [1, 2]}, missing_target="keep")


def test_options_for_text_have_no_meaning_for_a_database():
    with pytest.raises(TableError, match=r"A database URI: the option separator= does not apply"):
        read_table("postgresql://nobody@nowhere/none", query="SELECT 1", separator=";")


@pytest.mark.parametrize("row", ["", "1," * 3_000_000 + "1\n"])
def test_a_header_of_millions_of_separators_is_refused_before_it_is_taken_apart(file, row):
    with pytest.raises(TableError, match=r"line 1: the first line has 3,000,001 fields.*1,000,000 columns.*separator"):
        read_table(file("," * 3_000_000 + "\n" + row))


def test_separators_in_quotes_are_no_columns(file, monkeypatch):
    monkeypatch.setattr("fewer.io._csv.MOST_COLUMNS", 3)
    content = '"a,b,c,d,e";"f;g";h\n1;2;3\n2;3;5\n'
    assert read_table(file(content)).columns == ("a,b,c,d,e", "f;g", "h")
    with pytest.raises(TableError, match="has 4 fields"):
        read_table(file('"a,b";"f;g";h;i\n1;2;3;4\n'))


@pytest.mark.parametrize("cell", ["1.5", '"w,{}"', "2020-01-{:02}", " NA"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_number_of_queries_does_not_grow_with_the_number_of_columns(file, monkeypatch, cell, quote):
    collect = pl.LazyFrame.collect
    n_queries = 0

    def counted(self, *args, **kwargs):
        nonlocal n_queries
        n_queries += 1
        return collect(self, *args, **kwargs)

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)

    def queries(n_columns):
        nonlocal n_queries
        n_queries = 0
        header = ",".join(f"{quote}c{j}{quote}" for j in range(n_columns))
        rows = [",".join([cell.format(row + 1)] * n_columns) for row in range(5)]
        dataset = read_table(file("\n".join([header, *rows]) + "\n"), task="none")
        assert dataset.shape == (5, n_columns)
        return n_queries

    dates = cell.startswith("2020")  # each of them is converted by itself
    assert queries(400) <= queries(40) + 360 * 3 * dates


def test_names_that_repeat_a_hundred_thousand_times_make_a_short_error(file):
    with pytest.raises(TableError, match=r"'a' is the name of columns 1, 2, .* and 99,992 more") as caught:
        read_table(file(",".join(["a"] * 100_000) + "\n" + ",".join(["1"] * 100_000) + "\n"))
    assert len(str(caught.value)) < 500
    with pytest.raises(TableError) as caught:
        read_table(file(f"{'a' * 100_000},{'a' * 100_000}\n1,2\n"))
    assert len(str(caught.value)) < 1000


def test_text_that_would_be_searched_again_from_each_of_its_characters(file):
    """Each took the square of its length: about 1e10 steps."""
    assert read_table(file(f"{'1' * 100_000}x,b\n1,2\n3,5\n")).n_rows == 2
    assert read_table(file("\n" * 1_000_000 + "a,b\n1,2\n3,5\n")).n_rows == 2
    spaces = " " * 100_000
    header = f"@relation t\n@attribute a {{x{spaces}y, z}}\n@attribute b numeric\n@data\n"
    assert read_table(file(f"{header}z,1\nz,2.5\n", "t.arff")).shape == (2, 2)
    sparse = f"@relation t\n@attribute a numeric\n@attribute b numeric\n@data\n{{0 1{spaces}2}}\n"
    with pytest.raises(TableError, match="is not a number"):
        read_table(file(sparse, "t.arff"))
    values = ",".join(f"v{j}" for j in range(50_000))
    with pytest.raises(TableError, match="repeat 'v0'"):
        read_table(file(f"@relation t\n@attribute a {{{values},{values}}}\n@data\nv0\n", "t.arff"))


def test_one_long_value_of_a_sparse_row_does_not_lengthen_all_others(file):
    rows = "".join(f"{{{j % 100} 1}}\n" for j in range(5_000))
    attributes = "".join(f"@attribute a{j} numeric\n" for j in range(100))
    content = f"@relation t\n{attributes}@attribute s string\n@data\n{rows}{{3 1, 100 {'x' * 100_000}}}\n"
    assert read_table(file(content, "t.arff"), task="none").shape == (5_001, 100)


@pytest.mark.parametrize("row", ["{" + "1" * 5000 + " 1}", "{99999999999999999999 1}"])
def test_indices_beyond_any_number_are_refused(file, row):
    with pytest.raises(TableError, match="is not 'index value'"):
        read_table(file(f"@relation t\n@attribute a numeric\n@data\n{row}\n", "t.arff"))
    index = row.strip("{}").split()[0]
    with pytest.raises(TableError, match=r"t\.svm"):
        read_table(file(f"1 {index}:1\n", "t.svm"))


@pytest.mark.parametrize("content", ["1 3:1\n0 999999999:2\n", "# 999999999 columns\n1 3:1\n0 1:2\n"])
def test_a_sparse_table_that_is_nearly_all_empty_is_refused(file, content):
    with pytest.raises(TableError, match=r"table of 2 x 999,999,999.*empty"):
        read_table(file(content, "t.svm"))
    assert read_table(file("1 3:1\n0 100000:2\n", "t.svm")).n_columns == 100_000


def test_packed_text_is_not_unpacked_beyond_the_memory(file, monkeypatch):
    bomb = gzip.compress(b"0," * (1 << 22))
    monkeypatch.setattr(_csv, "physical_memory", lambda: 1 << 22)
    for name in ("t.csv.gz", "t.arff.gz", "t.svm.gz"):
        with pytest.raises(TableError, match=r"more than 0\.0 GiB of text"):
            read_table(file(bomb, name))


def npz_of(file, **members: bytes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file(buffer.getvalue(), "t.npz")


def npy(descr: str, shape: tuple[int, ...], content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue() + content


def test_an_archive_that_declares_petabytes_is_refused(file, monkeypatch):
    with pytest.raises(TableError, match=r"declares more than fits into memory.*8\.00 PiB"):
        read_table(npz_of(file, X=npy("<f8", (1 << 25, 1 << 25), bytes(64))))
    monkeypatch.setattr(_errors, "physical_memory", lambda: 1 << 20)
    with pytest.raises(TableError, match="this machine has"):
        read_table(npz_of(file, X=npy("<f8", (1 << 10, 1 << 10), bytes(1 << 23))))


@pytest.mark.parametrize(
    "member",
    [
        npy("<f8", (0, 10**11)),
        npy("<U0", (10**9, 10**9)),
        npy("|V0", (3, 10**9)),
        npy("<U1", (2, 2), np.array([97, 98, 99, 0xFFFFFF], dtype="<u4").tobytes()),
        npy("<U1", (2, 2), np.array([97, 98, 99, 0xD800], dtype="<u4").tobytes()),
        npy("|S1", (2, 2), b"ab\xff\xfe"),
        b"\x93NUMPY\x01\x00\x08\x00'''(((  ",
    ],
)
def test_arrays_that_are_none_are_refused(file, member):
    with pytest.raises(TableError, match=r"t\.npz"):
        read_table(npz_of(file, X=member, y=npy("<f8", (2,), bytes(16))))


def test_sparse_matrices_whose_indices_lie_outside_are_refused(tmp_path):
    matrix = sp.random(6, 5, density=0.5, format="csr", rng=0)
    for form in ("csr", "csc", "bsr"):
        for part, value in [("indices", 99), ("indices", -1), ("indptr", 99)]:
            damaged = matrix.asformat(form, copy=True)
            getattr(damaged, part)[2] = value
            sp.save_npz(tmp_path / "t.npz", damaged)
            with pytest.raises(TableError, match=r"t\.npz"):
                read_table(tmp_path / "t.npz")
        damaged = matrix.asformat(form, copy=True)
        damaged.indptr[-1] = 0  # scipy then looks no further
        sp.save_npz(tmp_path / "t.npz", damaged)
        with pytest.raises(TableError, match="indices of the sparse matrix are damaged"):
            read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("rows", ["x FROM c", "x FROM c WHERE x < 0", "hex(zeroblob(500000)) FROM c"])
def test_a_view_without_end_is_stopped(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(_database, "_SECONDS", 0.5)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute(
            f"CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT {rows}"
        )
    connection.close()
    with pytest.raises(TableError, match=r"takes too long|too big"):
        read_table(tmp_path / "t.db")


def test_a_query_of_the_user_has_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(_database, "_SECONDS", -100)
    monkeypatch.setattr(_database, "_STEPS", 10)
    sqlite3.connect(tmp_path / "t.db").close()
    count = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 9)"
    query = f"{count} SELECT x, hex(zeroblob(70000)) AS zeros FROM c"
    assert read_table(tmp_path / "t.db", query=query, task="none").shape == (9, 2)


def test_text_of_a_database_that_is_not_utf8_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute('CREATE TABLE t ("name of it" REAL)')
        connection.execute("INSERT INTO t VALUES (1.5)")
    connection.close()
    content = (tmp_path / "t.db").read_bytes()
    (tmp_path / "t.db").write_bytes(content.replace(b"name of it", b"name of \xff\xfe"))
    with pytest.raises(TableError, match=r"t\.db: SQLite reports an error"):
        read_table(tmp_path / "t.db")
