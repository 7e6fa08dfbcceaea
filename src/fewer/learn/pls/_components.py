"""Components of partial least squares from products with the table, with or without missing values.

Scores ``t = Xr`` are orthogonal, one for each weight w:

    SIMPLS   w is the leading left singular vector of S = X'Y;  S <- S - V V'S,  V an orthonormal basis of loadings p
    Krylov   w is the next vector of an orthonormal basis of span{z, Az, A^2 z, ...},  A = X'X,  z = X'y

The table itself is never deflated: ``t`` is made orthogonal to the earlier ones instead, twice where once is not enough
in floating point, and ``r`` follows. Loadings are ``p = X't / t't`` and ``q = Y't / t't``, so that one component costs
two products with the table. ``B = R Q'`` are the coefficients.

NIPALS goes along the shorter side of the table. Along the columns, with S = X'Y, weight w (leading left singular vector
of S), rotation r and score t = Xr:

    r = w - sum_j (p_j'w) r_j,   p = X't / t't,   q = S'r / t't,   S <- S - p q' (t't),

so that vectors over the rows are only multiplied with the table; the products ``X'X`` serve in its place. Along the
rows, for one target:

    u = y / |y|,   z = X'u,   t = (I - TT')Xz,   t <- t / |t|,   y <- y - t t'y,

where w is z of length 1, and vectors over the columns are only multiplied with the table. The rest of y is multiplied
with the table anew each time, so that errors do not add up. Loadings need no products of their own: X't lies in the
span of its weight and the next, because what t takes from y is what z loses. Either way the table is read once for a
component.

With missing values, every sum of NIPALS runs over the observed entries,

    w_j = sum_i x_ij u_i / sum_i u_i^2,   t_i = sum_j x_ij w_j / sum_j w_j^2,   p_j = sum_i x_ij t_i / sum_i t_i^2,

so that a missing entry counts as if it were on the fitted line. Scores are then only nearly orthogonal, and the score
of a row is the less certain the more of it is missing.

Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. LNCS 3940, 34-51.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer._kernels._numpy_lapack import solve_triangular
from fewer.learn.pls._table import CentredTable, largest_signs, leading_pair

NOTHING_LEFT = 1e-12
"""Share of ``|X||Y|`` below which what X'Y has left is rounding; so is a score that is this short beside X."""

ENOUGH = 0.7
"""Share of its length that a vector keeps when it was orthogonal enough before: then once is enough."""

Watch = Callable[[int], bool]
"""Told the number of components after each; says whether to stop."""


class Factors(NamedTuple):
    """Weights W, rotations R (``T = XR``), loadings P and Q, all (columns, components); scores T, and their squares.

    There are no scores, but None, where only sums over rows are known.
    """

    weights: np.ndarray
    rotations: np.ndarray
    x_loadings: np.ndarray
    y_loadings: np.ndarray
    scores: Any
    squares: np.ndarray

    @property
    def n_components(self) -> int:
        return len(self.squares)

    def coefficients(self) -> np.ndarray:
        """``B``, of columns by targets."""
        return self.rotations @ self.y_loadings.T

    def with_targets_in(self, unit: float) -> "Factors":
        """The same for targets that are so many times as large."""
        return self._replace(y_loadings=unit * self.y_loadings)

    def ritz_values(self) -> np.ndarray:
        """Eigenvalues of ``X'X`` within the span of the weights, the largest first."""
        return ritz_values(self.weights, self.x_loadings, self.squares)


