"""One attempt at one task, wherever it runs; nothing that a task does escapes from here except its report."""

import pickle
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fewer.engine._outcome import Failure, failure_from
from fewer.engine._payload import Packed, pickled, unpacked


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
