"""What a mixture of normal gates with probit experts says about new rows, from their observed entries alone.

With weights pi_h, means m_h, precisions A_h and coefficients w_h, a row with observed entries x_o has

    P(h | x_o) ~ pi_h N(x_o; m_h, A_h),    P(y = 1 | x_o, h) = Phi(phi_h / sqrt(g_h)),
    phi_h = w_h'[E[x | x_o, h]; 1],        g_h = 1 + w_h'Cov[x | x_o, h] w_h.

Of a row without missing values the posterior is used in full: the density is Student's, and ``[x; 1]'Cov(w_h)[x; 1]``
adds to g_h. With missing values this has no closed form, and posterior means of the parameters are used instead.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from fewer.latent._normal_wishart import NormalWishart, log_predictive_densities
from fewer.latent.experts._incomplete_rows import Block, Quadratics, blocks_of, conditionals, moments, quadratics_of


class Mixture(NamedTuple):
    """Weights (H,), means (H, P), precisions (H, P, P), and coefficients (H, C, P + 1) with the intercept last.

    ``gates`` and ``covariances`` (H, C, P + 1, P + 1) are the posterior, where it is known.
    """

    weights: np.ndarray
    means: np.ndarray
    precisions: np.ndarray
    coef: np.ndarray
    gates: NormalWishart | None = None
    covariances: np.ndarray | None = None


class Prediction(NamedTuple):
    """Of rows: log densities (n,), responsibilities (n, H) and probabilities of the outputs (n, C)."""

    log_densities: np.ndarray
    responsibilities: np.ndarray
    probabilities: np.ndarray


def predicted(X: np.ndarray, mixture: Mixture) -> Prediction:
    """What the mixture says about rows with NaN for missing entries."""
    n_components, n_outputs, _ = mixture.coef.shape
    densities = np.empty(len(X))
    shares = np.empty((len(X), n_components))
    probabilities = np.empty((len(X), n_outputs))
    quadratics = quadratics_of(mixture.precisions)
    for block in blocks_of(X, n_components):
        found = _in_block(block, mixture, quadratics)
        densities[block.rows], shares[block.rows], probabilities[block.rows] = found
    return Prediction(densities, shares, probabilities)


def _in_block(block: Block, mixture: Mixture, quadratics: Quadratics) -> Prediction:
    slopes, intercepts = mixture.coef[:, :, :-1], mixture.coef[:, :, -1]
    if block.by == "nothing" and mixture.gates is not None:
        masses = log_predictive_densities(block.values, mixture.gates)
        with np.errstate(divide="ignore"):
            masses += np.log(mixture.weights)
        locations = np.einsum("bp,hcp->bhc", block.values, slopes, optimize=True) + intercepts
        variances = _coefficient_variances(block.values, mixture)
    else:
        found = _gated(block, mixture, quadratics)
        masses = found.log_masses
        shares = _normalised(masses)[1]
        completed, variances = moments(block, quadratics, found, shares, directions=slopes)
        locations = np.einsum("hbp,hcp->bhc", completed, slopes, optimize=True) + intercepts
        variances = variances.transpose(2, 0, 1)
    totals, shares = _normalised(masses)
    probabilities = np.einsum("bh,bhc->bc", shares, ndtr(locations / np.sqrt(1 + variances)))
    return Prediction(totals, shares, probabilities)


def _gated(block: Block, mixture: Mixture, quadratics: Quadratics):
    """Log densities of the observed entries under each component, with its weight."""
    pulled = np.einsum("hpq,hq->hp", mixture.precisions, mixture.means)
    constants = quadratics.log_dets - mixture.means.shape[1] * np.log(2 * np.pi)
    constants = (constants - np.einsum("hp,hp->h", pulled, mixture.means)) / 2
    with np.errstate(divide="ignore"):
        constants += np.log(mixture.weights)
    linear = np.repeat(pulled[:, None, :], len(block.values), axis=1)
    return conditionals(block, quadratics, linear, np.broadcast_to(constants, (len(block.values), len(constants))))


def _normalised(masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    totals = logsumexp(masses, axis=1)
    return totals, np.exp(masses - totals[:, None])


def _coefficient_variances(X: np.ndarray, mixture: Mixture) -> np.ndarray:
    """``[x; 1]'Cov(w_h)[x; 1]`` for every row, component and output."""
    n_components, n_outputs, _ = mixture.coef.shape
    if mixture.covariances is None:
        return np.zeros((len(X), n_components, n_outputs))
    extended = np.column_stack([X, np.ones(len(X))])
    products = extended @ mixture.covariances
    return np.einsum("hcbq,bq->bhc", products, extended, optimize=True)


class Imputation(NamedTuple):
    """Rows completed by posterior means (n, P), and covariances of their missing entries (n, P, P) or (0, P, P)."""

    completed: np.ndarray
    covariances: np.ndarray


def imputed(X: np.ndarray, mixture: Mixture, with_covariances: bool = False) -> Imputation:
    """Posterior means of the missing entries, and covariances if wanted, given the observed entries and no label."""
    quadratics = quadratics_of(mixture.precisions)
    completed = np.array(X, dtype=np.float64)
    n_columns = X.shape[1]
    covariances = np.zeros((len(X) if with_covariances else 0, n_columns, n_columns))
    for block in blocks_of(X, len(mixture.weights)):
        found = _gated(block, mixture, quadratics)
        shares = _normalised(found.log_masses)[1]
        means = moments(block, quadratics, found, shares).completed
        completed[block.rows] = np.einsum("bh,hbp->bp", shares, means)
        for place, row in enumerate(block.rows if with_covariances else ()):
            missing = np.flatnonzero(np.isnan(X[row]))
            deviations = means[:, place, missing] - completed[row, missing]
            within = np.linalg.inv(mixture.precisions[:, missing[:, None], missing])
            total = np.einsum("h,hpq->pq", shares[place], within)
            total += (deviations * shares[place, :, None]).T @ deviations
            covariances[row][np.ix_(missing, missing)] = total
    observed = ~np.isnan(X)
    completed[observed] = X[observed]
    return Imputation(completed, covariances)
