"""How far a run has got, for the eye."""

import sys
from collections.abc import Callable
from typing import Any

from fewer.engine._outcome import Outcome

Observer = Callable[[int, int | None, Outcome], Any]


class Silence:
    """Shows nothing; also the contract of a display."""

    def update(self, done: int, outcome: Outcome) -> None:
        """Take note of one more outcome."""

    def stop(self) -> None:
        """Leave the terminal as it was; may be called more than once."""


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
