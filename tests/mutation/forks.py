"""Runs each piece of work in a fork of this process, which has the slow imports behind it."""

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 8 * 2**30
# On a busy machine a second of CPU takes long; a job that waits for ever ends all the same.
PATIENCE = 20


@dataclass(frozen=True)
class Job:
    """A function to call in a copy of the tree, and the seconds of CPU after which it has failed."""

    name: Any
    call: Callable[[Path], Any]
    limit: float


def outcomes(jobs: Iterable[Job], copies: list[Path]) -> Iterator[tuple[Any, Path, Any]]:
    """Name, copy of the tree and result of each job as it ends; no result (None) if it died or took too long."""
    waiting, free, running = iter(jobs), list(copies), {}
    try:
        while True:
            while free and (job := next(waiting, None)) is not None:
                copy = free.pop()
                running[_fork(job, copy)] = (job, copy, time.monotonic() + PATIENCE * job.limit)
            if not running:
                return
            for child, (job, copy, deadline) in list(running.items()):
                late = time.monotonic() > deadline
                if late:
                    _end_group(child)
                if os.waitpid(child, 0 if late else os.WNOHANG)[0]:
                    _end_group(child)
                    del running[child]
                    free.append(copy)
                    yield job.name, copy, _result(copy)
            time.sleep(0.01)
    finally:
        for child in running:
            _end_group(child)


def _fork(job: Job, copy: Path) -> int:
    _result_file(copy).unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + job.limit) + 1, -1))
        log = os.open(copy / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src")]
        os.environ["PYTHONPATH"] = str(copy / "src")
        _result_file(copy).write_text(json.dumps(job.call(copy)), encoding="utf-8")
    except BaseException:
        traceback.print_exc()
    finally:
        # Without the farewells of libraries, whose threads did not come along.
        os._exit(0)


def _end_group(child: int) -> None:
    """End what the child has started and left behind, and the child itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _result_file(copy: Path) -> Path:
    return copy / "result.json"


def _result(copy: Path) -> Any:
    with suppress(FileNotFoundError, json.JSONDecodeError):
        return json.loads(_result_file(copy).read_text(encoding="utf-8"))
    return None
