"""A run: many tasks on their way, outcomes in the order in which they finish."""

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from fewer.engine._interrupt import CtrlC
from fewer.engine._outcome import Outcome
from fewer.engine._progress import Silence
from fewer.engine._session import Session, Ticket


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
