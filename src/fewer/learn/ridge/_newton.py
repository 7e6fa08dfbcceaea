"""Linear models with a squared penalty at many penalties, for several sets of row weights at once.

For each set of row weights ``c`` (a fold's are zero on the rows that it holds out) and each penalty, minimise

    sum_i c_i loss(y_i, z_i) + penalty / 2 ||w||^2,   z = A (w, b),

by Newton's method, started at the solution of the penalty before. The systems of all sets are solved together by
conjugate gradients, preconditioned by the diagonal, so that a pass over the table serves all of them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fewer.learn.ridge._losses import Terms
from fewer.learn.ridge._tables import Table

_MAX_CG = 500
# Systems are solved until the residual has come down to this share, in the norm of the preconditioner; to a smaller one
# where the gap is small already, so that the last steps converge faster than linearly.
_FORCING, _LEAST_FORCING = 0.1, 1e-4
# Where the preconditioner as the Hessian gives a gap of no more than this share of the tolerance, no step is made.
_NO_STEP = 1e-2
# Relative change of the curvature after which the preconditioner is renewed.
_STALE = 0.1


class Point(NamedTuple):
    """Models at one penalty, one for each set of row weights.

    Attributes
    ----------
    penalty : float
        Weight of half the squared length of the coefficients.
    coefs : ndarray of shape (size, n_sets, n_outputs)
        Coefficients; with an intercept the last row.
    predictions : ndarray of shape (n_samples, n_sets, n_outputs)
        Of all rows, whether their weight is zero or not.
    objectives : ndarray of shape (n_sets,)
        What was minimised.
    gaps : ndarray of shape (n_sets,)
        How far the last step brought the objective down, by its quadratic model, over the objective.
    n_iter : int
        Newton steps made.
    """

    penalty: float
    coefs: np.ndarray
    predictions: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    n_iter: int


def ridge_path(
    table: Table,
    loss: Any,
    weights: np.ndarray,
    penalties: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> Iterator[Point]:
    """The models at each penalty, in the order given, from the strongest on; ``start`` is the first's initial value.

    A point ends with the first step that lowers no objective by more than ``tol`` of itself. That is an estimate of the
    gap before the step; what the step leaves is about ``_FORCING**2`` of it.
    """
    coefs = np.zeros((table.size, weights.shape[1], loss.n_outputs)) if start is None else start
    if table.fit_intercept and start is None:
        coefs[-1] = loss.null(weights)
    predictions = table.forward(coefs)
    terms = loss.terms(predictions, weights)
    penalised = table.penalised[:, None, None]
    known, squares, past = np.array(np.inf), np.array(0.0), list[tuple]()
    for place, penalty in enumerate(penalties):
        damping = penalty * penalised
        objectives = terms.values + 0.5 * _inner(damping * coefs, coefs)
        past = [*past[-2:], (coefs, predictions)]
        if place >= 2 and _moved(past[-2][0], coefs):
            coefs, predictions, terms, objectives = _extrapolated(
                loss, weights, damping, (coefs, predictions, terms, objectives), past[-place:]
            )
        curvature = loss.diagonal(terms)
        total = curvature.sum(axis=0)
        if (np.abs(total - known) > _STALE * total).any():
            known, squares = total, table.weighted_squares(curvature)
        diagonal = squares + damping
        n_iter, gaps = 0, np.array([np.inf])
        while n_iter < max_iter and (gaps > tol).any():
            gradient = table.backward(terms.slopes) + damping * coefs
            estimates = 0.5 * _inner(gradient, gradient / diagonal) / np.maximum(objectives, np.finfo(float).tiny)
            if (estimates <= _NO_STEP * tol).all():
                n_iter, gaps = max(n_iter, 1), estimates
                break
            forcing = np.clip(np.sqrt(gaps.max()), _LEAST_FORCING, _FORCING)
            step, change, decrease = _newton_step(table, loss, terms, damping, gradient, diagonal, forcing)
            gaps = decrease / np.maximum(objectives, np.finfo(float).tiny)
            coefs, predictions, terms, objectives = _stepped(
                loss, weights, damping, (coefs, predictions, objectives), (step, change, decrease)
            )
            n_iter += 1
        yield Point(float(penalty), coefs, predictions, objectives, gaps, n_iter)


def _extrapolated(loss, weights, damping, at, past) -> tuple[np.ndarray, np.ndarray, Terms, np.ndarray]:
    """The quadratic or linear continuation of the past points, if it lowers the objective of every set; else as it is.

    The penalties are in geometric order, and the solutions are smooth functions of their logarithm.
    """
    for factors in ((1.0, -3.0, 3.0), (-1.0, 2.0))[3 - len(past) :]:
        points = list(zip(factors, past[-len(factors) :], strict=True))
        coefs, predictions = (sum(factor * point[part] for factor, point in points) for part in (0, 1))
        terms = loss.terms(predictions, weights)
        objectives = terms.values + 0.5 * _inner(damping * coefs, coefs)
        if (objectives < at[-1]).all():
            return coefs, predictions, terms, objectives
    return at


def _moved(before: np.ndarray, coefs: np.ndarray) -> bool:
    """Whether the coefficients of any set have changed by more than a hundredth of their norm."""
    return bool((_inner(coefs - before, coefs - before) > 1e-4 * _inner(coefs, coefs)).any())


def _inner(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Inner products over coefficients and outputs, one for each set."""
    return np.einsum("mso,mso->s", first, second)


