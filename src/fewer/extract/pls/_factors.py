"""Components of partial least squares from products with the table.

Scores ``t = Xr`` are orthogonal, one for each weight w:

    SIMPLS   w is the leading left singular vector of S = X'Y;  S <- S - V V'S,  V an orthonormal basis of loadings p
    Krylov   w is the next vector of an orthonormal basis of span{z, Az, A^2 z, ...},  A = X'X,  z = X'y

The table itself is never deflated: ``t`` is made orthogonal to the earlier ones instead, twice where once is not enough
in floating point, and ``r`` follows. Loadings are ``p = X't / t't`` and ``q = Y't / t't``, so that one component costs
two products with the table. ``B = R Q'`` are the coefficients.

Rosipal, R. and Kraemer, N. (2006). Overview and recent advances in partial least squares. LNCS 3940, 34-51.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fewer.extract.pls._leading import largest_signs, leading_pair
from fewer.extract.pls._table import CentredTable

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
