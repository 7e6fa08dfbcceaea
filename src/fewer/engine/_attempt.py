"""One task: what it needs, one attempt at it, and its outcome (a value, or the record of its failure).

What every task of a run needs is sent once to each worker. An object is pickled with its large buffers (array data
above all) set aside, by pickle protocol 5. The rest is small; the buffers go into one file that every worker maps into
memory, so that ten workers on a machine hold one copy of the table. Arrays come out read-only: a task that changed them
would change what the next task sees.
"""

import functools
import importlib
import itertools
import mmap
import os
import pickle
import struct
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import IO, Any, NamedTuple, TypeAlias

_ALIGNMENT = 64  # a cache line: what vectorised kernels like best
_HEADER = struct.Struct("<Q")
Buffer: TypeAlias = Any  # bytes, memoryview or an array of bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task has no value, as plain text.

    Exceptions themselves are not kept: many cannot be pickled, and they hold on to the memory of the frames they
    went through.

    Parameters
    ----------
    kind : str
        Name of the exception, such as ``"ValueError"``; or ``"WorkerDied"``, ``"UnpicklableTask"``,
        ``"UnpicklableValue"``.
    message : str
        Message of the exception.
    traceback : str
        The traceback as text, from the place where the task ran; empty when there is none.

    Examples
    --------
    >>> from fewer.engine import Failure
    >>> print(Failure("ValueError", "no rows left"))
    ValueError: no rows left
    """

    kind: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task, and what became of it.

    Parameters
    ----------
    index : int
        Position of the task in the iterable that was given to ``Engine.run``.
    task : object
        The task itself.
    value : object
        What the function returned; None when the task failed.
    failure : Failure or None
        Why it failed; None when it did not.
    seconds : float
        How long the function ran (its last attempt).
    attempts : int
        How many times the task was handed to a worker; more than 1 when a worker died under it. (A Dask scheduler
        replaces one dead worker by itself without reporting it, so there the number may be too low.)
    worker : str
        Which worker ran it last.
    label : str
        The name of the task in messages.

    Examples
    --------
    >>> from fewer.engine import Engine
    >>> with Engine.local(1) as engine:
    ...     good, bad = engine.run(lambda x: 1 / x, [4, 0]).collect()
    >>> good.ok, good.unwrap()
    (True, 0.25)
    >>> bad.ok, bad.failure.kind, bad.failure.message
    (False, 'ZeroDivisionError', 'division by zero')
    """

    index: int
    task: Any
    value: Any = None
    failure: Failure | None = None
    seconds: float = 0.0
    attempts: int = 1
    worker: str = ""
    label: str = ""

    @property
    def ok(self) -> bool:
        """True when the task gave a value."""
        return self.failure is None

    def unwrap(self) -> Any:
        """Value of the task, or an error that shows where it failed.

        Returns
        -------
        value : object
            What the function returned.

        Raises
        ------
        RuntimeError
            When the task failed; the message ends with the traceback from the worker.
        """
        if self.failure is None:
            return self.value
        where = f" on {self.worker}" if self.worker else ""
        told = self.failure.traceback.rstrip()
        raise RuntimeError(
            f"{self.label or f'task {self.index}'} failed{where}: {self.failure}" + (f"\n\n{told}" if told else "")
        )


def failure_from(error: BaseException, *, kind: str | None = None) -> Failure:
    """Record of an exception, as the user's code saw it."""
    frames = _without_own_frames(error.__traceback__)
    try:
        told = "".join(traceback.format_exception(type(error), error, frames))
    except Exception:  # an exception may fail at describing itself
        told = "".join(traceback.format_tb(frames))
    return Failure(kind or _name_of(type(error)), _message_of(error), told)


def _without_own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not the engine's; all of it when every frame is."""
    own = str(Path(__file__).parent)
    users = frames
    while users is not None and users.tb_frame.f_code.co_filename.startswith(own):
        users = users.tb_next
    return users or frames


def _name_of(kind: type[BaseException]) -> str:
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(the exception has no message: its __str__ failed)"


def pickled(thing: Any) -> bytes:
    """``thing`` as bytes; functions and classes of a notebook or script travel by value."""
    return _cloudpickle().dumps(thing, protocol=5)


class Packed(NamedTuple):
    """A pickle, and the buffers that were set aside."""

    pickled: bytes
    buffers: Sequence[Buffer]


def packed(thing: Any) -> Packed:
    """``thing`` as a pickle and its large buffers, which are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        small = _cloudpickle().dumps(thing, protocol=5, buffer_callback=buffers.append)
    except Exception as error:
        raise TypeError(
            f"The function or the shared data cannot be sent to workers: {error}. Open files, connections and the like "
            "inside the function, and share plain data."
        ) from error
    return Packed(small, [buffer.raw().toreadonly() for buffer in buffers])


@functools.cache
def _cloudpickle() -> ModuleType:
    """The cloudpickle that joblib uses: a package of its own since joblib 1.6, inside joblib before."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return importlib.import_module("joblib.externals.cloudpickle")


def unpacked(package: Packed) -> Any:
    """The thing again; its arrays look into the buffers of the package, and are read-only."""
    return pickle.loads(package.pickled, buffers=[memoryview(buffer).toreadonly() for buffer in package.buffers])


