"""The weights that regularised dual averaging gives to an average gradient, in closed form.

``w_{t+1} = argmin_w <gbar_t, w> + Psi(w) + (beta_t / t) h(w)``, with ``gbar_t`` the mean of the gradients of the losses
of ``t`` rows, ``Psi`` the penalty, and ``h`` a distance to the weights of the start. Each function is this minimum for
one choice of ``Psi``, ``h`` and ``beta_t``.
"""

from math import sqrt

import numpy as np
from scipy.special import softmax


def soft_threshold(values: np.ndarray, threshold: float) -> np.ndarray:
    """``sgn(v) max(|v| - threshold, 0)``, entry by entry."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


def l1_weights(mean: np.ndarray, t: int, alpha: float, gamma: float, rho: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1``, ``h = ||w||^2/2 + rho ||w||_1``, ``beta_t = gamma sqrt(t)``.

    >>> l1_weights(np.array([-0.5, 0.02, 0.2]), t=4, alpha=0.1, gamma=2.0)
    array([ 0.4, -0. , -0.1])
    """
    return -(sqrt(t) / gamma) * soft_threshold(mean, alpha + gamma * rho / sqrt(t))


def strongly_convex_weights(mean: np.ndarray, sigma: float, alpha: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1 + sigma ||w||^2/2``, ``beta_t = 0``: the penalty alone holds the weights."""
    return -soft_threshold(mean, alpha) / sigma


def l1_ball_weights(mean: np.ndarray, t: int, gamma: float, radius: float) -> np.ndarray:
    """Weights with ``||w||_1 <= radius``, ``h = ||w||^2/2``, ``beta_t = gamma sqrt(t)``."""
    return nearest_in_l1_ball(-(sqrt(t) / gamma) * mean, radius)


def nearest_in_l1_ball(values: np.ndarray, radius: float) -> np.ndarray:
    """The point with ``||w||_1 <= radius`` that is nearest, by sorting.

    >>> nearest_in_l1_ball(np.array([3.0, -1.0, 0.5]), 2.0)
    array([ 2., -0.,  0.])
    """
    sizes = np.abs(values)
    if sizes.sum() <= radius:
        return values.copy()
    ordered = np.sort(sizes)[::-1]
    excess = (np.cumsum(ordered) - radius) / np.arange(1, len(ordered) + 1)
    threshold = excess[np.flatnonzero(ordered > excess)[-1]]
    return soft_threshold(values, threshold)


def p_norm_weights(mean: np.ndarray, t: int, alpha: float, gamma: float, p_norm: float, rho: float = 0.0) -> np.ndarray:
    """Penalty ``alpha ||w||_1``, ``h = ||w||_p^2 / (2 (p - 1)) + rho ||w||_1``, ``beta_t = gamma sqrt(t)``.

    With ``p = 2`` they are :func:`l1_weights`. Near 1 it suits many dense columns of which few matter; see
    :func:`sparse_truth_norm`.
    """
    shrunk = -((p_norm - 1) * sqrt(t) / gamma) * soft_threshold(mean, alpha + gamma * rho / sqrt(t))
    largest = np.abs(shrunk).max(initial=0.0)
    if largest == 0.0:
        return np.zeros_like(shrunk)
    # q is large when p is near 1: shares of the largest entry can be raised to it, the entries themselves cannot.
    q = p_norm / (p_norm - 1)
    shares = np.abs(shrunk) / largest
    norm_of_shares = (shares**q).sum() ** (1 / q)
    return np.sign(shrunk) * largest * norm_of_shares * (shares / norm_of_shares) ** (q - 1)


def sparse_truth_norm(n_features: int) -> float:
    """The ``p`` that theory suggests for dense columns of which few matter, ``ln n / (ln n - 1)``, at most 2.

    >>> round(sparse_truth_norm(10_000), 3)
    1.122
    """
    logarithm = np.log(n_features)
    return float(logarithm / (logarithm - 1)) if logarithm > 2 else 2.0


def simplex_weights(mean: np.ndarray, t: int, gamma: float) -> np.ndarray:
    """Weights that are shares of one, ``h`` their negative entropy, ``beta_t = gamma sqrt(t)``.

    >>> simplex_weights(np.array([0.0, 0.0, np.log(2)]), t=1, gamma=1.0)
    array([0.4, 0.4, 0.2])
    """
    return softmax(-(sqrt(t) / gamma) * mean)


def near_prior_weights(mean: np.ndarray, sigma: float, prior: np.ndarray) -> np.ndarray:
    """Shares of one with the penalty ``sigma KL(w || prior)``, ``beta_t = 0``."""
    with np.errstate(divide="ignore"):  # what the prior rules out stays out
        return softmax(np.log(prior) - mean / sigma)
