"""Work on this machine: in this process, or in a crew of worker processes."""

import atexit
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from multiprocessing import current_process
from statistics import median
from typing import Any

from fewer.engine._attempt import attempt, bound
from fewer.engine._crew import Crew, CrewSession
from fewer.engine._engine import Engine
from fewer.engine._outcome import Outcome
from fewer.engine._payload import packed, unpacked
from fewer.engine._session import Session, Ticket
from fewer.engine._threads import cores

# Seconds of CPU time that the imports of a worker take, about.
_START_SECONDS = 3.0
_TASKS_TO_JUDGE_BY = 5


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

    def _session(
        self, function: Callable[..., Any], shared: tuple[Any, ...], *, n_short_tasks: int | None = None
    ) -> Session:
        if self._n_workers == 1:
            return InlineSession(function, shared)
        if n_short_tasks is not None and not self._crew.has_workers:
            return PatientSession(
                InlineSession(function, shared), partial(CrewSession, self._crew, function, shared), n_short_tasks
            )
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


class PatientSession(Session):
    """Runs tasks in this process, and in workers from when the tasks left would take longer than workers to start."""

    def __init__(self, here: InlineSession, crew: Callable[[], Session], n_tasks: int) -> None:
        self._session: Session = here
        self._crew: Callable[[], Session] | None = crew
        self._left = n_tasks
        self._seconds: list[float] = []

    @property
    def capacity(self) -> int:
        return self._session.capacity

    def submit(self, ticket: Ticket) -> None:
        self._session.submit(ticket)

    def next_outcome(self, *, wait: bool) -> Outcome | None:
        started = time.process_time()  # and not the clock: on a busy machine workers would wait as this process does
        outcome = self._session.next_outcome(wait=wait)
        if outcome is not None and self._crew is not None:
            self._left -= 1
            self._seconds.append(time.process_time() - started)
            if self._workers_pay():
                self._session, self._crew = self._crew(), None
        return outcome

    def _workers_pay(self) -> bool:
        """Whether the tasks left are expected to take longer than workers to start.

        The first tasks import and compile, so the latest ones are believed, unless the first take that long already.
        """
        if len(self._seconds) < _TASKS_TO_JUDGE_BY and sum(self._seconds) < _START_SECONDS:
            return False
        return median(self._seconds[-_TASKS_TO_JUDGE_BY:]) * self._left > _START_SECONDS

    def wake(self) -> None:
        self._session.wake()

    def close(self) -> None:
        self._crew = None
        self._session.close()


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
