"""The script of the child process in which binary files are read; see `fewer.io._confined` for the other side.

It imports nothing of fewer, and only what the format needs, so that it starts quickly. The request is one line of JSON
on the standard input. For each file, the reply is one message of JSON and the messages that it announces; a message is
its length in eight bytes and then its bytes. Everything is numbers, text or Arrow: nothing that could run code.
"""

import io
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def main() -> None:
    """Read the request, then each of its files."""
    request = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = request["sys_path"]
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not get between the messages
    warnings.simplefilter("ignore")
    read = _READERS[request["format"]]
    for path, seconds, memory in zip(request["paths"], request["seconds"], request["memory"], strict=True):
        _limit(seconds, memory)
        try:
            about, messages = read(path, request["options"])
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a library in Rust is not an Exception
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            about, messages = {"error": reason[:500], "type": type(error).__name__}, iter(())
        _send(pipe, json.dumps(about).encode())
        for message in messages:
            _send(pipe, message)


def _end_with_the_parent() -> None:
    """Wait until the standard input is closed: the parent has ended, however that came."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def _limit(seconds: int, memory: int) -> None:
    """Let the operating system end this process when it takes more than this, where it can do so."""
    try:
        import resource
    except ImportError:  # Windows: the parent's limit on the time has to do
        return
    used = int(time.process_time())
    for which, wanted in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, used + seconds),
        (resource.RLIMIT_AS, memory),
    ):
        try:
            highest = resource.getrlimit(which)[1]
            soft = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
            resource.setrlimit(which, (soft, highest))
        except (ValueError, OSError):  # macOS does not limit the address space
            continue


def _send(pipe: Any, message: Any) -> None:
    for part in (len(message).to_bytes(8, "little"), message):
        view = memoryview(part)
        while len(view):
            view = view[pipe.write(view) :]


def _mat(path: str, options: dict[str, Any]) -> tuple[dict[str, Any], Iterator[Any]]:
    """The variables of a MATLAB file."""
    from scipy.io import loadmat

    with open(path, "rb") as file:
        variables = {name: value for name, value in loadmat(file).items() if not name.startswith("__")}
    described = [_variable(name, value) for name, value in variables.items()]
    return {"variables": [about for about, _ in described]}, (part for _, parts in described for part in parts)


def _variable(name: str, value: Any) -> tuple[dict[str, Any], list[Any]]:
    import numpy as np

    if hasattr(value, "tocsc"):  # COO in files of version 4, and of any version before SciPy 1.16
        value = value.tocsc()
        parts = [np.ascontiguousarray(part) for part in (value.data, value.indices, value.indptr)]
        about = {
            "name": name,
            "type": "sparse",
            "shape": list(value.shape),
            "dtypes": [part.dtype.str for part in parts],
            "lengths": [len(parts[0]), len(parts[2])],
        }
        return about, [_bytes_of(part) for part in parts]
    about = {"name": name, "shape": list(np.shape(value))}
    if not isinstance(value, np.ndarray) or value.dtype.names or value.dtype.kind not in "biufcUO":
        return about | {"type": "other"}, []
    if value.dtype.kind in "UO":
        return about | {"type": "cells", "values": [_cell(cell) for cell in value.ravel().tolist()]}, []
    order = "C" if value.flags.c_contiguous else "F"
    part = np.asarray(value, order=order)  # type: ignore[call-overload]
    return about | {"type": "array", "dtype": value.dtype.str, "order": order}, [_bytes_of(part.ravel(order="K"))]


def _bytes_of(array: Any) -> Any:
    import numpy as np

    return memoryview(array.view(np.uint8)) if array.size else b""


def _cell(value: Any) -> float | int | bool | str | None:
    """What a cell of MATLAB holds: one number or text; for anything longer, its size."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype.names is None:
        if value.size == 0:
            return "" if value.dtype.kind == "U" else None
        if value.size == 1:
            return _cell(value.item())
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    return f"[{'x'.join(map(str, np.shape(value))) or type(value).__name__}]"


def _parquet(path: str, options: dict[str, Any]) -> tuple[dict[str, Any], Iterator[Any]]:
    """Nothing: the file is only tried."""
    import polars as pl

    pl.read_parquet(path, glob=False)
    return {}, iter(())


def _arrow(path: str, options: dict[str, Any]) -> tuple[dict[str, Any], Iterator[Any]]:
    """Nothing: the file is only tried."""
    import polars as pl

    pl.read_ipc(path)
    return {}, iter(())


def _excel(path: str, options: dict[str, Any]) -> tuple[dict[str, Any], Iterator[Any]]:
    """The first row and the others of a sheet; only the names of the sheets when there is no such sheet."""
    import fastexcel

    workbook = fastexcel.read_excel(path)
    names, sheet = workbook.sheet_names, options["sheet"]
    place = (
        sheet - 1 if isinstance(sheet, int) else 0 if sheet is None else names.index(sheet) if sheet in names else -1
    )
    if not 0 <= place < len(names):
        return {"sheets": names, "frames": 0}, iter(())

    def cells(n_rows: int | None = None, skip_rows: int | None = None) -> Any:
        rows = {"n_rows": n_rows, "skip_rows": skip_rows}
        return workbook.load_sheet(names[place], header_row=None, schema_sample_rows=None, **rows).to_polars()  # type: ignore[call-overload]

    first = cells(n_rows=1)
    rest = cells(skip_rows=1) if options["header"] and first.width else cells()
    return {"sheets": names, "frames": 2}, map(_arrow_stream, (first, rest))


def _arrow_stream(frame: Any) -> Any:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getbuffer()


_READERS: dict[str, Callable[[str, dict[str, Any]], tuple[dict[str, Any], Iterator[Any]]]] = {
    "mat": _mat,
    "parquet": _parquet,
    "arrow": _arrow,
    "excel": _excel,
}

if __name__ == "__main__":
    main()
