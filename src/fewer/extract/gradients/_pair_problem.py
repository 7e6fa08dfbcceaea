"""Weighted least squares, and logistic loss, over all pairs of rows, for a function and its gradient at once.

For every pair of rows there is a prediction of the function at row i from row j, by one step along the gradient,

    m_ij = f(x_j) - F(x_i)'(x_j - x_i),    f = sum_l a_l K(., x_l),    F = sum_l c_l K(., x_l),

and the coefficients minimise ``sum_ij v_ij (z_ij - m_ij)^2 + n^2 (alpha_f a'Ka + alpha_grad sum_t c_t'Kc_t)``. With
``E`` the map from values (f, F at the rows) to ``sum_ij v_ij m_ij dm_ij``, they solve

    (n^2 alpha + E K) (a, c) = sum_ij v_ij z_ij dm_ij.

That matrix is never inverted through ``K``, which may be nearly singular. It is symmetric and positive in the scalar
product ``<u, v> = u'Kv``, so conjugate gradients work there; a step takes a few products of matrices. If the weighted
differences that row i sees were s_i times the mean ones, the system would decompose along the eigenvectors of
``s^{1/2} K s^{1/2}``: that is the preconditioner, and it saves most of some hundreds of steps. The slowest
modes, linear functions with constant gradients, are coupled, and are solved for at once.

With y_i in {-1, 1} and the logistic loss, the coefficients minimise

    sum_ij w_ij log(1 + exp(-y_i m_ij)) + n^2 (alpha_f a'Ka + alpha_grad sum_t c_t'Kc_t),

which is convex. A step of Newton's method is a problem of least squares with the loss's second derivatives as weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import linalg
from scipy.special import expit
from sklearn.utils import gen_batches

from fewer._estimators import randomized_eigsh


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def weigh_margins(products, weights, here, there, row_sums, column_sums):
    """Turn each ``products[i, j]`` into ``weights[i, j] * (here[i] + there[j] - products[i, j])``.

    The sum of each row is written to ``row_sums``, that of each column is added to ``column_sums``.
    """
    n_rows, n_columns = products.shape
    for i in range(n_rows):
        offset = here[i]
        total = 0.0
        for j in range(n_columns):
            weighted = weights[i, j] * (offset + there[j] - products[i, j])
            products[i, j] = weighted
            total += weighted
            column_sums[j] += weighted
        row_sums[i] = total


MOST_UNKNOWNS = 5000
"""Of so many unknowns a direct solution takes a matrix of 200 MB; beyond, conjugate gradients are used."""

_ALL_EIGENVECTORS_UP_TO = 1500
_LEADING_EIGENVECTORS = 300
_ROWS_AT_ONCE = 64
_MOST_COUPLED = 100
_ORDINARY, _STIFF = 1e4, 1e5
"""Single precision is for numbers up to the first, and equations up to the second times as large as their penalties."""
_CHECKED_EVERY = 1e-3
_LITTLE = 1e-6


class Spectrum(NamedTuple):
    """Root of what each row sees, and eigenpairs of the kernel matrix scaled by it, all or the leading ones.

    Vectors are in single precision unless penalties are so small that it would not do.
    """

    roots: np.ndarray
    values: np.ndarray
    vectors: np.ndarray


class Coupled(NamedTuple):
    """Places of modes among eigenvectors and columns, and the matrix that solves for them (see ``preconditioner``)."""

    modes: tuple[np.ndarray, np.ndarray]
    solve: np.ndarray


class Iterate(NamedTuple):
    """Coefficients so far, and what is left of the equations, relative to their right-hand side."""

    coefficients: np.ndarray
    error: float


@dataclass(frozen=True)
class PairProblem:
    """Rows in few coordinates, the kernel matrix, and the penalties; coefficients are (rows, [a and] c)."""

    rows: np.ndarray
    kernel: np.ndarray
    weights: np.ndarray
    penalties: np.ndarray
    joint: bool

    def reweighted(self, weights: np.ndarray, factor: float) -> "PairProblem":
        """The same with other weights, and penalties times a factor."""
        return replace(self, weights=weights, penalties=factor * self.penalties)

    def in_single_precision(self) -> "PairProblem":
        """The same to six digits, with half of the memory to go through."""
        arrays = {name: getattr(self, name).astype(np.float32) for name in ("rows", "kernel", "weights")}
        return replace(self, **arrays)

    def _precision(self) -> type[np.floating]:
        """Single, if numbers are of an ordinary size, and the equations well enough penalised for it."""
        ordinary = 1 / _ORDINARY < np.abs(self.rows).max() < _ORDINARY
        largest = len(self.rows) * np.linalg.eigvalsh(self._mean_square())[-1]
        return np.float32 if ordinary and largest < _STIFF * self.penalties.min() else np.float64

    def _mean_square(self) -> np.ndarray:
        """Weighted outer products of differences, summed over what a row sees, on average over rows."""
        sums = self.weights.sum(axis=0) + self.weights.sum(axis=1)
        crossed = self.rows.T @ (self.weights @ self.rows)
        return ((self.rows.T * sums) @ self.rows - crossed - crossed.T) / len(self.rows)

    def margins(self, values: np.ndarray) -> np.ndarray:
        """Prediction m_ij of the function at row i from row j, from its values and gradients at the rows."""
        gradients = values[:, 1:] if self.joint else values
        margins = np.einsum("ij,ij->i", gradients, self.rows)[:, None] - gradients @ self.rows.T
        if self.joint:
            margins += values[:, 0]
        return margins

    def gathered(self, pairs: np.ndarray) -> np.ndarray:
        """Sum over pairs of a number times the derivative of m_ij: the transpose of ``margins``."""
        steps = pairs.sum(axis=1)[:, None] * self.rows - pairs @ self.rows
        return np.column_stack([pairs.sum(axis=0), steps]) if self.joint else steps

    def normal(self, values: np.ndarray) -> np.ndarray:
        """``E`` of the equations: ``gathered(weights * margins(values))``, some rows at a time, which stay in cache."""
        n_rows = len(self.rows)
        gradients = np.ascontiguousarray(values[:, 1:]) if self.joint else values
        there = values[:, 0].copy() if self.joint else np.zeros(n_rows, dtype=values.dtype)
        here = np.einsum("ij,ij->i", gradients, self.rows)
        pulled, row_sums, column_sums = np.empty_like(self.rows), np.empty_like(here), np.zeros_like(here)
        products = np.empty((min(_ROWS_AT_ONCE, n_rows), n_rows), dtype=here.dtype)
        for some in gen_batches(n_rows, _ROWS_AT_ONCE):
            block = np.matmul(gradients[some], self.rows.T, out=products[: some.stop - some.start])
            weigh_margins(block, self.weights[some], here[some], there, row_sums[some], column_sums)
            np.matmul(block, self.rows, out=pulled[some])
        steps = row_sums[:, None] * self.rows - pulled
        return np.column_stack([column_sums, steps]) if self.joint else steps

    def spectrum(self) -> Spectrum:
        """All eigenpairs of a small scaled kernel matrix; of a large one those that matter to a preconditioner."""
        lengths = np.einsum("ij,ij->i", self.rows, self.rows)
        seen = self.weights.sum(axis=1)
        pulled = self.weights @ self.rows
        squares = self.weights @ lengths + seen * lengths - 2 * np.einsum("ij,ij->i", pulled, self.rows)
        roots = np.sqrt(seen / seen.mean() + squares / squares.mean())[:, None] / np.sqrt(2)
        scaled = (roots * self.kernel * roots.T).astype(self._precision())
        if len(scaled) <= _ALL_EIGENVECTORS_UP_TO:
            values, vectors = np.linalg.eigh(scaled)
        else:
            values, vectors = randomized_eigsh(scaled, _LEADING_EIGENVECTORS, selection="module", random_state=0)
        return Spectrum(roots, np.maximum(values, 0).astype(float), vectors)

    def preconditioner(self, spectrum: Spectrum) -> Callable[[np.ndarray], np.ndarray]:
        """Solves the equations for weighted differences that are the mean ones but for their size."""
        sizes, turn = np.linalg.eigh(self._mean_square())
        coupled = self._coupled(spectrum, turn) if self.joint and len(turn) <= _MOST_COUPLED else None
        if self.joint:
            sizes = np.append(self.weights.sum() / len(self.rows), sizes)
            turn = linalg.block_diag(1.0, turn)
        curved = np.outer(spectrum.values, np.maximum(sizes, 0))
        vectors = spectrum.vectors
        along = (-curved / (self.penalties + curved)).astype(vectors.dtype)

        def solve(residual: np.ndarray) -> np.ndarray:
            turned = residual @ turn
            scaled = turned / spectrum.roots
            unit = np.abs(scaled).max() or 1.0
            modes = vectors.T @ (scaled / unit).astype(vectors.dtype)
            inner = along * modes
            if coupled is not None:
                inner[coupled.modes] = coupled.solve @ modes[coupled.modes]
            inside = vectors @ inner
            return ((turned + spectrum.roots * (unit * inside)) / self.penalties) @ turn.T

        return solve

    def _coupled(self, spectrum: Spectrum, turn: np.ndarray) -> "Coupled":
        """A function that is about linear goes with a gradient that is about constant: these modes at once.

        With u_k the eigenvectors divided by the roots, the first of which is about constant and the next about linear,
        the function is in the span of some u_k, and the gradient is u_0 times any vector.
        """
        rank = len(turn)
        leading = np.argsort(-spectrum.values, kind="stable")[: rank + 1]
        u = spectrum.vectors[:, leading].astype(float) / spectrum.roots
        first, along = u[:, 0], self.rows @ turn
        seen, given = self.weights.sum(axis=1), self.weights.sum(axis=0)
        squares = first**2
        cross = (along * squares[:, None]).T @ (self.weights @ along)
        gradients = (along.T * (squares @ self.weights + squares * seen)) @ along - cross - cross.T
        both = (along * first[:, None]).T @ (self.weights @ u) - (along * (first @ self.weights)[:, None]).T @ u
        matrix = np.block([[(u.T * given) @ u, both.T], [both, gradients]])
        values = np.append(spectrum.values[leading], np.full(rank, spectrum.values[leading[0]]))
        penalties = np.append(np.full(len(leading), self.penalties[0]), self.penalties[1:])
        system = np.diag(penalties) + matrix * values
        # Values and slopes have different units, which shall not make the system look singular.
        units = np.sqrt(np.outer(system.diagonal(), system.diagonal()))
        inverse = np.linalg.inv(system / units) / units
        places = (
            np.append(leading, np.full(rank, leading[0])),
            np.append(np.zeros(len(leading), dtype=int), np.arange(1, rank + 1)),
        )
        added = penalties[:, None] * inverse - np.eye(len(values))
        return Coupled(places, added.astype(spectrum.vectors.dtype))


def conjugate_gradients(problem: PairProblem, target: np.ndarray, spectrum: Spectrum) -> Iterator[Iterate]:
    """Better and better solutions of the problem's equations; the kernel gives the scalar product."""
    size = np.linalg.norm(target)
    coefficients = np.zeros_like(target)
    if size == 0:
        yield Iterate(coefficients, 0.0)
        return
    precondition = problem.preconditioner(spectrum)
    # Where single precision will do, steps are found in it, at half of the cost; they are added up, and what they leave
    # is checked repeatedly, in double precision.
    near = problem if spectrum.vectors.dtype == np.float64 else problem.in_single_precision()
    target = target / size
    residual = target.copy()
    error = checked = 1.0
    step: Any = 0.0
    ascent: Any = 0.0
    slope = 1.0
    while True:
        preconditioned = precondition(residual)
        image = near.kernel @ preconditioned.astype(near.kernel.dtype)
        last, slope = slope, _product(residual, image)
        if slope <= 0:  # nothing is left but rounding
            if not coefficients.any():
                yield Iterate(coefficients, error)
            return
        step = preconditioned + slope / last * step
        ascent = image + near.kernel.dtype.type(slope / last) * ascent
        changed = problem.penalties * step + near.normal(ascent)
        length = slope / _product(ascent, changed)
        coefficients = coefficients + length * step
        residual -= length * changed
        error = float(np.linalg.norm(residual))
        if error < _CHECKED_EVERY * checked:
            residual = target - problem.penalties * coefficients - problem.normal(problem.kernel @ coefficients)
            error = checked = float(np.linalg.norm(residual))
        yield Iterate(size * coefficients, error)


