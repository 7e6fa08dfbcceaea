"""Components of a table and its targets by the solver asked for, with what is needed to use them on other rows.

From products of columns, A = X'X and S = X'Y alone give all that NIPALS needs of the table, so that it may come in
blocks of rows, of which only sums are kept. From products of rows, K = XX' (or any kernel), with the rest of Y after
the earlier scores:

    c = leading eigenvector of Y'KY,   u = Yc,   t = (I - TT')Ku,   t <- t / |t|,   Y <- Y - tt'Y,

and ``W = X'U``, ``P = X'T`` at the end. Products square the rounding errors: components along which X has less than
about 1e-5 of its size are lost.

PLS multiplies each piece of least squares by ``f(l) = 1 - prod_j (1 - l / mu_j)``. The product of many components loses
all digits, as it multiplies the rounding error at an eigenvalue that has been found by ratios of eigenvalues. So
factors are read off the fit: ``f(l_i) = v_i'fit / v_i'y`` along the principal direction v_i of the rows.

Variable importance in projection is the share of each column in the components, by what these explain of y:

    VIP_j = sqrt( p sum_a SSY_a w_ja^2 / sum_a SSY_a ),  with weights of length 1; the mean square over columns is 1.
"""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from fewer.learn.pls._components import (
    NOTHING_LEFT,
    Factors,
    Watch,
    along_columns,
    keep_going,
    krylov,
    nipals,
    nipals_with_missing,
    observed_part,
    power_of_two,
    simpls,
)
from fewer.learn.pls._table import ROW_BLOCK, CentredTable, column_means, largest_signs, leading_vector, spread

ROUNDING = 1e-11
"""Share of the largest square below which a square from products is rounding."""

SHORTEST = 1e-10
"""Share of the size of K below which a score is rounding."""

LARGEST_DRIFT = 1e-6
"""How far a score of length 1 may lie from what its rotation gives."""


