"""Predictions of linear discriminant analysis for every leading set of columns from one Cholesky factor.

With the columns scaled to unit variance within the classes and ``R = L L'`` their correlations within classes, class
means and test rows are whitened by forward substitution, ``W = L^-1 M'`` and ``T = L^-1 X_test'``. Whitened vectors
of a smaller set are the leading entries, so ``T'W`` and ``W'W`` of all sizes are running sums. From there on the
rules are those of scikit-learn's solver "svd": directions between the means that are too short are left out, and
where columns are collinear within classes, so are directions with too little variance, found from the inner products
of columns or, with more columns than rows, of rows.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size."""
    train, test = train[:, order], test[:, order]
    classes, codes = np.unique(y, return_inverse=True)
    n_rows, n_classes = len(train), len(classes)
    if n_classes < 2 or n_rows <= n_classes:
        return None
    indicators = np.eye(n_classes)[codes]
    counts = indicators.sum(axis=0)
    means = indicators.T @ train / counts[:, None]
    within = train
    for code, mean in enumerate(means):
        within[codes == code] -= mean
    deviations = within.std(axis=0)
    deviations[deviations == 0] = 1.0
    priors = counts / n_rows
    middle = priors @ means
    within /= deviations * np.sqrt(n_rows)
    means = (means - middle) / deviations
    test = (test - middle) / deviations

    factor = _factor(within, [size for size in sizes if size <= n_rows - n_classes], model.tol)
    narrow = [size for size in sizes if size <= len(factor)]
    collinear = [size for size in sizes if len(factor) < size <= n_rows]
    wide = [size for size in sizes if size > n_rows]
    shares = np.sqrt(n_rows * priors / (n_classes - 1))
    whitened = [
        *_from_columns(factor, means, test, narrow),
        *_from_collinear_columns(within, means, test, collinear, model.tol),
        *_from_rows(within, means, test, wide, model.tol),
    ]
    decisions = [_decisions(rows, products, shares, priors, model.tol) for rows, products in whitened]
    return classes[np.stack(decisions).argmax(axis=2)]


def _decisions(
    rows: np.ndarray, products: np.ndarray, shares: np.ndarray, priors: np.ndarray, tol: float
) -> np.ndarray:
    """Decision values (test rows, classes) from the inner products of whitened rows and means, and among means."""
    squares, directions = np.linalg.eigh(products * np.outer(shares, shares))
    lengths = np.sqrt(np.maximum(squares, 0))
    kept = lengths > tol * lengths[-1]
    to_span = shares[:, None] * directions[:, kept] / lengths[kept]
    centres = products @ to_span
    return (rows @ to_span) @ centres.T - 0.5 * (centres**2).sum(axis=1) + np.log(priors)


def _factor(within: np.ndarray, sizes: list[int], tol: float) -> np.ndarray:
    """Cholesky factor of the correlations of the largest set whose columns are not collinear within classes."""
    if not sizes:
        return np.empty((0, 0))
    correlations = within[:, : sizes[-1]].T @ within[:, : sizes[-1]]
    # The smallest eigenvalue shrinks as columns are added, so the sets that are sound come first.
    sound, unsound = 0, len(sizes) + 1
    trial = len(sizes)
    while unsound - sound > 1:
        size = sizes[trial - 1]
        smallest = linalg.eigh(
            correlations[:size, :size], eigvals_only=True, subset_by_index=[0, 0], check_finite=False
        )[0]
        sound, unsound = (trial, unsound) if smallest > tol**2 else (sound, trial)
        trial = (sound + unsound) // 2
    if sound == 0:
        return np.empty((0, 0))
    size = sizes[sound - 1]
    return linalg.cholesky(correlations[:size, :size], lower=True, check_finite=False)


def _from_columns(factor, means, test, sizes: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    widest, n_classes = len(factor), len(means)
    solved = linalg.solve_triangular(
        factor, np.vstack([means[:, :widest], test[:, :widest]]).T, lower=True, check_finite=False
    )
    centres, rows = solved[:, :n_classes], solved[:, n_classes:]
    rows_by_centres, products = np.zeros((len(test), n_classes)), np.zeros((n_classes, n_classes))
    for start, stop in pairwise([0, *sizes]):
        rows_by_centres = rows_by_centres + rows[start:stop].T @ centres[start:stop]
        products = products + centres[start:stop].T @ centres[start:stop]
        yield rows_by_centres, products


def _from_collinear_columns(
    within, means, test, sizes: list[int], tol: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    correlations = within[:, : sizes[-1]].T @ within[:, : sizes[-1]]
    for size in sizes:
        squares, directions = linalg.eigh(correlations[:size, :size], check_finite=False)
        kept = squares > tol**2
        to_span = directions[:, kept] / np.sqrt(squares[kept])
        centres, rows = means[:, :size] @ to_span, test[:, :size] @ to_span
        yield rows @ centres.T, centres @ centres.T


def _from_rows(within, means, test, sizes: list[int], tol: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if not sizes:
        return
    products = np.zeros((len(within), len(within)))
    others = np.vstack([means, test])
    other_products = np.zeros((len(others), len(within)))
    for start, stop in pairwise([0, *sizes]):
        added = within[:, start:stop]
        products += added @ added.T
        other_products += others[:, start:stop] @ added.T
        squares, directions = linalg.eigh(products, check_finite=False)
        kept = squares > tol**2
        whitened = other_products @ (directions[:, kept] / squares[kept])
        centres, rows = whitened[: len(means)], whitened[len(means) :]
        yield rows @ centres.T, centres @ centres.T
