"""A low-rank factorisation with missing entries and unequal, correlated noise, by EM [1]_.

    y_tp = x(t)' s_p + e_tp

The E-step gives the moments of x(t) (``_expectation.py``), the M-step solves for every column

    C_p = sum over t of D_tp <x x'>,   B_p = sum over t of D_tp y_tp <x>,   s_p = C_p^-1 B_p,

with a ridge towards given columns where these are known in advance. In an affine model the last entry of s_p is 1 for
every column: its part moves to the right-hand side, with the cross moments ``<d m>``, not products of means, or else
the likelihood could fall.

.. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms: an
   application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewer.complete.factorization._expectation import (
    Evidence,
    Latent,
    Motion,
    evidence,
    independent_latent,
    smooth_latent,
)

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
    """The table as (n_frames, n_columns, n_coordinates), with 0 in the holes."""
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
