"""Workers end with the process that started them, however it ends, and nothing stays in the temporary folder."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fewer.engine import Engine
from fewer.engine._attempt import SharedPackage, mapped_package, packed, unpacked
from fewer.engine._local import Crew, CrewSession
from fewer.engine._run import Ticket
from fewer.engine._worker import WorkerDiedError, WorkerProcess, thread_environment, within

SCRIPT = """
import ctypes, os, sys, time
from pathlib import Path
from fewer.engine import Engine

def work(task, places):
    Path(places, str(os.getpid())).touch()
    if task == 0:
        time.sleep(600)
    else:
        ctypes.PyDLL(None).sleep(600)  # keeps the interpreter's lock: no Python code runs in the worker meanwhile

with Engine.local(2) as engine:
    list(engine.run(work, range(2), shared=sys.argv[1]))
"""


def runs(pid):
    """Whether a process is alive; one that has ended and that nobody has asked about is not."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends workers inside of compiled code")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_of_a_killed_process_end_and_leave_no_temporary_file(tmp_path, how):
    script, places, temporary = tmp_path / "script.py", tmp_path / "places", tmp_path / "tmp"
    script.write_text(SCRIPT)
    places.mkdir()
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, script, places], env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True
    )
    try:
        while len(list(places.iterdir())) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(how)
        process.wait(timeout=60)
        workers = [path.name for path in places.iterdir()]
        deadline = time.monotonic() + 60  # of the 600 seconds that the tasks take
        while any(map(runs, workers)):
            assert time.monotonic() < deadline, "the workers go on without their process"
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert list(temporary.glob("fewer-*")) == []


def test_a_worker_outlives_the_run_that_it_was_started_for():
    with Engine.local(2) as engine:
        first = {outcome.worker for outcome in engine.run(abs, range(4))}
        time.sleep(0.1)  # the threads of the first run have ended
        second = {outcome.worker for outcome in engine.run(abs, range(4))}
    assert second <= first


def test_a_later_package_is_not_taken_for_an_earlier_one_in_the_same_place():
    first = SharedPackage(packed(1))
    place = first.place
    first.close()
    second = SharedPackage(packed(2))
    assert place != second.place
    assert unpacked(mapped_package(Path(second.place.path))) == 2
    second.close()


def test_where_open_files_have_no_path_the_package_is_in_a_folder_until_it_is_closed(monkeypatch, tmp_path):
    monkeypatch.setattr("fewer.engine._attempt.sys.platform", "darwin")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    package = SharedPackage(packed(np.arange(3)))
    assert list(unpacked(mapped_package(Path(package.place.path)))) == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1
    package.close()
    assert list(tmp_path.iterdir()) == []


def test_shared_data_that_finds_no_room_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def full(package, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fewer.engine._attempt.write_package", full)
    with pytest.raises(OSError, match=rf"No space left.*cannot be written to {tmp_path}.*TMPDIR"):
        SharedPackage(packed(1))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_closed_does_not_wait_for_workers_to_start(monkeypatch):
    starting = []

    def never_ready(worker):
        starting.append(worker)
        while worker.alive():
            time.sleep(0.01)
        raise WorkerDiedError("it was ended")

    monkeypatch.setattr(WorkerProcess, "wait_until_ready", never_ready)
    session = CrewSession(Crew(1), abs, ())
    session.submit(Ticket(0, -1, "task 0"))
    while not starting:
        time.sleep(0.01)
    session.close()  # would wait for ever
    assert not any(worker.alive() for worker in starting)
    assert session.finished() == []


def test_a_lower_limit_of_the_user_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "64")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    environment = thread_environment(4)
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["MKL_NUM_THREADS"] == "4"
    assert environment["OPENBLAS_NUM_THREADS"] == "4"


def test_native_threads_are_lowered_to_the_budget_and_never_raised():
    with threadpool_limits(limits=3), within(2):
        assert max(library["num_threads"] for library in threadpool_info()) == 2
    with threadpool_limits(limits=1), within(5):
        assert max(library["num_threads"] for library in threadpool_info()) == 1


@pytest.mark.parametrize("budget", [1, 3])
def test_nested_joblib_calls_get_threads_up_to_the_budget(budget):
    with within(budget):
        assert joblib.effective_n_jobs(8) == budget
        assert joblib.effective_n_jobs(1) == 1
        assert joblib.Parallel(n_jobs=8)(joblib.delayed(abs)(-x) for x in range(5)) == list(range(5))
