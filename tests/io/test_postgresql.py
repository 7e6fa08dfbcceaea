"""Tables on a real PostgreSQL server, which is made in a temporary folder and removed afterwards."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from fewer.io import TableError, read_table

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
    with pytest.raises(TableError, match=r"by query= or table=. Tables: 'public\.plants', 'wood\.Odd Name'"):
        read_table(plants)
    with pytest.raises(TableError, match="not both"):
        read_table(plants, query="SELECT 1", table="plants")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT hieght FROM plants", 'column "hieght" does not exist'),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM plants WHERE false", "gave no rows"),
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
