"""Gibbs sampling of a Dirichlet-process mixture of normal gates with probit experts, missing values included.

The model and its conjugate priors are those of ``_variational.py``. A sweep draws, for every row, its component (with
the missing entries integrated out), its missing entries and its soft labels; then the sticks, the concentration, the
gates, the experts, and the mean and precision of their coefficients. It is the reference for the variational posterior,
and takes about as long for a sweep as that for an iteration.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from fewer.latent._normal_wishart import draw_normal_wishart
from fewer.latent.experts._incomplete_rows import Mixture, conditionals, draw_missing, quadratics_of
from fewer.latent.experts._variational import (
    Experts,
    Hyper,
    Priors,
    State,
    Table,
    add_rows,
    mean_soft_labels,
    no_sums,
    scores_of,
    stick_weights,
    updated_experts,
    updated_gates,
    updated_hyper,
)


class Draw(NamedTuple):
    """State of the sampler: a mixture, the sticks behind its weights, the concentration, and what rows have.

    ``coef_precisions`` and ``coef_means`` (C, Q) are lambda and zeta; ``labels`` (n, C) the soft labels;
    ``coef_covariances`` (H, C, Q, Q) those of the coefficients given everything else.
    """

    mixture: Mixture
    concentration: float
    coef_means: np.ndarray
    coef_precisions: np.ndarray
    coef_covariances: np.ndarray
    labels: np.ndarray


def first_draw(state: State, signs: np.ndarray) -> Draw:
    """The means of a variational state, to start from."""
    precisions = state.gates.degrees_of_freedom[:, None, None] * np.linalg.inv(state.gates.inverse_scales)
    weights = stick_weights(state.sticks.first, state.sticks.second)
    mixture = Mixture(weights, state.gates.means, precisions, state.experts.means)
    labels = mean_soft_labels(state.locations, signs) * state.stretch
    hyper = state.hyper
    concentration = state.sticks.shape / state.sticks.rate
    return Draw(mixture, concentration, hyper.means, hyper.precisions, state.experts.covariances, labels)


def gibbs_sweep(table: Table, priors: Priors, draw: Draw, random: np.random.RandomState) -> tuple[Draw, float]:
    """The next draw, and the log-likelihood of the rows and soft labels under the present one."""
    mixture = draw.mixture
    n_components, n_outputs, _ = mixture.coef.shape
    products = (mixture.coef[..., :, None] * mixture.coef[..., None, :]).sum(axis=1)
    log_dets = np.linalg.slogdet(mixture.precisions)[1]
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    scores = scores_of(log_weights, log_dets, mixture.means, mixture.precisions, mixture.coef, products)
    quadratics = quadratics_of(scores.matrices)
    sums = no_sums(n_components, n_outputs, table.n_columns)
    labels = np.empty_like(draw.labels)
    fit = 0.0
    for block in table.blocks:
        before, n_rows = draw.labels[block.rows], len(block.rows)
        linear = scores.linear[:, None, :] + before @ scores.slopes
        found = conditionals(block, quadratics, linear, scores.constants + before @ scores.intercepts.T)
        totals = logsumexp(found.log_masses, axis=1)
        fit += totals.sum() - (before**2).sum() / 2
        shares = np.exp(found.log_masses - totals[:, None])
        chosen = (shares.cumsum(axis=1) < random.uniform(size=(n_rows, 1)) * shares.sum(axis=1, keepdims=True)).sum(1)
        chosen = np.minimum(chosen, n_components - 1)
        rows = draw_missing(block, quadratics, found, chosen, random.normal(size=block.values.shape))
        locations = np.einsum("bp,bcp->bc", rows, scores.slopes[chosen]) + scores.intercepts[chosen]
        labels[block.rows] = drawn_soft_labels(locations, table.signs[block.rows], random)
        assigned = (chosen[:, None] == np.arange(n_components)).astype(np.float64)
        completed = np.broadcast_to(rows, (n_components, *rows.shape))
        add_rows(sums, completed, assigned, labels[block.rows])
    return _drawn_parameters(sums, priors, draw, labels, random), float(fit)


def drawn_soft_labels(locations: np.ndarray, signs: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Unit normal variables with these locations and signs, by the inverse of their distribution function."""
    towards = signs * locations
    log_uniform = np.log(np.maximum(random.uniform(size=towards.shape), 1e-300))
    return signs * (towards - ndtri_exp(np.minimum(log_uniform + log_ndtr(towards), -1e-300)))


def _drawn_parameters(sums, priors: Priors, draw: Draw, labels: np.ndarray, random: np.random.RandomState) -> Draw:
    """Sticks, gates and experts given the rows."""
    after = sums.sizes[::-1].cumsum()[::-1][1:]
    taken = random.beta(1 + sums.sizes[:-1], draw.concentration + after)
    rests = np.maximum(1 - taken, 1e-300)
    weights = np.append(taken, 1.0) * np.concatenate([[1.0], np.cumprod(rests)])
    rate = priors.concentration_rate - np.log(rests).sum()
    concentration = float(random.gamma(priors.concentration_shape + len(taken)) / rate) if len(taken) else 1.0
    means, precisions = draw_normal_wishart(updated_gates(sums, priors), random)
    given = Hyper(draw.coef_means, 1.0, 1.0, 1 / draw.coef_precisions)
    found = updated_experts(sums, given)
    noise = random.normal(size=found.means.shape)
    coef = found.means + np.einsum("hcpq,hcq->hcp", np.linalg.cholesky(found.covariances), noise)
    hyper = updated_hyper(Experts(coef, np.zeros_like(found.covariances)), priors)
    coef_precisions = np.maximum(random.gamma(hyper.shape, size=hyper.rates.shape), 1e-300) / hyper.rates
    coef_means = hyper.means
    if not priors.sparse:
        spread = 1 / np.sqrt(hyper.mean_precision * coef_precisions)
        coef_means = coef_means + spread * random.normal(size=coef_means.shape)
    mixture = Mixture(weights, means, precisions, coef)
    return Draw(mixture, concentration, coef_means, coef_precisions, found.covariances, labels)
