"""Best-first search: always go on from the best subset that has not been expanded yet.

Expanding a subset scores it with each other column added. The search ends after a number of expansions in a row that
found nothing better, so it can pass through a few worse subsets where a plain forward search would stop.
"""

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# What a subset must be better by to count as better.
LEAST_GAIN = 1e-5


class BestFirst(NamedTuple):
    """The best subset (its columns in order of entry), its merit, and how many subsets were expanded."""

    subset: tuple[int, ...]
    merit: float
    n_expansions: int


def best_first(
    merits_with: Callable[[tuple[int, ...]], np.ndarray],
    *,
    max_stale: int,
    on_step: Callable[[BestFirst], bool] = lambda found: False,
) -> BestFirst:
    """Search from the empty subset, whose merit is 0.

    Parameters
    ----------
    merits_with : callable
        From a subset to the merits with each column added, one number for each column; minus infinity for those that
        cannot be added.
    max_stale : int
        End after so many expansions in a row without a better subset.
    on_step : callable
        Called after each expansion; may return True to stop and keep what there is.

    Returns
    -------
    found : BestFirst
        Of subsets with the same merit, the one found first.
    """
    found = BestFirst((), 0.0, 0)
    frontier = _Frontier()
    subset: tuple[int, ...] | None = ()
    stale = 0
    while subset is not None:
        merits = merits_with(subset)
        best = int(np.argmax(merits))
        n_expansions = found.n_expansions + 1
        if merits[best] > found.merit + LEAST_GAIN:
            found, stale = BestFirst((*subset, best), float(merits[best]), n_expansions), 0
        else:
            found, stale = found._replace(n_expansions=n_expansions), stale + 1
        if on_step(found) or stale >= max_stale:
            break
        frontier.add(subset, merits)
        subset = frontier.best()
    return found


class _Frontier:
    """Subsets that are scored and not expanded yet.

    Every expanded subset has one entry, its best child that is left; so the queue stays short, however wide the table.
    """

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, int]] = []  # minus the merit, the parent, the child's place in its order
        self._parents: list[tuple[tuple[int, ...], np.ndarray, np.ndarray]] = []
        self._expanded: set[frozenset[int]] = set()

    def add(self, parent: tuple[int, ...], merits: np.ndarray) -> None:
        """Put in all children of a subset."""
        self._expanded.add(frozenset(parent))
        self._parents.append((parent, np.argsort(-merits, kind="stable"), merits))
        self._put(len(self._parents) - 1, 0)

    def _put(self, parent: int, place: int) -> None:
        _, order, merits = self._parents[parent]
        if place < len(order) and merits[order[place]] > -np.inf:
            heapq.heappush(self._queue, (-merits[order[place]], parent, place))

    def best(self) -> tuple[int, ...] | None:
        """Take out the best subset that was not expanded in another order of its columns; None if there is none."""
        while self._queue:
            _, parent, place = heapq.heappop(self._queue)
            subset, order, _ = self._parents[parent]
            self._put(parent, place + 1)
            child = (*subset, int(order[place]))
            if frozenset(child) not in self._expanded:
                return child
        return None
