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
