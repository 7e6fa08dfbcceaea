"""Work on this machine: in this process, or in a crew of worker processes."""

import atexit
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing import current_process
from typing import Any

from fewer.engine._attempt import attempt, bound
from fewer.engine._crew import Crew, CrewSession
from fewer.engine._engine import Engine
from fewer.engine._outcome import Outcome
from fewer.engine._payload import packed, unpacked
from fewer.engine._session import Session, Ticket
from fewer.engine._threads import cores


class LocalEngine(Engine):
    """Runs tasks on this machine; made by ``Engine.local``."""

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__()
        self._n_workers = _worker_count(n_jobs)
        self._crew = Crew(self._n_workers)
        # An engine that nobody closes is closed when it is forgotten, or when Python ends: before multiprocessing's own
        # exit, which would wait for the workers for ever.
        self._dismiss = weakref.finalize(self, self._crew.dismiss)
        self._dismiss.atexit = False
        atexit.register(self._dismiss)

    @property
    def n_workers(self) -> int:
        return self._n_workers

    def _session(self, function: Callable[..., Any], shared: tuple[Any, ...]) -> Session:
        if self._n_workers == 1:
            return InlineSession(function, shared)
        return CrewSession(self._crew, function, shared)

    def _release(self) -> None:
        self._dismiss()
        atexit.unregister(self._dismiss)

    def __repr__(self) -> str:
        return f"Engine.local({self._n_workers})" + (" (closed)" if self.closed else "")


class InlineSession(Session):
    """Runs each task in this process, when its outcome is asked for."""

    capacity = 1

    def __init__(self, function: Callable[..., Any], shared: tuple[Any, ...]) -> None:
        # The same read-only copy that a worker would see, so that what works with one job works with many.
        self._call = bound(function, unpacked(packed(shared)) if shared else ())
        self._waiting: deque[Ticket] = deque()
        self._running = False
        self._woken = False

    def submit(self, ticket: Ticket) -> None:
        self._waiting.append(ticket)

    def next_outcome(self, *, wait: bool) -> Outcome | None:
        if not wait or not self._waiting:
            return None
        ticket = self._waiting.popleft()
        self._running = True
        try:
            report = attempt(self._call, ticket.task, let_through=(KeyboardInterrupt,))
        finally:
            self._running = False
        if self._woken:  # the task may have swallowed the interrupt, and be worth nothing
            raise KeyboardInterrupt
        return ticket.outcome(report, worker="this process")

    def wake(self) -> None:
        if self._running:
            self._woken = True
            raise KeyboardInterrupt

    def close(self) -> None:
        self._waiting.clear()


def _worker_count(n_jobs: int | None) -> int:
    """Number of workers that ``n_jobs`` means, as joblib counts."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int)):
        raise TypeError(f"n_jobs must be a whole number or None, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 means no workers at all; use None or -1 for all cores, 1 for this process.")
    if current_process().daemon:  # inside a worker of another pool, which may not have children
        return 1
    if n_jobs is None:
        return cores()
    return n_jobs if n_jobs > 0 else max(cores() + 1 + n_jobs, 1)
