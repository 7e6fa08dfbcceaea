"""Tasks on this machine: in this process, or in worker processes that the runs of an engine share."""

import atexit
import contextlib
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process
from queue import Empty, SimpleQueue
from statistics import median
from typing import Any

from fewer.engine._attempt import Outcome, SharedPackage, attempt, bound, packed, pickled, report_from, unpacked
from fewer.engine._engine import Engine
from fewer.engine._run import MAX_ATTEMPTS, Session, Ticket
from fewer.engine._worker import Order, WorkerDiedError, WorkerProcess, cores

# Seconds of CPU time that the imports of a worker take, about.
_START_SECONDS = 3.0
_TASKS_TO_JUDGE_BY = 5
# Tasks that are this short go to a worker several at a time, because the way there takes longer than they do.
_SHORT_SECONDS = 0.005
_MAX_BATCH = 16


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
        raise ValueError("n_jobs must not be 0; use None or -1 for all cores, 1 for this process.")
    if current_process().daemon:  # inside a worker of another pool, which may not have children
        return 1
    if n_jobs is None:
        return cores()
    return n_jobs if n_jobs > 0 else max(cores() + 1 + n_jobs, 1)


class Crew:
    """The worker processes of an engine; those that are idle wait here for the next run."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[WorkerProcess] = []
        self._all: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()
        self._lock = threading.RLock()
        self._dismissed = False

    @property
    def size(self) -> int:
        return self._size

    @property
    def has_workers(self) -> bool:
        """Whether worker processes have been started and wait for the next run."""
        return bool(self._idle)

    def worker(self, hired: Callable[[WorkerProcess], None]) -> WorkerProcess:
        """A worker that is ready for orders, idle or new; ``hired`` gets it first, while it may still be starting."""
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive():
                    hired(worker)
                    return worker
        return self.fresh_worker(hired)

    def fresh_worker(self, hired: Callable[[WorkerProcess], None] = lambda _: None) -> WorkerProcess:
        """A new worker; on an overloaded machine, a few of them may fail to start."""
        for _ in range(MAX_ATTEMPTS):
            with self._lock:
                if self._dismissed:
                    raise RuntimeError("The engine is closed.")
                worker = WorkerProcess(budget=max(1, cores() // self._size))
                self._all.add(worker)
            try:
                hired(worker)
                worker.wait_until_ready()
            except WorkerDiedError as death:
                cause = death
            else:
                return worker
        raise RuntimeError(
            f"Could not start a worker process: {MAX_ATTEMPTS} of them died at once ({cause}). Check the free "
            "memory; Engine.local(1) runs the tasks without worker processes."
        )

    def take_back(self, worker: WorkerProcess) -> None:
        """Keep an idle worker for the next run, when there is room for it."""
        with self._lock:
            if not self._dismissed and len(self._idle) < self._size and worker.alive():
                worker.ask_to_forget()
                self._idle.append(worker)
                return
        worker.ask_to_stop()
        worker.join()

    def dismiss(self) -> None:
        """Send the idle workers home, and end those that are busy."""
        with self._lock:
            self._dismissed = True
            idle, self._idle = self._idle, []
            for worker in self._all.difference(idle):
                worker.kill()
        for worker in idle:
            worker.ask_to_stop()
        for worker in idle:
            worker.join()


@dataclass(slots=True)
class Parcel:
    """A ticket on its way, and the workers that died of it."""

    ticket: Ticket
    task_bytes: bytes
    deaths: int = 0


class _ClosedError(Exception):
    """The session was closed while a worker started for it."""


class CrewSession(Session):
    """Runs tasks in worker processes, each one minded by a thread.

    A thread sends tasks to its worker and waits for the answers. When the worker dies, the thread knows which task was
    running, starts another worker and tries again.
    """

    def __init__(self, crew: Crew, function: Callable[..., Any], shared: tuple[Any, ...]) -> None:
        self._crew = crew
        self._package = SharedPackage(packed((function, shared)))
        self._waiting: SimpleQueue[Parcel | None] = SimpleQueue()
        self._outcomes: SimpleQueue[Outcome | BaseException | None] = SimpleQueue()
        self._minders: list[threading.Thread] = []
        self._busy: set[WorkerProcess] = set()
        self._batch_size = 1
        self._lock = threading.RLock()
        self._closed = False

    @property
    def capacity(self) -> int:
        return self._crew.size * (2 * self._batch_size + 1)

    def submit(self, ticket: Ticket) -> None:
        try:
            parcel = Parcel(ticket, pickled(ticket.task))
        except Exception as error:
            self._outcomes.put(ticket.unpicklable(error))
            return
        self._waiting.put(parcel)
        if len(self._minders) < self._crew.size:
            minder = threading.Thread(target=self._mind, name="fewer-minder", daemon=True)
            self._minders.append(minder)
            minder.start()

    def next_outcome(self, *, wait: bool) -> Outcome | None:
        try:
            while (outcome := self._outcomes.get(block=wait)) is None and not wait:
                pass  # a wake-up call for a sleep that is over
        except Empty:
            return None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def wake(self) -> None:
        self._outcomes.put(None)  # SimpleQueue.put is safe in a signal handler

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for worker in self._busy:
                worker.kill()
        for _ in self._minders:
            self._waiting.put(None)
        for minder in self._minders:
            if minder is not threading.current_thread():
                minder.join()
        self.wake()
        self._package.close()

    def _mind(self) -> None:
        worker: WorkerProcess | None = None
        try:
            while batch := self._next_batch():
                worker = self._settle(batch, worker or self._crew.worker(self._hired))
        except BaseException as error:
            if not self._closed:
                self._outcomes.put(error)
        if worker is not None:
            self._crew.take_back(worker)

    def _next_batch(self) -> deque[Parcel]:
        """The next tasks for one worker; none when the session is closed."""
        batch: deque[Parcel] = deque()
        with contextlib.suppress(Empty):
            while len(batch) < self._batch_size:
                parcel = self._waiting.get(block=not batch)
                if parcel is None:
                    return deque()
                batch.append(parcel)
        return batch

    def _settle(self, batch: deque[Parcel], worker: WorkerProcess) -> WorkerProcess | None:
        """See every task of the batch to its end; the worker that is left is returned."""
        longest = 0.0
        while batch:
            with self._lock:
                if self._closed:
                    return worker
                self._busy.add(worker)
            try:
                for answer in worker.answers(Order(self._package.place, [parcel.task_bytes for parcel in batch])):
                    report = report_from(answer)
                    parcel = batch.popleft()
                    longest = max(longest, report.seconds)
                    self._outcomes.put(parcel.ticket.outcome(report, attempts=parcel.deaths + 1, worker=worker.name))
            except WorkerDiedError as death:
                if self._closed:
                    return None
                batch[0].deaths += 1  # answers come in order, so the first without one was running
                if batch[0].deaths == MAX_ATTEMPTS:
                    self._outcomes.put(batch.popleft().ticket.killer(MAX_ATTEMPTS, str(death), worker.name))
                self._forget(worker)
                if not batch:
                    return None
                worker = self._crew.worker(self._hired)
            finally:
                self._forget(worker)
        self._batch_size = min(2 * self._batch_size, _MAX_BATCH) if longest < _SHORT_SECONDS else 1
        return worker

    def _hired(self, worker: WorkerProcess) -> None:
        """Count a worker as busy from its start on, so that closing the session ends it at once."""
        with self._lock:
            if self._closed:
                worker.kill()
                raise _ClosedError
            self._busy.add(worker)

    def _forget(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._busy.discard(worker)
