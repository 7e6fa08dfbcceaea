"""``Sigma = X'X / n`` of a design, and the sign patterns in which its numbers are looked for."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from fewer._estimators import checked_array

# Exact numbers try every sign pattern of the support: 2^(k - 1) of them.
MOST_PATTERNS = 12


def scaled_design(X: Any, who: str) -> np.ndarray:
    """The table with columns of mean square 1; a column of zeros stays."""
    X = checked_array(X, who, accept_sparse=("csr", "csc"), dtype=np.float64)
    dense = X.toarray() if sparse.issparse(X) else X
    sizes = np.sqrt((dense**2).mean(axis=0))
    return dense / np.where(sizes > 0, sizes, 1.0)


def covariance_of(X: Any, who: str, precomputed: bool) -> np.ndarray:
    """``X'X / n`` after scaling the columns to mean square 1; a matrix that is given stays as it is."""
    if not precomputed:
        scaled = scaled_design(X, who)
        return scaled.T @ scaled / len(scaled)
    sigma = checked_array(X, who, dtype=np.float64)
    if sigma.shape[0] != sigma.shape[1] or not np.allclose(sigma, sigma.T):
        raise ValueError(f"{who} got precomputed=True, so X must be a symmetric matrix; its shape is {sigma.shape}.")
    return sigma


def refuse_many_patterns(k: int, who: str) -> None:
    """Exact answers double with each column of the support."""
    if k > MOST_PATTERNS:
        raise ValueError(
            f"{who} tries all {2 ** (k - 1):,} sign patterns of {k} columns for an exact answer, which is too many; "
            f"up to {MOST_PATTERNS} columns are possible."
        )


def sign_patterns(k: int) -> Iterator[np.ndarray]:
    """Signs of k numbers up to a change of all; the first is positive."""
    for rest in product((1.0, -1.0), repeat=k - 1):
        yield np.array((1.0, *rest))


def root_of(sigma: np.ndarray) -> np.ndarray:
    """``R`` with ``R'R = Sigma``, without the directions that have nothing in them."""
    eigenvalues, vectors = np.linalg.eigh(sigma)
    there = eigenvalues > 1e-12 * max(eigenvalues[-1], 0.0)
    return (vectors[:, there] * np.sqrt(eigenvalues[there])).T


def coherence(sigma: np.ndarray) -> float:
    """Largest entry off the diagonal, in absolute value."""
    return float(np.abs(sigma - np.diag(np.diag(sigma))).max(initial=0.0))
