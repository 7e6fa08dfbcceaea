"""How well nearest neighbours predict a row that they have not seen, for sets of columns that grow and shrink.

The squared distance of two rows is a sum over columns, so a subset that is one column away costs one more term for each
pair: O(n^2) a candidate, whatever the size of the subset and the number of folds. Leave-one-out and k-fold scores are
read off the same matrix of distances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._kernels._nearest import FAR, change_distances, nearest_hits, neighbour_classes, neighbour_means
from fewer.select._folds import Split, fixed_splits
from fewer.select.objectives._fold_measure import FoldMeasure
from fewer.select.objectives._objective import Objective, SubsetScorer
from fewer.select.objectives._target import has_classes
from fewer.select.objectives._threads import CandidateThreads


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
            Training table, without holes.
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
