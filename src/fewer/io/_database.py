"""Tables in databases: SQLite files by the standard library, servers by polars and ADBC (extra ``fewer[sql]``)."""

import importlib.util
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import polars as pl

from fewer._wording import argument, did_you_mean, listed_values
from fewer.io._errors import TableError, refuse_large, refuse_repeated_names
from fewer.io._memory import Table
from fewer.io._read import Options

_BATCH = 5_000
_LONGEST_VALUE = 1 << 16
_SECONDS = 60
_BYTES_PER_SECOND = 1 << 20
_STEPS = 100_000
_POSTGRESQL_TABLES = (
    "SELECT table_schema || '.' || table_name AS name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
)


def read_sqlite(path: Path, options: Options) -> Table:
    """The result of a query on a SQLite file, or one of its tables; the file is opened for reading only."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            if options.query is None:
                _limit(connection, path.stat().st_size)
            else:
                connection.set_progress_handler(lambda: False, _STEPS)  # lets Ctrl-C through while the query runs
            query = options.query or f"SELECT * FROM {_quoted(_sqlite_table(connection, options.table, path))}"
            frame = _fetched(connection.execute(query), str(path))
    except (sqlite3.Error, UnicodeError, MemoryError, OverflowError) as error:
        asked = f" in the query {options.query!r}" if options.query else ""
        reason = (
            f"it takes too long (with {argument('query')} there is no time limit)"
            if "interrupted" in str(error)
            else str(error) or "out of memory"
        )
        raise TableError(f"{path}: SQLite reports an error{asked}: {reason}.") from error
    return Table(frame, frame.columns, f"{path}: {options.query}" if options.query else str(path))


def _limit(connection: sqlite3.Connection, size: int) -> None:
    """Keep a damaged file, or a view that never ends, from taking all time and memory."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(_LONGEST_VALUE + size, 1_000_000_000))
    deadline = time.monotonic() + _SECONDS + size / _BYTES_PER_SECOND
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)


def read_uri(uri: str, options: Options) -> Table:
    """The result of a query on a database server."""
    scheme = urlsplit(uri).scheme.lower()
    if scheme == "sqlite":
        path = Path(unquote(uri.split("://", 1)[1].removeprefix("/")))
        if not path.exists():
            raise TableError(
                f"{path} does not exist. A SQLite URI is sqlite:///relative/path or sqlite:////absolute/path."
            )
        return read_sqlite(path, options)
    if scheme not in ("postgresql", "postgres"):
        raise TableError(
            f"{scheme}:// is not supported; postgresql:// and sqlite:// are. Download a file from the web first, or "
            "query another database yourself and pass the frame to read_table."
        )
    if options.query and options.table:
        raise TableError(f"Give {argument('query')} or {argument('table')}, not both.")
    place = _without_secrets(uri)
    if not options.query and not options.table:
        names = _asked_server(uri, _POSTGRESQL_TABLES, place)["name"].to_list()
        raise TableError(
            f"{place}: choose what to read with {argument('query')} or {argument('table')}. Tables: "
            f"{listed_values(names) or 'none'}."
        )
    query = options.query or "SELECT * FROM " + ".".join(_quoted(part) for part in str(options.table).split("."))
    frame = _asked_server(uri, query, place)
    if not frame.height:
        raise TableError(f"{place}: the query returned no rows: {query}")
    return Table(frame, frame.columns, f"{place}: {options.query or options.table}")


def _asked_server(uri: str, query: str, place: str) -> pl.DataFrame:
    if importlib.util.find_spec("adbc_driver_postgresql") is None:
        raise TableError(f"{place}: reading a database needs a driver. Install it with pip install 'fewer[sql]'.")
    try:
        return pl.read_database_uri(query, uri, engine="adbc")
    except Exception as error:  # the driver has its own families of errors
        reason = _cleaned(str(error), uri)
    # Raised outside, so that the driver's own error, which may show the password, is not part of the traceback.
    raise TableError(
        f"{place}: the database reported an error ({reason}). Check the address, the user and the query: {query}"
    )


def _secrets(uri: str) -> list[str]:
    """The passwords in a URI, in each of the forms in which a message may show them."""
    found = re.findall(r"[?&](?:ssl)?password=([^&]*)", uri)
    # Everything between the user's colon and the last @, for a password may hold any sign that was not encoded.
    found += re.findall(r"^[^:]+://[^:/?#@]*:(.*)@", uri)
    forms = {form for secret in found for form in (secret, unquote(secret), quote(unquote(secret)))}
    return sorted(forms - {""}, key=len, reverse=True)


def _without_secrets(uri: str) -> str:
    """Scheme, user, host and name of the database."""
    uri = re.sub(r"([?&](?:ssl)?password=)[^&]*", "", uri)
    scheme, _, rest = uri.partition("://")
    login, at, place = rest.rpartition("@")
    user = re.split(r"[:/?#@]", login)[0]
    # What follows a colon and is no port may be a password whose host was forgotten.
    place = re.sub(r"^([^:/]*):(?!\d+(/|$))[^/]*", r"\1:***", re.split(r"[?#]", place)[0])
    return f"{scheme}://{user}{at}{place}"


def _cleaned(message: str, uri: str) -> str:
    message = message.replace(uri, _without_secrets(uri))
    for secret in _secrets(uri):
        message = message.replace(secret, "***")
    return " ".join(message.split())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite_table(connection: sqlite3.Connection, asked: str | None, path: Path) -> str:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    names = [name for (name,) in found]
    if asked is None:
        if len(names) == 1:
            return names[0]
        there_are = f"Tables: {listed_values(names)}." if names else "The file has no tables."
        raise TableError(
            f"{path}: choose the table to read with {argument('table')} or {argument('query')}. {there_are}"
        )
    if asked not in names:
        raise TableError(f"{path}: there is no table {asked!r}. {did_you_mean(asked, names, 'tables')}")
    return asked


def _fetched(cursor: sqlite3.Cursor, source: str) -> pl.DataFrame:
    if cursor.description is None:
        raise TableError(f"{source}: the query returns no table. Use a SELECT statement.")
    names = [column[0] for column in cursor.description]
    batches: list[list[pl.Series]] = []
    n_bytes = 0.0
    while rows := cursor.fetchmany(_BATCH):
        batches.append([_series(list(values)) for values in zip(*rows, strict=True)])
        n_bytes += sum(series.estimated_size() for series in batches[-1])
        refuse_large(source, int(2 * n_bytes))  # the batches are joined
    if not batches:
        raise TableError(f"{source}: the query returned no rows.")
    columns = [_joined([batch[j] for batch in batches]) for j in range(len(names))]
    refuse_repeated_names(source, names)
    return pl.DataFrame([series.alias(name) for series, name in zip(columns, names, strict=True)])


def _series(values: list[Any]) -> pl.Series:
    """SQLite holds any value in any column: whole numbers and fractions mix, and all else becomes text."""
    types = {type(value) for value in values} - {type(None)}
    if types <= {int}:
        return pl.Series(values, dtype=pl.Int64 if types else pl.Null)
    if types <= {int, float}:
        return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)
    if types == {bytes}:
        return pl.Series(values, dtype=pl.Binary)
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _joined(parts: list[pl.Series]) -> pl.Series:
    types = {part.dtype for part in parts} - {pl.Null()}
    if len(types) == 1:
        dtype = types.pop()
    elif types <= {pl.Int64(), pl.Float64()} and types:
        dtype = pl.Float64()
    else:
        dtype = pl.String() if types else pl.Null()
    return pl.concat([part.cast(dtype) for part in parts])
