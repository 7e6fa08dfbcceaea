"""Recursive elimination by a linear support vector machine: train, drop the columns with the smallest weights, repeat.

With products ``K = X X'`` of the rows, the machine is ``w = X' beta`` for the beta that solves its dual. Dropping
columns takes their products away from K, and the next machine starts from the last beta, which is nearly right. So the
work of all rounds is about that of two passes over the table, and a few steps in n variables for each round.

Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using support vector
machines. Machine Learning 46, 389-422.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fewer._kernels._hinge_dual import effort_for, hinge_dual
from fewer._kernels._row_products import centred_products
from fewer.learn import OVRLinearSVMCommittee

Weights = Callable[[np.ndarray], np.ndarray]


class Elimination(NamedTuple):
    """Columns from the last one left to the first one dropped, and |w| of each in the last machine that had it."""

    order: np.ndarray
    weights: np.ndarray
    n_rounds: int


class ProductWeights:
    """Weights of machines on fewer and fewer columns, from products of rows that are kept up to date.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their weights.
    """

    def __init__(self, X: Any, products: np.ndarray, signs: np.ndarray, *, C: float, tol: float) -> None:
        self.signs, self.C, self.tol = signs, C, tol
        self.X, self.products = X, products
        self.columns = self.left = np.arange(X.shape[1])
        self.beta = np.zeros(len(signs))
        self.violation = 0.0

    def __call__(self, left: np.ndarray) -> np.ndarray:
        self._drop_all_but(left)
        cost, max_steps, _ = effort_for(self.products.diagonal(), self.C)
        _, violation = hinge_dual(self.products, self.signs, cost, self.tol, max_steps, self.beta)
        self.violation = max(self.violation, violation)
        if np.ptp(self.products @ self.beta) < 10 * self.tol:
            return np.zeros(len(left))  # the best machine has no weights, and those found are noise
        weights = np.asarray(self.X.T @ self.beta).ravel()
        return weights[np.searchsorted(self.columns, left)]

    def _drop_all_but(self, left: np.ndarray) -> None:
        if len(left) == len(self.left):
            return
        if 2 * len(left) <= len(self.columns):
            # From scratch, so that what was taken away leaves no rounding behind that outweighs the rest.
            self.X = self.X[:, np.searchsorted(self.columns, left)]
            self.columns, self.products = left, centred_products(self.X)
        else:
            dropped = np.setdiff1d(self.left, left, assume_unique=True)
            self.products = self.products - centred_products(self.X[:, np.searchsorted(self.columns, dropped)])
        self.left = left


def refitted_weights(X: Any, signs: np.ndarray, *, C: float, tol: float) -> Weights:
    """The same for so many rows that their products would not fit: a machine trained anew for each call."""

    def weights(left: np.ndarray) -> np.ndarray:
        return OVRLinearSVMCommittee(C, tol).fit(X[:, left], signs).coef_[0]

    return weights


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
