"""A low-rank factorisation with missing entries and unequal, correlated noise, by EM [1]_.

    y_tp = x(t)' s_p + e_tp

E-step. Frame t of the table: ``y(t) = A x(t) + e(t)``, with A made of the columns' vectors ``s_p`` once for each
coordinate, x(t) the c vectors of its rows, and noise of the inverse covariance D_t (zero for what is missing).
Everything follows from

    J_t = A' D_t A,   h_t = A' D_t y(t),   y' D y,   log |D|,

whatever the number of columns. Rows are independent (``x ~ N(0, v I)``), or follow a smooth path: position, velocity
and acceleration with small random changes, found by a Kalman filter and a Rauch-Tung-Striebel smoother in information
form.

M-step. For every column

    C_p = sum over t of D_tp <x x'>,   B_p = sum over t of D_tp y_tp <x>,   s_p = C_p^-1 B_p,

with a ridge towards given columns where these are known in advance. In an affine model the last entry of s_p is 1 for
every column: its part moves to the right-hand side, with the cross moments ``<d m>``, not products of means, or else
the likelihood could fall. EM starts from leading directions of the table with missing entries imputed by means.

.. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms: an
   application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.
"""

from collections.abc import Callable
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


def starting_columns(X: np.ndarray, rank: int, latent_var: float, affine: bool) -> np.ndarray:
    """Right singular vectors of the filled table, in the size that the latent variance gives them."""
    filled = filled_plainly(X)
    if affine:
        filled = filled - filled.mean(axis=1, keepdims=True)
    free = rank - 1 if affine else rank
    _, d, Vt = np.linalg.svd(filled, full_matrices=False)
    found = np.zeros((X.shape[1], free))
    n = min(free, len(d))
    found[:, :n] = Vt[:n].T * (d[:n] / np.sqrt(len(X) * latent_var))
    return np.column_stack([found, np.ones(X.shape[1])]) if affine else found


def random_columns(X: np.ndarray, rank: int, latent_var: float, affine: bool, rng: np.random.Generator) -> np.ndarray:
    """Columns drawn at random, of the table's size."""
    size = np.sqrt(max(float(np.nanmean(X**2)), np.finfo(float).tiny) / (latent_var * rank))
    found = size * rng.normal(size=(X.shape[1], rank))
    if affine:
        found[:, -1] = 1.0
    return found


def filled_plainly(X: np.ndarray) -> np.ndarray:
    """Missing entries get the sum of the effects of their row and column."""
    seen = ~np.isnan(X)
    values = np.where(seen, X, 0.0)
    total = values.sum() / max(seen.sum(), 1)
    rows = values.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    columns = values.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    rows[~seen.any(axis=1)], columns[~seen.any(axis=0)] = total, total
    return np.where(seen, X, rows[:, None] + columns - total)


_RIDGE = 1e-9
"""Of the mean diagonal: keeps columns finite that have fewer entries than there are dimensions."""
_LEAST_NOISE = 1e-12
"""Of the mean square of the table: noise that EM would lower for ever is held here."""


class Model(NamedTuple):
    """What EM does not change: prior variance, smoothness, what is known of the columns."""

    latent_var: float
    motion: Motion | None = None
    affine: bool = False
    prior: np.ndarray | None = None  # (n_columns, r)
    prior_weight: float = 0.0
    noise_var: float | None = None


class Fit(NamedTuple):
    """Columns, latent vectors, noise, and the log-likelihood before each M-step and at the end."""

    columns: np.ndarray
    latent: Latent
    noise_var: float
    log_likelihoods: list[float]
    converged: bool
    stopped: bool


def frames(X: np.ndarray, n_coordinates: int) -> np.ndarray:
    """The table as (n_frames, n_columns, n_coordinates), with 0 for missing entries."""
    n_rows, n_columns = X.shape
    split = np.nan_to_num(X).reshape(n_coordinates, n_rows // n_coordinates, n_columns)
    return np.ascontiguousarray(split.transpose(1, 2, 0))


def expected(values: np.ndarray, weights: np.ndarray, columns: np.ndarray, noise_var: float, model: Model) -> Latent:
    """The E-step."""
    seen: Evidence = evidence(values, weights / noise_var, columns)
    if model.motion is None:
        return independent_latent(seen, model.latent_var)
    return smooth_latent(seen, model.latent_var, model.motion)


def fitted(
    values: np.ndarray,
    weights: np.ndarray,
    columns: np.ndarray,
    model: Model,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[float], bool] = lambda log_likelihood: False,
) -> Fit:
    """EM from given columns until the log-likelihood (less what the prior costs) rises by ``tol`` at most.

    That is for each observed entry: the log-likelihood itself changes with the unit of the table.
    """
    n_seen = int((np.einsum("fpcc->fpc", weights) > 0).sum())
    mean_square = float(np.einsum("fpc,fpcd,fpd->", values, weights, values, optimize=True)) / max(n_seen, 1)
    least = max(_LEAST_NOISE * mean_square, np.finfo(float).tiny)
    noise_var = model.noise_var if model.noise_var is not None else max(0.1 * mean_square, least)
    latent = expected(values, weights, columns, noise_var, model)
    history, converged, stopped = [latent.log_likelihood], False, False
    worth = latent.log_likelihood - _prior_cost(columns, model)
    for _ in range(max_iter):
        moments = second_moments(latent, values.shape[2])
        columns = best_columns(values, weights / noise_var, latent, moments, model)
        if model.noise_var is None:
            noise_var = max(expected_squares(values, weights, latent, moments, columns).sum() / max(n_seen, 1), least)
        if model.motion is None and model.prior is None:
            columns = _rescaled(columns, moments, model)
        latent = expected(values, weights, columns, noise_var, model)
        history.append(latent.log_likelihood)
        stopped = on_step(latent.log_likelihood)
        before, worth = worth, latent.log_likelihood - _prior_cost(columns, model)
        converged = bool(worth - before <= tol * max(n_seen, 1))
        if stopped or converged:
            break
    return Fit(columns, latent, noise_var, history, converged, stopped)


