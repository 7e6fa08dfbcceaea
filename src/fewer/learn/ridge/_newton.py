"""Linear models with a squared penalty at many penalties, for several sets of row weights at once.

For each set of row weights ``c`` (a fold's are zero on the rows that it holds out) and each penalty, minimise

    sum_i c_i loss(y_i, z_i) + penalty / 2 ||w||^2,   z = A (w, b),

by Newton's method, started at the solution of the penalty before. The systems of all sets are solved together by
conjugate gradients, preconditioned by the diagonal, so that a pass over the table serves all of them. The losses are

=============  ======================================  ==================================
squared        ``(z - y)^2 / 2``                       y is real
log            ``log(1 + exp(z)) - y z``               y is 0 or 1
softmax        ``log sum_c exp(u_c) - u_y, u = Q z``   y is one of K classes, z is in K - 1 dimensions
=============  ======================================  ==================================

The coefficients of K classes sum to zero over the classes at the minimum of a squared penalty. ``Q`` is an orthonormal
basis of such vectors: one dimension less, and the same penalty. Predictions have the shape
(n_samples, n_sets, n_outputs), weights (n_samples, n_sets).
"""

from collections.abc import Iterator
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import softmax

from fewer.learn.ridge._tables import Table


class Terms(NamedTuple):
    """Sums of losses, one for each set; slopes of the rows; and what their curvature is computed from."""

    values: np.ndarray
    slopes: np.ndarray
    curvature: np.ndarray


class SquaredLoss:
    """Numbers, with errors squared."""

    n_outputs = 1

    def __init__(self, y: np.ndarray):
        self.y = np.asarray(y, dtype=np.float64)

    def terms(self, z: np.ndarray, weights: np.ndarray) -> Terms:
        errors = z[..., 0] - self.y[:, None]
        slopes = weights * errors
        return Terms(0.5 * (slopes * errors).sum(axis=0), slopes[..., None], weights[..., None])

    def curved(self, terms: Terms, z: np.ndarray) -> np.ndarray:
        """The second derivatives times a change of the predictions."""
        return terms.curvature * z

    def diagonal(self, terms: Terms) -> np.ndarray:
        """Second derivatives by each output, of the shape of the predictions."""
        return terms.curvature

    def block(self, terms: Terms, fold: int, first: int, second: int) -> np.ndarray:
        """Second derivatives of the rows by two outputs, for one set of weights."""
        return terms.curvature[:, fold, 0]

    def null(self, weights: np.ndarray) -> np.ndarray:
        """Predictions of the best constant, (n_sets, n_outputs)."""
        return (self.y @ weights)[:, None]


class LogLoss(SquaredLoss):
    """Two classes, coded 0 and 1."""

    def terms(self, z: np.ndarray, weights: np.ndarray) -> Terms:
        values, slopes, curvature = np.zeros(weights.shape[1]), np.zeros(z.shape), np.zeros(z.shape)
        _log_terms(z, self.y, weights, values, slopes, curvature)
        return Terms(values, slopes, curvature)

    def null(self, weights: np.ndarray) -> np.ndarray:
        share = self.y @ weights
        return np.log(share / (1 - share))[:, None]


class SoftmaxLoss:
    """Three classes or more, coded from 0 on."""

    def __init__(self, codes: np.ndarray):
        self.codes = codes.astype(np.int64)
        self.n_classes = int(codes.max()) + 1
        self.n_outputs = self.n_classes - 1
        self.basis = sum_to_zero_basis(self.n_classes)

    def terms(self, z: np.ndarray, weights: np.ndarray) -> Terms:
        values, slopes = np.zeros(weights.shape[1]), np.zeros(z.shape)
        # The probabilities, and after them the row's weight.
        curvature = np.zeros((*weights.shape, self.n_classes + 1))
        _softmax_terms(z, self.codes, self.basis, weights, values, slopes, curvature)
        return Terms(values, slopes, curvature)

    def curved(self, terms: Terms, z: np.ndarray) -> np.ndarray:
        changes = np.zeros(z.shape)
        _softmax_curved(z, terms.curvature, self.basis, changes)
        return changes

    def diagonal(self, terms: Terms) -> np.ndarray:
        shares, weights = terms.curvature[..., :-1], terms.curvature[..., -1:]
        return weights * (shares @ self.basis**2 - (shares @ self.basis) ** 2)

    def block(self, terms: Terms, fold: int, first: int, second: int) -> np.ndarray:
        shares, weights = terms.curvature[:, fold, :-1], terms.curvature[:, fold, -1]
        both = shares @ (self.basis[:, first] * self.basis[:, second])
        return weights * (both - (shares @ self.basis[:, first]) * (shares @ self.basis[:, second]))

    def null(self, weights: np.ndarray) -> np.ndarray:
        shares = np.array([weights[self.codes == code].sum(axis=0) for code in range(self.n_classes)])
        return np.log(shares).T @ self.basis


