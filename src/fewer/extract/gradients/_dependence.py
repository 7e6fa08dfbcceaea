"""Dependence between columns that act on the target, from the mean outer product Gamma of its gradients.

As partial correlations come from the inverse of a covariance, these come from the pseudo-inverse of Gamma,

    J = sum over lambda_k > epsilon of v_k v_k' / lambda_k,    R_ij = -J_ij / sqrt(J_ii J_jj).

J is kept as a factor, J = T T' with one row of T for each column of the table.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from fewer.extract.gradients._outer_product import OuterProduct

_PAIRS_AT_ONCE = 4_000_000


class Edges(NamedTuple):
    """Pairs of columns (edges, 2), the smaller number first, and what each is worth, strongest first."""

    pairs: np.ndarray
    values: np.ndarray


def inverse_factor(product: OuterProduct, epsilon: float) -> np.ndarray:
    """T of the pseudo-inverse ``J = T T'`` (columns, directions)."""
    kept = product.eigenvalues > epsilon
    return product.directions[kept].T / np.sqrt(product.eigenvalues[kept])


def strongest_edges(factor: np.ndarray, columns: np.ndarray, n_edges: int) -> Edges:
    """The partial correlations R between some columns that are largest in absolute value; those of 0 are none."""
    units = factor[columns] / np.linalg.norm(factor[columns], axis=1, keepdims=True)
    pairs = np.empty((0, 2), dtype=int)
    values = np.empty(0)
    for block in gen_batches(len(columns), max(1, _PAIRS_AT_ONCE // max(len(columns), 1))):
        correlations = -units[block] @ units.T
        firsts, seconds = np.nonzero(np.triu(np.abs(correlations) > np.finfo(float).eps, k=block.start + 1))
        pairs = np.concatenate([pairs, columns[np.column_stack([firsts + block.start, seconds])]])
        values = np.concatenate([values, correlations[firsts, seconds]])
        best = np.argsort(-np.abs(values), kind="stable")[:n_edges]
        pairs, values = pairs[best], values[best]
    return Edges(pairs, np.clip(values, -1, 1))
