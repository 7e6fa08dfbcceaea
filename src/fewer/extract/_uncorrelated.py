"""Coordinates in which a table has no correlations.

With the covariance S of the table over weighted rows, new coordinates are ``z = T'(x - mean)`` where ``T' S T`` is the
identity, or diagonal. A table with more columns than rows has at most n - 1 of them, found from the n x n matrix of
products of rows; p x p is never formed, and a sparse table is never centred itself.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse


class Coordinates(NamedTuple):
    """``(x - mean) @ to`` for a row x."""

    mean: np.ndarray
    to: np.ndarray


def rank_tolerance(X: Any) -> float:
    """Share of the largest variance below which a direction counts as having none."""
    return max(1e-10, float(np.finfo(X.dtype).eps) * max(X.shape))


def uncorrelated(
    X: Any, *, unit_variance: bool = True, row_weights: np.ndarray | None = None, ridge: float = 0.0
) -> Coordinates:
    """Coordinates without correlations, by decreasing variance; all of unit variance, or all as long as in the table.

    For unit variance the columns are brought to it first, so that their units make no difference; not with a ``ridge``,
    which is added to the variances in the units of the table. Directions without variance are left out.
    ``row_weights`` add up to 1.
    """
    factors = _factors_into_range(X, column_by_column=unit_variance and not ridge)
    if factors is not None:
        inside = X @ sparse.diags_array(factors) if sparse.issparse(X) else X * factors
        its_ridge = ridge and ridge * float(factors[0]) ** 2
        found = uncorrelated(inside, unit_variance=unit_variance, row_weights=row_weights, ridge=its_ridge)
        scale = factors[:, None] if unit_variance else 1
        return Coordinates(found.mean / factors, found.to * scale)
    shares = np.full(X.shape[0], 1 / X.shape[0]) if row_weights is None else row_weights
    mean, scales = _mean_and_scale(X, shares)
    if not scales.any():
        raise ValueError("All columns are constant, so there are no directions to find; check the table.")
    weights = (scales > 0).astype(float)
    if unit_variance and not ridge:
        weights = np.divide(1, scales, out=np.zeros_like(scales), where=scales > 0)
    in_rows = X.shape[1] > X.shape[0]
    products = _products_of_rows if in_rows else _products_of_columns
    variances, vectors = linalg.eigh(products(X, mean, weights, shares), check_finite=False)
    kept = variances > rank_tolerance(X) * variances[-1]
    variances, vectors = variances[kept][::-1], vectors[:, kept][:, ::-1]
    if in_rows:
        vectors = _combined_rows(X, mean, weights, vectors * np.sqrt(shares)[:, None]) / np.sqrt(variances)
    return Coordinates(mean, vectors * weights[:, None] / (np.sqrt(variances + ridge) if unit_variance else 1))


def _factors_into_range(X: Any, column_by_column: bool) -> np.ndarray | None:
    """What brings columns to a size whose squares can be counted with; None if all are of such a size already."""
    axis = 0 if column_by_column else None
    ends = [end.toarray() if sparse.issparse(end) else end for end in (X.max(axis=axis), X.min(axis=axis))]
    largest = np.abs(np.asarray(ends, dtype=np.float64)).max(axis=0).ravel()
    reach = np.finfo(X.dtype).max ** 0.25
    extreme = (largest > reach) | ((largest < 1 / reach) & (largest > 0))
    if not extreme.any():
        return None
    # Powers of two, so that no digit changes.
    factors = np.where(extreme, 2.0 ** -np.round(np.log2(np.where(extreme, largest, 1))), 1).astype(X.dtype)
    return np.broadcast_to(factors, X.shape[1]).copy()


def rows_along(X: Any, coordinates: Coordinates) -> np.ndarray:
    """The rows in the coordinates."""
    to = coordinates.to.astype(X.dtype)
    return X @ to - coordinates.mean.astype(X.dtype) @ to


def _mean_and_scale(X: Any, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(X.T @ shares, dtype=np.float64)
    if sparse.issparse(X):
        empty = 1 - (X != 0).astype(np.float64).T @ shares
        away = X.tocoo(copy=True)
        away.data = (away.data - mean[away.coords[1]]) ** 2 * shares[away.coords[0]]
        variances = np.asarray(away.sum(axis=0)).ravel() + empty * mean**2
    else:
        variances = shares @ (X - mean) ** 2
    scales = np.sqrt(np.maximum(variances, 0))
    # What rounding leaves of a constant column, at most the error of a mean of n entries, is not worth scaling up.
    scales[scales <= np.finfo(np.float64).eps * X.shape[0] * np.abs(mean)] = 0
    return mean, scales


def _products_of_columns(X: Any, mean: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(shares).astype(X.dtype)
    if sparse.issparse(X):
        shared = sparse.diags_array(roots) @ X
        products = (shared.T @ shared).toarray().astype(np.float64) - np.outer(mean, mean)
    else:
        centred = (X - mean.astype(X.dtype)) * roots[:, None]
        products = (centred.T @ centred).astype(np.float64)
    return products * np.outer(weights, weights)


def _products_of_rows(X: Any, mean: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(shares)
    if sparse.issparse(X):
        weighted = X @ sparse.diags_array(weights.astype(X.dtype))
        products = (weighted @ weighted.T).toarray().astype(np.float64)
        shift = X @ (mean * weights**2)
        products = products - shift[:, None] - shift + np.sum((mean * weights) ** 2)
    else:
        centred = (X - mean.astype(X.dtype)) * weights.astype(X.dtype)
        products = (centred @ centred.T).astype(np.float64)
    return products * np.outer(roots, roots)


def _combined_rows(X: Any, mean: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Weighted, centred columns times vectors over the rows."""
    return (X.T @ vectors - np.outer(mean, vectors.sum(axis=0))) * weights[:, None]
