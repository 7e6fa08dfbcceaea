"""Moments of a one-layer network whose inputs and weights are independent normal variables, and their gradients.

    x = f(s) + noise,    f(s) = B tanh(A s + a) + b.

Every entry of s, A, a, B and b has a mean and a variance. The input of a hidden unit has

    mean  A_j s + a_j,    variance  sum_l [A_jl^2 var s_l + var A_jl (s_l^2 + var s_l)] + var a_j,

with means where nothing else is said; moments of tanh are Gauss-Hermite sums. The output has the mean B E[tanh] + b and
the variance

    sum_j [B_ij^2 omega_j + var B_ij E[tanh_j^2]] + var b_i + sum_l var s_l (sum_j B_ij E[tanh'_j] A_jl)^2,

where omega_j is the variance of tanh by the weights alone: what s contributes goes through the Jacobian, so that hidden
units stay correlated. Gradients are those of these sums themselves, exactly.

Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate gradient
learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

_NODES, _MASSES = hermegauss(9)
_MASSES = _MASSES / _MASSES.sum()
_NOT_ASKED_FOR = np.empty(0)


class Weights(NamedTuple):
    """One array for each part of the network, of means or of variances: A (h, q), a (h,), B (p, h), b (p,)."""

    A: np.ndarray
    a: np.ndarray
    B: np.ndarray
    b: np.ndarray


class TanhMoments(NamedTuple):
    """Of tanh(y), y normal: E[tanh], E[tanh^2], and, if asked for, derivatives for the mean and the variance of y.

    E[tanh'] is ``1 - second``, and its derivatives are those of ``second`` with the other sign.
    """

    first: np.ndarray
    second: np.ndarray
    second_by_mean: np.ndarray = _NOT_ASKED_FOR
    first_by_variance: np.ndarray = _NOT_ASKED_FOR
    second_by_variance: np.ndarray = _NOT_ASKED_FOR


def tanh_moments(mean: np.ndarray, variance: np.ndarray, slopes: bool = False) -> TanhMoments:
    """Moments of tanh of normal variables, by Gauss-Hermite quadrature.

    >>> moments = tanh_moments(np.array([0.0]), np.array([1e-4]))
    >>> moments.first.round(6) + 0, moments.second.round(6)
    (array([0.]), array([0.0001]))
    """
    root = np.sqrt(variance)
    first, second = np.zeros_like(mean), np.zeros_like(mean)
    bend, first_by_root, second_by_root = (np.zeros_like(mean) for _ in range(3))
    height = np.empty_like(mean)
    for node, mass in zip(_NODES, _MASSES, strict=True):
        np.multiply(root, node, out=height)
        height += mean
        np.tanh(height, out=height)
        squared = height * height
        if slopes:
            slope = 1 - squared
            first_by_root += (mass * node) * slope
            slope *= height
            bend += mass * slope
            second_by_root += (mass * node) * slope
        squared *= mass
        second += squared
        height *= mass
        first += height
    if not slopes:
        return TanhMoments(first, second)
    by_variance = 0.5 / root
    return TanhMoments(first, second, 2 * bend, first_by_root * by_variance, 2 * second_by_root * by_variance)


class Outputs(NamedTuple):
    """Mean of the outputs, and what their variances are made of."""

    moments: TanhMoments
    by_weights: TanhMoments
    slope: np.ndarray
    means: np.ndarray
    row_cost: np.ndarray
    gram: np.ndarray


def outputs(
    s: np.ndarray,
    s_var: np.ndarray,
    means: Weights,
    variances: Weights,
    precision: np.ndarray,
    slopes: bool = False,
) -> Outputs:
    """Means of the outputs of every row, and ``sum_i precision_i var f_i`` (``row_cost``); slopes for gradients."""
    squares = s * s
    inputs = s @ means.A.T + means.a
    weight_variances = squares @ variances.A.T + variances.a
    input_variances = weight_variances + s_var @ (means.A**2 + variances.A).T
    moments = tanh_moments(inputs, input_variances, slopes)
    by_weights = tanh_moments(inputs, weight_variances, slopes)
    slope = 1 - moments.second
    weighted = precision[:, None] * means.B
    gram = means.B.T @ weighted
    omega = by_weights.second - by_weights.first**2
    cost = omega @ np.diag(gram) + moments.second @ (precision @ variances.B) + precision @ variances.b
    for unit in range(s.shape[1]):
        reach = slope * means.A[:, unit]
        cost = cost + s_var[:, unit] * np.einsum("nj,nj->n", reach @ gram, reach)
    fitted = moments.first @ means.B.T + means.b
    return Outputs(moments, by_weights, slope, fitted, cost, gram)


class OutputGradients(NamedTuple):
    """Of a cost, for means and variances of s (one row each) and of the weights."""

    s: np.ndarray
    s_var: np.ndarray
    means: Weights
    variances: Weights


def output_gradients(
    X: np.ndarray,
    s: np.ndarray,
    s_var: np.ndarray,
    means: Weights,
    variances: Weights,
    precision: np.ndarray,
    row_weights: np.ndarray,
    known: Outputs,
) -> OutputGradients:
    """Of ``sum_n w_n sum_i precision_i ((x_ni - E f_i)^2 + var f_i) / 2``; those for s and its variance without w_n."""
    moments, by_weights, slope, gram = known.moments, known.by_weights, known.slope, known.gram
    squares = s * s
    errors = (known.means - X) * precision
    w = row_weights[:, None]
    own, noisy = np.diag(gram) / 2, precision @ variances.B / 2
    by_first = errors @ means.B
    by_slope = np.zeros_like(slope)
    by_gram = np.zeros_like(gram)
    of_A = np.zeros_like(means.A)
    s_var_gradient = np.empty_like(s_var)
    for unit in range(s.shape[1]):
        reach = slope * means.A[:, unit]
        pushed = reach @ gram
        s_var_gradient[:, unit] = np.einsum("nj,nj->n", pushed, reach) / 2
        pushed *= s_var[:, unit, None]
        by_slope += pushed * means.A[:, unit]
        of_A[:, unit] = np.einsum("nj,nj->j", pushed * w, slope)
        by_gram += (reach * (w * s_var[:, unit, None])).T @ reach
    omega_by_mean = by_weights.second_by_mean - 2 * by_weights.first * (1 - by_weights.second)
    omega_by_variance = by_weights.second_by_variance - 2 * by_weights.first * by_weights.first_by_variance
    by_mean = by_first * slope + (noisy - by_slope) * moments.second_by_mean + own * omega_by_mean
    by_variance = by_first * moments.first_by_variance + (noisy - by_slope) * moments.second_by_variance
    by_weight_variance = own * omega_by_variance
    s_gradient = by_mean @ means.A + 2 * s * ((by_variance + by_weight_variance) @ variances.A)
    s_var_gradient += by_variance @ (means.A**2 + variances.A)
    w_mean, w_variance, w_weight = w * by_mean, w * by_variance, w * by_weight_variance
    of_A += w_mean.T @ s + 2 * means.A * (w_variance.T @ s_var)
    omega = by_weights.second - by_weights.first**2
    of_B = (errors * w).T @ moments.first
    of_B += precision[:, None] * means.B * (row_weights @ omega) + precision[:, None] * (means.B @ by_gram)
    total = row_weights.sum()
    return OutputGradients(
        s_gradient,
        s_var_gradient,
        Weights(of_A, w_mean.sum(axis=0), of_B, row_weights @ errors),
        Weights(
            w_variance.T @ (s_var + squares) + w_weight.T @ squares,
            (w_variance + w_weight).sum(axis=0),
            np.outer(precision, row_weights @ moments.second) / 2,
            precision * total / 2,
        ),
    )
