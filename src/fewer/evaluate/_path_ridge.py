"""Predictions of ridge regression for every leading set of columns from one Cholesky factor.

With centred columns in their order, ``G = X'X + alpha I = L L'``. The leading blocks of L are the factors of the
smaller sets, and forward substitution only looks back, so with ``u = L^-1 X'y`` and ``V = L^-1 X_test'`` the
prediction of the first s columns is ``sum_{j <= s} V[j] u[j]``: all sizes cost as much as the largest. Sets with more
columns than rows use the inner products of rows, ``K_s = sum_{j <= s} x_j x_j'``, which grow column by column.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg

from fewer.evaluate._row_blocks import row_blocks


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray:
    """Class of each test row for each size."""
    from sklearn.utils.class_weight import compute_sample_weight

    classes, codes = np.unique(y, return_inverse=True)
    targets = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    weights = compute_sample_weight(model.class_weight, y) if model.class_weight else None
    if len(classes) == 2:
        decisions = _predictions(model, train, targets[:, 1:], test, order, sizes, weights)
        return classes[(decisions[:, :, 0] > 0).astype(np.intp)]
    return classes[_predictions(model, train, targets, test, order, sizes, weights).argmax(axis=2)]


def value_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray:
    """Value of each test row for each size."""
    return _predictions(model, train, y[:, None].astype(float), test, order, sizes, None)[:, :, 0]


def _predictions(
    model: Any,
    train: np.ndarray,
    targets: np.ndarray,
    test: np.ndarray,
    order: np.ndarray,
    sizes: list[int],
    weights: np.ndarray | None,
) -> np.ndarray:
    """Predictions (sizes, test rows, targets)."""
    middle, offset = np.zeros(train.shape[1]), np.zeros(targets.shape[1])
    if model.fit_intercept:
        shares = np.full(len(train), 1 / len(train)) if weights is None else weights / weights.sum()
        middle, offset = shares @ train, shares @ targets
    root = np.ones((len(train), 1)) if weights is None else np.sqrt(weights)[:, None]
    targets = (targets - offset) * root

    def leading(table: np.ndarray, size: int, scale: np.ndarray | float = 1.0) -> np.ndarray:
        """Leading columns of some rows, centred."""
        columns = order[:size]
        taken = table[:, columns]
        taken -= middle[columns]
        taken *= scale
        return taken

    alpha = float(model.alpha)
    found: list[np.ndarray] = []
    narrow = [size for size in sizes if size <= len(train)]
    if narrow:
        widest = narrow[-1]
        products, with_targets = np.zeros((widest, widest)), np.zeros((widest, targets.shape[1]))
        for rows in row_blocks(train):
            block = leading(train[rows], widest, root[rows])
            products += block.T @ block
            with_targets += block.T @ targets[rows]
        found += _from_columns(products, with_targets, leading(test, widest), narrow, alpha)
    wide = [size for size in sizes if size > len(train)]
    if wide:
        found += _from_rows(leading(train, wide[-1], root), targets, leading(test, wide[-1]), wide, alpha)
    return np.stack(found) + offset


def _from_columns(products, with_targets, test, sizes: list[int], alpha: float) -> Iterator[np.ndarray]:
    products[np.diag_indices_from(products)] += alpha
    factor = linalg.cholesky(products, lower=True, overwrite_a=True, check_finite=False)
    weights = linalg.solve_triangular(factor, with_targets, lower=True, check_finite=False)
    rows = linalg.solve_triangular(factor, test.T, lower=True, overwrite_b=True, check_finite=False)
    prediction = np.zeros((len(test), with_targets.shape[1]))
    for start, stop in pairwise([0, *sizes]):
        prediction = prediction + rows[start:stop].T @ weights[start:stop]
        yield prediction


def _from_rows(train, targets, test, sizes: list[int], alpha: float) -> Iterator[np.ndarray]:
    products = np.zeros((len(train), len(train)))
    test_products = np.zeros((len(test), len(train)))
    for start, stop in pairwise([0, *sizes]):
        added = train[:, start:stop]
        products += added @ added.T
        test_products += test[:, start:stop] @ added.T
        shifted = products.copy()
        shifted[np.diag_indices_from(shifted)] += alpha
        factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        yield test_products @ linalg.cho_solve(factor, targets, check_finite=False)
