"""Columns that belong to different things in motion: EM with one block of the latent space for each.

Latent vectors stack K blocks of r dimensions; column p has entries in the block of its own thing only. The M-step
solves for the column's vector in every block k and keeps the one with the least expected energy [1]_,

    E_p(k) = sum over t of D_tp <(y_tp - x_k(t)' s_p^k)^2>.

Not convex: noise is taken to be large at first and lowered step by step, and several starts are compared by their
energy.

.. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms: an
   application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewer.complete.factorization._em import Model, expected, normal_equations, second_moments, solved_columns
from fewer.complete.factorization._expectation import Latent
from fewer.complete.factorization._start import starting_columns

_COOLING = 0.8
_FIRST_NOISE = 0.3
"""Of the mean square of the table."""


class Segmentation(NamedTuple):
    """Block and vector of every column, with the energy in its block."""

    labels: np.ndarray
    columns: np.ndarray
    latent: Latent
    energies: np.ndarray
    noise_var: float
    n_iter: int
    converged: bool
    stopped: bool


def columns_of_groups(X: np.ndarray, labels: np.ndarray, n_groups: int, rank: int, model: Model) -> np.ndarray:
    """Vectors to start from: leading directions of each group's columns alone, in the block of that group."""
    columns = np.zeros((X.shape[1], n_groups * rank))
    for group in range(n_groups):
        members = np.flatnonzero(labels == group)
        if len(members):
            block = slice(group * rank, (group + 1) * rank)
            columns[members, block] = starting_columns(X[:, members], rank, model.latent_var, model.affine)
    return columns


def segmented(
    values: np.ndarray,
    weights: np.ndarray,
    columns: np.ndarray,
    labels: np.ndarray,
    n_groups: int,
    model: Model,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[np.ndarray], bool] = lambda labels: False,
) -> Segmentation:
    """EM until the energy falls by no more than ``tol`` of itself and no column changes its block."""
    n_seen = max(int((np.einsum("fpcc->fpc", weights) > 0).sum()), 1)
    own = np.einsum("fpc,fpcd,fpd->p", values, weights, values, optimize=True)
    mean_square = max(float(own.sum()) / n_seen, np.finfo(float).tiny)
    noise_var = held_noise = _FIRST_NOISE * mean_square if model.noise_var is None else model.noise_var
    latent = expected(values, weights, columns, noise_var, model)
    energies, stopped, converged = np.full(len(columns), np.inf), False, False
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        C, B = normal_equations(values, weights, latent, second_moments(latent, values.shape[2]))
        found, costs = _in_blocks(C, B, own, n_groups, model, noise_var)
        before, last = labels, energies
        labels = costs.argmin(axis=1)
        energies = costs[np.arange(len(labels)), labels]
        columns = _placed(found, labels, n_groups)
        if model.noise_var is None:
            held_noise *= _COOLING
            noise_var = max(float(energies.sum()) / n_seen, held_noise, 1e-12 * mean_square)
        latent = expected(values, weights, columns, noise_var, model)
        stopped = on_step(labels)
        cold = model.noise_var is not None or held_noise < 0.5 * noise_var
        settled = abs(last.sum() - energies.sum()) <= tol * max(energies.sum(), np.finfo(float).tiny)
        converged = bool(cold and settled and (labels == before).all())
        if stopped or converged:
            break
    return Segmentation(labels, columns, latent, energies, noise_var, n_iter, converged, stopped)


def _in_blocks(
    C: np.ndarray, B: np.ndarray, own: np.ndarray, n_groups: int, model: Model, noise_var: float
) -> tuple[np.ndarray, np.ndarray]:
    """Each column's best vector in every block, of shape (n_groups, n_columns, r), and its energy there."""
    rank = B.shape[1] // n_groups
    found, costs = [], []
    for group in range(n_groups):
        block = slice(group * rank, (group + 1) * rank)
        system, right = C[:, block, block], B[:, block]
        vectors = solved_columns(system / noise_var, right / noise_var, model)
        fitted = np.einsum("pr,pr->p", right, vectors)
        costs.append(own - 2 * fitted + np.einsum("pr,prq,pq->p", vectors, system, vectors))
        found.append(vectors)
    return np.array(found), np.column_stack(costs)


def _placed(found: np.ndarray, labels: np.ndarray, n_groups: int) -> np.ndarray:
    """The chosen vectors in their blocks, zero elsewhere."""
    n_groups, n_columns, rank = found.shape
    columns = np.zeros((n_columns, n_groups, rank))
    at = np.arange(n_columns)
    columns[at, labels] = found[labels, at]
    return columns.reshape(n_columns, n_groups * rank)
