"""Predictions of k-NN for every subset on a path: distances are sums over columns, so each column is added once."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fewer._kernels._path_neighbours import path_neighbours
from fewer._kernels._read_only import read_only
from fewer.evaluate._subset_path import SubsetPath


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
