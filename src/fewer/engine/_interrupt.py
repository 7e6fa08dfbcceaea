"""Ctrl-C as a request to stop, for as long as a run lasts."""

import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any


class CtrlC:
    """While watching, the first Ctrl-C sets ``pressed`` and calls ``on_press``; the second one is Python's own again.

    So the caller's loop is not torn apart in the middle of, say, a write to a journal. Watches only in the main thread,
    where Python handles signals, and only where nobody else has put a handler; a run inside the loop of another run
    stops both.
    """

    def __init__(self, on_press: Callable[[], None]) -> None:
        self.pressed = False
        self._on_press = on_press
        self._before: Any = None

    def watch(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler or isinstance(before, _Handler):
            self._before = before
            signal.signal(signal.SIGINT, _Handler(self))

    def unwatch(self) -> None:
        """Give the signal back; in another thread that cannot be done, but then the handler steps aside by itself."""
        before, self._before = self._before, None
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)

    def press(self, signum: int, frame: FrameType | None) -> None:
        if self.pressed or self._before is None:
            signal.default_int_handler(signum, frame)
        self.pressed = True
        if isinstance(self._before, _Handler):
            self._before(signum, frame)
        self._on_press()


class _Handler:
    """A signal handler that does not keep an abandoned run alive."""

    def __init__(self, watcher: CtrlC) -> None:
        self._watcher = weakref.ref(watcher)

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        watcher = self._watcher()
        if watcher is None:
            signal.default_int_handler(signum, frame)
        else:
            watcher.press(signum, frame)
