"""How well nearest neighbours predict a row that they have not seen, for sets of columns that grow and shrink.

The squared distance of two rows is a sum over columns, so a subset that is one column away costs one more term for each
pair: O(n^2) a candidate, whatever the size of the subset and the number of folds. Leave-one-out and k-fold scores are
read off the same matrix of distances.

*Kernels*: the squared distances of the current set are kept for every pair (query, row), each as an unevaluated sum
``high + low`` of two floats. A candidate adds or takes away one square, in O(1) a pair. With twice the digits of a
float, what is left after a removal is the same float as if the columns had been summed afresh: nothing drifts, and
equal distances stay equal, however the search came to its set.

Pairs that must not meet (a row with itself, rows of one fold) have a distance of ``FAR``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from fewer.select._target import Split, fixed_splits, has_classes
from fewer.select.objectives._objective import CandidateThreads, FoldMeasure, Objective, SubsetScorer


@dataclass
class NearestNeighbourObjective(Objective):
    """Cross-validated score of nearest neighbours, updated column by column.

    The accuracy for classes, minus the mean squared error for numbers, averaged over the folds: the same numbers as
    ``cross_val_score`` with scikit-learn's neighbours gives, far sooner. Of rows at equal distance, the one that comes
    first in the table counts as nearer; of classes with equal votes, the first in sorted order wins. Columns are taken
    as they are: standardise them beforehand if their units differ.

    It needs memory for 20 bytes times the rows squared (times the repeats, if ``cv`` repeats).

    Parameters
    ----------
    n_neighbors : int, default=1
        How many neighbours vote, or are averaged.
    cv : "loo", int, splitter or iterable, default="loo"
        Leave-one-out, or the folds: a number of them (stratified for classes), a splitter of scikit-learn or pairs of
        training and test rows.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds; "auto" takes numbers with fractions, and whole numbers of very many kinds, for a regression,
        anything else for classes.

    See Also
    --------
    SequentialSearch : Searches for the columns that maximise it.
    CrossValidatedScore : The same for any estimator, without the short cut.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fewer.select import NearestNeighbourObjective
    >>> X, y = load_iris(return_X_y=True)
    >>> with NearestNeighbourObjective().start(X, y) as scorer:
    ...     scorer.add(3)
    ...     scorer.score_added(np.array([0, 1, 2])).round(3)
    array([0.927, 0.92 , 0.953])
    """

    n_neighbors: int = 1
    cv: Any = "loo"
    task: str = "auto"

    def start(
        self, X: Any, y: Any, *, n_jobs: int | None = None, random_state: Any = None, groups: Any = None
    ) -> "NearestNeighbourScorer":
        """A scorer for these rows, with the empty subset.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Training table, without missing values.
        y : array-like of shape (n_samples,)
            Classes or numbers.
        n_jobs : int or None, default=None
            Threads that share the candidates.
        random_state : int, RandomState instance or None, default=None
            Shuffles the folds when ``cv`` is a number.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group stay together, where ``cv`` is a number or asks for groups.

        Returns
        -------
        scorer : NearestNeighbourScorer
            Holds the distances.
        """
        y = np.asarray(y)
        classes = has_classes(y, self.task)
        splits = fixed_splits(self.cv, X, y, classifier=classes, random_state=random_state, groups=groups)
        smallest = min(len(train) for train, _ in splits)
        if self.n_neighbors < 1 or smallest < self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must lie between 1 and {smallest}, the number of rows in the smallest "
                "training part of the folds."
            )
        scoring = "accuracy" if classes else "neg_mean_squared_error"
        return NearestNeighbourScorer(
            np.asarray(X, dtype=float), y, splits, self.n_neighbors, classes=classes, scoring=scoring, n_jobs=n_jobs
        )


class NearestNeighbourScorer(SubsetScorer):
    """Distances between all rows in the current subset; made by ``NearestNeighbourObjective.start``.

    ``scales`` (folds, columns) is what each fold multiplies the columns by; None leaves them as they are.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        splits: list[Split],
        n_neighbors: int,
        *,
        classes: bool,
        scoring: Any,
        by_distance: bool = False,
        scales: np.ndarray | None = None,
        n_jobs: int | None,
    ) -> None:
        self._threads = CandidateThreads(n_jobs, sum(len(test) for _, test in splits))
        super().__init__(self._threads.close)
        labels, codes = np.unique(y, return_inverse=True) if classes else (None, np.zeros(len(y), dtype=np.int64))
        self._original = np.argsort(codes, kind="stable")  # rows of a class stand together
        columns, self._scales = _scaled_by_power_of_two(X, scales)
        self._columns = np.ascontiguousarray(columns[self._original].T)
        place = np.empty_like(self._original)
        place[self._original] = np.arange(len(y))
        self._queries = place[np.concatenate([test for _, test in splits])]
        folds = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        self._scale_of = np.zeros_like(folds) if scales is None else folds
        self._high = np.full((len(self._queries), len(y)), FAR)
        query = 0
        for train, test in splits:
            self._high[query : query + len(test), place[train]] = 0.0
            query += len(test)
        self._low = np.zeros_like(self._high)
        self._rough = self._high.astype(np.float32)
        self._measure = FoldMeasure(scoring, [(codes if classes else y)[test] for _, test in splits], labels)
        codes, target = codes[self._original], np.asarray(y)[self._original]
        if classes and n_neighbors == 1 and scales is None and scoring == "accuracy":
            self._scores_of = self._nearest_scores(codes, folds)
        else:
            self._scores_of = self._vote_scores(codes if classes else target.astype(float), n_neighbors, by_distance)

    def _nearest_scores(self, codes: np.ndarray, folds: np.ndarray) -> Callable[[np.ndarray, float], np.ndarray]:
        """From candidates and the sign of their change to the share of rows with a neighbour of their own class."""
        sizes = np.bincount(folds)
        if sizes.max() == 1:  # the mean over single rows is that over all of them
            folds, sizes = np.zeros_like(folds), np.array([len(folds)])
        own = codes[self._queries]
        blocks = (np.searchsorted(codes, own, "left"), np.searchsorted(codes, own, "right"))
        columns = (self._columns, *_rough_columns(self._columns))
        pairs, queries = (self._high, self._low, self._rough), (self._queries, folds, len(sizes))

        def scores(candidates: np.ndarray, sign: float) -> np.ndarray:
            hits = nearest_hits(*pairs, *columns, candidates, sign, *queries, *blocks, self._original)
            return (hits / sizes).mean(axis=1)

        return scores

    def _vote_scores(
        self, target: np.ndarray, n_neighbors: int, by_distance: bool
    ) -> Callable[[np.ndarray, float], np.ndarray]:
        """From candidates and the sign of their change to the score of what their neighbours say."""
        pairs, columns = (self._high, self._low), (self._columns, self._scales, self._scale_of)
        votes = target.dtype.kind == "i"
        rows = (self._original, target, int(target[-1]) + 1) if votes else (self._original, target)
        predicted: Any = neighbour_classes if votes else neighbour_means

        def scores(candidates: np.ndarray, sign: float) -> np.ndarray:
            changes = (candidates, sign, self._queries)
            return self._measure(predicted(*pairs, *columns, *changes, *rows, n_neighbors, by_distance))

        return scores

    def score_added(self, candidates: np.ndarray) -> np.ndarray:
        return self._threads(lambda part: self._scores_of(part, 1.0), candidates)

    def score_removed(self, candidates: np.ndarray) -> np.ndarray:
        return self._threads(lambda part: self._scores_of(part, -1.0), candidates)

    def add(self, column: int) -> None:
        super().add(column)
        self._change(column, 1.0)

    def remove(self, column: int) -> None:
        super().remove(column)
        self._change(column, -1.0)

    def _change(self, column: int, sign: float) -> None:
        scales = self._scales[self._scale_of, column]
        change_distances(self._high, self._low, self._rough, self._columns[column], self._queries, scales, sign)


