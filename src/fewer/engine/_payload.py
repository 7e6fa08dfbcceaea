"""What every task of a run needs, carried once to each worker.

An object is pickled with its large buffers (array data above all) set aside, by pickle protocol 5. The rest is small;
the buffers go into one file that every worker maps into memory, so that ten workers on a machine hold one copy of the
table.
Arrays come out read-only: a task that changed them would change what the next task sees.
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
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple, TypeAlias

_ALIGNMENT = 64  # a cache line: what vectorised kernels like best
_HEADER = struct.Struct("<Q")


Buffer: TypeAlias = Any  # bytes, memoryview or an array of bytes


class Packed(NamedTuple):
    """A pickle, and the buffers that were set aside."""

    pickled: bytes
    buffers: Sequence[Buffer]


def pickled(thing: Any) -> bytes:
    """``thing`` as bytes; functions and classes of a notebook or script travel by value."""
    return _cloudpickle().dumps(thing, protocol=5)


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
                f"{error.strerror}. The data that workers share cannot be written to {tempfile.gettempdir()}; make "
                "room there, or name another folder by the environment variable TMPDIR",
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
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    (index_size,) = _HEADER.unpack_from(whole)
    position = _HEADER.size + index_size
    small, sizes = pickle.loads(whole[_HEADER.size : position])
    buffers = []
    for size in sizes:
        position += -position % _ALIGNMENT
        buffers.append(whole[position : position + size])
        position += size
    return Packed(small, buffers)