def _product(first: np.ndarray, second: np.ndarray) -> float:
    """Scalar product, added up in double precision."""
    return float(np.vdot(first.astype(float, copy=False), second.astype(float, copy=False)))


def direct_solutions(problem: PairProblem, target: np.ndarray, spectrum: Spectrum | None = None) -> Iterator[Iterate]:
    """The solution by factors of the whole matrix, then the same with its rounding taken back."""
    factors = linalg.lu_factor(_matrix(problem), overwrite_a=True, check_finite=False)
    coefficients = np.zeros_like(target)
    residual = target
    size = np.linalg.norm(target)
    for _ in range(2):
        coefficients = coefficients + linalg.lu_solve(factors, residual.ravel(), check_finite=False).reshape(
            target.shape
        )
        values = problem.kernel @ coefficients
        residual = target - problem.penalties * coefficients - problem.normal(values)
        yield Iterate(coefficients, float(np.linalg.norm(residual) / size) if size else 0.0)


def _matrix(problem: PairProblem) -> np.ndarray:
    """Matrix of the equations; coefficients row by row."""
    rows, kernel, weights = problem.rows, problem.kernel, problem.weights
    n_rows, rank = rows.shape
    n_each = rank + problem.joint
    matrix = np.zeros((n_rows, n_each, n_rows, n_each))
    for i in range(n_rows):
        differences = rows - rows[i]
        weighted = weights[i][:, None] * differences
        matrix[i, -rank:, :, -rank:] = np.einsum("ab,l->alb", differences.T @ weighted, kernel[i])
        if problem.joint:
            matrix[i, 1:, :, 0] = -weighted.T @ kernel
            matrix[:, 0, :, 1:] -= kernel[i][:, None] * weighted[:, None, :]
    if problem.joint:
        matrix[:, 0, :, 0] = weights.sum(axis=0)[:, None] * kernel
    matrix = matrix.reshape(n_rows * n_each, n_rows * n_each)
    matrix[np.diag_indices_from(matrix)] += np.tile(problem.penalties, n_rows)
    return matrix


