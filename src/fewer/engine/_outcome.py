"""What became of one task: its value, or the record of its failure."""

import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a task has no value, in plain text that survives any journey.

    Exceptions themselves are not kept: many cannot be pickled, and they hold on to the memory of the frames they
    went through.

    Parameters
    ----------
    kind : str
        Name of the exception, such as ``"ValueError"``; or ``"WorkerDied"``, ``"UnpicklableTask"``,
        ``"UnpicklableValue"``.
    message : str
        What the exception said.
    traceback : str
        The traceback as text, from the place where the task ran; empty when there is none.

    Examples
    --------
    >>> from fewer.engine import Failure
    >>> print(Failure("ValueError", "no rows left"))
    ValueError: no rows left
    """

    kind: str
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task, and what became of it.

    Parameters
    ----------
    index : int
        Position of the task in the iterable that was given to ``Engine.run``.
    task : object
        The task itself.
    value : object
        What the function returned; None when the task failed.
    failure : Failure or None
        Why it failed; None when it did not.
    seconds : float
        How long the function ran (its last attempt).
    attempts : int
        How many times the task was handed to a worker; more than 1 when a worker died under it. (A Dask scheduler
        replaces one dead worker by itself and does not tell, so there the number may be too low.)
    worker : str
        Which worker ran it last.
    label : str
        The name of the task in messages.

    Examples
    --------
    >>> from fewer.engine import Engine
    >>> with Engine.local(1) as engine:
    ...     good, bad = engine.run(lambda x: 1 / x, [4, 0]).collect()
    >>> good.ok, good.unwrap()
    (True, 0.25)
    >>> bad.ok, bad.failure.kind, bad.failure.message
    (False, 'ZeroDivisionError', 'division by zero')
    """

    index: int
    task: Any
    value: Any = None
    failure: Failure | None = None
    seconds: float = 0.0
    attempts: int = 1
    worker: str = ""
    label: str = ""

    @property
    def ok(self) -> bool:
        """True when the task gave a value."""
        return self.failure is None

    def unwrap(self) -> Any:
        """Value of the task, or an error that shows where it failed.

        Returns
        -------
        value : object
            What the function returned.

        Raises
        ------
        RuntimeError
            When the task failed; the message ends with the traceback from the worker.
        """
        if self.failure is None:
            return self.value
        where = f" on {self.worker}" if self.worker else ""
        told = self.failure.traceback.rstrip()
        raise RuntimeError(
            f"{self.label or f'task {self.index}'} failed{where}: {self.failure}" + (f"\n\n{told}" if told else "")
        )


def failure_from(error: BaseException, *, kind: str | None = None) -> Failure:
    """Record of an exception, as the user's code saw it."""
    frames = _without_own_frames(error.__traceback__)
    try:
        told = "".join(traceback.format_exception(type(error), error, frames))
    except Exception:  # an exception may fail at describing itself
        told = "".join(traceback.format_tb(frames))
    return Failure(kind or _name_of(type(error)), _message_of(error), told)


def _without_own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame that is not the engine's; all of it when every frame is."""
    own = str(Path(__file__).parent)
    users = frames
    while users is not None and users.tb_frame.f_code.co_filename.startswith(own):
        users = users.tb_next
    return users or frames


def _name_of(kind: type[BaseException]) -> str:
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(the exception could not say what went wrong: its own __str__ failed)"
