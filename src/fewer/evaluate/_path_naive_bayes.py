"""Predictions of Gaussian naive Bayes for every leading set of columns: log densities are sums over columns.

``log p(c | x) = log p(c) + sum_j log N(x_j; m_cj, v_cj + e) + const`` with ``e`` a small share of the largest
variance of a column in the set. Sets with the same largest variance share one running sum.
"""

from itertools import groupby
from typing import Any

import numpy as np

from fewer.evaluate._row_blocks import row_blocks


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, order: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size."""
    classes, codes = np.unique(y, return_inverse=True)
    counts, means, variances = _moments(train, codes, len(classes))
    overall = (counts / len(train)) @ (variances + (means - train.mean(axis=0)) ** 2)
    means, variances, test = means[:, order], variances[:, order], test[:, order]
    largest = np.maximum.accumulate(overall[order])[np.array(sizes) - 1]
    smoothing = model.var_smoothing * largest
    if (smoothing == 0).any() and (variances == 0).any():
        return None
    shares = np.log(counts / len(train))
    found = []
    places = range(len(sizes))
    for epsilon, alike in groupby(places, key=lambda place: smoothing[place]):
        group = [sizes[place] for place in alike]
        log_densities = [
            _log_densities(test, mean, variance + epsilon, group)
            for mean, variance in zip(means, variances, strict=True)
        ]
        found.append((np.stack(log_densities) + shares[:, None, None]).argmax(axis=0))
    return classes[np.concatenate(found)]


def _moments(train: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of each class, and the mean and the variance of each column in it."""
    counts = np.bincount(codes, minlength=n_classes)
    sums, squares = np.zeros((n_classes, train.shape[1])), np.zeros((n_classes, train.shape[1]))
    members = (np.arange(n_classes)[:, None] == codes).astype(float)
    for rows in row_blocks(train):
        sums += members[:, rows] @ train[rows]
    means = sums / counts[:, None]
    for rows in row_blocks(train):
        deviations = train[rows] - means[codes[rows]]
        deviations *= deviations
        squares += members[:, rows] @ deviations
    return counts, means, squares / counts[:, None]


def _log_densities(test: np.ndarray, mean: np.ndarray, variance: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Log density (sizes, test rows) of one class, each size a sum over its columns."""
    widest = sizes[-1]
    terms = test[:, :widest] - mean[:widest]
    terms *= terms
    terms /= variance[:widest]
    terms += np.log(2 * np.pi * variance[:widest])
    return -0.5 * np.cumsum(np.add.reduceat(terms, [0, *sizes[:-1]], axis=1), axis=1).T