def in_step(solutions: list[Iterator[Iterate]], tol: float) -> Iterator[tuple[np.ndarray, float]]:
    """Coefficients of all solutions after each step of those that are not good enough yet, and the worst error.

    One that has no next step is as good as it gets, and good enough if it leaves little; it ends if none has.
    """
    latest = [next(each) for each in solutions]
    going = True
    while going:
        yield np.stack([each.coefficients for each in latest]), max(each.error for each in latest)
        going = False
        for number, iterate in enumerate(latest):
            if iterate.error > tol:
                as_it_is = iterate._replace(error=0.0) if iterate.error <= _LITTLE else None
                following = next(solutions[number], as_it_is)
                if following is not None:
                    latest[number], going = following, True


_MOST_INNER_STEPS = 200
_SHORTEST_STEP = 1e-10

Iterates = Callable[[PairProblem, np.ndarray, Spectrum], Iterator[Iterate]]


def newton_solutions(problem: PairProblem, signs: np.ndarray, spectrum: Spectrum, solve: Iterates) -> Iterator[Iterate]:
    """Coefficients after each step, from 0 on, and the gradient relative to the one at 0."""
    coefficients = np.zeros((len(problem.rows), len(problem.penalties)))
    towards = signs[:, None]
    margins = np.zeros_like(problem.weights)  # times the sign, so that large is right
    loss = _loss(problem.weights, margins)
    pull = problem.weights * 0.5
    residual = problem.gathered(towards * pull)
    first = np.linalg.norm(residual)
    error = length = 1.0
    while length > 0:
        # The second derivative is the first one, w q with q = 1 / (1 + exp(m)), times 1 - q.
        curved = problem.reweighted(pull * expit(margins), factor=2.0)
        step = _solution(solve(curved, residual, spectrum), tol=min(0.1, error))
        step_values = problem.kernel @ step
        step_margins = towards * problem.margins(step_values)
        weighted = problem.penalties * step_values
        penalty = (2 * np.vdot(coefficients, weighted), np.vdot(step, weighted))
        slope = penalty[0] - np.vdot(pull, step_margins)
        length, loss = _length(problem.weights, margins, step_margins, loss, slope, penalty)
        coefficients = coefficients + length * step
        margins += length * step_margins
        pull = problem.weights * expit(-margins)
        residual = problem.gathered(towards * pull) - 2 * problem.penalties * coefficients
        error = float(np.linalg.norm(residual) / first)
        yield Iterate(coefficients, error)


def _solution(iterates: Iterator[Iterate], tol: float) -> np.ndarray:
    """The first iterate that is good enough, or the last one."""
    best = next(iterates)
    for _ in range(_MOST_INNER_STEPS):
        if best.error <= tol:
            break
        best = next(iterates, best)
    return best.coefficients


def _length(
    weights: np.ndarray,
    margins: np.ndarray,
    step: np.ndarray,
    start: float,
    slope: float,
    penalty: tuple[float, float],
) -> tuple[float, float]:
    """How far to go for the objective to fall, and the loss there: the whole step, a half, a quarter ...

    It is 0 where rounding hides the fall. ``penalty`` is the change of the penalties, as the coefficients of the length
    and of its square.
    """
    length = 1.0
    while length >= _SHORTEST_STEP:
        loss = _loss(weights, margins + length * step)
        if loss + length * penalty[0] + length**2 * penalty[1] <= start + 1e-4 * length * slope:
            return length, loss
        length /= 2
    return 0.0, start


def _loss(weights: np.ndarray, margins: np.ndarray) -> float:
    return float(np.vdot(weights, np.logaddexp(0, -margins)))