class Moments(NamedTuple):
    """Sums over rows: how many, their means, and the centred products X'X, X'Y and the squares of Y."""

    n_rows: int
    x_mean: np.ndarray
    y_mean: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray

    @classmethod
    def of(cls, X: Any, Y: np.ndarray) -> "Moments":
        """Of all rows, a block of them after the other, so that no table is centred as a whole."""
        n_rows, n_columns = X.shape
        if sparse.issparse(X):
            return cls._of_block(X, Y)
        # At least so many rows that joining sums, of the square of the columns, costs little beside making them.
        blocks = gen_batches(n_rows, max(ROW_BLOCK // n_columns, 2 * n_columns))
        return reduce(cls.joined, (cls._of_block(X[rows], Y[rows]) for rows in blocks))

    @classmethod
    def _of_block(cls, X: Any, Y: np.ndarray) -> "Moments":
        table = CentredTable(X)
        y_mean = Y.mean(axis=0)
        centred = Y - y_mean
        squares = np.einsum("nm,nm->m", centred, centred)
        return cls(X.shape[0], table.mean, y_mean, table.column_products(), table.back(centred), squares)

    def joined(self, other: "Moments") -> "Moments":
        """Those of the rows of both."""
        n_rows = self.n_rows + other.n_rows
        x_step, y_step = other.x_mean - self.x_mean, other.y_mean - self.y_mean
        weight = self.n_rows * other.n_rows / n_rows
        return Moments(
            n_rows,
            self.x_mean + x_step * other.n_rows / n_rows,
            self.y_mean + y_step * other.n_rows / n_rows,
            self.xx + other.xx + weight * np.outer(x_step, x_step),
            self.xy + other.xy + weight * np.outer(x_step, y_step),
            self.yy + other.yy + weight * y_step**2,
        )

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviations of the columns of X and of Y; 1 for constant ones."""
        of_x = spread(np.diag(self.xx) / self.n_rows, self.x_mean, self.n_rows, np.float64)
        return of_x, spread(self.yy / self.n_rows, self.y_mean, self.n_rows, np.float64)


def from_column_products(
    A: np.ndarray,
    S: np.ndarray,
    n_components: int,
    y_square: float,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """Components from ``A = X'X`` and ``S = X'Y``; there are no scores."""
    sizes = (float(np.trace(A)), y_square)
    floors = (ROUNDING, ROUNDING)
    return along_columns(lambda rotation, place: A @ rotation, S, n_components, sizes, floors, watch, max_iter, tol)


class RowComponents(NamedTuple):
    """U, T and ``A = U M`` of (rows, components), with ``T = KA``; M; and Q of (targets, components).

    Scores T have length 1; ``lengths`` are those that ``u`` of length 1 gave them.
    """

    u: np.ndarray
    t: np.ndarray
    rotations: np.ndarray
    mixing: np.ndarray
    y_loadings: np.ndarray
    lengths: np.ndarray


def from_row_products(
    K: np.ndarray,
    Y: np.ndarray,
    n_components: int,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> RowComponents:
    """Components from a centred matrix of products of rows, as many as are above rounding.

    K is not deflated: what it gives is made orthogonal to the earlier scores. A score that the rotations do not give
    back, or that is below 1e-10 of K, is rounding, and so would be all that follow.
    """
    to_targets = None
    if Y.shape[1] > len(Y):
        # More targets than rows: as many combinations of them say the same.
        Y, sizes, to_targets = np.linalg.svd(Y, full_matrices=False)
        Y = Y * sizes
    unit = power_of_two(K)
    K = K / unit
    Y, y_size, k_size = Y.copy(), float(np.linalg.norm(Y)), float(np.linalg.norm(K))
    units, us, rotations = (np.empty((n_components, len(Y))) for _ in range(3))
    y_loadings, lengths = np.empty((n_components, Y.shape[1])), np.empty(n_components)
    mixing = np.eye(n_components)  # by rows, as all the others
    found = 0
    while found < n_components and np.linalg.norm(Y) > NOTHING_LEFT * y_size:
        u = Y[:, 0] if Y.shape[1] == 1 else Y @ leading_vector(Y.T @ (K @ Y), max_iter, tol)
        u = u / np.linalg.norm(u)
        score, rotation = K @ u, u.copy()
        for _ in range(2):
            along = units[:found] @ score
            score -= along @ units[:found]
            rotation -= along @ rotations[:found]
            mixing[found] -= along @ mixing[:found]
        length = float(np.linalg.norm(score))
        if length <= SHORTEST * k_size:
            break
        score, rotation = score / length, rotation / length
        mixing[found] /= length
        if np.linalg.norm(K @ rotation - score) > LARGEST_DRIFT:
            break
        us[found], units[found], rotations[found], lengths[found] = u, score, rotation, length
        y_loadings[found] = score @ Y
        for _ in range(2):
            Y -= np.outer(score, score @ Y)
        found += 1
        if watch(found):
            break
    kept = y_loadings[:found] if to_targets is None else y_loadings[:found] @ to_targets
    rotations, mixing = rotations[:found] / unit, mixing[:found, :found] / unit
    return RowComponents(us[:found].T, units[:found].T, rotations.T, mixing.T, kept.T, unit * lengths[:found])


def of_rows(table: CentredTable, found: RowComponents) -> Factors:
    """The same components by the columns of a table whose products of rows gave them."""
    both = table.back(np.hstack([found.u, found.t]))
    weights, x_loadings = np.split(both, 2, axis=1)
    # A = U M with the triangular M, so that X'A needs no more than X'U.
    rotations = weights @ found.mixing
    sizes = np.linalg.norm(weights, axis=0)
    signs = largest_signs(weights)
    # A weight of length 1 gives a score of this length.
    steps = found.lengths / sizes * signs
    return Factors(
        weights / sizes * signs,
        rotations * steps,
        x_loadings / steps,
        found.y_loadings / steps,
        found.t * steps,
        steps**2,
    )


NOTHING_ALONG = 1e-8
"""Share of the largest ``v_i'y`` below which y does not go with a direction: then there is nothing to shrink."""


def shrinkage_factors(
    fit: np.ndarray, along: np.ndarray, eigenvalues: np.ndarray, ritz_values: np.ndarray
) -> np.ndarray:
    """Factors of PLS1, given ``v_i'fit`` and ``v_i'y``; by the formula where y does not go with the direction."""
    goes = np.abs(along) > NOTHING_ALONG * np.abs(along).max(initial=0)
    factors = np.empty_like(fit)
    factors[goes] = fit[goes] / along[goes]
    with np.errstate(over="ignore", invalid="ignore"):
        factors[~goes] = 1 - np.prod(1 - eigenvalues[~goes, None] / ritz_values, axis=1)
    return factors


def vip_scores(weights: np.ndarray, explained: np.ndarray) -> np.ndarray:
    """VIP of each column, from weights (columns, components) and what each component explains of y."""
    total = float(explained.sum())
    if total == 0:
        return np.zeros(len(weights))
    shares = explained / np.einsum("pk,pk->k", weights, weights)
    return np.sqrt(len(weights) * np.einsum("pk,pk,k->p", weights, weights, shares) / total)


_CHEAP_PRODUCTS = 1e8
_CHEAP_EIGENVALUES = 500
"""Operations for the matrix of products, and its side, up to which eigenvalues cost next to nothing beside a fit."""


WHY_NO_MORE = "because the rest of the table does not vary with y"


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

    solver: str = "nipals"
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
    """Up to ``n_components`` components of a table and targets (rows, targets); the table may have missing values.

    ``mean`` is that of the columns of a dense table, where it is known.
    """
    if settings.solver == "kernel" and X.shape[0] >= X.shape[1]:
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
        found = nipals_with_missing(filled, there, targets, n_components, watch, *rounds).with_targets_in(unit)
        return Solution(found, x_mean, x_scale, y_mean, y_scale, x_square, y_square, None)
    table = CentredTable(X, scale=settings.scale, mean=mean, products_only=True)
    products = None
    if settings.solver == "kernel":
        products = table.row_products()
        found = of_rows(table, from_row_products(products, targets, n_components, watch, *rounds))
    elif settings.solver == "krylov":
        found = krylov(table, targets, n_components, watch)
    else:
        by = simpls if settings.solver == "simpls" else nipals
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
