"""A study is run by one process at a time, which can be named and stopped; the lock of a killed one is free."""

import json
import os
import signal
import socket
import sys
import time

import pytest
from typer.testing import CliRunner

from fewer.cli import app
from fewer.study import StudyError, StudyFolder
from fewer.study.files._folder import Owner, owner_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at open files in /proc")


def holder(folder, *, deaf=False):
    """A process that holds the lock of a folder and waits."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN if deaf else signal.SIG_DFL)
            with folder.locked():
                os.write(tell, b"!")
                time.sleep(600)
        finally:
            os._exit(1)
    os.close(tell)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


@pytest.fixture
def folder(tmp_path):
    return StudyFolder(tmp_path / "study")


@pytest.fixture
def holding(folder):
    """Starts processes that hold the lock, and ends them."""
    children = []

    def hold(**options):
        children.append(holder(folder, **options))
        return children[-1]

    yield hold
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_the_second_process_is_told_who_has_the_study(folder, holding):
    child = holding()
    with pytest.raises(StudyError, match=rf"is run by process {child} on {socket.gethostname()}, since 20.* UTC\."):
        folder.locked().__enter__()
    assert folder.owner.pid == child


def test_the_lock_of_a_killed_process_is_taken_over(folder, holding):
    os.kill(holding(), signal.SIGKILL)
    with folder.locked():
        assert folder.owner.pid == os.getpid()
    assert folder.owner is None


def test_looking_who_has_a_study_does_not_keep_others_out(folder):
    import fcntl

    with folder.locked():
        pass
    looks = iter([True, False])

    class Looking:
        """Somebody who looks at the moment of the first try."""

        def __enter__(self):
            self.file = (folder.path / ".lock").open("rb")
            fcntl.flock(self.file, fcntl.LOCK_SH)

        def __exit__(self, *_):
            self.file.close()

    looking = Looking()
    looking.__enter__()

    def pause(seconds):
        if next(looks):
            looking.__exit__()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fewer.study.files._folder.time.sleep", pause)
        with folder.locked():
            assert folder.owner.pid == os.getpid()


@pytest.mark.parametrize("deaf", [False, True], ids=["ends when asked", "has to be killed"])
def test_a_running_study_is_stopped_before_it_is_removed(folder, holding, monkeypatch, deaf):
    monkeypatch.setattr("fewer.study.files._folder._GRACE_SECONDS", 0.3 if deaf else 60)
    child = holding(deaf=deaf)
    folder.journal.write_text("x")
    refused = CliRunner().invoke(app, ["rm", str(folder.path), "--yes"])
    assert refused.exit_code == 2
    assert f"is run by process {child} on " in " ".join(refused.stderr.split())
    assert "--force" in refused.stderr
    assert folder.journal.exists()
    removed = CliRunner().invoke(app, ["rm", str(folder.path), "--yes", "--force"])
    assert removed.exit_code == 0, removed.output
    assert not folder.path.exists()


def test_a_process_elsewhere_or_another_of_that_number_is_not_stopped(folder, holding):
    child = holding()
    note = json.loads((folder.path / ".lock").read_text())
    for change in ({"host": "elsewhere"}, {"pid": os.getppid()}):
        (folder.path / ".lock").write_text(json.dumps(note | change))
        with pytest.raises(StudyError, match="stop it on that machine"):
            folder.stop()
    assert os.waitpid(child, os.WNOHANG) == (0, 0)


def test_a_note_that_cannot_be_read_names_nobody(folder, holding):
    holding()
    (folder.path / ".lock").write_text("")
    assert owner_of(folder.path) == Owner()
    with pytest.raises(StudyError, match="is run by another process"):
        folder.locked().__enter__()


def test_a_study_that_nobody_runs_needs_no_stopping(folder):
    folder.stop()
    with folder.locked():
        pass
    folder.stop()
