"""The journal of a study: one row for each finished task, written before it counts.

A SQLite file in WAL mode. Rows are only ever added (triggers refuse anything else), each in a transaction of its own.
So a process that is killed at any moment loses the work in its hands and nothing else; others can read while it runs.

The file is made complete beside its place and renamed, so a journal is there as a whole or not at all. Every row
has a checksum of its content. A row that does not match counts as missing. Opened to go on, a damaged
journal is made anew from its sound rows, and the rest is computed again: it is a function of plan, table and key.
Only a decision made from measured times is no such function. It is written a second time beside the plan, whose
checksum covers it, and is read from there where its row is damaged.
"""

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fewer._estimators import beside_of, put_in_place, warn_caller
from fewer._wording import argument
from fewer.study._errors import StudyError
from fewer.study.files._checked_file import digest
from fewer.study.plan._budget import settled_plan
from fewer.study.plan._plan import Plan
from fewer.study.table._columns import COLUMNS, TableColumn, columns_from, n_units

if TYPE_CHECKING:
    from fewer.study.answers._scores import AllScores

SCHEMA = 4

_TABLES = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE work (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, payload TEXT NOT NULL, "
    "seconds REAL NOT NULL, finished TEXT NOT NULL, checksum TEXT NOT NULL)",
    "CREATE TRIGGER work_is_never_changed BEFORE UPDATE ON work "
    "BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END",
    "CREATE TRIGGER work_is_never_deleted BEFORE DELETE ON work "
    "BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END",
)
_ROWS = "SELECT number, key, payload, seconds, finished, checksum FROM work NOT INDEXED"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
# SQLite's message may quote a damaged name, which Python cannot decode.
_READING_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_BESIDE_PLAN = "work/"  # before the key of a decision that is written beside the plan
_PAGE = 4096  # bytes; a journal has more than one page
_FULL = 2**16  # bytes left on a disk to which nothing can be written any more


class _Row(NamedTuple):
    """One finished task."""

    key: str
    payload: str
    seconds: float
    finished: str

    @property
    def checksum(self) -> str:
        return digest(self.key.encode(), self.payload.encode(), struct.pack("<d", self.seconds), self.finished.encode())


