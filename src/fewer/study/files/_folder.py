"""The folder of a study: its journal, its results, its lock, and temporary folders.

One process at a time runs a study. The lock is the operating system's (``flock``), so that of a killed process is free
at once. A note inside of the locked file has the process, the host and the time.
"""

import json
import math
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from fewer._estimators import beside_of
from fewer._wording import argument
from fewer.study._errors import StudyError
from fewer.study.files._checked_file import read_checked
from fewer.study.files._journal import Journal, glance, side_files

HOME = Path("fewer-studies")
_FILES = (
    "journal.sqlite",
    "plan.json",
    "findings.json",
    "features.txt",
    "predictions.parquet",
    "report.html",
    "model.skops",
    "model.json",
)

LOCK = ".lock"
_TRIES, _PAUSE = 10, 0.05
# How long a process may take to end by itself, and to be gone after it was killed.
_GRACE_SECONDS = 10.0

_PREFIX = "fewer-study-"
_ALIVE = ".alive"


@dataclass(frozen=True)
class Owner:
    """The process that runs a study.

    Attributes
    ----------
    pid : int or None
        Its process id; None if it could not be read.
    host : str
        The machine.
    since : str
        When it began, in ISO form and universal time.
    """

    pid: int | None = None
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        return f"process {self.pid} on {self.host}, since {self.since[:19].replace('T', ' ')} UTC"


@dataclass(frozen=True)
class StudyFolder:
    """Where the parts of a study are.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    @property
    def journal(self) -> Path:
        """Finished work."""
        return self.path / "journal.sqlite"

    @property
    def plan(self) -> Path:
        """The plan, as JSON."""
        return self.path / "plan.json"

    @property
    def findings(self) -> Path:
        """The findings, as JSON."""
        return self.path / "findings.json"

    @property
    def features(self) -> Path:
        """Names of the chosen columns, one on each line, best first."""
        return self.path / "features.txt"

    @property
    def predictions(self) -> Path:
        """Held-out predictions, as Parquet."""
        return self.path / "predictions.parquet"

    @property
    def report(self) -> Path:
        """The report."""
        return self.path / "report.html"

    @property
    def model(self) -> Path:
        """The fitted pipeline."""
        return self.path / "model.skops"

    @property
    def exists(self) -> bool:
        """Whether a study was started here."""
        return Journal.begun(self.journal)

    @property
    def finished(self) -> bool:
        """Whether the study is finished."""
        return self.exists and self.findings.exists()

    @property
    def owner(self) -> Owner | None:
        """The process that runs the study now."""
        return owner_of(self.path)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from running the same study; the lock goes with the process, however it ends."""
        return locked(self.path)

    def stop(self) -> None:
        """End the process that runs the study, if there is one; what is finished stays in the journal."""
        stop_owner(self.path)

    def remove(self) -> None:
        """Delete the study, which must not be running. Other files in the folder are kept."""
        if not any((self.path / name).exists() for name in _FILES):
            raise StudyError(f"There is no study in {self.path}, so nothing was removed.")
        with self.locked():
            for name in _FILES:
                for path in (self.path / name, beside_of(self.path / name)):
                    for each in side_files(path):
                        each.unlink(missing_ok=True)
            (self.path / LOCK).unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()


@dataclass(frozen=True)
class StudyState:
    """Progress of a study.

    Attributes
    ----------
    folder : StudyFolder
        Where it is.
    source, target : str
        What it is about.
    started : str
        When it began.
    done : int
        Evaluations finished.
    total : int
        Evaluations planned, without the permutation tests.
    headline : str or None
        The first line of its findings; None until it is finished.
    owner : Owner or None
        The process that runs it now.
    damage : str or None
        Why it cannot be read; then all else is empty.
    """

    folder: StudyFolder
    source: str = ""
    target: str = ""
    started: str = ""
    done: int = 0
    total: int = 0
    headline: str | None = None
    owner: Owner | None = None
    damage: str | None = None


def study_state(path: "str | Path") -> StudyState:
    """Progress of the study in a folder; it may be running."""
    folder = StudyFolder(Path(path))
    plan, started, done = glance(folder.journal)
    a_repeat = len(plan["candidates"]) * plan["n_folds"]
    return StudyState(
        folder=folder,
        source=plan["source"],
        target=plan["target"],
        started=started,
        done=done,
        total=a_repeat * max(plan["n_repeats"], math.ceil(done / a_repeat)),
        headline=read_checked(folder.findings)["headline"] if folder.findings.exists() else None,
        owner=folder.owner,
    )