def sum_to_zero_basis(n_classes: int) -> np.ndarray:
    """Orthonormal columns that each sum to zero (Helmert contrasts), of shape (n_classes, n_classes - 1).

    >>> sum_to_zero_basis(3).round(3)
    array([[ 0.707,  0.408],
           [-0.707,  0.408],
           [ 0.   , -0.816]])
    """
    basis = np.zeros((n_classes, n_classes - 1))
    for column in range(n_classes - 1):
        basis[: column + 1, column] = 1.0
        basis[column + 1, column] = -(column + 1.0)
    return basis / np.linalg.norm(basis, axis=0)


def probabilities(decisions: np.ndarray) -> np.ndarray:
    """Probabilities of the classes from decision values: (n,) for two classes, (n, n_classes) for more."""
    if decisions.ndim == 1:
        decisions = np.column_stack([np.zeros_like(decisions), decisions])
    return softmax(decisions, axis=1)


@njit(cache=True, nogil=True)
def _log_terms(z, y, weights, values, slopes, curvature):
    n_rows, n_sets = weights.shape
    # The logarithm of a product is the sum of logarithms, as long as the weight stays the same.
    products, shared = np.ones(n_sets), np.zeros(n_sets)
    for i in range(n_rows):
        for s in range(n_sets):
            weight = weights[i, s]
            if weight == 0.0:
                continue
            value = z[i, s, 0]
            small = exp(-abs(value))
            share = 1.0 / (1.0 + small)
            slopes[i, s, 0] = weight * ((share if value >= 0.0 else small * share) - y[i])
            curvature[i, s, 0] = weight * small * share * share
            if weight != shared[s] or products[s] > 1e300:
                values[s] += shared[s] * log(products[s])
                products[s], shared[s] = 1.0, weight
            products[s] *= 1.0 + small
            values[s] += weight * (max(value, 0.0) - y[i] * value)
    for s in range(n_sets):
        values[s] += shared[s] * log(products[s])


@njit(cache=True, nogil=True)
def _softmax_terms(z, codes, basis, weights, values, slopes, curvature):
    n_rows, n_sets = weights.shape
    n_classes, n_outputs = basis.shape
    scores = np.empty(n_classes)
    for i in range(n_rows):
        for s in range(n_sets):
            weight = weights[i, s]
            if weight == 0.0:
                continue
            largest = -np.inf
            for c in range(n_classes):
                score = 0.0
                for o in range(n_outputs):
                    score += basis[c, o] * z[i, s, o]
                scores[c] = score
                largest = max(largest, score)
            total = 0.0
            for c in range(n_classes):
                curvature[i, s, c] = exp(scores[c] - largest)
                total += curvature[i, s, c]
            values[s] += weight * (log(total) + largest - scores[codes[i]])
            curvature[i, s, n_classes] = weight
            for c in range(n_classes):
                curvature[i, s, c] /= total
                slope = weight * (curvature[i, s, c] - (1.0 if c == codes[i] else 0.0))
                for o in range(n_outputs):
                    slopes[i, s, o] += basis[c, o] * slope


@njit(cache=True, nogil=True)
def _softmax_curved(z, curvature, basis, changes):
    n_rows, n_sets, n_outputs = z.shape
    n_classes = basis.shape[0]
    scores = np.empty(n_classes)
    for i in range(n_rows):
        for s in range(n_sets):
            weight = curvature[i, s, n_classes]
            if weight == 0.0:
                continue
            mean = 0.0
            for c in range(n_classes):
                score = 0.0
                for o in range(n_outputs):
                    score += basis[c, o] * z[i, s, o]
                scores[c] = score
                mean += curvature[i, s, c] * score
            for c in range(n_classes):
                change = weight * curvature[i, s, c] * (scores[c] - mean)
                for o in range(n_outputs):
                    changes[i, s, o] += basis[c, o] * change


