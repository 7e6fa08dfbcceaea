"""The statistics of one permutation test: on the data as they are, and on each randomised version of them.

Every data set is known by its number, and drawn from a seed of its own, so that it is the same whoever computes it. A
sequential test stops at its h-th hit, in the order of the numbers.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import NOT_KNOWN, FastRoute, note_slow
from fewer.evaluate._label_permutations import SharedWork
from fewer.evaluate._permutation_protocol import PERMUTATION, REPEAT, Protocol, run_seeds
from fewer.evaluate._permutation_result import stopping_times
from fewer.evaluate._randomize import Null, permuted_rows, randomize
from fewer.evaluate._tasks import engine_for

if TYPE_CHECKING:
    from fewer.evaluate._tasks import Where


@dataclass(frozen=True)
class Experiment:
    """All that a worker needs to compute the statistic of any randomised data set by its number."""

    protocol: Protocol
    X: Any
    y: np.ndarray
    null: Null
    root: np.random.SeedSequence
    permutations: np.ndarray | None = None
    columns: Any = None
    jointly: bool = False
    shared: SharedWork | None = None
    fast_route: FastRoute = NOT_KNOWN

    def repeat(self, index: int) -> float:
        """Statistic of the data as they are."""
        _, seeds = run_seeds(self.root, REPEAT, index)
        return self.protocol.statistic(self.X, self.y, seeds)

    def draws(self, indices: range) -> np.ndarray:
        """Statistics of the randomised data sets with these numbers."""
        if self.shared is None:
            return np.array([self._draw(index) for index in indices])
        orders, seeds = [], []
        for index in indices:
            draw, run = run_seeds(self.root, PERMUTATION, index)
            orders.append(self._order(index, draw))
            seeds.append(run)
        return self.shared.statistics(self.protocol, self.X, self.y, np.array(orders), np.array(seeds))

    def _draw(self, index: int) -> float:
        draw, seeds = run_seeds(self.root, PERMUTATION, index)
        if self.null == "labels":
            return self.protocol.statistic(self.X, self.y[self._order(index, draw)], seeds)
        rng = np.random.default_rng(draw)
        groups, columns, jointly = self.protocol.groups, self.columns, self.jointly
        X, y = randomize(self.X, self.y, self.null, rng, groups=groups, columns=columns, jointly=jointly)
        return self.protocol.statistic(X, y, seeds)

    def _order(self, index: int, draw: np.random.SeedSequence) -> np.ndarray:
        if self.permutations is not None:
            return self.permutations[index]
        return permuted_rows(len(self.y), self.protocol.groups, np.random.default_rng(draw))


def _compute(task: "int | range", experiment: Experiment) -> "float | np.ndarray":
    """A repeat by its number, or some randomised data sets by theirs."""
    return experiment.repeat(task) if isinstance(task, int) else experiment.draws(task)


def statistics_of(
    experiment: Experiment,
    n_permutations: int,
    n_repeats: int,
    stop_after: int | None,
    higher_is_better: bool,
    engine: "Where",
    progress: Any,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Statistics of the repeats and of the randomised data sets, and whether Ctrl-C cut them short."""
    observed = np.full(n_repeats, np.nan)
    null_values = np.full(n_permutations, np.nan)
    with engine_for(engine) as running:
        size = 1 if experiment.shared is None else experiment.shared.batch_size(n_permutations, running.n_workers)
        batches = [range(start, min(start + size, n_permutations)) for start in range(0, n_permutations, size)]
        tasks: list[int | range] = [*range(n_repeats), *batches]
        run = running.run(
            _compute, tasks, shared=experiment, labels=_label, progress=progress, description="Permutation test"
        )
        for n_done, outcome in enumerate(run):
            value = outcome.unwrap()
            if n_done == 0:
                seconds = outcome.seconds * len(tasks) / running.n_workers
                note_slow(f"The permutation test ({n_permutations:,} permutations)", seconds, experiment.fast_route)
            if isinstance(outcome.task, int):
                observed[outcome.task] = value
            else:
                null_values[outcome.task.start : outcome.task.stop] = value
            if stop_after is not None and _seen_enough(observed, null_values, higher_is_better, stop_after):
                run.close()
                break
        interrupted = run.interrupted
    if np.isnan(observed).all() or np.isnan(null_values).all():
        raise KeyboardInterrupt("interrupted before the error on the data and one permutation were known.")
    observed = observed[~np.isnan(observed)]
    if stop_after is not None:
        null_values = _up_to_stop(observed, _first_gap_cut(null_values), higher_is_better, stop_after)
    return observed, null_values[~np.isnan(null_values)], interrupted


def _first_gap_cut(values: np.ndarray) -> np.ndarray:
    """The values before the first that is not known yet: what was drawn in order, whoever was faster."""
    gaps = np.flatnonzero(np.isnan(values))
    return values[: gaps[0]] if len(gaps) else values


def _seen_enough(observed: np.ndarray, null_values: np.ndarray, higher_is_better: bool, hits: int) -> bool:
    if np.isnan(observed).any():
        return False
    return bool(np.all(stopping_times(_first_gap_cut(null_values), observed, higher_is_better, hits) > 0))


def _up_to_stop(observed: np.ndarray, null_values: np.ndarray, higher_is_better: bool, hits: int) -> np.ndarray:
    times = stopping_times(null_values, observed, higher_is_better, hits)
    return null_values[: times.max()] if np.all(times > 0) else null_values


def _label(task: "int | range") -> str:
    if isinstance(task, int):
        return f"the error on the data, repeat {task + 1}"
    if len(task) == 1:
        return f"permutation {task.start + 1}"
    return f"permutations {task.start + 1} to {task.stop}"
