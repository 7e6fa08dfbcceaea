"""A worker process on this machine, seen from both ends of its pipe.

Each worker has a pipe of its own and answers its tasks one by one, in order. So when a worker dies, the task that it
was running is known for certain, and the other workers are not affected.

Worker processes end with the process that started them, however that ends. On Linux the kernel does it at once, even
while a worker is in the middle of compiled code (``PR_SET_PDEATHSIG``). It watches the thread that started a worker,
not the process, so all workers are started by one thread that lives as long as the process. Elsewhere, a thread of the
worker notices within a quarter of a second, as soon as Python code runs.

Tasks that run side by side use no more cores than there are, ``workers x threads <= cores``: each task gets its share
of the cores, for BLAS and OpenMP as well as for joblib calls inside the task.
"""

import contextlib
import functools
import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from fewer.engine._attempt import Place, attempt_on_bytes, call_from, drop_pages, mapped_package

_READY = b"ready"
_STOP = b""
_FORGET = b"forget"
_LOST_PIPE = (EOFError, OSError)
_GRACE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_SECONDS = 0.25
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",  # what joblib.cpu_count() says, so that n_jobs=-1 in a task means its share
)
_capped = threading.local()


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

    def ask_to_forget(self) -> None:
        """Tell an idle worker to let go of what the tasks of the last run shared, which may be large."""
        with contextlib.suppress(*_LOST_PIPE):
            self._pipe.send_bytes(_FORGET)

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
            if message == _FORGET:
                call = package = None
                _give_memory_back()
                continue
            order = Order(*pickle.loads(message))
            if call is None or order.package != package:
                call, package = None, order.package  # lets go of the previous run's data before the next is mapped
                call = call_from(functools.partial(mapped_package, Path(package.path)))
            with within(budget):
                for task_bytes in order.tasks:
                    pipe.send_bytes(attempt_on_bytes(call, task_bytes))
            drop_pages()


def _give_memory_back() -> None:
    """Free what nothing refers to, and return free memory to the system: small pieces stay with the C library else."""
    gc.collect()
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # the GNU C library has it
        if trim is not None:
            trim(0)


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


class _LastingThread:
    """A thread that makes calls for others, one at a time, as long as this process lives."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future, Callable[[], Any]]] = SimpleQueue()
        self._process: int | None = None
        self._lock = threading.Lock()

    def make(self, call: Callable[[], Any]) -> Any:
        """Make a call there, and wait for its value."""
        with self._lock:
            if self._process != os.getpid():  # the first call, or the first one in a fork, which has no threads
                self._process, self._calls = os.getpid(), SimpleQueue()
                threading.Thread(target=self._live, name="fewer-starter", daemon=True).start()
        future: Future = Future()
        self._calls.put((future, call))
        return future.result()

    def _live(self) -> None:
        while True:
            future, call = self._calls.get()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del future, call  # the thread waits long, and must not keep what it has started


lasting_thread = _LastingThread()


def end_with(parent: int) -> None:
    """End this process when its parent ends.

    Parameters
    ----------
    parent : int
        Its process id, from the parent itself: it may have ended before this call.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    threading.Thread(target=_watch, args=(parent,), name="fewer-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_SECONDS)
    os._exit(1)


def cores() -> int:
    """Cores that this process may use."""
    import joblib

    return joblib.cpu_count()


def thread_environment(budget: int) -> dict[str, str]:
    """Environment of a worker whose libraries may use ``budget`` threads; a lower limit set by the user stays."""

    def lower(variable: str) -> str:
        asked = os.environ.get(variable, "")
        return asked if asked.isdigit() and 0 < int(asked) <= budget else str(budget)

    return {variable: lower(variable) for variable in _THREAD_VARIABLES}


@contextmanager
def within(budget: int) -> Iterator[None]:
    """Hold BLAS, OpenMP and nested joblib calls of this thread to ``budget`` threads."""
    import joblib

    _cap_native_threads(budget)
    with joblib.parallel_config(backend=_nested_backend(budget)):
        yield


def _cap_native_threads(budget: int) -> None:
    """Lower, never raise, the threads of each native library that is loaded.

    Not undone afterwards: the setting is global to the process in some libraries, so tasks in neighbouring threads of a
    Dask worker would undo each other's. Looking through the loaded libraries takes about a millisecond, so it happens
    again only when new modules were imported.
    """
    state = (budget, len(sys.modules))
    if getattr(_capped, "state", None) == state:
        return
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().lib_controllers:
        if library.num_threads is not None and library.num_threads > budget:
            library.set_num_threads(budget)
    _capped.state = (budget, len(sys.modules))


def _nested_backend(budget: int):
    backend = _share_class()(nesting_level=1)
    backend.budget = budget
    return backend


@functools.cache
def _share_class() -> type:
    from joblib.parallel import ThreadingBackend

    class Share(ThreadingBackend):
        """Threads for joblib calls inside a task: as many as were asked for, up to the share of the task."""

        budget = 1

        def effective_n_jobs(self, n_jobs: int) -> int:
            return min(super().effective_n_jobs(n_jobs), self.budget)

    return Share
