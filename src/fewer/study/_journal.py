"""The journal of a study: one row for each finished piece of work, written before it counts.

A SQLite file in WAL mode. Rows are only ever added (triggers refuse anything else), each in a transaction of its own.
So a process that is killed at any moment loses the work in its hands and nothing else; others can read while it runs.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from fewer.study._errors import StudyError
from fewer.study._plan import Plan

SCHEMA = 2

_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE work (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    payload TEXT NOT NULL,
    seconds REAL NOT NULL,
    finished TEXT NOT NULL
);
CREATE TRIGGER work_is_never_changed BEFORE UPDATE ON work BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
CREATE TRIGGER work_is_never_deleted BEFORE DELETE ON work BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
"""


class Journal:
    """Finished work of one study, by key.

    Open one with ``Journal.create``, ``Journal.open`` or ``Journal.read``, and close it, best by a ``with`` statement.

    Attributes
    ----------
    path : Path
        The SQLite file.
    plan : Plan
        The plan that the work belongs to.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, plan: Plan) -> None:
        self.path = path
        self.plan = plan
        self._connection = connection

    @classmethod
    def create(cls, path: "str | Path", plan: Plan) -> "Journal":
        """A new journal for this plan; there must be no file yet."""
        path = Path(path)
        if path.exists():
            raise StudyError(f"There is a journal at {path} already; open it, or choose another folder.")
        with _told_plainly(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connected(path, "rwc")
            try:
                connection.executescript("PRAGMA journal_mode=WAL; BEGIN IMMEDIATE;" + _TABLES)
                connection.executemany(
                    "INSERT INTO about VALUES (?, ?)",
                    [("schema", str(SCHEMA)), ("plan", plan.to_json()), ("started", _now())],
                )
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                    leftover.unlink(missing_ok=True)
                raise
        return cls(path, connection, plan)

    @classmethod
    def open(cls, path: "str | Path", plan: Plan | None = None) -> "Journal":
        """An existing journal, to go on with; with a plan, it is refused if the journal belongs to another one."""
        path = Path(path)
        journal = cls._existing(path, "rw")
        if plan is not None and plan.identity != journal.plan.identity:
            differences = journal.plan.differences(plan)
            journal.close()
            raise StudyError(
                f"The study in {path.parent} belongs to another plan; what differs: {', '.join(differences)}. Take "
                f"another folder for the new study (--out FOLDER), or remove the old one with `fewer rm {path.parent}`."
            )
        return journal

    @classmethod
    def read(cls, path: "str | Path") -> "Journal":
        """An existing journal, to read only; the study may be running."""
        return cls._existing(Path(path), "ro")

    @classmethod
    def _existing(cls, path: Path, mode: str) -> "Journal":
        if not path.exists():
            raise StudyError(f"There is no study in {path.parent}: it has no {path.name}.")
        with _told_plainly(path, "read"):
            connection = _connected(path, mode)
            try:
                about = dict(connection.execute("SELECT key, value FROM about"))
            except sqlite3.DatabaseError:
                connection.close()
                raise
        if about.get("schema") != str(SCHEMA):
            connection.close()
            raise StudyError(
                f"{path} was written in form {about.get('schema')}, and this version of fewer reads form {SCHEMA}; run "
                "the study anew, in another folder."
            )
        return cls(path, connection, Plan.from_dict(json.loads(about["plan"])))

    @property
    def started(self) -> str:
        """When the study began, in ISO form and universal time."""
        return self._connection.execute("SELECT value FROM about WHERE key = 'started'").fetchone()[0]

    def add(self, key: str, payload: Mapping[str, Any], seconds: float = 0.0) -> None:
        """Write one piece of work down; it counts when this returns. A key that is there already stays as it is.

        Parameters
        ----------
        key : str
            What the work was.
        payload : mapping
            What came of it; plain data.
        seconds : float, default=0.0
            How long it took.
        """
        row = (key, json.dumps(payload, ensure_ascii=False, separators=(",", ":")), seconds, _now())
        with _told_plainly(self.path, "written"), self._connection:
            self._connection.execute(
                "INSERT INTO work (key, payload, seconds, finished) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
                row,
            )

    def __contains__(self, key: str) -> bool:
        return self._connection.execute("SELECT 1 FROM work WHERE key = ?", (key,)).fetchone() is not None

    def __len__(self) -> int:
        return self._connection.execute("SELECT count(*) FROM work").fetchone()[0]

    def __getitem__(self, key: str) -> dict[str, Any]:
        found = self._connection.execute("SELECT payload FROM work WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise KeyError(key)
        return json.loads(found[0])

    def keys(self, prefix: str = "") -> list[str]:
        """Keys that begin like this, in the order in which the work was finished."""
        rows = self._connection.execute("SELECT key FROM work WHERE key >= ? ORDER BY number", (prefix,))
        return [key for (key,) in rows if key.startswith(prefix)]

    def seconds(self) -> dict[str, float]:
        """Time that each piece of work took, by key."""
        return dict(self._connection.execute("SELECT key, seconds FROM work"))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None if mode == "rwc" else "DEFERRED")
    if mode != "ro":
        # A killed process loses nothing in this mode; only a power failure can cost the last rows, never the file.
        connection.execute("PRAGMA synchronous=NORMAL")
    return connection


@contextmanager
def _told_plainly(path: Path, done: str) -> Iterator[None]:
    """Errors of SQLite and of the disk as words for a person."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        words = str(error)
        cure = "Check that the folder exists and that you may write there, or choose another with --out FOLDER."
        if "full" in words or "No space" in words:
            cure = "The disk is full: make room and run the same command again; everything finished is kept."
        elif "readonly" in words or "read-only" in words.lower() or "Permission" in words:
            cure = "The folder is read-only: choose another with --out FOLDER."
        elif "locked" in words:
            cure = "Another process is writing to it; wait for that, or stop it."
        elif "not a database" in words or "malformed" in words or "no such table" in words:
            cure = "It is not a journal of fewer, or it is damaged: remove it, or choose another folder."
        raise StudyError(f"The journal {path} cannot be {done}: {words}. {cure}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
