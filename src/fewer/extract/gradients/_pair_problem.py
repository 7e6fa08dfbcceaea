"""Weighted least squares over all pairs of rows, for a function and its gradient at once.

For every pair of rows there is a prediction of the function at row i from row j, by one step along the gradient,

    m_ij = f(x_j) - F(x_i)'(x_j - x_i),    f = sum_l a_l K(., x_l),    F = sum_l c_l K(., x_l),

and the coefficients minimise ``sum_ij v_ij (z_ij - m_ij)^2 + n^2 (reg_f a'Ka + reg_grad sum_t c_t'Kc_t)``. With
``E`` the map from values (f, F at the rows) to ``sum_ij v_ij m_ij dm_ij``, they solve

    (n^2 reg + E K) (a, c) = sum_ij v_ij z_ij dm_ij.

That matrix is never inverted through ``K``, which may be nearly singular. It is symmetric and positive in the scalar
product ``<u, v> = u'Kv``, so conjugate gradients work there; a step takes a few products of matrices. If the weighted
differences that row i sees were s_i times the mean ones, the system would fall apart along the eigenvectors of
``s^{1/2} K s^{1/2}``: that is the preconditioner, and it makes some tens of steps of some hundreds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import _randomized_eigsh

MOST_UNKNOWNS = 5000
"""Of so many unknowns a direct solution takes a matrix of 200 MB; beyond, conjugate gradients are used."""

_ALL_EIGENVECTORS_UP_TO = 1500
_LEADING_EIGENVECTORS = 300


class Spectrum(NamedTuple):
    """Root of what each row sees, and eigenpairs of the kernel matrix scaled by it, all or the leading ones."""

    roots: np.ndarray
    values: np.ndarray
    vectors: np.ndarray


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
        """``E`` of the equations."""
        return self.gathered(self.weights * self.margins(values))

    def spectrum(self) -> Spectrum:
        """All eigenpairs of a small scaled kernel matrix; of a large one those that matter to a preconditioner."""
        lengths = np.einsum("ij,ij->i", self.rows, self.rows)
        seen = self.weights.sum(axis=1)
        pulled = self.weights @ self.rows
        squares = self.weights @ lengths + seen * lengths - 2 * np.einsum("ij,ij->i", pulled, self.rows)
        roots = np.sqrt(seen / seen.mean() + squares / squares.mean())[:, None] / np.sqrt(2)
        scaled = roots * self.kernel * roots.T
        if len(scaled) <= _ALL_EIGENVECTORS_UP_TO:
            values, vectors = linalg.eigh(scaled, check_finite=False)
        else:
            values, vectors = _randomized_eigsh(scaled, _LEADING_EIGENVECTORS, selection="module", random_state=0)
        return Spectrum(roots, np.maximum(values, 0), vectors)

    def preconditioner(self, spectrum: Spectrum) -> Callable[[np.ndarray], np.ndarray]:
        """Solves the equations for weighted differences that are the mean ones but for their size."""
        sums = self.weights.sum(axis=0) + self.weights.sum(axis=1)
        crossed = self.rows.T @ (self.weights @ self.rows)
        mean_square = ((self.rows.T * sums) @ self.rows - crossed - crossed.T) / len(self.rows)
        sizes, turn = linalg.eigh(mean_square, check_finite=False)
        if self.joint:
            sizes = np.append(sums.mean() / 2, sizes)
            turn = linalg.block_diag(1.0, turn)
        along = 1 / (self.penalties + np.outer(spectrum.values, np.maximum(sizes, 0))) - 1 / self.penalties

        def solve(residual: np.ndarray) -> np.ndarray:
            turned = residual @ turn
            inside = spectrum.vectors @ (along * (spectrum.vectors.T @ (turned / spectrum.roots)))
            return (turned / self.penalties + spectrum.roots * inside) @ turn.T

        return solve


def conjugate_gradients(problem: PairProblem, target: np.ndarray, spectrum: Spectrum) -> Iterator[Iterate]:
    """Better and better solutions of the problem's equations; the kernel gives the scalar product."""
    coefficients = np.zeros_like(target)
    size = np.linalg.norm(target)
    if size == 0:
        yield Iterate(coefficients, 0.0)
        return
    precondition = problem.preconditioner(spectrum)
    residual = target.copy()
    step = ascent = 0.0
    slope = 1.0
    while True:
        preconditioned = precondition(residual)
        image = problem.kernel @ preconditioned
        last, slope = slope, np.vdot(residual, image)
        if slope <= 0:  # nothing is left but rounding
            return
        step = preconditioned + slope / last * step
        ascent = image + slope / last * ascent
        changed = problem.penalties * step + problem.normal(ascent)
        length = slope / np.vdot(ascent, changed)
        coefficients = coefficients + length * step
        residual -= length * changed
        yield Iterate(coefficients, float(np.linalg.norm(residual) / size))


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

    One that has no next step is as good as it gets.
    """
    latest = [next(each) for each in solutions]
    while True:
        yield np.stack([each.coefficients for each in latest]), max(each.error for each in latest)
        for number, iterate in enumerate(latest):
            if iterate.error > tol:
                latest[number] = next(solutions[number], iterate._replace(error=0.0))
