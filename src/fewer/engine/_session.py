"""The contract between a run and the place where its tasks run."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from fewer.engine._attempt import Report
from fewer.engine._outcome import Failure, Outcome, failure_from

# How often a task may lose its worker before it is taken for the cause.
MAX_ATTEMPTS = 3


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