def _rescaled(columns: np.ndarray, moments: np.ndarray, model: Model) -> np.ndarray:
    """Columns in units of the latent vectors' own covariance (parameter-expanded EM).

    As if that covariance were free and then taken into the columns: the likelihood rises no less, and the scale, which
    plain EM changes in tiny steps where noise is small, is right at once.
    """
    free = columns.shape[1] - model.affine
    spread = np.einsum("fccij->ij", moments)[:free, :free] / (len(moments) * moments.shape[1] * model.latent_var)
    ridge = max(_RIDGE * float(np.trace(spread)), np.finfo(float).tiny)
    scaled = columns.copy()
    scaled[:, :free] = columns[:, :free] @ np.linalg.cholesky(spread + ridge * np.eye(free))
    return scaled


def _prior_cost(columns: np.ndarray, model: Model) -> float:
    return 0.0 if model.prior is None else model.prior_weight * float(np.sum((columns - model.prior) ** 2))


def second_moments(latent: Latent, c: int) -> np.ndarray:
    """``<x_a x_b'>`` for each frame and pair of coordinates, of shape (n_frames, c, c, r, r)."""
    n_frames, k = latent.means.shape
    full = latent.covariances + latent.means[:, :, None] * latent.means[:, None, :]
    return full.reshape(n_frames, c, k // c, c, k // c).transpose(0, 1, 3, 2, 4)


def normal_equations(
    values: np.ndarray, weights: np.ndarray, latent: Latent, moments: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C_p and B_p of every column."""
    n_frames, _, c = values.shape
    r = moments.shape[-1]
    C = np.einsum("fpcd,fcdq->pq", weights, moments.reshape(n_frames, c, c, r * r), optimize=True)
    C = C.reshape(-1, r, r)
    weighted = np.einsum("fpcd,fpd->fpc", weights, values)
    B = np.einsum("fpc,fcr->pr", weighted, latent.means.reshape(n_frames, c, r), optimize=True)
    return (C + C.swapaxes(1, 2)) / 2, B


def best_columns(
    values: np.ndarray, weights: np.ndarray, latent: Latent, moments: np.ndarray, model: Model
) -> np.ndarray:
    """The M-step: the vector of every column, of shape (n_columns, r)."""
    C, B = normal_equations(values, weights, latent, moments)
    return solved_columns(C, B, model)


def solved_columns(C: np.ndarray, B: np.ndarray, model: Model) -> np.ndarray:
    """Vectors from their normal equations; the last entry is 1 in an affine model."""
    n_columns, r = B.shape
    free = r - 1 if model.affine else r
    right = B[:, :free] - (C[:, :free, -1] if model.affine else 0.0)
    system = C[:, :free, :free].copy()
    scale = np.einsum("pkk->p", system) / max(free, 1)
    ridge = np.maximum(_RIDGE * scale, np.finfo(float).tiny) + 2 * model.prior_weight
    system += ridge[:, None, None] * np.eye(free)
    if model.prior is not None:
        right = right + 2 * model.prior_weight * model.prior[:, :free]
    found = np.linalg.solve(system, right[..., None])[..., 0]
    return np.column_stack([found, np.ones(n_columns)]) if model.affine else found


def expected_squares(
    values: np.ndarray, weights: np.ndarray, latent: Latent, moments: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Expected weighted squared error of each column, over what the frames leave open."""
    C, B = normal_equations(values, weights, latent, moments)
    own = np.einsum("fpc,fpcd,fpd->p", values, weights, values, optimize=True)
    return own - 2 * np.einsum("pr,pr->p", B, columns) + np.einsum("pr,prq,pq->p", columns, C, columns)
