"""Directions in sphered coordinates from which a search sets out."""

from itertools import pairwise

import numpy as np
from scipy import linalg

from fewer.extract._kurtosis_ica import kurtosis_axes
from fewer.extract.projection_pursuit._indices import Index

_MOST_OF_A_KIND = 2


def separating_starts(Z: np.ndarray, begins: np.ndarray) -> list[np.ndarray]:
    """Directions of discriminant analysis, and those along which covariances of classes differ.

    The rows are in the order of their classes. The former are the eigenvectors of the covariance within classes with
    the smallest eigenvalues, the latter those of ``sum_k pi_k (T - S_k)^2`` with the largest, T the total covariance
    and S_k that of a class.
    """
    total = _covariance(Z)
    within, unequal = np.zeros_like(total), np.zeros_like(total)
    for begin, end in pairwise(begins):
        share = (end - begin) / len(Z)
        own = _covariance(Z[begin:end])
        within += share * own
        unequal += share * (total - own) @ (total - own)
    # Along directions without any variance nothing can be told apart.
    by_means = _leading(total - within, within + 1e-9 * np.eye(len(total)), min(len(begins) - 2, _MOST_OF_A_KIND))
    return [*by_means, *_leading(unequal, None, _MOST_OF_A_KIND)]


def non_normal_starts(Z: np.ndarray) -> list[np.ndarray]:
    """Axes of the smallest and the largest fourth moments."""
    axes = kurtosis_axes(Z).axes.T
    return [axes[-1], axes[0]] if len(axes) > 1 else [axes[0]]


def axis_starts(Z: np.ndarray, index: Index) -> list[np.ndarray]:
    """The coordinates along which an index is largest: those next to the most telling columns."""
    scores = [index(np.ascontiguousarray(values))[0] for values in Z.T]
    return list(np.eye(Z.shape[1])[np.argsort(scores, kind="stable")[::-1][:_MOST_OF_A_KIND]])


def random_starts(n: int, dim: int, rng: np.random.RandomState) -> list[np.ndarray]:
    """Directions of no preference."""
    return list(rng.normal(size=(n, dim)))


def _covariance(Z: np.ndarray) -> np.ndarray:
    """Of any number of rows: before 2.2, NumPy's takes a single row for a column."""
    centred = Z - Z.mean(axis=0)
    return centred.T @ centred / len(Z)


def _leading(symmetric: np.ndarray, metric: np.ndarray | None, n: int) -> list[np.ndarray]:
    n = min(n, len(symmetric))
    last = (len(symmetric) - n, len(symmetric) - 1)
    return list(linalg.eigh(symmetric, metric, subset_by_index=last)[1].T[::-1])