def studies_in(home: "str | Path" = HOME) -> list[StudyState]:
    """All studies in a folder of studies, by name; a damaged one is listed with its error."""
    home = Path(home)
    if not home.is_dir():
        return []
    found = []
    for folder in map(StudyFolder, sorted(home.iterdir())):
        try:
            if folder.exists:
                found.append(study_state(folder.path))
        except (StudyError, OSError) as error:
            found.append(StudyState(folder, damage=str(error)))
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from running the study in a folder."""
    with _held(folder) as file:
        try:
            note = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now(UTC).isoformat()}
            file.truncate(0)
            file.write(json.dumps(note).encode())
            file.flush()
        except OSError as error:
            raise _unwritable(folder, error) from None
        yield


def owner_of(folder: Path) -> Owner | None:
    """Who runs the study in a folder; None if nobody does."""
    import fcntl

    try:
        with (folder / LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _noted(file)
    except OSError:
        pass  # there is no lock, or none that this user may take
    return None


def stop_owner(folder: Path) -> None:
    """End the process that runs the study in a folder; what it has finished is in the journal."""
    owner = owner_of(folder)
    if owner is None:
        return
    if owner.pid is None or owner.host != socket.gethostname() or not _has_open(owner.pid, folder / LOCK):
        raise StudyError(f"The study in {folder} is run by {owner}: stop it on that machine.")
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(owner.pid, how)
        except ProcessLookupError:
            return
        except PermissionError:
            raise StudyError(
                f"The study in {folder} is run by {owner}, which you have no permission to stop."
            ) from None
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline:
            if owner_of(folder) is None:
                return
            time.sleep(_PAUSE)
    raise StudyError(f"The study in {folder} is run by {owner}, which did not stop.")


@contextmanager
def _held(folder: Path) -> Iterator[IO[bytes]]:
    """The locked file. Another process may check the lock at this moment, so there is more than one try."""
    import fcntl

    for _ in range(_TRIES):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK).open("a+b")
        except OSError as error:
            raise _unwritable(folder, error) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _noted(file)
            else:
                if _is_still_there(file, folder / LOCK):
                    yield file
                    return
        time.sleep(_PAUSE)
    raise StudyError(f"The study in {folder} is run by {owner}. Wait until it finishes, or stop it.")


def _noted(file: IO[bytes]) -> Owner:
    with suppress(ValueError, TypeError, KeyError):  # the note is being written
        file.seek(0)
        note = json.loads(file.read())
        return Owner(int(note["pid"]), str(note["host"]), str(note["since"]))
    return Owner()


def _is_still_there(file: IO[bytes], path: Path) -> bool:
    """Whether the locked file still has its name: who held the lock before may have removed the study."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _has_open(pid: int, path: Path) -> bool:
    """Whether a process has this file open, where that can be seen: its number may belong to another process now."""
    files = Path("/proc", str(pid), "fd")
    if not Path("/proc/self/fd").exists():
        return True
    with suppress(OSError):
        for each in files.iterdir():
            with suppress(OSError):
                if each.samefile(path):
                    return True
    return False


def _unwritable(folder: Path, error: OSError) -> StudyError:
    return StudyError(
        f"The folder {folder} cannot be written: {error.strerror}. Choose another with {argument('out')}."
    )


class TemporaryFolder:
    """A temporary folder that is deleted with this object.

    A process that is killed deletes nothing. So the folder contains a file that its process keeps locked, and the next
    folder that is made deletes those whose file is not locked any more.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self) -> None:
        import fcntl

        _sweep()
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.path = Path(self._folder.name)
        # It gets its name when it is locked, so that nobody takes it for one that was left.
        new = self.path / f"{_ALIVE}.new"
        self._alive = new.open("wb")
        fcntl.flock(self._alive, fcntl.LOCK_EX)
        new.rename(self.path / _ALIVE)


def _sweep() -> None:
    import fcntl

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), (folder / _ALIVE).open("rb") as alive:  # locked, somebody else's, or gone meanwhile
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
