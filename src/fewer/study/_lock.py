"""One process at a time runs a study: a lock that goes with its process, and a note of its owner.

The lock is the operating system's (``flock``), so that of a killed process is free at once. The note is inside of the
locked file: process, host and time.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from fewer.study._errors import StudyError

NAME = ".lock"
_TRIES, _PAUSE = 10, 0.05
# How long a process may take to end by itself, and to be gone after it was killed.
_GRACE_SECONDS = 10.0


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
        with (folder / NAME).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _noted(file)
    except OSError:
        pass  # there is no lock, or none that this user could hold
    return None


def stop_owner(folder: Path) -> None:
    """End the process that runs the study in a folder; what it has finished is in the journal."""
    owner = owner_of(folder)
    if owner is None:
        return
    if owner.pid is None or owner.host != socket.gethostname() or not _has_open(owner.pid, folder / NAME):
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
    """The locked file. Somebody who only looks holds the lock for a moment, so there is more than one try."""
    import fcntl

    for _ in range(_TRIES):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / NAME).open("a+b")
        except OSError as error:
            raise _unwritable(folder, error) from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _noted(file)
            else:
                if _is_still_there(file, folder / NAME):
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
    return StudyError(f"The folder {folder} cannot be written: {error.strerror}. Choose another with --out FOLDER.")
