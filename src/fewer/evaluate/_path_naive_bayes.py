"""Predictions of Gaussian naive Bayes for every leading set of columns: log densities are sums over columns.

``log p(c | x) = log p(c) + sum_j log N(x_j; m_cj, v_cj + e) + const`` with ``e`` a small share of the largest
variance of a column in the set. Sets with the same largest variance share one running sum.
"""

from itertools import groupby
from typing import Any

import numpy as np


def suits(model: Any) -> bool:
    """Whether the class shares are the priors."""
    return model.priors is None


def class_predictions(
    model: Any, train: np.ndarray, y: np.ndarray, test: np.ndarray, sizes: list[int]
) -> np.ndarray | None:
    """Class of each test row for each size."""
    classes, codes = np.unique(y, return_inverse=True)
    members = [train[codes == code] for code in range(len(classes))]
    means = np.stack([rows.mean(axis=0) for rows in members])
    variances = np.stack([rows.var(axis=0) for rows in members])
    largest = np.maximum.accumulate(train.var(axis=0))[np.array(sizes) - 1]
    smoothing = model.var_smoothing * largest
    if (smoothing == 0).any() and (variances == 0).any():
        return None
    shares = np.log([len(rows) / len(train) for rows in members])
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


def _log_densities(test: np.ndarray, mean: np.ndarray, variance: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Log density (sizes, test rows) of one class, each size a sum over its columns."""
    widest = sizes[-1]
    terms = test[:, :widest] - mean[:widest]
    terms *= terms
    terms /= variance[:widest]
    terms += np.log(2 * np.pi * variance[:widest])
    return -0.5 * np.cumsum(np.add.reduceat(terms, [0, *sizes[:-1]], axis=1), axis=1).T
