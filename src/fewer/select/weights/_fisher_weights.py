"""Weights for the columns under which classes lie apart and each is narrow, in the manner of Fisher.

With unit columns M (rows are samples), P the projector on the space that the rows span, B the scatter between the
classes and W the scatter within, the weights are the leading eigenvector of

    P o (B - lam W),    B = sum_c n_c d_c d_c',    W = M'M - B,

where o multiplies entry by entry and d_c is the mean of class c. All three matrices are p x p, and none is made: with
``M = V S U'`` the projector is ``U U'`` and ``M'M = U S^2 U'``, and a product with the whole costs O(n^2 p).

With no more columns than independent rows P is the identity: every column stands by itself, and the eigenvector is a
single column.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from fewer.select.weights._leading_eigenvector import Leading, leading_eigenvector
from fewer.select.weights._unit_columns import ColumnScale, blocks, correlations, scaled
from fewer.select.weights._variance_weights import eigenvector_tolerance


class Axes(NamedTuple):
    """Orthonormal directions that the rows span, one in each row, and the variance (squared norm) along each."""

    directions: np.ndarray
    variances: np.ndarray


def spanned_axes(X: np.ndarray, scale: ColumnScale, rank_tol: float) -> Axes:
    """Axes with a singular value above ``rank_tol`` of the largest, or above rounding where that is more."""
    n_rows, n_columns = X.shape
    precision = float(np.finfo(X.dtype).eps)
    if n_rows > n_columns:
        variances, vectors = linalg.eigh(correlations(X, scale))
        directions = vectors.T[::-1].astype(X.dtype)
        variances = np.maximum(variances[::-1], 0)
        least = max(rank_tol**2, n_columns * precision)  # inner products square the rounding errors too
    else:
        _, singular, directions = linalg.svd(scaled(X, scale), full_matrices=False, overwrite_a=True)
        variances = singular.astype(np.float64) ** 2
        variances[n_rows - 1 :] = 0  # centring took one direction of the rows
        least = max(rank_tol, precision * np.sqrt(n_columns)) ** 2
    spanned = variances > least * variances[0]
    return Axes(directions[spanned], variances[spanned])


def class_offsets(X: np.ndarray, classes: np.ndarray, scale: ColumnScale) -> np.ndarray:
    """Means of the classes in unit columns, times the square root of the class size: F with ``B = F'F``."""
    sizes = np.bincount(classes)
    means = np.stack([X[classes == number].mean(axis=0, dtype=np.float64) for number in range(len(sizes))])
    return np.sqrt(sizes)[:, None] * (means - scale.mean) / scale.norm


def between_shares(offsets: np.ndarray) -> np.ndarray:
    """Share of each column's variance that lies between the classes: the diagonal of B."""
    return np.einsum("ij,ij->j", offsets, offsets)


def criterion_product(
    axes: Axes, offsets: np.ndarray, lam: float, rank: int | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Products with ``P o (B - lam W)``; P of the leading ``rank`` axes only, where that is given."""
    projector = axes.directions[:rank]
    offsets = offsets.astype(projector.dtype)
    # B - lam W = (1 + lam) B - lam M'M = F' diag(1 + lam) F - U diag(lam S^2) U'
    factor = offsets if lam == 0 else np.concatenate([offsets, axes.directions])
    signs = np.concatenate([np.full(len(offsets), 1 + lam), -lam * axes.variances])[: len(factor)]
    n_columns = factor.shape[1]

    def product(vector: np.ndarray) -> np.ndarray:
        vector = vector.astype(projector.dtype, copy=False)
        crossed = np.zeros((len(projector), len(factor)))
        for columns in blocks(n_columns, len(projector)):
            crossed += (projector[:, columns] * vector[columns]) @ factor[:, columns].T
        crossed = (crossed * signs).astype(projector.dtype)
        image = np.empty(n_columns)
        for columns in blocks(n_columns, len(projector)):
            image[columns] = np.einsum("ij,ij->j", projector[:, columns], crossed @ factor[:, columns])
        return image

    return product


def fisher_weights(axes: Axes, offsets: np.ndarray, lam: float, rank: int | None = None) -> Leading:
    """Leading eigenvector of the criterion, with its sum positive; it may have negative entries."""
    tol = eigenvector_tolerance(float(np.finfo(axes.directions.dtype).eps))
    start = between_shares(offsets) + 1 / offsets.shape[1]  # not zero where the classes have equal means
    return leading_eigenvector(criterion_product(axes, offsets, lam, rank), start, tol=tol)
