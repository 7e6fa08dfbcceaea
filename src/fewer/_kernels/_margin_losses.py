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
def loss_and_derivatives(loss, y, weights, z, first, second):
    """:func:`total_loss`, with first and second derivatives of the rows' losses (generalised for the squared hinge)."""
    total = 0.0
    if loss == LOG:
        # One exponential serves all three; and the logarithm of a product is the sum of logarithms, as long as the
        # weight stays the same.
        product, shared = 1.0, weights[0]
        for i in range(z.size):
            margin = y[i] * z[i]
            small = exp(-abs(margin))
            share = 1.0 / (1.0 + small)
            wrong = (small if margin > 0.0 else 1.0) * share
            first[i] = -weights[i] * y[i] * wrong
            second[i] = weights[i] * small * share * share
            if weights[i] != shared or product > 1e300:
                total += shared * log(product)
                product, shared = 1.0, weights[i]
            product *= 1.0 + small
            total += weights[i] * max(-margin, 0.0)
        return total + shared * log(product)
    for i in range(z.size):
        if loss == SQUARED_HINGE:
            short = max(1.0 - y[i] * z[i], 0.0)
            total += weights[i] * short * short
            first[i] = -2.0 * weights[i] * y[i] * short
            second[i] = 2.0 * weights[i] if short > 0.0 else 0.0
        else:
            off = z[i] - y[i]
            total += 0.5 * weights[i] * off * off
            first[i] = weights[i] * off
            second[i] = weights[i]
    return total
