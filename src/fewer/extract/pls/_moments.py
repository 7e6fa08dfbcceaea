"""Components of partial least squares from matrices of products: ``X'X`` where columns are few, ``XX'`` where rows are.

From products of columns, A = X'X and S = X'Y alone give all that NIPALS needs of the table, so that it may come in
blocks of rows, of which only sums are kept. From products of rows, K = XX' (or any kernel),
with what the earlier scores have left of Y:

    c = leading eigenvector of Y'KY,   u = Yc,   t = (I - TT')Ku,   t <- t / |t|,   Y <- Y - tt'Y,

and ``W = X'U``, ``P = X'T`` at the end. Products square what rounding does: components along which X has less than
about 1e-5 of its size are lost.
"""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from fewer.extract.pls._factors import NOTHING_LEFT, Factors, Watch, keep_going, power_of_two
from fewer.extract.pls._leading import largest_signs, leading_vector
from fewer.extract.pls._nipals import along_columns
from fewer.extract.pls._table import ROW_BLOCK, CentredTable, spread

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
    """Components from a centred matrix of products of rows, as many as it can tell from rounding.

    K is not deflated: what it gives is made orthogonal to the earlier scores. A score that the rotations do not give
    back, or that is below 1e-10 of K, is rounding, and so would be all that follow.
    """
    to_targets = None
    if Y.shape[1] > len(Y):
        # More targets than rows: as many combinations of them say the same.
        Y, sizes, to_targets = linalg.svd(Y, full_matrices=False, check_finite=False)
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
