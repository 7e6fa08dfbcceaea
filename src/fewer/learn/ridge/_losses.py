"""Losses of linear predictions ``z`` for several sets of row weights at once, with slopes and curvatures.

=============  ======================================  ==================================
squared        ``(z - y)^2 / 2``                       y is real
log            ``log(1 + exp(z)) - y z``               y is 0 or 1
softmax        ``log sum_c exp(u_c) - u_y, u = Q z``   y is one of K classes, z is in K - 1 dimensions
=============  ======================================  ==================================

The coefficients of K classes sum to zero over the classes at the minimum of a squared penalty. ``Q`` is an orthonormal
basis of such vectors: one dimension less, and the same penalty.

Predictions have the shape (n_samples, n_sets, n_outputs), weights (n_samples, n_sets).
"""

from math import exp, log
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import softmax


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
