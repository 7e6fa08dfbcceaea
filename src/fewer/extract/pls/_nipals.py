"""The components of NIPALS without deflating the table, along whichever side of it is the shorter.

Along the columns, with S = X'Y, weight w (leading left singular vector of S), rotation r and score t = Xr:

    r = w - sum_j (p_j'w) r_j,   p = X't / t't,   q = S'r / t't,   S <- S - p q' (t't),

so that vectors over the rows are only multiplied with the table; the products ``X'X`` serve in its place. Along the
rows, for one target:

    u = y / |y|,   z = X'u,   t = (I - TT')Xz,   t <- t / |t|,   y <- y - t t'y,

where w is z of length 1, and vectors over the columns are only multiplied with the table. What is left of y is
multiplied with the table anew each time, so that errors do not add up. Loadings need no products of their own: X't lies
in the span of its weight and the next, because what t takes from y is what z loses. Either way the table is read once
for a component.
"""

from collections.abc import Callable

import numpy as np

from fewer.extract.pls._factors import Factors, Watch, keep_going, rounding
from fewer.extract.pls._leading import largest_signs, leading_pair
from fewer.extract.pls._table import CentredTable

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
