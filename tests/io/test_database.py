"""Tables in SQLite files, and on a real PostgreSQL server in a temporary folder."""

import glob
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from fewer.io import TableError, read_table
from fewer.io._database import _cleaned, _without_secrets

pytestmark = pytest.mark.xdist_group("postgresql")
PASSWORD = "s3cr@t word"
ENCODED = "s3cr%40t%20word"
STATEMENTS = (
    """CREATE TABLE plants (id serial, height double precision, leaves integer, price numeric(8, 2), evergreen boolean,
    seen date, kind text)""",
    """INSERT INTO plants (height, leaves, price, evergreen, seen, kind)
    SELECT n / 4.0, nullif(n % 5, 0), n / 8.0, n % 3 = 0, date '2024-01-01' + n,
    CASE WHEN n % 2 = 0 THEN 'fern' ELSE 'moss' END FROM generate_series(1, 20) n""",
    "CREATE SCHEMA wood",
    'CREATE TABLE wood."Odd Name" AS SELECT 1 AS a, 2 AS b',
)


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
    with pytest.raises(TableError, match=r"table= or query=. Tables: 'plants', 'odd \"name'"):
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
        ("SELECT 1 AS a WHERE 0", "returned no rows"),
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
    with pytest.raises(TableError, match=r"postgresql://me@127\.0\.0\.1:1/db: the database") as caught:
        read_table("postgresql://me:s3cret@127.0.0.1:1/db", query="SELECT 1")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def program(name):
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))[::-1]), None)
    # Links are followed, for PostgreSQL looks for its other files beside the program.
    return found and os.path.realpath(found)


def unprivileged_user():
    """PostgreSQL refuses to run as root, so that root lends it another user."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names.get("nobody")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("adbc_driver_postgresql")
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    if not initdb or not pg_ctl:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql), so that no server can be started")
    user = unprivileged_user()
    # A short path, for that of the socket may have 107 characters only.
    folder = Path(tempfile.mkdtemp(prefix="fewer-pg-", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    if user is not None:
        for path in (folder, folder / "password"):
            os.chown(path, user.pw_uid, user.pw_gid)
    identity = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    settings = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, "timeout": 120, **identity}

    def run(*command):
        # The server inherits the output of pg_ctl, so that a pipe would never come to its end.
        with (folder / "output").open("a+b") as output:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **settings)
            output.seek(0)
            assert done.returncode == 0, output.read().decode(errors="replace")[-2000:]

    data = folder / "data"
    try:
        run(initdb, "-D", data, "-U", "tester", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "-E", "UTF8")
        port = free_port()
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(pg_ctl, "-D", data, "-w", "-t", "60", "-o", options, "-l", folder / "log", "start")
        try:
            yield f"postgresql://tester:{ENCODED}@127.0.0.1:{port}/postgres"
        finally:
            run(pg_ctl, "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def plants(server):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement)
        connection.commit()
    return server


def test_a_query_becomes_a_dataset(plants):
    dataset = read_table(plants, query="SELECT * FROM plants ORDER BY id", target="kind")
    assert dataset.columns == ("id", "height", "leaves", "price", "evergreen", "seen")
    assert dataset.kinds == ("identifier", "numeric", "numeric", "numeric", "boolean", "date")
    assert dataset.X["height"].to_list()[:2] == [0.25, 0.5]
    assert dataset.X["price"].to_list()[:2] == [0.13, 0.25]
    assert dataset.missing_by_column.tolist() == [0, 0, 4, 0, 0, 0]
    assert dataset.task == "binary"
    assert PASSWORD not in dataset.source
    assert ENCODED not in dataset.source


def test_a_table_is_read_by_name_and_schema(plants):
    assert read_table(plants, table="plants").shape == (20, 7)
    assert read_table(plants, table="wood.Odd Name").X.tolist() == [[1, 2]]


def test_without_query_the_tables_are_listed(plants):
    with pytest.raises(TableError, match=r"query= or table=. Tables: 'public\.plants', 'wood\.Odd Name'"):
        read_table(plants)
    with pytest.raises(TableError, match="not both"):
        read_table(plants, query="SELECT 1", table="plants")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT hieght FROM plants", 'column "hieght" does not exist'),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM plants WHERE false", "returned no rows"),
        ("SELECT 1 AS a, 2 AS a", "['\"]a['\"]|duplicate"),
    ],
)
def test_a_failing_query_shows_the_cause_without_the_password(plants, query, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(plants, query=query)
    assert PASSWORD not in str(caught.value)
    assert ENCODED not in str(caught.value)


def test_a_wrong_password_is_not_shown(plants):
    with pytest.raises(TableError, match="password authentication failed") as caught:
        read_table(plants.replace(ENCODED, "wr0ng"), query="SELECT 1")
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__context__ is None
