"""Closed forms of k nearest neighbours: distances do not depend on labels, and are sums over columns.

For label permutations neighbours are found once. On a path of subsets each column is added to the distances once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fewer._kernels._arrays import read_only
from fewer.evaluate.curves._subset_path import SubsetPath
from fewer.evaluate.fast import Routes
from fewer.evaluate.fast._kernels import neighbour_votes, path_neighbours

_ROUNDING = 1e-13
"""Relative error of a squared distance that was computed from inner products."""


@dataclass(frozen=True)
class NeighboursRoute:
    """Neighbours of each row, near to far, and how they vote."""

    order: np.ndarray
    distances: np.ndarray
    slack: np.ndarray
    n_neighbors: int
    by_distance: bool
    name: str = "shared neighbours"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and folds where a tie decides."""
        predicted = np.zeros(labels.shape, dtype=np.int64)
        unsure = np.zeros(labels.shape, dtype=bool)
        neighbour_votes(
            self.order, self.distances, self.slack, labels, folds, self.n_neighbors, self.by_distance, n_classes,
            predicted, unsure,
        )  # fmt: skip
        doubtful = np.zeros((len(labels), n_folds), dtype=bool)
        labelling, row = np.nonzero(unsure)
        doubtful[labelling, folds[labelling, row]] = True
        return predicted, doubtful


@dataclass(frozen=True)
class FoldNeighboursRoute:
    """Neighbours of each left-out row among the training rows of one fold, as scikit-learn finds them."""

    neighbours: np.ndarray
    weights: np.ndarray | None
    name: str = "shared neighbours"

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple:
        """Predicted labels, and labellings where two classes have votes equal up to rounding."""
        n_left_out = len(self.neighbours)
        n_train = labels.shape[1] - n_left_out
        voters = labels[:, self.neighbours]
        votes = np.empty((n_classes, len(labels), n_left_out))
        for label in range(n_classes):
            own = voters == label
            votes[label] = own.sum(axis=2) if self.weights is None else (own * self.weights).sum(axis=2)
        predicted = np.zeros(labels.shape, dtype=np.int64)
        predicted[:, n_train:] = votes.argmax(axis=0)
        doubtful = np.zeros((len(labels), 1), dtype=bool)
        if self.weights is not None:
            top = np.sort(votes, axis=0)
            doubtful[:, 0] = (top[-1] - top[-2] <= 1e-9 * top[-1]).any(axis=1)
        return predicted, doubtful


def neighbours_route(learner: Any, X: np.ndarray, n_train: int | None) -> NeighboursRoute | FoldNeighboursRoute | None:
    """Route of a KNeighborsClassifier whose votes are equal or weighed by distance."""
    names = ("algorithm", "leaf_size", "metric", "p", "metric_params", "n_jobs")
    settings = {name: getattr(learner, name) for name in names}
    if n_train is not None:
        return _fold_route(learner, X[:n_train], X[n_train:], settings)
    return _whole_route(learner, X, settings)


def _fold_route(learner: Any, held_in: np.ndarray, left_out: np.ndarray, settings: dict) -> FoldNeighboursRoute | None:
    from sklearn.neighbors import NearestNeighbors

    if learner.n_neighbors > len(held_in):
        return None
    searcher = NearestNeighbors(n_neighbors=learner.n_neighbors, **settings).fit(held_in)
    if learner.weights == "uniform":
        return FoldNeighboursRoute(searcher.kneighbors(left_out, return_distance=False), None)
    distances, neighbours = searcher.kneighbors(left_out)
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    on_top = np.isinf(weights)
    weights[on_top.any(axis=1)] = on_top[on_top.any(axis=1)]
    return FoldNeighboursRoute(neighbours, weights)


def _whole_route(learner: Any, X: np.ndarray, settings: dict) -> NeighboursRoute | None:
    from sklearn.neighbors import NearestNeighbors

    n_listed = min(len(X) - 1, 4 * learner.n_neighbors + 60)
    if n_listed < learner.n_neighbors:
        return None
    distances, order = NearestNeighbors(n_neighbors=n_listed, **settings).fit(X).kneighbors()
    size = float(np.abs(X).max(initial=0.0)) * np.sqrt(X.shape[1])
    with np.errstate(divide="ignore"):
        slack = 1e-9 * distances + np.minimum(_ROUNDING * size**2 / distances, 1e-6 * size)
    return NeighboursRoute(order, distances, slack, learner.n_neighbors, learner.weights == "distance")


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, path: SubsetPath, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each subset; of equal votes, the first class wins."""
    if model.n_neighbors > len(train):
        return None
    classes, codes = np.unique(y, return_inverse=True)
    nearest, weights = _neighbours(model, train, test, path, sizes)
    votes = np.stack(
        [np.where(codes[nearest] == code, weights, 0.0).sum(axis=2) for code in range(len(classes))], axis=2
    )
    return classes[votes.argmax(axis=2)]


def value_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, path: SubsetPath, sizes: list[int]
) -> np.ndarray | None:
    """Mean of the neighbours' values for each test row and subset."""
    if model.n_neighbors > len(train):
        return None
    nearest, weights = _neighbours(model, train, test, path, sizes)
    return (weights * y[nearest]).sum(axis=2) / weights.sum(axis=2)


def _neighbours(model: Any, train: np.ndarray, test: np.ndarray, path: SubsetPath, sizes: list[int]) -> tuple:
    schedule = list(_schedule(path, sizes))
    columns = np.concatenate([added for added, _ in schedule])
    stops = np.cumsum([len(added) for added, _ in schedule])
    afresh = np.array([fresh for _, fresh in schedule])
    nearest, squares = path_neighbours(
        read_only(np.ascontiguousarray(train.T)),
        read_only(np.ascontiguousarray(test)),
        columns,
        stops,
        afresh,
        model.n_neighbors,
    )
    if model.weights == "uniform":
        return nearest, np.ones_like(squares)
    # A neighbour at distance 0 has the only say, as in scikit-learn.
    there = (squares == 0).any(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        weights = np.where(there, squares == 0, 1 / np.sqrt(squares))
    return nearest, weights


def _schedule(path: SubsetPath, sizes: list[int]) -> Iterator[tuple[np.ndarray, bool]]:
    """For each size, the columns to add and whether to start afresh because one of those before has left."""
    if path.order is not None:
        for start, stop in pairwise([0, *sizes]):
            yield path.order[start:stop], False
        return
    inside: set[int] = set()
    for size in sizes:
        members = set(path.columns(size).tolist())
        fresh = not inside <= members
        added = members if fresh else members - inside
        yield np.array(sorted(added), dtype=np.intp), fresh
        inside = members


ROUTES = Routes(neighbours_route, class_predictions, value_predictions)
