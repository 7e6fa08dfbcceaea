"""Support vector machines for many rows and few columns, by an interior point method.

Minimise ``||w||^2 / 2 + C sum_i max(0, 1 - s_i (z_i.w + b))`` for centred rows z and signs s. With multipliers a of the
margins, the optimum has ``w = sum_i a_i s_i z_i``, ``sum_i a_i s_i = 0`` and ``0 <= a_i <= C``. Each iteration of
Newton's method eliminates the multipliers, and solves for w and b alone, with the matrix ``[I 0; 0 0] + Z' D Z`` for a
diagonal D and Z the rows with a column of ones: O(n p^2). Some thirty iterations reach the optimum, whatever the rows.

Ferris, M. C. and Munson, T. S. (2002). Interior-point methods for massive support vector machines. SIAM Journal on
Optimization 13, 783-804.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

_ENTRIES_AT_ONCE = 1 << 21
_MOST_ITERATIONS = 100
# How far a step goes towards the nearest bound.
_SHARE_OF_STEP = 0.995

Solve = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, float]]


class InteriorMachine(NamedTuple):
    """Weights, intercept for rows centred at their mean, and by how much the conditions of the optimum are missed."""

    weights: np.ndarray
    intercept: float
    violation: float


class CentredRows:
    """Products with a table whose columns are centred, without a centred copy of it."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """The table in blocks of float64; a single one where no copy is needed for that."""
        n_rows, n_columns = self.X.shape
        whole = self.X.dtype == np.float64 or sparse.issparse(self.X)
        height = n_rows if whole else max(1, _ENTRIES_AT_ONCE // n_columns)
        for start in range(0, n_rows, height):
            rows = slice(start, start + height)
            yield rows, self.X if whole else self.X[rows].astype(np.float64)

    def times(self, weights: np.ndarray) -> np.ndarray:
        """``Z w``, for weights without the one of the intercept."""
        parts = [np.asarray(block @ weights).ravel() for _, block in self._blocks()]
        return np.concatenate(parts) - self.mean @ weights

    def back(self, amounts: np.ndarray) -> np.ndarray:
        """``Z' a``, without the column of ones."""
        total = sum(np.asarray(block.T @ amounts[rows]).ravel() for rows, block in self._blocks())
        return total - self.mean * amounts.sum()

    def gram(self, amounts: np.ndarray) -> np.ndarray:
        """``Z' diag(a) Z`` with the column of ones last."""
        n_columns = self.X.shape[1]
        total = np.empty((n_columns + 1, n_columns + 1))
        total[-1, :-1] = total[:-1, -1] = self.back(amounts)
        total[-1, -1] = amounts.sum()
        total[:-1, :-1] = self._sparse_gram(amounts) if sparse.issparse(self.X) else self._dense_gram(amounts)
        return total

    def _sparse_gram(self, amounts: np.ndarray) -> np.ndarray:
        cross = np.outer(self.mean, np.asarray(self.X.T @ amounts).ravel())
        raw = (self.X.T @ sparse.diags_array(amounts) @ self.X).toarray()
        return raw - cross - cross.T + amounts.sum() * np.outer(self.mean, self.mean)

    def _dense_gram(self, amounts: np.ndarray) -> np.ndarray:
        total = np.zeros((self.X.shape[1],) * 2)
        height = max(1, _ENTRIES_AT_ONCE // self.X.shape[1])
        for start in range(0, self.X.shape[0], height):
            rows = (self.X[start : start + height] - self.mean) * np.sqrt(amounts[start : start + height, None])
            total += rows.T @ rows
        return total


class Point(NamedTuple):
    """Where the method stands, or which way it goes. The first four must stay positive."""

    a: np.ndarray
    room: np.ndarray  # C - a, kept by itself so that it never rounds to 0
    below: np.ndarray  # multipliers of a >= 0
    above: np.ndarray  # multipliers of a <= C
    weights: np.ndarray
    intercept: Any

    @property
    def complement(self) -> float:
        """Sum of the products that are all zero at the optimum."""
        return float(self.a @ self.below + self.room @ self.above)

    def moved(self, step: "Point", length: float) -> "Point":
        """The point that a step leads to."""
        return Point(*(here + length * change for here, change in zip(self, step, strict=True)))

    def longest(self, step: "Point") -> float:
        """How much of a step may be gone until something reaches its bound; at most all of it."""
        longest = 1.0
        for value, change in zip(self[:4], step[:4], strict=True):
            falling = change < 0
            if falling.any():
                longest = min(longest, float(np.min(-value[falling] / change[falling])))
        return longest


class Misses(NamedTuple):
    """By how much the three linear conditions of the optimum are missed."""

    margins: np.ndarray
    weights: np.ndarray
    balance: float


def interior_machine(X: Any, signs: np.ndarray, *, C: float, tol: float) -> InteriorMachine:
    """The machine that tells rows of sign 1 from those of sign -1."""
    rows, n = CentredRows(X), len(signs)
    point = Point(np.full(n, C / 2), np.full(n, C / 2), np.ones(n), np.ones(n), np.zeros(X.shape[1]), 0.0)
    best, least = point.weights, np.inf
    for _ in range(_MOST_ITERATIONS):
        misses = _misses(rows, signs, point)
        violation = _violation(point, misses, C)
        if violation < least:
            best, least = point.weights, violation
        if violation < tol or violation > 1e6 * least:  # done, or led astray by rounding
            break
        try:
            solve = _newton(rows, signs, point.below / point.a + point.above / point.room)
        except np.linalg.LinAlgError:  # as near as rounding lets it come
            break
        # First straight for the optimum, which tells how much to stay away from the bounds; then with that.
        straight = _step(solve, point, misses)
        reached = point.moved(straight, point.longest(straight)).complement
        target = (reached / point.complement) ** 3 * point.complement / (2 * n)
        step = _step(
            solve, point, misses, target - straight.a * straight.below, target - straight.room * straight.above
        )
        point = point.moved(step, min(1.0, _SHARE_OF_STEP * point.longest(step)))
    return InteriorMachine(best, middle_intercept(rows.times(best), signs), least)


def middle_intercept(decisions: np.ndarray, signs: np.ndarray) -> float:
    """The best intercept for decision values without one; the middle, where several are equally good.

    The loss bends where a row reaches its margin, at ``s_i - z_i.w``. Its slope is minus the number of positive rows
    far to the left, and rises by 1 at each bend.

    Examples
    --------
    >>> import numpy as np
    >>> middle_intercept(np.array([-3.0, -2.0, 2.0]), np.array([-1.0, -1.0, 1.0]))
    0.0
    """
    n_positive = int((signs > 0).sum())
    bends = np.partition(signs - decisions, [n_positive - 1, n_positive])
    return float(bends[n_positive - 1] + bends[n_positive]) / 2


def _misses(rows: CentredRows, signs: np.ndarray, point: Point) -> Misses:
    margins = signs * (rows.times(point.weights) + point.intercept)
    return Misses(
        margins - 1.0 - point.below + point.above,
        point.weights - rows.back(signs * point.a),
        float(signs @ point.a),
    )


def _violation(point: Point, misses: Misses, C: float) -> float:
    """The duality gap and the largest miss, relative to the objective."""
    size = C + point.a.sum()
    norm = np.linalg.norm(misses.weights) * np.linalg.norm(point.weights)
    return max(point.complement, np.abs(misses.margins).max() * C, norm, abs(misses.balance)) / size


def _newton(rows: CentredRows, signs: np.ndarray, diagonal: np.ndarray) -> Solve:
    """Solves for the changes of a, w and b, given what the three conditions shall change by."""
    inverse = 1.0 / diagonal
    matrix = rows.gram(inverse)
    diagonal_of_weights = np.arange(len(matrix) - 1)
    matrix[diagonal_of_weights, diagonal_of_weights] += 1.0
    scale = 1.0 / np.sqrt(matrix.diagonal())
    factor = cho_factor(matrix * scale * scale[:, None])

    def solve(margins: np.ndarray, weights: np.ndarray, balance: float) -> tuple[np.ndarray, np.ndarray, float]:
        pull = signs * inverse * margins
        right = np.append(weights + rows.back(pull), pull.sum() - balance)
        change = scale * cho_solve(factor, scale * right)
        a = inverse * (margins - signs * (rows.times(change[:-1]) + change[-1]))
        return a, change[:-1], float(change[-1])

    return solve


def _step(solve: Solve, point: Point, misses: Misses, to_below: Any = 0.0, to_above: Any = 0.0) -> Point:
    """Newton's step towards the given products of entries and multipliers."""
    miss_below = to_below - point.a * point.below
    miss_above = to_above - point.room * point.above
    a, weights, intercept = solve(
        -misses.margins + miss_below / point.a - miss_above / point.room, -misses.weights, -misses.balance
    )
    below = (miss_below - point.below * a) / point.a
    above = (miss_above + point.above * a) / point.room
    return Point(a, -a, below, above, weights, intercept)