def _scaled_by_power_of_two(X: np.ndarray, scales: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """X with its largest entry near 1, and so that of X times scales: squares cannot overflow, and no digit changes."""
    largest = np.abs(X).max(initial=0.0)
    X = np.ldexp(X, -int(np.frexp(largest)[1])) if largest > 0 else X
    if scales is None:
        return X, np.ones((1, X.shape[1]))
    widest = (np.ptp(X, axis=0) * scales).max(initial=0.0)
    return X, np.ldexp(scales, -int(np.frexp(widest)[1])) if widest > 0 else scales


def _rough_columns(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns in single precision, how far off they are at most, and the widths of their ranges.

    They are centred first, so that no digit is spent on what all rows share.
    """
    lowest, highest = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    centred = columns - (lowest + highest) / 2
    rough = centred.astype(np.float32)
    spreads = (highest - lowest)[:, 0]
    return rough, np.abs(rough - centred).max(axis=1) + 2.0**-50 * spreads, spreads


FAR = 2.0**120
"""Distance of pairs that must not meet; columns are scaled so that no true distance comes near it."""

# Minima are only vectorised when the compiler may take it that there is no NaN; sums must not be reordered.
_NO_NAN = {"nnan", "nsz"}

_NOTHING = np.float32(np.inf).view(np.int32)


@njit(cache=True, nogil=True, fastmath=_NO_NAN, inline="always")
def _distances_after(high, low, column, at, scale, sign, out):
    """Distances from one query to all rows when one column, times a scale, is added (``sign`` 1) or taken away (-1)."""
    for row in range(out.size):
        gap = (at - column[row]) * scale
        square = sign * (gap * gap)
        total = high[row] + square
        grown = total - high[row]
        lost = (high[row] - (total - grown)) + (square - grown)
        out[row] = total + (lost + low[row])


@njit(cache=True, nogil=True)
def change_distances(high, low, rough, column, queries, scales, sign):
    """Add a column to all distances (``sign`` 1), or take it away (-1), in place.

    ``high``, ``low`` and ``rough`` (``high`` in single precision) are (queries, rows), ``column`` holds the rows'
    values, ``queries`` the row of each query, and ``scales`` what it multiplies the column by.
    """
    for query in range(high.shape[0]):
        at, scale = column[queries[query]], scales[query]
        for row in range(high.shape[1]):
            gap = (at - column[row]) * scale
            square = sign * (gap * gap)
            before = high[query, row]
            total = before + square
            grown = total - before
            lost = (before - (total - grown)) + (square - grown)
            rest = lost + low[query, row]
            high[query, row] = total + rest
            low[query, row] = rest - (high[query, row] - total)
            rough[query, row] = high[query, row]


@njit(cache=True, nogil=True, fastmath=_NO_NAN, inline="always")
def _smallest(values, start, stop):
    least = np.inf
    for place in range(start, stop):
        least = values[place] if values[place] < least else least
    return least


@njit(cache=True, nogil=True)
def _first_original(values, least, start, stop, original, first):
    """The lowest original row number among those at the least distance, or ``first`` if that is lower."""
    for place in range(start, stop):
        if values[place] == least and original[place] < first:
            first = original[place]
    return first


@njit(cache=True, nogil=True)
def _hits_exactly(high, low, column, at, sign, start, stop, original, distances):
    """Whether the nearest row, to the last digit, is one of those from ``start`` to ``stop``."""
    n_rows = distances.size
    _distances_after(high, low, column, at, 1.0, sign, distances)
    own = _smallest(distances, start, stop)
    other = min(_smallest(distances, 0, start), _smallest(distances, stop, n_rows))
    if own != other:
        return own < other
    unknown = np.iinfo(np.int64).max
    first_own = _first_original(distances, own, start, stop, original, unknown)
    first_other = _first_original(distances, own, 0, start, original, unknown)
    return first_own < _first_original(distances, own, stop, n_rows, original, first_other)


# Floats that are not negative have the order of their bits read as integers, and only minima of integers are
# vectorised. A distance that rounding made negative is taken for a smaller one than it is, by less than the rounding.


@njit(cache=True, nogil=True)
def _least_with(rough, column, at):
    """Least distance when a column is added, in single precision."""
    least = _NOTHING
    for row in range(rough.size):
        gap = at - column[row]
        least = min(least, np.float32(rough[row] + gap * gap).view(np.int32))
    return np.int32(least).view(np.float32)


@njit(cache=True, nogil=True)
def _least_without(rough, column, at):
    """Least distance when a column is taken away, in single precision."""
    least = _NOTHING
    for row in range(rough.size):
        gap = at - column[row]
        least = min(least, np.float32(rough[row] - gap * gap).view(np.int32))
    return np.int32(least).view(np.float32)


@njit(cache=True, nogil=True)
def _rough_error(distance, rounding, spread, sign):
    """Bound on the error of a least distance in single precision.

    Five roundings are within ``2**-20`` of the largest number met, and a coordinate that is off by ``rounding`` moves a
    square by as much times the gap. When a column is added, no number exceeds the distance itself; when one is taken
    away, its square, at most ``spread`` squared, was in the distance before.
    """
    largest = abs(distance) + (0.0 if sign > 0 else spread * spread)
    return 2.0**-20 * largest + 8 * rounding * np.sqrt(largest) + 16 * rounding * rounding + 2.0**-120


@njit(cache=True, nogil=True)
def nearest_hits(
    high,
    low,
    rough,
    columns,
    rough_columns,
    roundings,
    spreads,
    candidates,
    sign,
    queries,
    folds,
    n_folds,
    starts,
    stops,
    original,
):
    """How many queries of each fold have a nearest neighbour of their own class, for each candidate column.

    Rows are sorted by class: those of the class of ``query`` are ``starts[query]`` to ``stops[query]``. So only two
    minima are needed, and no position. They are compared in single precision first (``rough``); only where these are
    too close to call are all digits used. Of equal distances, the row that came first in the table (``original``)
    decides.
    """
    hits = np.zeros((candidates.size, n_folds), dtype=np.int64)
    distances = np.empty(high.shape[1])
    for index in range(candidates.size):
        candidate = candidates[index]
        column, rough_column = columns[candidate], rough_columns[candidate]
        for query in range(queries.size):
            start, stop, row = starts[query], stops[query], queries[query]
            at = rough_column[row]
            if sign > 0:
                own = _least_with(rough[query, start:stop], rough_column[start:stop], at)
                before = _least_with(rough[query, :start], rough_column[:start], at)
                after = _least_with(rough[query, stop:], rough_column[stop:], at)
            else:
                own = _least_without(rough[query, start:stop], rough_column[start:stop], at)
                before = _least_without(rough[query, :start], rough_column[:start], at)
                after = _least_without(rough[query, stop:], rough_column[stop:], at)
            other = min(before, after)
            larger = max(np.float64(own), np.float64(other))
            if abs(np.float64(own) - np.float64(other)) > 2 * _rough_error(
                larger, roundings[candidate], spreads[candidate], sign
            ):
                hit = own < other
            else:
                hit = _hits_exactly(
                    high[query], low[query], column, column[row], sign, start, stop, original, distances
                )
            if hit:
                hits[index, folds[query]] += 1
    return hits


@njit(cache=True, nogil=True)
def _note_nearest(distances, original, nearest_distance, nearest):
    """Fill in the nearest rows, nearest first; of equal distances, the row that came first in the table."""
    n_neighbors = nearest.size
    nearest_distance[:] = np.inf
    nearest[:] = -1
    for row in range(distances.size):
        distance = distances[row]
        if distance > nearest_distance[n_neighbors - 1]:
            continue
        place = n_neighbors - 1
        if distance == nearest_distance[place] and nearest[place] >= 0 and original[row] > original[nearest[place]]:
            continue
        while place > 0 and (
            nearest[place - 1] < 0
            or distance < nearest_distance[place - 1]
            or (distance == nearest_distance[place - 1] and original[row] < original[nearest[place - 1]])
        ):
            nearest_distance[place] = nearest_distance[place - 1]
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest_distance[place] = distance
        nearest[place] = row


@njit(cache=True, nogil=True)
def _note_weights(distances, by_distance, weights):
    """What each neighbour counts: equally much, or by its inverse distance; a row at no distance decides alone."""
    there = by_distance and distances[0] <= 0.0  # the nearest comes first
    for place in range(weights.size):
        if there:
            weights[place] = 1.0 if distances[place] <= 0.0 else 0.0
        else:
            weights[place] = 1.0 / np.sqrt(distances[place]) if by_distance else 1.0


@njit(cache=True, nogil=True)
def neighbour_classes(
    high,
    low,
    columns,
    scales,
    scale_of,
    candidates,
    sign,
    queries,
    original,
    classes,
    n_classes,
    n_neighbors,
    by_distance,
):
    """Class of each query (candidates, queries) by a vote of its neighbours; of equal votes, the first class wins.

    ``scales`` (scalings, columns) multiply the columns, ``scale_of`` tells the scaling of each query.
    """
    found = np.empty((candidates.size, queries.size), dtype=np.int64)
    distances = np.empty(high.shape[1])
    nearest_distance, weights = np.empty(n_neighbors), np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    votes = np.empty(n_classes)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            scale = scales[scale_of[query], candidates[index]]
            _distances_after(high[query], low[query], column, column[queries[query]], scale, sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            _note_weights(nearest_distance, by_distance, weights)
            votes[:] = 0.0
            for place in range(n_neighbors):
                votes[classes[nearest[place]]] += weights[place]
            found[index, query] = np.argmax(votes)
    return found


@njit(cache=True, nogil=True)
def neighbour_means(
    high, low, columns, scales, scale_of, candidates, sign, queries, original, target, n_neighbors, by_distance
):
    """Mean of the target over the neighbours of each query (candidates, queries)."""
    found = np.empty((candidates.size, queries.size))
    distances = np.empty(high.shape[1])
    nearest_distance, weights = np.empty(n_neighbors), np.empty(n_neighbors)
    nearest = np.empty(n_neighbors, dtype=np.int64)
    for index in range(candidates.size):
        column = columns[candidates[index]]
        for query in range(queries.size):
            scale = scales[scale_of[query], candidates[index]]
            _distances_after(high[query], low[query], column, column[queries[query]], scale, sign, distances)
            _note_nearest(distances, original, nearest_distance, nearest)
            _note_weights(nearest_distance, by_distance, weights)
            total, weight = 0.0, 0.0
            for place in range(n_neighbors):
                total += weights[place] * target[nearest[place]]
                weight += weights[place]
            found[index, query] = total / weight
    return found
