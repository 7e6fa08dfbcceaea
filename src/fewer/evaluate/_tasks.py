"""Pieces of work, one after the other in this process or on an engine; what is done before Ctrl-C is kept."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewer.engine import Engine

    Where = Engine | int | None


@contextmanager
def engine_for(where: "Where") -> Iterator["Engine"]:
    """The engine given; of a number, so many processes of this machine; of None, this process alone."""
    from fewer.engine import Engine

    if isinstance(where, Engine):
        yield where
        return
    if isinstance(where, bool) or not isinstance(where, Integral | None):
        raise TypeError(f"engine={where!r} is neither an engine nor a number of processes; pass Engine.local(4), or 4.")
    with Engine.local(1 if where is None else int(where)) as own:
        yield own


def values_of(
    function: Callable[[Any, Any], Any],
    tasks: Sequence[Any],
    shared: Any,
    *,
    engine: "Where",
    progress: Any = False,
    description: str,
    labels: Sequence[str] | None = None,
    only_all: bool = False,
) -> dict[int, Any]:
    """Value of every task that was done, by its place; fewer than tasks only after Ctrl-C.

    Parameters
    ----------
    function : callable
        ``function(task, shared)``.
    tasks : sequence
        What to do.
    shared : object
        What all tasks need.
    engine : Engine, int or None
        Where to run. Without one, errors of the function come through as they are, with a note of the task.
    progress : bool, "auto" or callable, default=False
        As in ``Engine.run``.
    description : str
        Words beside the bar.
    labels : sequence of str or None, default=None
        Names of the tasks for messages.
    only_all : bool, default=False
        Whether some of the values are worth nothing without the others: then Ctrl-C is an interrupt as usual.
    """
    if engine is None and not progress:
        done = _values_here(function, tasks, shared, labels)
    else:
        with engine_for(engine) as running:
            run = running.run(function, tasks, shared=shared, labels=labels, progress=progress, description=description)
            done = {outcome.index: outcome.unwrap() for outcome in run.collect()}
    if len(done) < len(tasks):
        if only_all or not done:
            raise KeyboardInterrupt(f"interrupted: {len(done)} of {len(tasks)} pieces of work were done.")
        warnings.warn(
            f"{description}: interrupted after {len(done)} of {len(tasks)} pieces of work; the result rests on these.",
            UserWarning,
            stacklevel=3,
        )
    return done


def _values_here(
    function: Callable[[Any, Any], Any], tasks: Sequence[Any], shared: Any, labels: Sequence[str] | None
) -> dict[int, Any]:
    done: dict[int, Any] = {}
    try:
        for place, task in enumerate(tasks):
            done[place] = function(task, shared)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        if labels:
            error.add_note(f"This happened in {labels[len(done)]}.")
        raise
    return done