class Journal:
    """Finished work of one study, by key.

    Open one with ``Journal.create``, ``Journal.open`` or ``Journal.read``, and close it, best by a ``with`` statement.

    Attributes
    ----------
    path : Path
        The SQLite file.
    plan : Plan
        The plan that the work belongs to.
    started : str
        When the study began, in ISO form and universal time.
    n_damaged : int
        Rows that do not match their checksums; they count as missing.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, about: Mapping[str, str], *, grows: bool) -> None:
        self.path = path
        self.plan = Plan.from_dict(json.loads(about["plan"]))
        self.started = about["started"]
        self.n_damaged = 0
        self._connection = connection
        self._grows = grows
        self._work: dict[str, _Row] = {}
        self._last = -(2**63)
        self._decisions = _decisions(about)

    @staticmethod
    def begun(path: "str | Path") -> bool:
        """Whether there is a journal; an empty file, or one without tables, is what a kill has left of none."""
        path = Path(path)
        size = path.stat().st_size if path.is_file() else 0
        if size == 0 or size > _PAGE:
            return size > 0
        try:
            with closing(_connected(path)) as connection:
                return connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
        except _READING_ERRORS:
            return True  # a damaged journal is no reason to begin anew in its place

    @classmethod
    def create(cls, path: "str | Path", plan: Plan) -> "Journal":
        """A new journal for this plan; there must be none yet."""
        path = Path(path)
        if cls.begun(path):
            raise StudyError(f"There is a journal at {path} already; open it, or choose another folder.")
        about = {"schema": str(SCHEMA), "plan": plan.to_json(), "started": _now()}
        with _in_plain_words(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            _make(path, about, ())
        return cls._grown(path, about)

    @classmethod
    def open(cls, path: "str | Path", plan: Plan | None = None) -> "Journal":
        """An existing journal, to go on with; with a plan, it is refused if the journal belongs to another one.

        What is damaged is left out, with a warning, and can be added again.
        """
        path = Path(path)
        with cls.read(path) as found:
            if plan is not None and plan.identity != found.plan.identity:
                differences = found.plan.differences(plan)
                raise StudyError(
                    f"The study in {path.parent} has another plan; differences: {', '.join(differences)}. Use "
                    f"another folder for the new study ({argument('out')}), or remove the old one with "
                    f"`fewer rm {path.parent}`."
                )
            about = {"schema": str(SCHEMA), "plan": found.plan.to_json(), "started": found.started}
            with _in_plain_words(path, "read"):
                sound, rows = found._is_sound(), {**found._decisions, **found._work}
        about |= {_BESIDE_PLAN + row.key: _cells(row) for row in found._decisions.values()}
        if not sound:
            with _in_plain_words(path, "written"):
                _make(path, about, rows.values())
            warn_caller(
                f"The journal {path} was damaged. {len(rows):,} finished tasks match their checksums and are kept; "
                "the others are computed again."
            )
        return cls._grown(path, about)

    @classmethod
    def read(cls, path: "str | Path") -> "Journal":
        """An existing journal, to read only; the study may be running."""
        path = Path(path)
        if not cls.begun(path):
            raise _no_study(path)
        with _in_plain_words(path, "read"):
            connection = _connected(path)
            try:
                connection.execute("PRAGMA query_only=ON")
                journal = cls(path, connection, _about(connection, path), grows=False)
                journal._catch_up()
            except BaseException:
                connection.close()
                raise
        return journal

    @classmethod
    def _grown(cls, path: Path, about: Mapping[str, str]) -> "Journal":
        """A sound journal, to be written to."""
        with _in_plain_words(path, "written"):
            connection = _connected(path)
            try:
                # In this mode a killed process loses nothing, and only a power failure can cost the last rows.
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                journal = cls(path, connection, about, grows=True)
                journal._catch_up()
            except BaseException:
                connection.close()
                raise
        return journal

    def _is_sound(self) -> bool:
        """Whether every row is as it was written, and the file is as SQLite and this module write it."""
        try:
            tables = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
            as_made = tuple(_text(sql) for (sql,) in tables) == _TABLES
            checked = [_text(word) for (word,) in self._connection.execute("PRAGMA quick_check")]
        except _READING_ERRORS as error:
            if not _tells_of_damage(error):
                raise
            return False
        return as_made and checked == ["ok"] and not self.n_damaged and self._decisions.keys() <= self._work.keys()

    def _catch_up(self) -> None:
        """Read the rows that were added since the last look."""
        try:
            self._take(self._connection.execute(f"{_ROWS} WHERE number > ? ORDER BY number", (self._last,)))
        except _READING_ERRORS as error:
            if not _tells_of_damage(error):
                raise
            self.n_damaged += 1
            with suppress(*_READING_ERRORS):  # the rows behind the damaged page, from the other end
                self._take(self._connection.execute(f"{_ROWS} ORDER BY number DESC"))

    def _take(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for number, *cells in rows:
            self._last = max(self._last, number)
            row = _sound_row(cells)
            if row is None:
                self.n_damaged += 1
            else:
                self._work.setdefault(row.key, row)

    def _known(self) -> dict[str, _Row]:
        if not self._grows:
            with _in_plain_words(self.path, "read"):
                self._catch_up()
        return self._work

    def add(self, key: str, payload: Mapping[str, Any], seconds: float = 0.0, *, decision: bool = False) -> None:
        """Write one finished task; it counts when this returns. A key that is there already stays as it is.

        Parameters
        ----------
        key : str
            What the work was.
        payload : mapping
            What came of it; plain data.
        seconds : float, default=0.0
            How long it took.
        decision : bool, default=False
            Whether it cannot be computed again, because it was decided from times; then it is written twice.
        """
        if key in self._work:
            return
        row = _Row(key, json.dumps(payload, ensure_ascii=False, separators=(",", ":")), float(seconds), _now())
        with _in_plain_words(self.path, "written"):
            if decision:
                _insert_decision(self._connection, row)
            else:
                _insert(self._connection, row)
        self._work[key] = row

    def __contains__(self, key: str) -> bool:
        return key in self._known()

    def __len__(self) -> int:
        return len(self._known())

    def __getitem__(self, key: str) -> dict[str, Any]:
        return json.loads(self._known()[key].payload)

    def keys(self, prefix: str = "") -> list[str]:
        """Keys that begin like this, in the order in which the work was finished."""
        return [key for key in self._known() if key.startswith(prefix)]

    @property
    def settled(self) -> Plan:
        """What is done of the plan: with a time limit, what the decision about it leaves."""
        return settled_plan(self.plan, self)

    @cached_property
    def table(self) -> tuple[TableColumn, ...]:
        """What becomes of each column of the table."""
        return columns_from(self[COLUMNS]["columns"])

    @cached_property
    def scores(self) -> "AllScores":
        """The scores of all candidates, read once, when the work on the folds and the columns is finished."""
        from fewer.study.answers._scores import read_scores

        return read_scores(self, self.settled, self[COLUMNS]["test_ratio"], n_units(self.table, self.plan))

    def seconds(self) -> dict[str, float]:
        """Time that each task took, by key."""
        return {key: row.seconds for key, row in self._known().items()}

    def close(self) -> None:
        """Close the file; if nobody reads it, as a single file that can be read from anywhere."""
        if self._grows:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA journal_mode=DELETE")
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _no_study(path: Path) -> StudyError:
    """Why a journal cannot be read that is not there."""
    if not path.parent.exists():
        return StudyError(f"There is no study in {path.parent}: the folder does not exist.")
    return StudyError(f"There is no study in {path.parent}: {path.name} is missing or empty.")


def glance(path: "str | Path") -> tuple[dict[str, Any], str, int]:
    """Plan (as plain data), start and number of scored folds of a journal, by small reads: no row is looked at."""
    path = Path(path)
    if not Journal.begun(path):
        raise _no_study(path)
    with _in_plain_words(path, "read"), closing(_connected(path)) as connection:
        about = _about(connection, path)
        done = connection.execute("SELECT count(*) FROM work WHERE key >= 'fold/' AND key < 'fold0'").fetchone()[0]
    return json.loads(about["plan"]), about["started"], done


def _about(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    """The description of the study in a journal; an error if it is damaged or has another format version."""
    about = {_text(key): _text(value) for key, value in connection.execute("SELECT key, value FROM about")}
    if about.get("schema") != str(SCHEMA):
        raise StudyError(
            f"{path} has format version {about.get('schema')}; this version of fewer reads {SCHEMA}. Run the study "
            "again in another folder."
        )
    if about.pop("checksum", None) != _checksum(about) or not {"plan", "started"} <= about.keys():
        raise StudyError(f"The journal {path} is damaged: its plan does not match its checksum. {_cure(path)}")
    return about


def _checksum(about: Mapping[str, str]) -> str:
    return digest(*(word.encode() for key in sorted(about) for word in (key, about[key])))


def _sound_row(cells: Iterable[Any]) -> _Row | None:
    """A row of the table, if it matches its checksum."""
    key, payload, seconds, finished, checksum = cells
    try:
        row = _Row(key.decode(), payload.decode(), seconds, finished.decode())
        return row if checksum == row.checksum.encode() else None
    except (AttributeError, UnicodeDecodeError, struct.error):  # damaged bytes can be of any type
        return None


def _insert(connection: sqlite3.Connection, row: _Row) -> None:
    connection.execute(
        "INSERT INTO work (key, payload, seconds, finished, checksum) VALUES (?, ?, ?, ?, ?)", (*row, row.checksum)
    )


def _insert_decision(connection: sqlite3.Connection, row: _Row) -> None:
    """Write a row, and its cells beside the plan, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        _insert(connection, row)
        connection.execute("INSERT INTO about VALUES (?, ?)", (_BESIDE_PLAN + row.key, _cells(row)))
        about = {_text(key): _text(value) for key, value in connection.execute("SELECT key, value FROM about")}
        del about["checksum"]
        connection.execute("UPDATE about SET value = ? WHERE key = 'checksum'", (_checksum(about),))
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has done so itself after some errors
            connection.execute("ROLLBACK")
        raise


