"""The engine: one way to run many independent tasks, on this machine or on a cluster."""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sized
from typing import TYPE_CHECKING, Any, Self

from fewer.engine._run import Observer, Run, Session, display

if TYPE_CHECKING:
    from distributed import Client


class Engine(ABC):
    """Runs many independent tasks and gives their outcomes as they finish.

    Make one with ``Engine.local`` or ``Engine.dask``, and close it when done, best by a ``with`` statement.

    No task can stop the others: one that raises, returns what cannot be pickled, or kills its worker comes back as an
    ``Outcome`` with a ``Failure``. A worker that dies is replaced, and the task that it was running starts again, three
    times at most. Tasks that run side by side share the cores: BLAS, OpenMP and joblib calls inside a task use
    ``cores // workers`` threads.

    A backend derives from this class and defines ``n_workers``, ``_session`` and ``_release``.

    Examples
    --------
    >>> from fewer.engine import Engine
    >>> def power(exponent, base):
    ...     return base**exponent
    >>> with Engine.local(1) as engine:
    ...     run = engine.run(power, range(4), shared=10)
    ...     [outcome.value for outcome in run.collect()]
    [1, 10, 100, 1000]
    """

    def __init__(self) -> None:
        self._closed = False
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()

    @staticmethod
    def local(n_jobs: int | None = None) -> "Engine":
        """Engine on this machine.

        Parameters
        ----------
        n_jobs : int or None, default=None
            Number of worker processes: None or -1 for one on each core that this process may use, -2 for all cores
            but one, and so on. With 1, tasks run in this process.

        Returns
        -------
        engine : Engine
            Workers start with the first run and stay for the next ones.

        Examples
        --------
        >>> from fewer.engine import Engine
        >>> Engine.local(2)
        Engine.local(2)
        """
        from fewer.engine._local import LocalEngine

        return LocalEngine(n_jobs)

    @staticmethod
    def dask(address: str | None = None, *, client: "Client | None" = None) -> "Engine":
        """Engine on a Dask cluster; needs the extra ``fewer[dask]``.

        Parameters
        ----------
        address : str or None, default=None
            Address of the scheduler, such as ``"tcp://10.0.0.5:8786"``. The connection is closed with the engine.
        client : distributed.Client or None, default=None
            A client that is connected already; it stays open. With neither address nor client, the current client
            of this process is used.

        Returns
        -------
        engine : Engine
            An engine that runs its tasks on the workers of the cluster.

        Examples
        --------
        >>> from fewer.engine import Engine
        >>> engine = Engine.dask("tcp://10.0.0.5:8786")  # doctest: +SKIP
        """
        from fewer.engine._dask import DaskEngine

        return DaskEngine(address, client=client)

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many tasks run side by side."""

    @abstractmethod
    def _session(
        self, function: Callable[..., Any], shared: tuple[Any, ...], *, n_short_tasks: int | None = None
    ) -> Session:
        """A place for one run of ``function``; ``shared`` holds nothing, or the one thing that all tasks share.

        Where tasks are expected to be short, and their number is known, it is ``n_short_tasks``.
        """

    @abstractmethod
    def _release(self) -> None:
        """Release workers and connections."""

    @property
    def closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    def run(
        self,
        function: Callable[..., Any],
        tasks: Iterable[Any],
        *,
        shared: Any = None,
        labels: Callable[[Any], str] | Iterable[str] | None = None,
        progress: bool | str | Observer = False,
        description: str = "Running",
        short_tasks: bool = False,
    ) -> Run:
        """Run a function on many tasks.

        Parameters
        ----------
        function : callable
            Called as ``function(task)``, or as ``function(task, shared)`` when ``shared`` is given. Its value must
            depend on its arguments alone: a task may run anywhere, in any order, and twice when a worker dies.
        tasks : iterable
            The tasks. May be a generator, even an endless one: a few tasks for each worker are taken ahead, some
            more when tasks take only milliseconds.
        shared : object, default=None
            Data that every task needs, such as the table: sent once to each worker, not with each task. Its
            arrays are read-only in the tasks, and on this machine all workers share one copy of them.
        labels : callable, iterable of str or None, default=None
            Names of the tasks for messages: a function of the task, or one name for each task.
        progress : bool, "auto" or callable, default=False
            True shows a progress bar on the error stream, "auto" only when that is a terminal. A function is called
            with the number of tasks done, their total (None when unknown) and the latest outcome.
        description : str, default="Running"
            Text beside the bar.
        short_tasks : bool, default=False
            Tasks are expected to take fractions of a second. On this machine they then run in this process, until those
            left are expected to take longer than worker processes take to start.

        Returns
        -------
        run : Run
            Iterator of ``Outcome``, in the order in which they finish.

        Raises
        ------
        TypeError
            When the function cannot be called, or it or the shared data cannot be pickled.

        Examples
        --------
        >>> from fewer.engine import Engine
        >>> with Engine.local(1) as engine:
        ...     run = engine.run(len, ["one", "three"], progress=lambda done, total, outcome: print(done, "of", total))
        ...     [outcome.value for outcome in run]
        1 of 2
        2 of 2
        [3, 5]
        """
        if self._closed:
            raise RuntimeError("This engine is closed; make a new one.")
        if not callable(function):
            raise TypeError(f"function must be callable, not {function!r}.")
        total = len(tasks) if isinstance(tasks, Sized) else None
        session = self._session(
            function, () if shared is None else (shared,), n_short_tasks=total if short_tasks else None
        )
        run = Run(session, tasks, _labels_by_index(labels), lambda: display(progress, description, total))
        self._runs.add(run)
        return run

    def close(self) -> None:
        """Stop all runs of this engine, and its workers."""
        if self._closed:
            return
        self._closed = True
        for run in list(self._runs):
            run._abandon(
                RuntimeError(
                    "The engine was closed before this run had ended; iterate over a run inside the with block."
                )
            )
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _labels_by_index(labels: Callable[[Any], str] | Iterable[str] | None) -> Callable[[int, Any], str]:
    if labels is None:
        return lambda index, task: f"task {index}"
    if callable(labels):
        return lambda index, task: labels(task)
    names = iter(labels)
    return lambda index, task: next(names, f"task {index}")