class Place(NamedTuple):
    """Where workers find a package, and a number that no other package of this process has."""

    path: str
    number: int


class SharedPackage:
    """A package in a temporary file that the workers of this process map, and that goes with this process.

    On Linux the file has no name, so that nothing is left behind even if this process is killed; workers find it among
    the open files of this process. Elsewhere, it is in a temporary folder until ``close``.
    """

    _numbers = itertools.count()

    def __init__(self, package: Packed) -> None:
        try:
            with ExitStack() as opened:
                if sys.platform == "linux":
                    file = opened.enter_context(tempfile.TemporaryFile(prefix="fewer-"))
                    path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
                else:
                    folder = tempfile.TemporaryDirectory(prefix="fewer-", ignore_cleanup_errors=True)
                    path = os.path.join(opened.enter_context(folder), "package")
                    file = opened.enter_context(open(path, "w+b"))
                write_package(package, file)
                self._opened = opened.pop_all()
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}. The data that workers share cannot be written to {tempfile.gettempdir()}; free "
                "some space there, or set the environment variable TMPDIR to another folder",
            ) from None
        self.place = Place(path, next(self._numbers))

    def close(self) -> None:
        """Remove the file; workers that have mapped it keep what they have."""
        self._opened.close()


def write_package(package: Packed, file: IO[bytes]) -> None:
    """Write a package to an empty file, which ``mapped_package`` can read then."""
    index = pickle.dumps((package.pickled, [memoryview(buffer).nbytes for buffer in package.buffers]))
    file.write(_HEADER.pack(len(index)))
    file.write(index)
    for buffer in package.buffers:
        file.write(bytes(-file.tell() % _ALIGNMENT))
        file.write(buffer)
    file.flush()


def mapped_package(path: Path) -> Packed:
    """The package in a file, its buffers mapped into memory and not read before they are used."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    whole = memoryview(mapped)
    (index_size,) = _HEADER.unpack_from(whole)
    position = _HEADER.size + index_size
    small, sizes = pickle.loads(whole[_HEADER.size : position])
    buffers = []
    for size in sizes:
        position += -position % _ALIGNMENT
        buffers.append(whole[position : position + size])
        position += size
    return Packed(small, buffers)


_mapped: "weakref.WeakSet[mmap.mmap]" = weakref.WeakSet()


def drop_pages() -> None:
    """Give the mapped pages of packages back to the system, which reads them again if they are used again.

    Else, a worker that takes some rows of a large table now and then soon counts all of the table as its memory.
    """
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapped in list(_mapped):
            mapped.madvise(mmap.MADV_DONTNEED)


class Report(NamedTuple):
    """What an attempt has to say."""

    value: Any
    failure: Failure | None
    seconds: float


def attempt(call: Callable[[Any], Any], task: Any, *, let_through: tuple[type[BaseException], ...] = ()) -> Report:
    """Call the function and report, whatever it raises; ``let_through`` names what is not the task's own doing."""
    started = time.perf_counter()
    try:
        value = call(task)
    except let_through:
        raise
    except BaseException as error:  # SystemExit too: a task that calls exit() must not take its worker along
        return Report(None, failure_from(error), time.perf_counter() - started)
    return Report(value, None, time.perf_counter() - started)


def attempt_on_bytes(call: Callable[[Any], Any], task_bytes: bytes) -> bytes:
    """``attempt`` for a task from another process; its report as bytes, even when the value cannot be pickled."""
    try:
        task = pickle.loads(task_bytes)
    except BaseException as error:
        return pickled(Report(None, failure_from(error, kind="UnpicklableTask"), 0.0))
    report = attempt(call, task)
    try:
        return pickled(report)
    except BaseException as error:
        failure = failure_from(error, kind="UnpicklableValue")
        message = (
            f"the function returned a {type(report.value).__qualname__}, which cannot be sent back from a worker "
            f"({failure.message}); return plain data, arrays or fitted estimators instead"
        )
        return pickled(Report(None, Failure(failure.kind, message, failure.traceback), report.seconds))


def report_from(report_bytes: bytes) -> Report:
    """The report in this process; a value that cannot be rebuilt here is a failure of its task."""
    try:
        return pickle.loads(report_bytes)
    except BaseException as error:
        return Report(None, failure_from(error, kind="UnpicklableValue"), 0.0)


def call_from(package: Callable[[], Packed]) -> Callable[[Any], Any]:
    """The call of a run, unpacked; if it cannot be rebuilt here, one that says so for every task."""
    try:
        function, shared = unpacked(package())
    except BaseException as error:
        told = failure_from(error).traceback

        def cannot_run(task: Any) -> Any:
            raise RuntimeError(f"the function or its shared data could not be rebuilt in a worker\n{told}")

        return cannot_run
    return bound(function, shared)


def bound(function: Callable[..., Any], shared: tuple[Any, ...]) -> Callable[[Any], Any]:
    """``function`` as a call of the task alone; ``shared`` holds nothing, or the one thing that all tasks share."""
    if not shared:
        return function

    def with_shared(task: Any) -> Any:
        return function(task, *shared)

    return with_shared
