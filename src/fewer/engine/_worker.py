"""A worker process on this machine, seen from both ends of its pipe.

Each worker has a pipe of its own and answers its tasks one by one, in order. So when a worker dies, the task that it
was busy with is known for certain, and no other worker notices.
"""

import contextlib
import functools
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from fewer.engine._attempt import attempt_on_bytes, call_from
from fewer.engine._orphans import end_with, lasting_thread
from fewer.engine._payload import Place, mapped_package
from fewer.engine._threads import thread_environment, within

_READY = b"ready"
_STOP = b""
_LOST_PIPE = (EOFError, OSError)
_GRACE_SECONDS = 5.0


class Order(NamedTuple):
    """Tasks for a worker, and where to find what all tasks of their run need."""

    package: Place
    tasks: list[bytes]


class WorkerDiedError(Exception):
    """The process went away without an answer; the message says how."""


class WorkerProcess:
    """A process that runs tasks, held by one thread at a time."""

    def __init__(self, budget: int) -> None:
        from joblib.externals.loky.backend import get_context

        here, there = get_context("loky").Pipe()
        self._process = get_context("loky").Process(
            target=serve, args=(there, budget, os.getpid()), env=thread_environment(budget), name="fewer-worker"
        )
        lasting_thread.make(self._start)
        there.close()  # so that the pipe breaks when the process ends
        self._pipe = here
        self._ready = False

    def _start(self) -> None:
        with _sigint_held_back():
            self._process.start()

    @property
    def name(self) -> str:
        return f"process {self._process.pid}"

    def alive(self) -> bool:
        return self._process.is_alive()

    def wait_until_ready(self) -> None:
        """Block until the process can take orders."""
        if not self._ready:
            self._receive()
            self._ready = True

    def answers(self, order: Order) -> Iterator[bytes]:
        """Send an order and wait for its answers, the bytes of a ``Report`` for each task, as they come.

        The worker has nothing else to do when an order is sent, so neither end can wait for the other to read.
        """
        try:
            self._pipe.send_bytes(pickle.dumps(tuple(order), protocol=5))
        except _LOST_PIPE:
            raise self._death() from None
        for _ in order.tasks:
            yield self._receive()

    def ask_to_stop(self) -> None:
        """Tell an idle worker that it may go home."""
        with contextlib.suppress(*_LOST_PIPE):
            self._pipe.send_bytes(_STOP)

    def join(self) -> None:
        """Wait for a worker that was asked to stop, though not for ever."""
        self._process.join(_GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process and all that it started, at once."""
        from joblib.externals.loky.backend.utils import kill_process_tree

        if self._process.is_alive():
            kill_process_tree(self._process)

    def _receive(self) -> bytes:
        try:
            # The pipe breaks when the process ends, unless a child that it forked still holds the other end.
            while not self._pipe.poll(1.0):
                if not self._process.is_alive() and not self._pipe.poll(0):
                    raise self._death()
            return self._pipe.recv_bytes()
        except _LOST_PIPE:
            raise self._death() from None

    def _death(self) -> WorkerDiedError:
        self._process.join(_GRACE_SECONDS)
        return WorkerDiedError(_how_it_ended(self._process.exitcode))


def serve(pipe: Connection, budget: int, parent: int) -> None:
    """Life of a worker: take an order, do it, answer; until told to stop, or until the other end is gone."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal; the engine decides
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    call: Callable[[Any], Any] | None = None
    package: Place | None = None
    with contextlib.suppress(*_LOST_PIPE):
        pipe.send_bytes(_READY)
        while (message := pipe.recv_bytes()) != _STOP:
            order = Order(*pickle.loads(message))
            if call is None or order.package != package:
                call, package = None, order.package  # lets go of the previous run's data before the next is mapped
                call = call_from(functools.partial(mapped_package, Path(package.path)))
            with within(budget):
                for task_bytes in order.tasks:
                    pipe.send_bytes(attempt_on_bytes(call, task_bytes))


def _how_it_ended(exitcode: int | None) -> str:
    if exitcode is None or exitcode >= 0:
        return f"it ended with exit code {exitcode}"
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f"signal {-exitcode}"
    cause = {
        "SIGKILL": "killed from outside, most often because the machine ran out of memory",
        "SIGSEGV": "a crash in compiled code",
        "SIGABRT": "compiled code gave up",
        "SIGBUS": "a crash in compiled code, or a file in use that was cut short",
    }.get(name, "ended by a signal")
    return f"{name}: {cause}"


@contextlib.contextmanager
def _sigint_held_back() -> Iterator[None]:
    """Block SIGINT in this thread, so that a process born meanwhile starts with it blocked and dies of no Ctrl-C."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
