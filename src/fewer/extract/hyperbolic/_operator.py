"""The operator whose leading eigenvectors keep same pairs close and different ones apart.

    T = eta mean over different pairs of dd' - mean over same pairs of dd',    d = psi(x) - psi(x').

T is indefinite: directions with a negative eigenvalue pull different pairs together more than same ones. In
coordinates R of the rows in feature space, each mean is ``R'LR`` for the Laplacian L of a graph of pairs; for labels,
class sums do for it, and the number of pairs does not matter.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils.extmath import safe_sparse_dot

from fewer.extract.hyperbolic._pairs import Pairs

_RELATIVE_CUT = 1e-10


class Scatter(NamedTuple):
    """Mean outer products of the differences of different and of same pairs, with the share that each has."""

    different: np.ndarray
    same: np.ndarray
    shares: tuple[float, float]

    def operator(self, eta: float) -> np.ndarray:
        """T."""
        return eta * self.shares[0] * self.different - self.shares[1] * self.same


def label_scatter(R: Any, codes: np.ndarray, balanced: bool) -> Scatter:
    """Over all pairs of rows, same if they have the same label."""
    n_rows = len(codes)
    sizes = np.bincount(codes)
    n_same = float(np.sum(sizes * (sizes - 1.0)))
    n_different = n_rows * (n_rows - 1.0) - n_same
    members = sparse.csr_array((np.ones(n_rows), (codes, np.arange(n_rows))), shape=(len(sizes), n_rows))
    sums = safe_sparse_dot(members, R, dense_output=True)
    within = sums.T @ sums
    total = sums.sum(axis=0)
    by_own, by_others = _grams(R, sizes[codes].astype(float))
    same = 2 * (by_own - within) / max(n_same, 1)
    different = 2 * (by_others - np.outer(total, total) + within) / max(n_different, 1)
    return Scatter(different, same, _shares(n_different, n_same, balanced))


def pair_scatter(R: Any, pairs: Pairs, balanced: bool) -> Scatter:
    """Over the pairs given."""
    n_same = int(pairs.same.sum())
    n_different = len(pairs.same) - n_same
    found = []
    for chosen, count in ((~pairs.same, n_different), (pairs.same, n_same)):
        ends = (pairs.first[chosen], pairs.second[chosen])
        graph = sparse.csr_array((np.ones(count), ends), shape=(R.shape[0], R.shape[0]))
        graph = graph + graph.T
        pulled = safe_sparse_dot(R.T, graph @ R, dense_output=True)
        found.append((_gram(R, graph.sum(axis=1)) - pulled) / max(count, 1))
    return Scatter(found[0], found[1], _shares(n_different, n_same, balanced))


def _grams(R: Any, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``R' diag(own) R`` and ``R' diag(n - own) R``, at the cost of one product where classes are of one size."""
    plain = _gram(R, np.ones(len(own)))
    by_own = own[0] * plain if own.min() == own.max() else _gram(R, own)
    return by_own, len(own) * plain - by_own


def _gram(R: Any, weights: np.ndarray) -> np.ndarray:
    """``R' diag(weights) R`` for weights that are 0 or more."""
    roots = np.sqrt(weights)
    if sparse.issparse(R):
        scaled = sparse.diags_array(roots) @ R
        return (scaled.T @ scaled).toarray()
    scaled = R * roots[:, None]
    return scaled.T @ scaled  # of one array with itself, which takes half of the time


def _shares(n_different: float, n_same: float, balanced: bool) -> tuple[float, float]:
    total = n_different + n_same
    return (1.0, 1.0) if balanced else (n_different / total, n_same / total)


class Leading(NamedTuple):
    """Largest eigenvalues, decreasing, and unit eigenvectors as columns."""

    values: np.ndarray
    vectors: np.ndarray


def leading_eigenpairs(T: np.ndarray, n_pairs: int | None) -> Leading:
    """Eigenpairs with the largest positive eigenvalues, as many as asked for, or all."""
    size = len(T)
    first = 0 if n_pairs is None else max(size - n_pairs, 0)
    # Not by Lanczos' method: positive eigenvalues are very small beside the negative ones, and it does not find an end.
    values, vectors = linalg.eigh(T, subset_by_index=(first, size - 1), check_finite=False)
    kept = values > _least(T)
    return Leading(values[kept][::-1], vectors[:, kept][:, ::-1])


def number_of_positive_eigenvalues(T: np.ndarray) -> int:
    """As many as pivots are positive, by Sylvester's law of inertia."""
    shifted = T.copy()
    shifted.flat[:: len(T) + 1] -= _least(T)
    factor, pivots, _ = linalg.lapack.dsytrf(shifted, lower=1, overwrite_a=1)
    # A pivot of two rows, whose numbers are negative, always has one positive and one negative eigenvalue.
    return int(np.count_nonzero((np.diag(factor) > 0) & (pivots > 0)) + np.count_nonzero(pivots < 0) // 2)


def _least(T: np.ndarray) -> float:
    """What is more than rounding."""
    return float(_RELATIVE_CUT * np.abs(T).max())