def ritz_values(weights: np.ndarray, x_loadings: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """The same of components that are given so."""
    if not len(squares):
        return np.zeros(0)
    # X W = T P'W, because what is left of X is orthogonal to the weights.
    along = np.sqrt(squares)[:, None] * (x_loadings.T @ weights)
    # By numpy alone: threads of its matrix products and of those of scipy would wait for one another.
    root = np.linalg.cholesky(weights.T @ weights)
    return np.linalg.svd(np.linalg.solve(root, along.T), compute_uv=False) ** 2


def keep_going(n_found: int) -> bool:
    """The watch of nobody."""
    return False


class Orthogonal:
    """Scores found so far, and what is found with them; the next score is made orthogonal to them."""

    def __init__(self, table: CentredTable, n_targets: int, most: int) -> None:
        n_rows, n_columns = table.shape
        self.table = table
        self.n_found = 0
        self._arrays = [np.empty((most, size)) for size in (n_columns, n_columns, n_columns, n_targets, n_rows)]
        self._weights, self._rotations, self._x_loadings, self._y_loadings, self._units = self._arrays
        self._lengths = np.empty(most)

    @property
    def weights(self) -> np.ndarray:
        """Of the components found, as rows."""
        return self._weights[: self.n_found]

    def add(self, weight: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Loadings p and q of the component with this weight, for a score of length 1; None where X has no more."""
        found = self.n_found
        rotation, score = weight.copy(), self.table.times(weight)
        whole = float(np.linalg.norm(score))
        length = whole
        for _ in range(2):
            along = self._units[:found] @ score
            score -= along @ self._units[:found]
            rotation -= along @ self._rotations[:found]
            before, length = length, float(np.linalg.norm(score))
            if length > ENOUGH * before:
                break
        if length <= max(rounding(self.table) * self.table.size, np.finfo(np.float64).eps * 10 * whole):
            return None
        self._units[found], self._rotations[found] = score / length, rotation / length
        self._weights[found], self._lengths[found] = weight, length
        self._x_loadings[found] = self.table.back(self._units[found])
        self._y_loadings[found] = self._units[found] @ Y
        self.n_found += 1
        return self._x_loadings[found], self._y_loadings[found]

    @property
    def last(self) -> np.ndarray:
        """The latest score, of length 1."""
        return self._units[self.n_found - 1]

    @property
    def last_length(self) -> float:
        """How long the latest score is for a weight of length 1."""
        return float(self._lengths[self.n_found - 1])

    def without(self, columns: np.ndarray) -> np.ndarray:
        """What columns (rows, columns) have beside all scores."""
        return _removed(columns, self._units[: self.n_found])

    def without_earlier(self, vector: np.ndarray) -> np.ndarray:
        """What a vector over the rows has beside all scores but the latest."""
        return _removed(vector, self._units[: self.n_found - 1])

    def factors(self) -> Factors:
        """What was found, with scores ``t = X_d w`` as long as a weight of length 1 makes them."""
        weights, rotations, x_loadings, y_loadings, units = (array[: self.n_found].T for array in self._arrays)
        lengths = self._lengths[: self.n_found]
        return Factors(
            weights, rotations * lengths, x_loadings / lengths, y_loadings / lengths, units * lengths, lengths**2
        )


def power_of_two(numbers: np.ndarray) -> float:
    """A unit in which numbers are about 1, and which costs no digits: so it matters not how huge or tiny they are."""
    largest = float(np.abs(numbers).max(initial=0.0))
    return 2.0 ** np.frexp(largest)[1] if np.isfinite(largest) else 1.0


def rounding(table: CentredTable) -> float:
    """Share of a size below which it is rounding, for the precision of the table."""
    return max(NOTHING_LEFT, 30 * float(np.finfo(table.dtype).eps))


def simpls(
    table: CentredTable,
    Y: np.ndarray,
    n_components: int,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """SIMPLS: weights of the table as it is; as NIPALS for one target, and a little different for several."""
    found = Orthogonal(table, Y.shape[1], n_components)
    S = table.back(Y)
    floor = rounding(table) * table.size * float(np.linalg.norm(Y))
    basis = np.empty((n_components, table.shape[1]))
    while found.n_found < n_components and np.linalg.norm(S) > floor:
        loadings = found.add(leading_pair(S, max_iter, tol)[0], Y)
        if loadings is None or watch(found.n_found):
            break
        place = found.n_found - 1
        basis[place] = _orthogonal_to(loadings[0], basis[:place])
        S -= np.outer(basis[place], basis[place] @ S)
    return found.factors()


def krylov(table: CentredTable, y: np.ndarray, n_components: int, watch: Watch = keep_going) -> Factors:
    """Least squares within span{z, Az, ..., A^(k-1) z}, for one target: by k steps of conjugate gradients."""
    found = Orthogonal(table, 1, n_components)
    basis = np.empty((n_components, table.shape[1]))
    following = table.back(y[:, 0])
    floor = rounding(table) * table.size * float(np.linalg.norm(y))
    while found.n_found < n_components and np.linalg.norm(following) > floor:
        weight = _orthogonal_to(following, basis[: found.n_found])
        weight *= largest_signs(weight[:, None])[0]
        basis[found.n_found] = weight
        if found.add(weight, y) is None or watch(found.n_found):
            break
        # A w without what the basis has of it; nothing but rounding is left when the space does not grow any more.
        step = table.back(table.times(weight) / table.size)
        following = _removed(step, basis[: found.n_found])
        floor = rounding(table) * table.size
    return found.factors()


def _removed(vectors: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """A vector, or several as columns, without what lies in the span of an orthonormal basis (rows)."""
    length = np.linalg.norm(vectors)
    for _ in range(2):
        vectors = vectors - basis.T @ (basis @ vectors)
        before, length = length, np.linalg.norm(vectors)
        if length > ENOUGH * before:
            break
    return vectors


def _orthogonal_to(vector: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """What a vector has beside an orthonormal basis (rows), of length 1."""
    left = _removed(vector, basis)
    return left / np.linalg.norm(left)


_CLEAR_SHARE = 0.01
"""Share of what is left of y that a score takes, at the least, where its loading is read off two weights: no more than
two digits are lost then."""


def nipals(
    table: CentredTable,
    Y: np.ndarray,
    n_components: int,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """PLS1 and PLS2: at most ``n_components`` of them, fewer where nothing is left of X'Y or of X."""
    n_rows, n_columns = table.shape
    if Y.shape[1] == 1 and n_rows < n_columns:
        return _along_rows(table, Y[:, 0], n_components, watch)
    scores = np.empty((n_components, n_rows))

    def products(rotation: np.ndarray, place: int) -> np.ndarray:
        scores[place], back = table.forth_and_back(rotation)
        return back

    floor = rounding(table)
    sizes = (table.square, float(np.vdot(Y, Y)))
    found = along_columns(products, table.back(Y), n_components, sizes, (floor, floor**2), watch, max_iter, tol)
    if found.n_components < n_components:
        scores = scores[: found.n_components].copy()  # so that the room of the others is free
    return found._replace(scores=scores.T)


def along_columns(
    products: Callable[[np.ndarray, int], np.ndarray],
    S: np.ndarray,
    n_components: int,
    sizes: tuple[float, float],
    floors: tuple[float, float],
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """Components from ``S = X'Y`` and a function that gives ``X'Xr`` of the rotation r at a place; without scores.

    ``sizes`` are the squares of X and of Y. ``floors`` are the shares, of |X||Y| and of the square of X, below which
    what X'Y has left, and the square of a score, is rounding.
    """
    n_columns, n_targets = S.shape
    x_square, y_square = sizes
    unit = float(np.sqrt(x_square) * np.sqrt(y_square)) or 1.0
    S = S / unit  # so that units in which the table and the targets are huge or tiny do not matter
    arrays = [np.empty((n_components, size)) for size in (n_columns, n_columns, n_columns, n_targets)]
    weights, rotations, x_loadings, y_loadings = arrays
    squares = np.empty(n_components)
    found = 0
    while found < n_components and (left := float(np.linalg.norm(S))) > floors[0]:
        # Weights of NIPALS are orthogonal; what rounding has left in S must not change that, nor pass for a component.
        weight = leading_pair(S, max_iter, tol)[0]
        for _ in range(2):
            weight = weight - (weights[:found] @ weight) @ weights[:found]
        length = float(np.linalg.norm(weight))
        if left * length <= floors[0]:
            break
        weight /= length
        rotation = weight - (x_loadings[:found] @ weight) @ rotations[:found]
        # A second time, for what rounding has left: scores are orthogonal where r'X'X r_j is zero.
        rotation -= (x_loadings[:found] @ rotation) @ rotations[:found]
        along = products(rotation, found)
        square = float(rotation @ along)
        if square <= floors[1] * x_square * float(rotation @ rotation):
            break
        weights[found], rotations[found], squares[found] = weight, rotation, square
        x_loadings[found], y_loadings[found] = along / square, rotation @ S / square
        S -= np.outer(along, y_loadings[found])
        found += 1
        if watch(found):
            break
    W, R, P, Q = (array[:found].T for array in arrays)
    return Factors(W, R, P, Q * unit, None, squares[:found])


def _along_rows(table: CentredTable, y: np.ndarray, n_components: int, watch: Watch) -> Factors:
    """Components for one target."""
    n_rows, n_columns = table.shape
    # In one piece, which is large enough for large pages of memory.
    weights, rotations, x_loadings = np.empty((3, n_components, n_columns))
    units = np.empty((n_components, n_rows))
    # Loadings X't of scores of length 1 along the weights: themselves, and the one before.
    lengths, before = np.empty(n_components), np.zeros(n_components)
    y_loadings, mixing = np.empty(n_components), np.eye(n_components)
    clear = np.zeros(n_components, dtype=bool)
    least = rounding(table)
    y_size = left = float(np.linalg.norm(y))
    found = 0
    while found < n_components and left > 0 and table.size > 0:
        # By the size of the table, so that units in which it is huge or tiny do not matter.
        weights[found], score = table.back_and_forth(y / left / table.size)
        size = float(np.linalg.norm(weights[found]))
        if size * left <= least * y_size:
            break
        for _ in range(2):
            along = units[:found] @ score
            score -= along @ units[:found]
            mixing[found] -= along @ mixing[:found]
            before[found] += along[-1] if found else 0.0
        length = float(np.linalg.norm(score))
        if length <= least * table.size * size:
            break
        units[found], lengths[found] = score / length, length / size
        before[found] /= size
        mixing[found] /= length
        y_loadings[found] = units[found] @ y
        for _ in range(2):
            y = y - units[found] * (units[found] @ y)
        weights[found] /= size
        mixing[:, found] *= size
        clear[found] = abs(y_loadings[found]) > _CLEAR_SHARE * left
        left = float(np.linalg.norm(y))
        found += 1
        if watch(found):
            break
    weights, rotations, x_loadings = weights[:found], rotations[:found], x_loadings[:found]
    units, lengths = units[:found], lengths[:found]
    # A weight of length 1 gives a score of this length.
    steps = lengths * largest_signs(weights.T)
    np.matmul(steps[:, None] * mixing[:found, :found], weights, out=rotations)
    np.matmul((np.diag(lengths) + np.diag(before[1:found], 1)) / steps[:, None], weights, out=x_loadings)
    own = np.flatnonzero(~clear[:found] | (np.arange(found) == found - 1))
    x_loadings[own] = table.back(units[own].T).T / steps[own, None]
    weights *= np.sign(steps)[:, None]
    return Factors(weights.T, rotations.T, x_loadings.T, (y_loadings[:found] / steps)[None], units.T * steps, steps**2)


def observed_part(X: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The table centred and scaled, with 0 for missing entries; and where it is observed, as 1 and 0."""
    there = ~np.isnan(X)
    return np.where(there, (X - mean) / scale, 0.0), there.astype(np.float64)


def nipals_with_missing(
    table: np.ndarray,
    there: np.ndarray,
    Y: np.ndarray,
    n_components: int,
    watch: Watch = keep_going,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Factors:
    """Components of a table with 0 for missing entries, which it changes."""
    Y = Y.copy()
    floor = NOTHING_LEFT * float(np.linalg.norm(table) * np.linalg.norm(Y))
    short = NOTHING_LEFT * float(np.linalg.norm(table))
    found: list[tuple[np.ndarray, ...]] = []
    while len(found) < n_components and np.linalg.norm(table.T @ Y) > floor:
        weight, score = _leading(table, there, Y, max_iter, tol)
        square = float(score @ score)
        if np.sqrt(square) <= short:
            break
        x_loading, y_loading = _over(table.T @ score, there.T @ score**2), Y.T @ score / square
        table -= there * np.outer(score, x_loading)
        Y -= np.outer(score, y_loading)
        found.append((weight, x_loading, y_loading, score))
        if watch(len(found)):
            break
    n_rows, n_columns = table.shape
    sizes = (n_columns, n_columns, Y.shape[1], n_rows)
    weights, x_loadings, y_loadings, scores = (
        np.array([each[place] for each in found]).reshape(-1, size).T for place, size in enumerate(sizes)
    )
    # Each score is found on what the earlier ones have left of a row, so that rows without missing values go along
    # these.
    steps = np.triu(x_loadings.T @ weights, 1) + np.eye(len(found))
    rotations = solve_triangular(steps, weights.T, lower=False, transposed=True).T
    return Factors(weights, rotations, x_loadings, y_loadings, scores, np.einsum("nk,nk->k", scores, scores))


def scores_with_missing(
    table: np.ndarray, there: np.ndarray, weights: np.ndarray, x_loadings: np.ndarray
) -> np.ndarray:
    """Scores of new rows with 0 for missing entries, one component after the other; it changes the table."""
    scores = np.empty((len(table), weights.shape[1]))
    for place, (weight, loading) in enumerate(zip(weights.T, x_loadings.T, strict=True)):
        scores[:, place] = _over(table @ weight, there @ weight**2)
        table -= there * np.outer(scores[:, place], loading)
    return scores


def _leading(
    table: np.ndarray, there: np.ndarray, Y: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and score on which the loop settles."""
    u, before, change = Y[:, np.einsum("nm,nm->m", Y, Y).argmax()], None, np.inf
    for _ in range(max_iter):
        weight = _over(table.T @ u, there.T @ u**2)
        weight *= np.sign(weight[np.abs(weight).argmax()]) / np.linalg.norm(weight)
        score = _over(table @ weight, there @ weight**2)
        if Y.shape[1] == 1:
            return weight, score
        target = Y.T @ score
        u = Y @ (target / np.linalg.norm(target))
        if before is not None:
            change = float(np.linalg.norm(score - before) / np.linalg.norm(score))
            if change < tol:
                return weight, score
        before = score
    warn_caller(
        f"The score of a component still changes by {change:.1e} of its length after {max_iter} rounds, above "
        f"tol={tol:g}; raise max_iter or tol.",
        ConvergenceWarning,
    )
    return weight, score


def _over(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Quotient, and 0 where nothing is observed."""
    return np.divide(sums, squares, out=np.zeros_like(sums), where=squares > 0)
