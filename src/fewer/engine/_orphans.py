"""Worker processes end with the process that started them, however that ends.

On Linux the kernel does it at once, even while a worker is in the middle of compiled code (``PR_SET_PDEATHSIG``). It
watches the thread that started a worker, not the process, so all workers are started by one thread that lives as long
as the process. Elsewhere, a thread of the worker notices within a quarter of a second, as soon as Python code runs.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_SECONDS = 0.25


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