_MAX_CG = 500
# Systems are solved until the residual has come down to this share, in the norm of the preconditioner; to a smaller one
# where the gap is small already, so that the last steps converge faster than linearly.
_FORCING, _LEAST_FORCING = 0.1, 1e-4
# A point ends where the gap that a step leaves is estimated as no more than this share of the tolerance. The estimate
# of the part that is due to the loss not being quadratic is a lower bound, so a multiple of it is taken.
_LEFT, _SAFETY = 3e-2, 4.0
# Bounds of the ratio of successive gains in conjugate gradients.
_RATIOS = 0.3, 0.9
# Where the preconditioner as the Hessian gives a gap of no more than this share of the tolerance, no step is made.
_NO_STEP = 1e-2
# Off the principal axes, this power of the diagonal of the Hessian is the better preconditioner, above all where the
# penalty is weak and columns are more than rows: a third fewer passes on tables of words than with the diagonal.
_POWER = 0.75
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
        How far the last step brought the objective down, by its quadratic model, over the objective; no more than the
        tolerance where the point has converged.
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
    gap before the step; what the step leaves is about ``_FORCING**2`` of it. It ends with an earlier step where the gap
    that the step leaves is estimated as some hundredths of ``tol``.
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
        preconditioner = 1 / diagonal if table.on_axes else diagonal**-_POWER
        n_iter, gaps = 0, np.array([np.inf])
        while n_iter < max_iter and (gaps > tol).any():
            gradient = table.backward(terms.slopes) + damping * coefs
            estimates = 0.5 * _inner(gradient, gradient / diagonal) / np.maximum(objectives, np.finfo(float).tiny)
            if (estimates <= _NO_STEP * tol).all():
                n_iter, gaps = max(n_iter, 1), estimates
                break
            forcing = np.clip(np.sqrt(gaps.max()), _LEAST_FORCING, _FORCING)
            before, least = objectives, np.maximum(objectives, np.finfo(float).tiny)
            step, change, decrease, left = _newton_step(
                table, loss, terms, damping, gradient, preconditioner, forcing, 0.5 * _LEFT * tol * least
            )
            gaps = decrease / least
            coefs, predictions, terms, objectives = _stepped(
                loss, weights, damping, (coefs, predictions, objectives), (step, change, decrease)
            )
            n_iter += 1
            # The error of the quadratic model is a third of the new gradient's product with the step.
            error = objectives - (before - decrease)
            left += _SAFETY * 2.25 * error**2 / np.maximum(decrease, np.finfo(float).tiny)
            if (left <= _LEFT * tol * least).all():
                gaps = np.minimum(gaps, tol)
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
    table, loss, terms: Terms, damping, gradient, preconditioner, forcing, enough
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The step, how predictions change by it, by how much the quadratic model falls, and about how much it yet could.

    The system of a set is solved well enough where the latter is below ``enough``.
    """
    residual = -gradient
    direction = residual * preconditioner
    step, change, decrease = np.zeros_like(gradient), np.zeros_like(terms.slopes), np.zeros(gradient.shape[1])
    product = first = _inner(residual, direction)
    last = left = np.full(len(first), np.inf)
    for _ in range(_MAX_CG):
        image, bent = table.curved(loss, terms, direction)
        bend = _damped(bent, damping, direction)
        length = np.divide(product, bend, out=np.zeros_like(product), where=bend > 0)
        gain, before = 0.5 * length * product, last
        decrease += gain
        product = _advanced((step, change), (residual, direction, image, bent), preconditioner, length, product)
        # What is left is the residual in the norm of the inverse, which was so far in such a proportion to that of
        # the preconditioner; where convergence is slow, it is rather the sum of a geometric series.
        ratio = np.clip(np.divide(gain, before, out=np.ones_like(gain), where=before > 0), *_RATIOS)
        last, left = gain, np.divide(product * decrease, first, out=np.zeros_like(gain), where=first > 0)
        left = np.maximum(left, np.where(np.isfinite(before), gain * ratio / (1 - ratio), 0.0))
        if ((product <= forcing**2 * first) | (left <= enough)).all():
            break
    return step, change, decrease, left


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
def _advanced(reached, state, preconditioner, length, before):
    """One step of conjugate gradients in place, and the next direction; gives the products of the new residuals."""
    (step, change), (residual, direction, image, bent) = reached, state
    n_coefs, n_sets, n_outputs = bent.shape
    products = np.zeros(n_sets)
    for m in range(n_coefs):
        for s in range(n_sets):
            for o in range(n_outputs):
                step[m, s, o] += length[s] * direction[m, s, o]
                residual[m, s, o] -= length[s] * bent[m, s, o]
                bent[m, s, o] = residual[m, s, o] * preconditioner[m, s, o]
                products[s] += residual[m, s, o] * bent[m, s, o]
    ratio = np.array([products[s] / before[s] if before[s] > 0.0 else 0.0 for s in range(n_sets)])
    for m in range(n_coefs):
        for s in range(n_sets):
            for o in range(n_outputs):
                direction[m, s, o] = bent[m, s, o] + ratio[s] * direction[m, s, o]
    for i in range(len(image)):
        for s in range(n_sets):
            for o in range(n_outputs):
                change[i, s, o] += length[s] * image[i, s, o]
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
