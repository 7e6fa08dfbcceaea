"""Losses of a prediction ``z`` of a target ``y``, and their first and second derivatives in ``z``.

=============  =========================  ===========
LOG            ``ln(1 + exp(-y z))``      y is -1, +1
SQUARED_HINGE  ``max(1 - y z, 0)^2``      y is -1, +1
SQUARED        ``(y - z)^2 / 2``          y is real
=============  =========================  ===========

Rows have weights: what is returned is multiplied by them.
"""

from math import exp, log, log1p

from numba import njit

LOG, SQUARED_HINGE, SQUARED = 0, 1, 2
# An upper bound of the second derivative, which methods with fixed curvature use.
CURVATURE_BOUNDS = (0.25, 2.0, 1.0)


@njit(cache=True, nogil=True)
def loss_at(loss, y, z):
    """The loss of one prediction."""
    if loss == LOG:
        margin = y * z
        return log1p(exp(-margin)) if margin > 0 else log1p(exp(margin)) - margin
    if loss == SQUARED_HINGE:
        short = 1.0 - y * z
        return short * short if short > 0 else 0.0
    return 0.5 * (y - z) * (y - z)


@njit(cache=True, nogil=True)
def total_loss(loss, y, weights, z):
    """``sum_i weights_i loss(y_i, z_i)``."""
    total = 0.0
    for i in range(z.size):
        total += weights[i] * loss_at(loss, y[i], z[i])
    return total


@njit(cache=True, nogil=True)
def total_loss_along(loss, y, weights, z, step, direction):
    """``sum_i weights_i loss(y_i, z_i + step direction_i)``."""
    total = 0.0
    for i in range(z.size):
        total += weights[i] * loss_at(loss, y[i], z[i] + step * direction[i])
    return total


@njit(cache=True, nogil=True)
def slopes(loss, y, weights, z, first):
    """First derivatives of the rows' losses."""
    if loss == LOG:
        for i in range(z.size):
            first[i] = -weights[i] * y[i] / (1.0 + exp(min(y[i] * z[i], 700.0)))
    elif loss == SQUARED_HINGE:
        for i in range(z.size):
            first[i] = -2.0 * weights[i] * y[i] * max(1.0 - y[i] * z[i], 0.0)
    else:
        for i in range(z.size):
            first[i] = weights[i] * (z[i] - y[i])


@njit(cache=True, nogil=True)
def slopes_and_curvatures(loss, y, weights, z, first, second):
    """First and second derivatives of the rows' losses (generalised second ones for the squared hinge)."""
    if loss == LOG:
        for i in range(z.size):
            wrong = 1.0 / (1.0 + exp(min(y[i] * z[i], 700.0)))
            first[i] = -weights[i] * y[i] * wrong
            second[i] = weights[i] * wrong * (1.0 - wrong)
    elif loss == SQUARED_HINGE:
        for i in range(z.size):
            short = 1.0 - y[i] * z[i]
            first[i] = -2.0 * weights[i] * y[i] * max(short, 0.0)
            second[i] = 2.0 * weights[i] if short > 0.0 else 0.0
    else:
        for i in range(z.size):
            first[i] = weights[i] * (z[i] - y[i])
            second[i] = weights[i]


@njit(cache=True, nogil=True)
def loss_and_derivatives_along(loss, y, weights, z, step, direction, first, second):
    """:func:`total_loss_along`, with the derivatives there; one exponential serves all three of the log loss."""
    total = 0.0
    if loss == LOG:
        # The logarithm of a product is the sum of logarithms, as long as the weight stays the same.
        product, shared = 1.0, weights[0]
        for i in range(z.size):
            margin = y[i] * (z[i] + step * direction[i])
            small = exp(-abs(margin))
            share = 1.0 / (1.0 + small)
            wrong = small * share if margin > 0.0 else share
            first[i] = -weights[i] * y[i] * wrong
            second[i] = weights[i] * small * share * share
            if weights[i] != shared or product > 1e300:
                total += shared * log(product)
                product, shared = 1.0, weights[i]
            product *= 1.0 + small
            if margin < 0.0:
                total -= weights[i] * margin
        return total + shared * log(product)
    for i in range(z.size):
        place = z[i] + step * direction[i]
        total += weights[i] * loss_at(loss, y[i], place)
        if loss == SQUARED_HINGE:
            short = 1.0 - y[i] * place
            first[i] = -2.0 * weights[i] * y[i] * max(short, 0.0)
            second[i] = 2.0 * weights[i] if short > 0.0 else 0.0
        else:
            first[i] = weights[i] * (place - y[i])
            second[i] = weights[i]
    return total
