"""Binary files from outside are read in a child process that may crash, hang or run out of memory in our place.

The libraries that read MATLAB, Excel, Parquet and Arrow files are written in C, Cython and Rust. A damaged file can end
the whole process in them: by a segmentation fault, by an allocation that fails, or by a loop that never ends. So each
file is read in a process of its own, with limits on its time and its memory that grow with the size of the file. The
child sends numbers, text and Arrow streams through a pipe; nothing is unpickled, and no temporary file is written.

Parquet and Arrow files may be large, and polars fails for the same bytes in the same way each time. So the child only
tries them, and the parent reads them again when that went well: that costs less than to send all the data.
Excel sheets are read by fastexcel (extra ``fewer[excel]``).
"""

import contextlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import polars as pl

from fewer._wording import did_you_mean
from fewer.io._errors import TableError, physical_memory
from fewer.io._memory import Table, default_names, header_names
from fewer.io._read import Options

# What the interpreter and its libraries take themselves, and what a small file may take beyond that.
_LEAST_MEMORY = 2 << 30
# No format packs data more tightly than about 1:1000; a reader holds its data a few times while it works.
_MEMORY_PER_BYTE = 4096
_LEAST_SECONDS = 20
_BYTES_PER_SECOND = 1 << 20
_MOST_THREADS = 8
_NONSENSE = (
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    RecursionError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
T = TypeVar("T")

_SCRIPT = Path(__file__).with_name("_reader_process.py")


class Reply:
    """What the child has sent for one file.

    Attributes
    ----------
    about : dict
        The first message, which is JSON.
    """

    def __init__(self, pipe: Any, memory: int) -> None:
        self._pipe = pipe
        self._memory = memory
        self.about: dict[str, Any] = json.loads(self._message())

    def array(self, shape: Sequence[int], dtype: str, order: str = "C") -> np.ndarray:
        """The next message as an array of numbers."""
        wanted = np.dtype(dtype)
        if wanted.kind not in "biufc":
            raise ValueError(f"an array of type {dtype}")
        if self._length() != math.prod(shape) * wanted.itemsize:
            raise ValueError("an array of another size than announced")
        array = np.empty(shape, dtype=wanted, order="F" if order == "F" else "C")
        if array.size and self._pipe.readinto(array.ravel(order="K").view(np.uint8)) < array.nbytes:
            raise EOFError
        return array

    def frame(self) -> pl.DataFrame:
        """The next message, an Arrow stream, as a frame."""
        return pl.read_ipc_stream(self._message())

    def _message(self) -> bytes:
        length = self._length()
        content = self._pipe.read(length)
        if len(content) < length:
            raise EOFError
        return content

    def _length(self) -> int:
        content = self._pipe.read(8)
        if len(content) < 8:
            raise EOFError
        length = int.from_bytes(content, "little")
        if length > self._memory:
            raise ValueError(f"a message of {length} bytes")
        return length


class UnreadableError(Exception):
    """Why the child process could not read a file.

    Attributes
    ----------
    cause : str
        Name of the error in the child process; "crash", "memory" or "time" when it did not get to raise one.
    """

    def __init__(self, reason: str, cause: str) -> None:
        super().__init__(reason)
        self.cause = cause

    def as_error(self, path: Path, what: str, cure: str = "Check that it is complete.") -> TableError:
        """The error for the user; ``what`` is such as "a MATLAB"."""
        if self.cause == "crash":
            cure = "It is damaged or malicious. Save it again, or use another format, such as CSV."
        return TableError(f"{path}: this cannot be read as {what} file ({self}). {cure}")


def read_confined(
    format: str, path: Path, receive: Callable[[Reply], T], options: Mapping[str, Any] | None = None
) -> T:
    """What ``receive`` makes of the reply of a child process that reads this file."""
    [outcome] = confined_outcomes(format, [path], receive, options)
    if isinstance(outcome, UnreadableError):
        raise outcome
    return outcome


def confined_outcomes(
    format: str, paths: Sequence[Path], receive: Callable[[Reply], T], options: Mapping[str, Any] | None = None
) -> Iterator[T | UnreadableError]:
    """What came of each file, or why it cannot be read.

    The files are read one after another in one child process, which is started again after a file that ended it.
    """
    done = 0
    while done < len(paths):
        with _Child(format, paths[done:], dict(options or {})) as child:
            while done < len(paths) and not child.is_lost:
                yield child.outcome(paths[done], receive)
                done += 1


class _Child:
    """A process that reads files, one after another, until one of them ends it (``is_lost``)."""

    def __init__(self, format: str, paths: Sequence[Path], options: dict[str, Any]) -> None:
        self.is_lost = False
        self._out_of_time = False
        self._limits = {path: _limits(path.stat().st_size) for path in paths}
        request = {
            "format": format,
            "paths": [str(path.absolute()) for path in paths],
            "seconds": [self._limits[path].seconds for path in paths],
            "memory": [self._limits[path].memory for path in paths],
            "options": options,
            "sys_path": [os.path.abspath(place) for place in sys.path],
        }
        threads = str(min(_MOST_THREADS, os.cpu_count() or 1))
        settings = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        settings |= {"POLARS_MAX_THREADS": threads, "RUST_BACKTRACE": "0"}
        # Isolated and without site: the paths of this process are sent along, and start-up is quicker.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **settings},
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended at once, which is found when its reply is read
            self._process.stdin.write(json.dumps(request, default=str).encode() + b"\n")
            self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def outcome(self, path: Path, receive: Callable[[Reply], T]) -> T | UnreadableError:
        """What came of the next file."""
        limits = self._limits[path]
        # The child's limit is on its processor time; this one is for a child that waits for ever.
        timer = threading.Timer(3 * limits.seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            reply = Reply(self._process.stdout, limits.memory)
            if reply.about.get("type") == "MemoryError":
                return limits.of_memory()
            if "error" in reply.about:
                return UnreadableError(str(reply.about["error"]), str(reply.about["type"]))
            return receive(reply)
        except EOFError:
            self.is_lost = True
            return self._end(limits)
        except MemoryError:
            self.is_lost = True
            return limits.of_memory()
        except _NONSENSE as error:
            self.is_lost = True
            return UnreadableError(f"its content is invalid: {error}", "crash")
        finally:
            timer.cancel()

    def _stop(self) -> None:
        self._out_of_time = True
        self._process.kill()

    def _end(self, limits: "_Limits") -> UnreadableError:
        """Why the child has ended, as far as its exit code tells."""
        code = self._process.wait()
        ended_by = signal.Signals(-code).name if code < 0 else ""
        if self._out_of_time or ended_by == "SIGXCPU":
            return UnreadableError(f"reading it takes more than {limits.seconds} seconds", "time")
        if ended_by == "SIGKILL":
            return limits.of_memory()
        if ended_by == "SIGABRT":  # libraries end in this way when they get no memory, or find theirs overwritten
            return UnreadableError(f"{limits.of_memory()}, or it is damaged", "memory")
        return UnreadableError(f"the process that read it ended by {ended_by or f'exit code {code}'}", "crash")


class _Limits(NamedTuple):
    """Seconds of processor time and bytes of memory that reading a file may take."""

    seconds: int
    memory: int

    def of_memory(self) -> UnreadableError:
        return UnreadableError(f"reading it takes more than {self.memory / (1 << 30):.1f} GiB of memory", "memory")


def _limits(size: int) -> _Limits:
    return _Limits(
        _LEAST_SECONDS + size // _BYTES_PER_SECOND, _LEAST_MEMORY + min(_MEMORY_PER_BYTE * size, physical_memory())
    )


def read_parquet(path: Path, options: Options) -> Table:
    """The table in a Parquet file."""
    return _read(path, "parquet", lambda: pl.read_parquet(path, glob=False), "a Parquet")


def read_arrow(path: Path, options: Options) -> Table:
    """The table in an Arrow IPC (Feather version 2) file."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"FEA1":
        raise TableError(f"{path}: this is a Feather version 1 file, which is not supported. Save it as Parquet.")
    return _read(path, "arrow", lambda: pl.read_ipc(path), "an Arrow")


def _read(path: Path, format: str, read: Callable[[], pl.DataFrame], what: str) -> Table:
    try:
        read_confined(format, path, lambda reply: None)
        frame = read()
    except UnreadableError as error:
        raise error.as_error(path, what) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UnreadableError(reason, type(error).__name__).as_error(path, what) from error
    return Table(frame, frame.columns, str(path))


def read_excel(path: Path, options: Options) -> Table:
    """The table in a sheet of a workbook; the first sheet when none is named."""
    if importlib.util.find_spec("fastexcel") is None:
        raise TableError(
            f"{path}: reading Excel files needs fastexcel. Install it with pip install 'fewer[excel]', or save the "
            "sheet "
            "as CSV."
        )
    try:
        sheets, frames = read_confined("excel", path, _received, {"sheet": options.sheet, "header": options.header})
    except UnreadableError as error:
        cure = "Check that it is complete."
        if error.cause == "memory":
            cure = "A stray cell far to the right or far below makes a sheet very large. Delete such cells, or save "
            "the sheet as CSV."
        raise error.as_error(path, "an Excel", cure) from error
    sheet = _sheet_name(sheets, options.sheet, path)
    if len(frames) != 2:
        raise TableError(f"{path}: the sheet {sheet!r} cannot be read.")
    first_row, cells = frames
    if not first_row.width:
        raise TableError(f"{path}, sheet {sheet!r}: the sheet is empty.")
    source = f"{path}, sheet {sheet!r}" if len(sheets) > 1 else str(path)
    if not cells.height:
        raise TableError(f"{source}: there is a header, but no rows.")
    cells.columns = _header(first_row, cells.width, source) if options.header else default_names(cells.width)
    return Table(cells, cells.columns, source)


def _received(reply: Reply) -> tuple[list[str], list[pl.DataFrame]]:
    return [str(name) for name in reply.about["sheets"]], [reply.frame() for _ in range(reply.about["frames"])]


def _sheet_name(names: list[str], asked: str | int | None, path: Path) -> str:
    if not names:
        raise TableError(f"{path}: the workbook has no sheets.")
    if asked is None:
        return names[0]
    if isinstance(asked, int):
        if not 1 <= asked <= len(names):
            raise TableError(
                f"{path}: there is no sheet number {asked}; the sheets are numbered from 1 to {len(names)}."
            )
        return names[asked - 1]
    if asked not in names:
        raise TableError(f"{path}: there is no sheet {asked!r}. {did_you_mean(asked, names, 'sheets')}")
    return asked


def _header(first_row: pl.DataFrame, width: int, source: str) -> list[str]:
    """Names of the columns; those that the first row does not reach have none."""
    cells = ["" if cell is None else str(cell).strip() for cell in first_row.row(0)] if first_row.height else []
    return header_names([*cells, *[""] * width][:width], source)
