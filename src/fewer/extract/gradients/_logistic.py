"""Logistic loss over all pairs of rows, by Newton's method.

With y_i in {-1, 1} and the predictions m_ij of ``_pair_problem``, the coefficients minimise

    sum_ij w_ij log(1 + exp(-y_i m_ij)) + n^2 (reg_f a'Ka + reg_grad sum_t c_t'Kc_t),

which is convex. A step of Newton's method is a problem of least squares with the loss's second derivatives as weights.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit

from fewer.extract.gradients._pair_problem import Iterate, PairProblem, Spectrum

_MOST_INNER_STEPS = 200
_SHORTEST_STEP = 1e-10

Iterates = Callable[[PairProblem, np.ndarray, Spectrum], Iterator[Iterate]]


def newton_solutions(problem: PairProblem, signs: np.ndarray, spectrum: Spectrum, solve: Iterates) -> Iterator[Iterate]:
    """Coefficients after each step, from 0 on, and the gradient relative to the one at 0."""
    coefficients = np.zeros((len(problem.rows), len(problem.penalties)))
    margins = np.zeros_like(problem.weights)
    residual = _residual(problem, signs, coefficients, margins)
    first = np.linalg.norm(residual)
    error = length = 1.0
    while length > 0:
        steepness = expit(margins)
        curved = problem.reweighted(problem.weights * steepness * (1 - steepness), factor=2.0)
        step = _solution(solve(curved, residual, spectrum), tol=min(0.1, error))
        step_values = problem.kernel @ step
        step_margins = problem.margins(step_values)
        weighted = problem.penalties * step_values
        penalty = (2 * np.vdot(coefficients, weighted), np.vdot(step, weighted))
        length = _length(problem.weights, signs, margins, step_margins, penalty)
        coefficients = coefficients + length * step
        margins += length * step_margins
        residual = _residual(problem, signs, coefficients, margins)
        error = float(np.linalg.norm(residual) / first)
        yield Iterate(coefficients, error)


def _residual(problem: PairProblem, signs: np.ndarray, coefficients: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Negative gradient of the objective, in the scalar product of the kernel."""
    pull = problem.weights * signs[:, None] * expit(-signs[:, None] * margins)
    return problem.gathered(pull) - 2 * problem.penalties * coefficients


def _solution(iterates: Iterator[Iterate], tol: float) -> np.ndarray:
    """The first iterate that is good enough, or the last one."""
    best = next(iterates)
    for _ in range(_MOST_INNER_STEPS):
        if best.error <= tol:
            break
        best = next(iterates, best)
    return best.coefficients


def _length(
    weights: np.ndarray, signs: np.ndarray, margins: np.ndarray, step: np.ndarray, penalty: tuple[float, float]
) -> float:
    """How far to go for the objective to fall: the whole step, a half, a quarter ...; 0 where rounding hides it.

    ``penalty`` is the change of the penalties, as the coefficients of the length and of its square.
    """

    def loss(length: float) -> float:
        return np.vdot(weights, np.logaddexp(0, -signs[:, None] * (margins + length * step)))

    start = loss(0.0)
    slope = penalty[0] - np.vdot(weights * expit(-signs[:, None] * margins), signs[:, None] * step)
    length = 1.0
    while length >= _SHORTEST_STEP:
        if loss(length) + length * penalty[0] + length**2 * penalty[1] <= start + 1e-4 * length * slope:
            return length
        length /= 2
    return 0.0
