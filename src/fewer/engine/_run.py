"""A run: many submitted tasks, and their outcomes in the order in which they finish.

A `Session` is the contract between a run and the place where its tasks run. While a run lasts, Ctrl-C is a request to
stop, and a progress bar may show how many tasks are done.
"""

import signal
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fewer.engine._attempt import Failure, Outcome, Report, failure_from

# How often a task may lose its worker before it is taken for the cause.
MAX_ATTEMPTS = 3
Observer = Callable[[int, int | None, Outcome], Any]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A task that was handed in."""

    index: int
    task: Any
    label: str

    def outcome(self, report: Report, *, attempts: int = 1, worker: str = "") -> Outcome:
        """What became of the task, by the report of its last attempt."""
        return Outcome(
            self.index, self.task, report.value, report.failure, report.seconds, attempts, worker, self.label
        )

    def unpicklable(self, error: BaseException) -> Outcome:
        """The task could not even be sent."""
        failure = failure_from(error, kind="UnpicklableTask")
        message = (
            f"{self.label}, a {type(self.task).__qualname__}, cannot be sent to a worker ({failure.message}); make "
            "tasks of plain data, and open files, connections and the like inside the function"
        )
        return self.outcome(Report(None, Failure(failure.kind, message, failure.traceback), 0.0), attempts=0)

    def killer(self, times: int, how: str, worker: str) -> Outcome:
        """The task was running whenever a worker died."""
        message = f"the worker died {times} times while running {self.label} ({how})"
        return self.outcome(Report(None, Failure("WorkerDied", message), 0.0), attempts=times, worker=worker)


class Session(ABC):
    """One run on one backend: tickets go in, outcomes come out as they finish.

    A run calls ``submit``, ``next_outcome`` and ``finished`` from one thread. ``wake`` may come at any moment, from a
    signal handler; ``close`` from any thread, more than once, and it must not wait for tasks to finish.
    """

    @property
    @abstractmethod
    def capacity(self) -> int:
        """How many tickets may be in flight: enough to keep the workers busy, and not more."""

    @abstractmethod
    def submit(self, ticket: Ticket) -> None:
        """Take a ticket; never block on running tasks."""

    @abstractmethod
    def next_outcome(self, *, wait: bool) -> Outcome | None:
        """An outcome that has not been given out; None when woken, or when there is none and ``wait`` is false."""

    @abstractmethod
    def wake(self) -> None:
        """Make a ``next_outcome`` that waits return at once."""

    @abstractmethod
    def close(self) -> None:
        """Give up what has not finished, and leave nothing behind."""

    def finished(self) -> list[Outcome]:
        """Outcomes that are here but were not given out."""
        outcomes = []
        while (outcome := self.next_outcome(wait=False)) is not None:
            outcomes.append(outcome)
        return outcomes


class Silence:
    """Shows nothing; also the contract of a display."""

    def update(self, done: int, outcome: Outcome) -> None:
        """Take note of one more outcome."""

    def note(self, words: str) -> None:
        """Add words to the description."""

    def stop(self) -> None:
        """Leave the terminal as it was; may be called more than once."""


class Run:
    """Outcomes of many tasks, as they finish; made by ``Engine.run``.

    Loop over it, or call ``collect``. Tasks are taken from their iterable a few at a time, as workers become free.
    Leaving the loop early gives up the tasks that have not finished. So does Ctrl-C, after which the loop gets the
    outcomes that are already here, and ends; a second Ctrl-C raises ``KeyboardInterrupt`` as usual.

    Attributes
    ----------
    interrupted : bool
        True when Ctrl-C ended the run before all tasks were done.
    done : int
        Number of outcomes given out so far.

    Examples
    --------
    >>> from fewer.engine import Engine
    >>> with Engine.local(1) as engine:
    ...     for outcome in engine.run(abs, [-3, "x"]):
    ...         print(outcome.index, outcome.value if outcome.ok else outcome.failure)
    0 3
    1 TypeError: bad operand type for abs(): 'str'
    """

    def __init__(
        self,
        session: Session,
        tasks: Iterable[Any],
        labels: Callable[[int, Any], str],
        display: Callable[[], Silence],
    ) -> None:
        self.interrupted = False
        self.done = 0
        self._session = session
        self._tasks = enumerate(tasks)
        self._labels = labels
        self._display = display
        self._shown = Silence()
        self._ctrl_c = CtrlC(session.wake)
        self._in_flight = 0
        self._exhausted = False
        self._error: BaseException | None = None
        self._last: deque[Outcome] = deque()
        self._collected: list[Outcome] = []
        self._started = False
        # Holds nothing of the run itself, so that a run that is forgotten half-way is closed like any other.
        self._afterwards = ExitStack()
        self._afterwards.callback(session.close)
        self._close = weakref.finalize(self, self._afterwards.close)

    def __iter__(self) -> Iterator[Outcome]:
        try:
            yield from iter(self._next_or_none, None)
        finally:
            self.close()

    def __next__(self) -> Outcome:
        outcome = self._next_or_none()
        if outcome is None:
            raise StopIteration
        return outcome

    def __repr__(self) -> str:
        if self.interrupted:
            state = "interrupted"
        else:
            state = "under way" if self._close.alive else "ended"
        return f"<Run: {self.done} done, {self._in_flight} in flight, {state}>"

    def collect(self) -> list[Outcome]:
        """All outcomes that the loop has not had yet, in the order of the tasks.

        Returns
        -------
        outcomes : list of Outcome
            One for each task; after Ctrl-C, those that are done. If an error ends the run, a second call returns those
            that were done before it.
        """
        for outcome in self:
            self._collected.append(outcome)
        return sorted(self._collected, key=lambda outcome: outcome.index)

    def note(self, words: str) -> None:
        """Show some words beside the description, once the run has started and if it has a progress bar.

        Parameters
        ----------
        words : str
            What there is to know about the tasks that remain.
        """
        if self._started and self._close.alive:
            self._shown.note(words)

    def close(self) -> None:
        """Give up the tasks that have not finished; does nothing when all have."""
        self._close()

    def _abandon(self, reason: BaseException) -> None:
        """Close a run that is under way, and raise ``reason`` when more outcomes are asked for."""
        if self._close.alive:
            self._error = reason
            self.close()

    def _next_or_none(self) -> Outcome | None:
        try:
            outcome = self._last.popleft() if self._last else self._wait_for_outcome()
        except KeyboardInterrupt:
            if self.interrupted:
                raise
            outcome = self._stop_early()
        except BaseException:
            self.close()
            raise
        if outcome is None:
            self.close()
            return None
        self.done += 1
        self._shown.update(self.done, outcome)
        return outcome

    def _wait_for_outcome(self) -> Outcome | None:
        """The next outcome; None when there are no more."""
        if not self._started:
            self._start()
        while self._close.alive:
            if self._ctrl_c.pressed and not self.interrupted:
                raise KeyboardInterrupt
            # One task at a time, with a look for outcomes in between: the iterable may be slow.
            self._submit_one()
            full = self._exhausted or self._in_flight >= self._session.capacity
            if full and not self._in_flight:
                break
            outcome = self._session.next_outcome(wait=full)
            if outcome is not None:
                self._in_flight -= 1
                return outcome
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    def _start(self) -> None:
        self._started = True
        if self._close.alive:
            self._shown = self._display()
            self._afterwards.callback(self._shown.stop)
            self._ctrl_c.watch()
            self._afterwards.callback(self._ctrl_c.unwatch)

    def _submit_one(self) -> None:
        if self._exhausted or self._in_flight >= self._session.capacity:
            return
        try:
            index, task = next(self._tasks)
            ticket = Ticket(index, task, self._labels(index, task))
        except StopIteration:
            self._exhausted = True
        except Exception as error:  # of the caller's iterable: raised when what is in flight has been given out
            self._exhausted, self._error = True, error
        else:
            self._session.submit(ticket)
            self._in_flight += 1

    def _stop_early(self) -> Outcome | None:
        self.interrupted = True
        self._exhausted, self._in_flight = True, 0
        self._session.close()
        self._last.extend(self._session.finished())
        return self._last.popleft() if self._last else None


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


class Call(Silence):
    """Tells a function of the caller's."""

    def __init__(self, observer: Observer, total: int | None) -> None:
        self._observer = observer
        self._total = total

    def update(self, done: int, outcome: Outcome) -> None:
        self._observer(done, self._total, outcome)


class Bar(Silence):
    """A bar on the error stream: count, time left, failures."""

    def __init__(self, description: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._failures = 0
        self._description = description
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[failures]}", style="red"),
            console=Console(stderr=True),
        )
        self._bar = self._progress.add_task(description, total=total, failures="")
        self._progress.start()

    def update(self, done: int, outcome: Outcome) -> None:
        self._failures += not outcome.ok
        failures = f"{self._failures} failed" if self._failures else ""
        self._progress.update(self._bar, completed=done, failures=failures)

    def note(self, words: str) -> None:
        self._progress.update(self._bar, description=f"{self._description} ({words})")

    def stop(self) -> None:
        self._progress.stop()


def display(progress: "bool | str | Observer", description: str, total: int | None) -> Silence:
    """The display that ``progress`` asks for."""
    if callable(progress):
        return Call(progress, total)
    if progress is True or (progress == "auto" and sys.stderr.isatty()):
        return Bar(description, total)
    if progress is False or progress == "auto":
        return Silence()
    raise ValueError(f'progress must be True, False, "auto" or a function of (done, total, outcome), not {progress!r}.')