def _newton_step(
    table, loss, terms: Terms, damping, gradient, diagonal, forcing
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step, how predictions change by it, and by how much the quadratic model falls, for each set."""
    residual = -gradient
    direction = residual / diagonal
    step, change, decrease = np.zeros_like(gradient), np.zeros_like(terms.slopes), np.zeros(gradient.shape[1])
    product = first = _inner(residual, direction)
    for _ in range(_MAX_CG):
        image, bent = table.curved(loss, terms, direction)
        bend = _damped(bent, damping, direction)
        length = np.divide(product, bend, out=np.zeros_like(product), where=bend > 0)
        decrease += 0.5 * length * product
        image *= length[:, None]
        change += image
        before, product = product, _advanced(step, residual, direction, bent, diagonal, length)
        if (product <= forcing**2 * first).all():
            break
        ratio = np.divide(product, before, out=np.zeros_like(product), where=before > 0)
        direction *= ratio[:, None]
        direction += bent
    return step, change, decrease


@njit(cache=True, nogil=True)
def _damped(bent, damping, direction):
    """Adds the penalty's part to the curvature along a direction; returns their inner products, one for each set."""
    n_coefs, n_sets, n_outputs = bent.shape
    products = np.zeros(n_sets)
    for m in range(n_coefs):
        for s in range(n_sets):
            for o in range(n_outputs):
                bent[m, s, o] += damping[m, 0, 0] * direction[m, s, o]
                products[s] += bent[m, s, o] * direction[m, s, o]
    return products


@njit(cache=True, nogil=True)
def _advanced(step, residual, direction, bent, diagonal, length):
    """One step of conjugate gradients in place; ``bent`` becomes the preconditioned residual; gives its product."""
    n_coefs, n_sets, n_outputs = bent.shape
    products = np.zeros(n_sets)
    for m in range(n_coefs):
        for s in range(n_sets):
            for o in range(n_outputs):
                step[m, s, o] += length[s] * direction[m, s, o]
                residual[m, s, o] -= length[s] * bent[m, s, o]
                bent[m, s, o] = residual[m, s, o] / diagonal[m, s, o]
                products[s] += residual[m, s, o] * bent[m, s, o]
    return products


def _stepped(loss, weights, damping, at, by) -> tuple[np.ndarray, np.ndarray, Terms, np.ndarray]:
    """The point after a step, which is halved for the sets whose objective would fall by too little."""
    (coefs, predictions, objectives), (step, change, decrease) = at, by
    length = np.ones(len(objectives))
    # Smaller differences are rounding: there the step is taken on trust.
    enough = (1 + 1e-11) * objectives
    while True:
        new, new_predictions = coefs + length[:, None] * step, predictions + length[:, None] * change
        terms = loss.terms(new_predictions, weights)
        reached = terms.values + 0.5 * _inner(damping * new, new)
        short = reached > enough - 1e-4 * length * decrease
        if not short.any() or length.min() < 1e-6:
            return new, new_predictions, terms, reached
        length[short] /= 2
