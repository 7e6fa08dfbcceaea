"""Components of a table and its targets by the algorithm asked for, with what is needed to use them on other rows."""

from typing import Any, NamedTuple

import numpy as np

from fewer.extract.pls._factors import Factors, Watch, keep_going, krylov, power_of_two, simpls
from fewer.extract.pls._missing import nipals_with_holes, observed_part
from fewer.extract.pls._moments import Moments, from_column_products, from_row_products, of_rows
from fewer.extract.pls._nipals import nipals
from fewer.extract.pls._shrinkage_factors import shrinkage_factors
from fewer.extract.pls._table import CentredTable, column_means, spread

_CHEAP_PRODUCTS = 1e8
_CHEAP_EIGENVALUES = 500
"""Operations for the matrix of products, and its side, up to which eigenvalues cost next to nothing beside a fit."""


WHY_NO_MORE = "for nothing is left of the table that goes with y"


class Solution(NamedTuple):
    """Components; mean and scale of columns and targets; the whole squares |X|^2, |Y|^2; shrinkage factors or None."""

    factors: Factors
    x_mean: np.ndarray
    x_scale: np.ndarray
    y_mean: np.ndarray
    y_scale: np.ndarray
    x_square: float
    y_square: float
    shrinkage_factors: np.ndarray | None


class Settings(NamedTuple):
    """How components are found."""

    algorithm: str = "nipals"
    scale: bool = False
    max_iter: int = 500
    tol: float = 1e-10


def solution(
    X: Any,
    Y: np.ndarray,
    n_components: int,
    settings: Settings,
    watch: Watch = keep_going,
    mean: np.ndarray | None = None,
) -> Solution:
    """At most so many components of a table, dense or sparse, with or without holes, and targets (rows, targets).

    ``mean`` is that of the columns of a dense table, where it is known.
    """
    if settings.algorithm == "kernel" and X.shape[0] >= X.shape[1]:
        whole = of_moments(Moments.of(X, Y), n_components, settings, watch)
        to_scores = whole.factors.rotations / whole.x_scale[:, None]
        return whole._replace(factors=whole.factors._replace(scores=X @ to_scores - whole.x_mean @ to_scores))
    y_mean, y_scale, targets = _standard(Y, settings.scale)
    unit = power_of_two(targets)
    targets /= unit
    y_square = float(np.sum(targets**2)) * unit**2
    rounds = (settings.max_iter, settings.tol)
    if mean is None and isinstance(X, np.ndarray):
        mean = column_means(X)
    if mean is not None and np.isnan(mean).any():
        x_mean, x_scale = _observed_mean_and_scale(X, settings.scale)
        filled, there = observed_part(X, x_mean, x_scale)
        x_square = float(np.sum(filled**2))
        found = nipals_with_holes(filled, there, targets, n_components, watch, *rounds).with_targets_in(unit)
        return Solution(found, x_mean, x_scale, y_mean, y_scale, x_square, y_square, None)
    table = CentredTable(X, scale=settings.scale, mean=mean, products_only=True)
    products = None
    if settings.algorithm == "kernel":
        products = table.row_products()
        found = of_rows(table, from_row_products(products, targets, n_components, watch, *rounds))
    elif settings.algorithm == "krylov":
        found = krylov(table, targets, n_components, watch)
    else:
        by = simpls if settings.algorithm == "simpls" else nipals
        found = by(table, targets, n_components, watch, *rounds)
    factors = _shrinkage_of_table(table, products, targets[:, 0], found) if Y.shape[1] == 1 else None
    return Solution(
        found.with_targets_in(unit), table.mean, table.scale, y_mean, y_scale, table.square, y_square, factors
    )


def of_moments(sums: Moments, n_components: int, settings: Settings, watch: Watch = keep_going) -> Solution:
    """The same from sums over rows alone."""
    x_scale, y_scale = sums.scales() if settings.scale else (np.ones_like(sums.x_mean), np.ones_like(sums.y_mean))
    A = sums.xx / np.outer(x_scale, x_scale)
    y_square = float(np.sum(sums.yy / y_scale**2))
    S = sums.xy / np.outer(x_scale, y_scale)
    found = from_column_products(A, S, n_components, y_square, watch, settings.max_iter, settings.tol)
    factors = _shrinkage_of_columns(A, S[:, 0], found) if len(y_scale) == 1 else None
    return Solution(found, sums.x_mean, x_scale, sums.y_mean, y_scale, float(np.trace(A)), y_square, factors)


def _standard(Y: np.ndarray, scale: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mean = Y.mean(axis=0)
    deviation = spread(Y.var(axis=0), mean, len(Y), Y.dtype) if scale else np.ones_like(mean)
    return mean, deviation, (Y - mean) / deviation


def _observed_mean_and_scale(X: np.ndarray, scale: bool) -> tuple[np.ndarray, np.ndarray]:
    there = ~np.isnan(X)
    counts = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, X, 0).sum(axis=0, dtype=np.float64) / counts
    if not scale:
        return mean, np.ones_like(mean)
    variance = np.where(there, X - mean, 0) ** 2
    return mean, spread(variance.sum(axis=0) / counts, mean, counts, X.dtype)


def _shrinkage_of_table(
    table: CentredTable, products: np.ndarray | None, y: np.ndarray, found: Factors
) -> np.ndarray | None:
    """Shrinkage factors along the principal directions, the largest first; None where they would cost much."""
    n_rows, n_columns = table.shape
    shorter = min(n_rows, n_columns)
    if products is None and (shorter > _CHEAP_EIGENVALUES or shorter * n_rows * n_columns > _CHEAP_PRODUCTS):
        return None
    if n_columns <= n_rows:
        A = table.column_products() if products is None else products
        return _shrinkage_of_columns(A, table.back(y), found)
    directions = _principal_directions(table.row_products() if products is None else products)
    if directions is None:
        return None
    eigenvalues, V = directions
    fit = found.scores @ found.y_loadings[0]
    return shrinkage_factors(V.T @ fit, V.T @ y, eigenvalues, found.ritz_values())


def _shrinkage_of_columns(A: np.ndarray, z: np.ndarray, found: Factors) -> np.ndarray | None:
    """The same from ``A = X'X`` and ``z = X'y``."""
    directions = _principal_directions(A)
    if directions is None:
        return None
    eigenvalues, U = directions
    sizes = np.sqrt(eigenvalues)
    fit = sizes * (U.T @ found.coefficients()[:, 0])
    return shrinkage_factors(fit, U.T @ z / sizes, eigenvalues, found.ritz_values())


def _principal_directions(products: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenvalues that are more than rounding, the largest first, and their vectors as columns."""
    if len(products) > _CHEAP_EIGENVALUES:
        return None
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > np.finfo(np.float64).eps * len(values) * max(values[0], 0)
    return values[kept], vectors[:, kept]
