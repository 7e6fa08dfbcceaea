"""Diffusion on a cloud of rows, slowed down where the target changes.

Two rows are alike by

    W_ij = exp(-|x_i - x_j|^2 / sigma1 - change_ij^2 / sigma2),    change_ij = (F(x_i) + F(x_j))'(x_i - x_j) / 2,

and the new coordinates are eigenvectors of ``P = D^{-1} W``, D the sums of the rows: the slow modes of a random walk.
A new row gets the mean coordinates of those alike, divided by the eigenvalue, so that training rows keep theirs.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

_DENSE_UP_TO = 1000
_SMALLEST_EIGENVALUE = 1e-10


def squared_changes(along: np.ndarray, slopes: np.ndarray, other: np.ndarray, other_slopes: np.ndarray) -> np.ndarray:
    """Squared change of the target from each row to each of the others, added up over functions."""
    total = np.zeros((len(along), len(other)))
    for mine, theirs in zip(slopes, other_slopes, strict=True):
        here = np.einsum("ij,ij->i", mine, along)[:, None] - mine @ other.T
        there = along @ theirs.T - np.einsum("ij,ij->i", theirs, other)
        total += ((here + there) / 2) ** 2
    return total


class Modes(NamedTuple):
    """Eigenvalues of the random walk after the trivial one, decreasing, and eigenvectors as columns."""

    eigenvalues: np.ndarray
    vectors: np.ndarray


def slow_modes(W: Any, n_modes: int) -> Modes:
    """Leading modes of the walk; each vector has unit variance about 0 where the walk is at home."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    scale = 1 / np.sqrt(degrees)
    if sparse.issparse(W):
        symmetric = sparse.diags_array(scale) @ W @ sparse.diags_array(scale)
    else:
        symmetric = scale[:, None] * W * scale
    n_rows = len(degrees)
    if n_rows <= _DENSE_UP_TO or n_modes + 1 >= n_rows // 2:
        dense = symmetric.toarray() if sparse.issparse(symmetric) else symmetric
        values, vectors = linalg.eigh(dense, subset_by_index=(n_rows - n_modes - 1, n_rows - 1), check_finite=False)
    else:
        start = np.random.default_rng(0).uniform(0.5, 1, size=n_rows)
        values, vectors = eigsh(symmetric, k=n_modes + 1, which="LA", v0=start, tol=1e-10)
    order = np.argsort(-values, kind="stable")[1:]
    order = order[values[order] > _SMALLEST_EIGENVALUE]
    return Modes(values[order], vectors[:, order] * scale[:, None] * np.sqrt(degrees.sum()))
