"""Descent over pairs of subspaces: the row and column space that leave the least squared error.

    F(U, V) = min over S of ||P_O(X - U S V')||_F^2 / 2,   U and V with orthonormal columns.

F depends on the spaces alone [1]_. Its gradient is that of the factors with what lies in the space itself taken away; a
step goes along it, weighted by ``(S S')^-1`` and ``(S' S)^-1`` so that weak directions move as fast as strong ones, and
ends by a QR decomposition back at orthonormal columns. S is solved anew wherever F is looked at.

An optional penalty keeps rows of U and V from growing far above the others: ``rho * sum of g(n |U_i|^2 / (3 mu r))``
and the same for V, where ``g(z) = exp((z - 1)^2) - 1`` above 1, and else 0.

.. [1] Keshavan, R., Montanari, A. and Oh, S. (2010). Matrix completion from noisy entries. Journal of Machine Learning
   Research 11, 2057-2078.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fewer.complete.soft_impute._unshrink import best_core

_ENOUGH = 0.1
"""Share of the fall that the gradient promises and that a step must reach."""
_SMALLEST_STEP = 1e-12
_RIDGE = 1e-10
_EXACT = 1e-18
"""Of the sum of squares: an error that rounding alone would leave."""


class Incoherence(NamedTuple):
    """Strength of the penalty on uneven rows, and the unevenness that is allowed."""

    rho: float
    mu: float


class Subspaces(NamedTuple):
    """Where the descent stands; ``values`` are the model's at the observed entries."""

    U: np.ndarray
    S: np.ndarray
    V: np.ndarray
    values: np.ndarray
    objective: float


class Descent(NamedTuple):
    """Where it ended, and what each step reached."""

    found: Subspaces
    objectives: list[float]
    gradient_norms: list[float]
    converged: bool
    stopped: bool


def descended(
    entries: Any,
    U: np.ndarray,
    V: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    incoherence: Incoherence,
    on_step: Callable[[Subspaces], bool] = lambda state: False,
) -> Descent:
    """From orthonormal U and V until F falls by no more than ``tol`` of itself in a step."""
    state = _at(entries, U, V, None, incoherence)
    step = entries.shape[0] * entries.shape[1] / entries.n_observed
    objectives, norms = [state.objective], []
    scale = float(np.sum(entries.values.astype(np.float64) ** 2))
    converged, stopped = bool(state.objective <= np.finfo(float).eps ** 2 * scale), on_step(state)
    while not converged and not stopped and len(objectives) <= max_iter:
        slopes = _slopes(entries, state, incoherence)
        directions = _evened(slopes, state.S)
        promised = sum(float(np.sum(a * b)) for a, b in zip(slopes, directions, strict=True))
        norms.append(_norm(slopes))
        found, step = _searched(entries, state, directions, promised, step, incoherence)
        if found is None:
            converged = True
            break
        converged = bool(
            state.objective - found.objective <= tol * state.objective or found.objective <= _EXACT * scale
        )
        state = found
        objectives.append(state.objective)
        stopped = on_step(state)
    norms.append(_norm(_slopes(entries, state, incoherence)))
    return Descent(state, objectives, norms, converged, stopped and not converged)


def _norm(slopes: tuple[np.ndarray, ...]) -> float:
    """Root of the sum of squares, which go with the fourth power of the table's unit and may overflow by themselves."""
    size = max(float(np.abs(slope).max(initial=0)) for slope in slopes) or 1.0
    return size * float(np.sqrt(sum(float(np.sum((slope / size) ** 2)) for slope in slopes)))


def _at(entries: Any, U: np.ndarray, V: np.ndarray, near: np.ndarray | None, incoherence: Incoherence) -> Subspaces:
    S = best_core(entries, U, V, start=near)
    values = entries.low_rank_values(U @ S, V)
    objective = float(np.sum((entries.values - values).astype(np.float64) ** 2)) / 2
    if incoherence.rho:
        objective += incoherence.rho * sum(float(_unevenness(side, incoherence)[0].sum()) for side in (U, V))
    return Subspaces(U, S, V, values, objective)


def _slopes(entries: Any, state: Subspaces, incoherence: Incoherence) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of F, at right angles to the present spaces."""
    residual = state.values - entries.values
    slopes = []
    for side, slope in (
        (state.U, entries.times(residual, state.V) @ state.S.T),
        (state.V, entries.transposed_times(residual, state.U) @ state.S),
    ):
        if incoherence.rho:
            slope = slope + incoherence.rho * _unevenness(side, incoherence)[1]
        slopes.append(slope - side @ (side.T @ slope))
    return slopes[0], slopes[1]


def _evened(slopes: tuple[np.ndarray, np.ndarray], S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients, each direction measured in its own strength."""
    ridge = max(_RIDGE * float(np.sum(S**2)), np.finfo(S.dtype).tiny) * np.eye(len(S), dtype=S.dtype)
    return np.linalg.solve(S @ S.T + ridge, slopes[0].T).T, np.linalg.solve(S.T @ S + ridge, slopes[1].T).T


def _searched(
    entries: Any,
    state: Subspaces,
    directions: tuple[np.ndarray, np.ndarray],
    promised: float,
    step: float,
    incoherence: Incoherence,
) -> tuple[Subspaces | None, float]:
    """The first halving of the step that falls far enough, and the step to try next; None when none does."""
    while step > _SMALLEST_STEP:
        U = np.linalg.qr(state.U - step * directions[0])[0]
        V = np.linalg.qr(state.V - step * directions[1])[0]
        turned = (U.T @ state.U) @ state.S @ (state.V.T @ V)
        found = _at(entries, U, V, turned, incoherence)
        if found.objective <= state.objective - _ENOUGH * step * promised:
            return found, 2 * step
        step /= 2
    return None, step


def _unevenness(side: np.ndarray, incoherence: Incoherence) -> tuple[np.ndarray, np.ndarray]:
    """The penalty of each row, and its gradient."""
    size, rank = side.shape
    unit = size / (3 * incoherence.mu * rank)
    excess = np.clip(unit * np.einsum("ij,ij->i", side, side) - 1, 0, 5)
    growth = np.exp(excess**2)
    return growth - 1, (4 * unit * excess * growth)[:, None] * side
