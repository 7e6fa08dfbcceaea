"""Recursive elimination: fit a model, drop the columns with the smallest weights, repeat on those left.

The loop is the same for every model; a model is a function that gives weights of the columns left. With products
``K = X X'`` of the rows, dropping columns takes their products away from K, so that the work of all rounds is about
that of two passes over the table.

Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using support vector
machines. Machine Learning 46, 389-422.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fewer._kernels._row_products import centred_products

Weights = Callable[[np.ndarray], np.ndarray]


class Elimination(NamedTuple):
    """Columns from the last one left to the first one dropped, and |w| of each in the last model that had it."""

    order: np.ndarray
    weights: np.ndarray
    n_rounds: int


class RowProducts:
    """Products of centred rows over fewer and fewer columns, kept up to date.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their products;
    ``weights(beta)`` gives ``X' beta`` of these columns.
    """

    def __init__(self, X: Any, products: np.ndarray | None = None) -> None:
        self.X, self.products = X, centred_products(X) if products is None else products
        self.columns = self.left = np.arange(X.shape[1])

    def __call__(self, left: np.ndarray) -> np.ndarray:
        if len(left) == len(self.left):
            return self.products
        if 2 * len(left) <= len(self.columns):
            # From scratch, so that what was taken away leaves no rounding behind that outweighs the rest.
            self.X = self.X[:, np.searchsorted(self.columns, left)]
            self.columns, self.products = left, centred_products(self.X)
        else:
            dropped = np.setdiff1d(self.left, left, assume_unique=True)
            self.products = self.products - centred_products(self.X[:, np.searchsorted(self.columns, dropped)])
        self.left = left
        return self.products

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """One row of weights for each column left."""
        return np.asarray(self.X.T @ beta)[np.searchsorted(self.columns, self.left)]


def n_dropped(n_left: int, step: float) -> int:
    """Columns to drop in a round: a number of them, or with a step below 1 that share of those left; at least one."""
    return min(max(1, int(step * n_left) if step < 1 else int(step)), n_left - 1)


def elimination(
    weights: Weights, n_columns: int, step: float, on_round: Callable[[int], bool] = lambda n_left: False
) -> Elimination:
    """Drop columns until one is left; ``on_round`` may return True to stop and rank those left by their weights."""
    left = np.arange(n_columns)
    order, last = np.empty(n_columns, dtype=np.intp), np.empty(n_columns)
    n_rounds, stopped = 0, False
    while len(left) > 1 and not stopped:
        size = np.abs(weights(left))
        last[left] = size
        n_rounds += 1
        best_first = np.argsort(-size, kind="stable")
        n_kept = len(left) - n_dropped(len(left), step)
        order[: len(left)] = left[best_first]
        stopped = on_round(n_kept)
        left = np.sort(left[best_first[:n_kept]])
    if n_columns == 1:
        order[0], last[0], n_rounds = 0, np.abs(weights(left))[0], 1
    return Elimination(order, last, n_rounds)
