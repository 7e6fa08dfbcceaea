"""Label permutations of k nearest neighbours: distances know nothing of labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._kernels._neighbour_votes import neighbour_votes

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
