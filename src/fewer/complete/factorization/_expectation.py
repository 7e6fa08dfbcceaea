"""Where rows lie in the model's few dimensions, given its columns: means, covariances, and the likelihood.

Frame t of the table: ``y(t) = A x(t) + e(t)``, with A made of the columns' vectors ``s_p`` once for each coordinate,
x(t) the c vectors of its rows, and noise of the inverse covariance D_t (zero for what is missing). Everything follows
from

    J_t = A' D_t A,   h_t = A' D_t y(t),   y' D y,   log |D|,

whatever the number of columns. Rows are independent (``x ~ N(0, v I)``), or follow a smooth path: position, velocity
and acceleration with small random changes, found by a Kalman filter and a Rauch-Tung-Striebel smoother in information
form.
"""

from typing import NamedTuple

import numpy as np


class Evidence(NamedTuple):
    """What the observed entries of each frame say about its latent vector, and the constants of their likelihood."""

    precision: np.ndarray  # (n_frames, k, k), J
    information: np.ndarray  # (n_frames, k), h
    squares: np.ndarray  # (n_frames,), y' D y
    constants: np.ndarray  # (n_frames,), n log 2 pi - log |D|


class Latent(NamedTuple):
    """Posterior means and covariances of each frame's latent vector, and the log-likelihood of what is observed."""

    means: np.ndarray  # (n_frames, k)
    covariances: np.ndarray  # (n_frames, k, k)
    log_likelihood: float


class Motion(NamedTuple):
    """Process variances of position, velocity and acceleration."""

    position: float
    velocity: float
    acceleration: float


def evidence(values: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> Evidence:
    """Sums over the observed entries of each frame.

    ``values`` of shape (n_frames, n_columns, c) are 0 where missing, ``weights`` of shape (n_frames, n_columns, c, c),
    ``columns`` of shape (n_columns, r). Coordinates share the columns' vectors, so latent vectors have ``k = c * r``
    entries.
    """
    n_frames, n_columns, c = values.shape
    r = columns.shape[1]
    pairs = (columns[:, :, None] * columns[:, None, :]).reshape(n_columns, r * r)
    precision = np.einsum("fpcd,pq->fcdq", weights, pairs, optimize=True).reshape(n_frames, c, c, r, r)
    weighted = np.einsum("fpcd,fpd->fpc", weights, values)
    information = np.einsum("fpc,pr->fcr", weighted, columns, optimize=True)
    squares = np.einsum("fpc,fpc->f", weighted, values)
    return Evidence(
        precision.transpose(0, 1, 3, 2, 4).reshape(n_frames, c * r, c * r),
        information.reshape(n_frames, c * r),
        squares,
        _constants(weights),
    )


def _constants(weights: np.ndarray) -> np.ndarray:
    """``n log 2 pi - log |D|`` of each frame, over the entries that have a weight."""
    c = weights.shape[-1]
    if c == 1:
        plain = weights[..., 0, 0]
        logs = np.log(np.where(plain > 0, plain, 1.0))
        return np.where(plain > 0, np.log(2 * np.pi) - logs, 0.0).sum(axis=1)
    eigenvalues = np.linalg.eigvalsh(weights)
    alive = eigenvalues > 1e-12 * np.maximum(eigenvalues[..., -1:], np.finfo(float).tiny)
    logs = np.log(np.where(alive, eigenvalues, 1.0))
    return np.where(alive, np.log(2 * np.pi) - logs, 0.0).sum(axis=(1, 2))


def independent_latent(seen: Evidence, latent_var: float) -> Latent:
    """Rows that know nothing of each other."""
    k = seen.information.shape[1]
    system = seen.precision + np.eye(k) / latent_var
    covariances = np.linalg.inv(system)
    covariances = (covariances + covariances.swapaxes(1, 2)) / 2
    means = np.einsum("fkl,fl->fk", covariances, seen.information)
    fitted = np.einsum("fk,fk->f", means, seen.information)
    logs = k * np.log(latent_var) + np.linalg.slogdet(system)[1]
    return Latent(means, covariances, float(-0.5 * (seen.constants + logs + seen.squares - fitted).sum()))


def smooth_latent(seen: Evidence, latent_var: float, motion: Motion) -> Latent:
    """Rows on a smooth path through time."""
    n_frames, k = seen.information.shape
    move, jitter = _constant_acceleration(k, motion)
    mean, covariance = np.zeros(3 * k), latent_var * np.eye(3 * k)
    predicted, filtered = [], []
    log_likelihood = 0.0
    for frame in range(n_frames):
        if frame:
            mean, covariance = move @ mean, move @ covariance @ move.T + jitter
        predicted.append((mean, covariance))
        J, h = seen.precision[frame], seen.information[frame]
        block = covariance[:k, :k]
        gain = np.linalg.inv(np.eye(k) + block @ J)
        # What is left of y after the prediction, summed up by h and J.
        surprise = h - J @ mean[:k]
        squared = seen.squares[frame] - 2 * mean[:k] @ h + mean[:k] @ J @ mean[:k]
        posterior = gain @ block
        log_likelihood -= 0.5 * (
            seen.constants[frame] - np.linalg.slogdet(gain)[1] + squared - surprise @ posterior @ surprise
        )
        spread = covariance[:, :k]
        mean = mean + spread @ (gain.T @ surprise)
        covariance = covariance - spread @ (J @ gain) @ spread.T
        covariance = (covariance + covariance.T) / 2
        filtered.append((mean, covariance))
    means, covariances = np.empty((n_frames, k)), np.empty((n_frames, k, k))
    for frame in range(n_frames - 1, -1, -1):
        if frame < n_frames - 1:
            now, spread = filtered[frame]
            ahead, ahead_spread = predicted[frame + 1]
            back = np.linalg.solve(ahead_spread, move @ spread).T
            mean = now + back @ (mean - ahead)
            covariance = spread + back @ (covariance - ahead_spread) @ back.T
            covariance = (covariance + covariance.T) / 2
        means[frame], covariances[frame] = mean[:k], covariance[:k, :k]
    return Latent(means, covariances, float(log_likelihood))


def _constant_acceleration(k: int, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """The step of (position, velocity, acceleration), and the covariance of its random part."""
    move = np.kron(np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), np.eye(k))
    return move, np.kron(np.diag(motion), np.eye(k))
