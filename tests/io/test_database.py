import sqlite3
from contextlib import closing

import pytest

from fewer.io import TableError, read_table
from fewer.io._database import _cleaned, _without_secrets


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "plants.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE plants (height, leaves, kind)")
        rows = [(1.5, 3, "fern"), (None, 4, "moss"), (2, 5, "fern"), (0.5, 6, "moss")]
        connection.executemany("INSERT INTO plants VALUES (?, ?, ?)", rows)
    return path


def test_the_only_table_is_read(database):
    dataset = read_table(database, target="kind")
    assert dataset.columns == ("height", "leaves")
    assert dataset.X[0].tolist() == [1.5, 3.0]
    assert dataset.missing_by_column.tolist() == [1, 0]
    assert dataset.task == "binary"


def test_a_query_is_read(database):
    dataset = read_table(database, query="SELECT leaves * 2 AS twice FROM plants ORDER BY leaves DESC")
    assert dataset.X.ravel().tolist() == [12, 10, 8, 6]
    assert "SELECT leaves" in dataset.source


def test_a_uri_reads_the_same(database):
    assert read_table(f"sqlite:///{database}").shape == (4, 3)
    with pytest.raises(TableError, match="does not exist"):
        read_table("sqlite:///nowhere.db")


def test_one_of_several_tables_must_be_named(database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute('CREATE TABLE "odd ""name" AS SELECT 1 AS a, 2 AS b')
    with pytest.raises(TableError, match=r"by table= or query=. Tables: 'plants', 'odd \"name'"):
        read_table(database)
    assert read_table(database, table='odd "name').X.tolist() == [[1, 2]]
    with pytest.raises(TableError, match=r"no table 'plant'. Did you mean 'plants'"):
        read_table(database, table="plant")


def test_the_file_is_never_written_to(database):
    with pytest.raises(TableError, match="readonly"):
        read_table(database, query="DELETE FROM plants")
    assert read_table(database).n_rows == 4


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELEC 1", "in the query 'SELEC 1'.*syntax error"),
        ("SELECT no FROM plants", "no such column: no"),
        ("SELECT 1 AS a WHERE 0", "gave no rows"),
        ("SELECT 1 AS a, 2 AS a", "'a' is the name of columns 1, 2"),
    ],
)
def test_a_failing_query_is_explained(database, query, message):
    with pytest.raises(TableError, match=message):
        read_table(database, query=query)


def test_columns_of_any_values_have_a_type(tmp_path, monkeypatch):
    monkeypatch.setattr("fewer.io._database._BATCH", 2)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE t (a, b, c, d)")
        rows = [(1, None, 1, None), (2, None, 2, None), (2.5, 7, "x", None), (None, 8, 3.5, None), (4, 9, 2, None)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    X = read_table(tmp_path / "t.db").X
    assert X["a"].to_list() == [1.0, 2.0, 2.5, None, 4.0]
    assert X["b"].to_list() == [None, None, 7, 8, 9]
    assert X["c"].to_list() == ["1", "2", "x", "3.5", "2"]
    assert X["d"].null_count() == 5


def test_bytes_are_refused_by_name(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, x'00ff' AS picture")
    with pytest.raises(TableError, match=r"column 'picture' holds values of type Binary.*drop="):
        read_table(tmp_path / "t.db")


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://me:s3cr%40t@host:5432/db",
        "postgresql://me:s3cr@t@host:5432/db",
        "postgresql://me@host/db?password=s3cr%40t&x=1",
        "postgresql://me@host/db?x=1&password=s3cr@t",
        "postgresql://me:s3cr/@t@host:5432/db",
        "postgresql://me:s3cr?@t@host:5432/db",
        "postgresql://me:s3cr#@t@host:5432/db",
        "postgresql://me:s3cr@t",
        "postgresql://me:s3crt/db",
    ],
)
def test_passwords_are_never_shown(uri):
    assert "s3cr" not in _without_secrets(uri)
    assert "s3cr" not in _cleaned(f"failed: {uri}", uri)
    assert _without_secrets("postgresql://me:s3cret@host:5432/db?x=1") == "postgresql://me@host:5432/db"


def test_passwords_are_found_in_either_form():
    for uri in ("postgresql://me:s3cr%40t@host/db", "postgresql://me:s3cr@t@host/db"):
        assert "s3cr" not in _cleaned("wrong: s3cr@t or s3cr%40t", uri)


def test_a_server_that_is_not_there_is_an_error_without_the_password():
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(TableError, match=r"postgresql://me@127\.0\.0\.1:1/db: the database refused") as caught:
        read_table("postgresql://me:s3cret@127.0.0.1:1/db", query="SELECT 1")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
