"""Pieces of work, one after the other in this process or on an engine; what is done before Ctrl-C is kept.

The usual piece is a fit of one estimator on rows of its own, scored on the test rows.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer.evaluate.protocol._selection import is_search
from fewer.evaluate.protocol._table import Fold, rows_of

if TYPE_CHECKING:
    from fewer.engine import Engine

    Where = Engine | int | None


@contextmanager
def engine_for(where: "Where") -> Iterator["Engine"]:
    """The engine given; for a number, an engine with that many local processes; for None, this process alone."""
    from fewer.engine import Engine

    if isinstance(where, Engine):
        yield where
        return
    if isinstance(where, bool) or not isinstance(where, Integral | None):
        raise TypeError(f"{where!r} is neither an engine nor a number of processes.")
    with Engine.local(1 if where is None else int(where)) as own:
        yield own


def workers(engine: "Engine | None", n_jobs: int | None) -> "Where":
    """Where to run: on the engine given, else in ``n_jobs`` processes of this machine; one is this process."""
    if engine is None:
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral | None):
            raise TypeError(f"n_jobs={n_jobs!r} must be a whole number of processes, or None.")
        return None if n_jobs in (None, 1) else int(n_jobs)
    from fewer.engine import Engine

    if not isinstance(engine, Engine):
        raise TypeError(f"engine={engine!r} is not an Engine; pass Engine.local(4), or n_jobs=4 for local processes.")
    if n_jobs is not None:
        raise ValueError("engine and n_jobs are both given; pass one of them.")
    return engine


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
    after_first: Callable[[Any, int, Callable[[str], None]], None] | None = None,
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
    after_first : callable, default=None
        Called with the first value, the number of workers, and a function that adds words to the progress line.
    """
    if engine is None and not progress:
        done = _values_here(function, tasks, shared, labels)
    else:
        with engine_for(engine) as running:
            run = running.run(function, tasks, shared=shared, labels=labels, progress=progress, description=description)
            done = {}
            for outcome in run:
                done[outcome.index] = outcome.unwrap()
                if after_first is not None and len(done) == 1:
                    after_first(done[outcome.index], running.n_workers, run.note)
            done = dict(sorted(done.items()))
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


class Table(NamedTuple):
    """What all realisations share."""

    X: Any
    y: np.ndarray
    groups: np.ndarray | None
    scoring: Any


def fitted_on(estimator: Any, table: Table, rows: np.ndarray | None, seed: int) -> Any:
    """The estimator, fitted on some rows or all; what draws in it, and has no seed yet, draws by ``seed``."""
    estimator = seeded(estimator, seed)
    X, y = (table.X, table.y) if rows is None else (rows_of(table.X, rows), table.y[rows])
    if table.groups is not None and is_search(estimator):
        return estimator.fit(X, y, groups=table.groups if rows is None else table.groups[rows])
    return estimator.fit(X, y)


def score_on(fitted: Any, table: Table, rows: np.ndarray) -> float:
    from sklearn.metrics import check_scoring

    return float(check_scoring(fitted, scoring=table.scoring)(fitted, rows_of(table.X, rows), table.y[rows]))


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every unset ``random_state`` is set, those of splitters included."""
    from sklearn.base import clone

    estimator = clone(estimator)
    changes: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=True).items():
        if name.split("__")[-1] == "random_state" and value is None:
            changes[name] = seed
        elif hasattr(value, "split") and getattr(value, "random_state", 0) is None and getattr(value, "shuffle", True):
            changes[name] = copy(value)
            changes[name].random_state = seed
    return estimator.set_params(**changes) if changes else estimator


def all_folds(repeats: list[list[Fold]]) -> list[tuple[int, int, Fold]]:
    """(repeat, number, fold) for every fold of every repeat."""
    return [(repeat, number, fold) for repeat, folds in enumerate(repeats) for number, fold in enumerate(folds)]