def _cells(row: _Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _decisions(about: Mapping[str, str]) -> dict[str, _Row]:
    """Rows that are written beside the plan, by key."""
    rows = [_Row(*json.loads(cells)) for key, cells in about.items() if key.startswith(_BESIDE_PLAN)]
    return {row.key: row for row in rows}


def _make(path: Path, about: Mapping[str, str], rows: Iterable[_Row]) -> None:
    """Make a journal complete, beside its place, and put it there; what stood there stays until then."""
    beside = beside_of(path)
    try:
        _remove(beside)
        with closing(_connected(beside, "rwc")) as connection:
            connection.execute(f"PRAGMA page_size={_PAGE}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                connection.execute(statement)
            with_checksum = {**about, "checksum": _checksum(about)}
            connection.executemany("INSERT INTO about VALUES (?, ?)", with_checksum.items())
            for row in rows:
                _insert(connection, row)
            connection.execute("COMMIT")  # flushes the file to the disk
        for side_file in side_files(path)[1:]:  # of what stood there before; SQLite would play it into the new one
            side_file.unlink(missing_ok=True)
        put_in_place(beside, path)
    except BaseException:
        _remove(beside)
        raise


def side_files(path: Path) -> tuple[Path, ...]:
    """A database and the files that SQLite may leave beside it."""
    return path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))


def _remove(path: Path) -> None:
    for each in side_files(path):
        each.unlink(missing_ok=True)


def _connected(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection in which each statement is a transaction of its own; a file that may not be written can be read."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30, isolation_level=None)
    connection.text_factory = bytes  # damaged text need not be UTF-8
    return connection


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _tells_of_damage(error: Exception) -> bool:
    return isinstance(error, UnicodeDecodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


@contextmanager
def _in_plain_words(path: Path, done: str) -> Iterator[None]:
    """Errors of SQLite and of the disk as a sentence with what to do."""
    try:
        yield
    except (*_READING_ERRORS, OSError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        number = getattr(error, "errno", None)
        cure = f"Check that the folder exists and that you may write there, or choose another with {argument('out')}."
        if code == sqlite3.SQLITE_FULL or number in (ENOSPC, EDQUOT) or (code == sqlite3.SQLITE_IOERR and _full(path)):
            cure = "The disk is full: free some space and run the same command again; finished tasks are kept."
        elif code == sqlite3.SQLITE_READONLY or number in (EACCES, EPERM, EROFS):
            cure = f"The folder is read-only: choose another with {argument('out')}."
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            cure = "Another process is writing to it; wait until it finishes, or stop it."
        elif _tells_of_damage(error):
            cure = f"It is not a journal of fewer, or it is damaged. {_cure(path)}"
        raise StudyError(f"The journal {path} cannot be {done}: {error}. {cure}") from error


def _full(path: Path) -> bool:
    from shutil import disk_usage

    return disk_usage(path.parent).free < _FULL


def _cure(path: Path) -> str:
    return f"Remove the study with `fewer rm {path.parent}`, and run it again."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
