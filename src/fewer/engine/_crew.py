"""The worker processes of an engine, and a run that they share."""

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from fewer.engine._attempt import report_from
from fewer.engine._outcome import Outcome
from fewer.engine._payload import SharedPackage, packed, pickled
from fewer.engine._session import MAX_ATTEMPTS, Session, Ticket
from fewer.engine._threads import cores
from fewer.engine._worker import Order, WorkerDiedError, WorkerProcess

# Tasks that are this short go to a worker several at a time, because the way there takes longer than they do.
_SHORT_SECONDS = 0.005
_MAX_BATCH = 16


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
        """A new worker; the machine may be short of breath, so a few of them may die at birth."""
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
            f"Could not start a worker process: {MAX_ATTEMPTS} of them died at once ({cause}). Is there memory left? "
            "Engine.local(1) runs the tasks without worker processes."
        )

    def take_back(self, worker: WorkerProcess) -> None:
        """Keep an idle worker for the next run, when there is room for it."""
        with self._lock:
            if not self._dismissed and len(self._idle) < self._size and worker.alive():
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
