"""A better projection while the auxiliary variable stays as it is: L-BFGS over ``W = (BB')^-1/2 B``.

With ``C = Q diag(c) Q'`` and ``P = C W'``, the covariance ``S = C + reg I - P N^-1 P'``, ``N = W C W' + s^2 I``, is a
diagonal matrix less one of rank k in the axes Q. So the bound and its gradient take O(r k (r + k)) for a projection of
r coordinates on k, and no matrix of r x r is inverted:

    D = N - P'K P,  K = (C + reg I)^-1,    S^-1 = K + K P D^-1 P'K,    |S| = |C + reg I| |D| / |N|.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from fewer.extract.information._bound import Channel

_STEPS = 10


class Spectrum(NamedTuple):
    """Eigenvalues (J, r) and eigenvectors (J, r, r) of the moments C_j, and the shares of the states."""

    values: np.ndarray
    axes: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, C: np.ndarray, shares: np.ndarray) -> "Spectrum":
        values, axes = np.linalg.eigh(C)
        return cls(np.maximum(values, 0), axes, shares)


def code_value(W: np.ndarray, spectrum: Spectrum, channel: Channel) -> tuple[float, np.ndarray]:
    """``-1/2 sum_j pbar_j h(E_j)``, but for terms without W, and its gradient in W."""
    c = spectrum.values[:, None, :]
    w = W @ spectrum.axes
    p = w * c
    N = p @ w.swapaxes(1, 2) + channel.noise * np.eye(len(W))
    pk = p / (c + channel.reg)
    D = N - pk @ p.swapaxes(1, 2)
    D_inverse = np.linalg.inv(D)

    def times_inverse(rows: np.ndarray) -> np.ndarray:
        """``rows S^-1``."""
        return rows / (c + channel.reg) + (rows @ pk.swapaxes(1, 2)) @ (D_inverse @ pk)

    log_dets = np.linalg.slogdet(D)[1] - np.linalg.slogdet(N)[1]
    traces = np.sum(D_inverse * (pk @ pk.swapaxes(1, 2)), axis=(1, 2))
    value = -0.5 * spectrum.shares @ (log_dets - channel.reg * traces)
    u = np.linalg.solve(N, p)
    once = times_inverse(u)
    slope = once + channel.reg * times_inverse(once)
    inside = slope * c - (slope @ u.swapaxes(1, 2)) @ p
    return float(value), np.sum(spectrum.shares[:, None, None] * (inside @ spectrum.axes.swapaxes(1, 2)), axis=0)


def polar(B: np.ndarray) -> np.ndarray:
    """``(BB')^-1/2 B``: the nearest matrix with orthonormal rows."""
    left, _, right = linalg.svd(B, full_matrices=False, check_finite=False)
    return left @ right


def polar_value(B: np.ndarray, spectrum: Spectrum, channel: Channel) -> tuple[float, np.ndarray]:
    """The value at ``polar(B)``, and its gradient in B."""
    left, sizes, right = linalg.svd(B, full_matrices=False, check_finite=False)
    W = left @ right
    value, gradient = code_value(W, spectrum, channel)
    # A change of B turns the rows of W among themselves (the first part) and out of their span (the second).
    along = gradient @ W.T
    turned = left.T @ (along - along.T) @ left / (sizes[:, None] + sizes)
    outside = (left / sizes) @ (left.T @ (gradient - along @ W))
    return value, left @ turned @ left.T @ W + outside


def code_step(W: np.ndarray, spectrum: Spectrum, channel: Channel) -> np.ndarray:
    """A projection with a larger value; the same if none is found."""

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = polar_value(flat.reshape(W.shape), spectrum, channel)
        return -value, -gradient.ravel()

    found = optimize.minimize(loss, W.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    moved = polar(found.x.reshape(W.shape))
    return moved if code_value(moved, spectrum, channel)[0] > code_value(W, spectrum, channel)[0] else W
