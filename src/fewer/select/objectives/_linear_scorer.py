"""The frame of objectives that are linear rules on a subset: ridge regression, discriminants, distances."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from fewer.select.objectives._objective import SubsetScorer
from fewer.select.objectives._subset_products import Change, Fit, SubsetProducts

_ENTRIES_AT_ONCE = 2**23


class LinearScorer(SubsetScorer):
    """Keeps the products of the subset's columns; who derives from it turns changes into scores."""

    def __init__(self, products: SubsetProducts) -> None:
        super().__init__()
        self._products = products
        self._block = max(1, _ENTRIES_AT_ONCE // len(products.rows))

    @abstractmethod
    def _scores(self, fits: list[Fit], changes: list[Change]) -> np.ndarray:
        """J after each change, given the factors of the subset before it and the changes, one of each for a fold."""

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._in_blocks(np.asarray(candidates, dtype=np.int64), self._added)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        candidates = np.asarray(candidates, dtype=np.int64)
        fits = self._products.fits(self.subset)
        if all(len(fit.columns) == len(self.subset) for fit in fits):
            return self._in_blocks(candidates, self._removed)
        # A column that others determined may matter again when one of them leaves.
        return np.concatenate([self._without(int(column)) for column in candidates])

    def add(self, column: int) -> None:
        super().add(column)
        self._products.add(column)

    def remove(self, column: int) -> None:
        super().remove(column)
        self._products.remove(column)

    def _added(self, candidates: np.ndarray) -> np.ndarray:
        fits = self._products.fits(self.subset)
        return self._scores(fits, [self._products.added(fold, fit, candidates) for fold, fit in enumerate(fits)])

    def _removed(self, candidates: np.ndarray) -> np.ndarray:
        fits = self._products.fits(self.subset)
        return self._scores(fits, [self._products.removed(fit, candidates) for fit in fits])

    def _without(self, column: int) -> np.ndarray:
        fits = self._products.fits([kept for kept in self.subset if kept != column])
        return self._scores(fits, [self._products.nothing(fit) for fit in fits])

    def _in_blocks(self, candidates: np.ndarray, scores: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        starts = range(0, len(candidates), self._block)
        return np.concatenate([scores(candidates[start : start + self._block]) for start in starts])


class LeftOutScorer(LinearScorer):
    """The same for rules that tell from one fit on all rows how the one without a row would be.

    Where the fit hangs on a single row they cannot, and give NaN; then fits without each row are made, one by one.
    """

    @abstractmethod
    def _one_by_one(self) -> LinearScorer:
        """A scorer that fits without each row."""

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._completed(super().score_added(candidates), candidates, "score_added")

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        return self._completed(super().score_removed(candidates), candidates, "score_removed")

    def _completed(self, scores: np.ndarray, candidates: np.ndarray, question: str) -> np.ndarray:
        unclear = np.isnan(scores)
        if unclear.any():
            one_by_one = self._one_by_one()
            one_by_one.move_to(self.subset)
            scores[unclear] = getattr(one_by_one, question)(np.asarray(candidates)[unclear])
        return scores


def as_slice(rows: np.ndarray) -> slice | np.ndarray:
    """The same rows as a slice, where that is possible: no copy is needed then."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return rows


def places_in(order: np.ndarray, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Where rows stand in an order, ascending."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return [np.sort(place[each]) for each in rows]
