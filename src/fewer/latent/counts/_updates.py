"""Variational and maximum-likelihood updates of the gamma-Poisson and the Dirichlet-multinomial model.

Scores ``l_k ~ Gamma(alpha_k, rate beta_k)`` and counts ``w_j ~ Poisson((Theta l)_j)``, or shares
``m ~ Dirichlet(alpha)`` and counts ``w ~ Multinomial(L, Theta m)``, within each group of columns if there are groups.
The posterior of a row is bounded by ``q(l_k) = Gamma(a_k, 1 + beta_k)``, or ``q(m) = Dirichlet(a)``, and independent
multinomials for the components of its tokens. With ``e_k = exp(E log l_k)``, ``Z_j = sum_k theta_jk e_k``, a cycle is

    a_k <- alpha_k + e_k sum_j theta_jk w_j / Z_j,        theta_jk ~ gamma + theta_jk sum_i e_ik w_ij / Z_ij,

and ``sum_i bound_i + gamma sum_jk log theta_jk`` never falls.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from fewer.latent._passes import CountTable, Rows, mixture_fits, mixture_sums, posterior_weights

_STEPS = 5
_EVERY = 5
"""Cycles after which priors are estimated anew: each time costs as much as a fifth of a cycle."""
FIRST_ESTIMATE = 19
"""Cycles before the first estimate: as long as components are alike, so are rows, and so would the prior make them."""
_SMALLEST_PRIOR = 1e-6


class Prior(NamedTuple):
    """The model of the scores and the prior of the components: ``alpha`` and ``beta`` (K,), ``gamma``, groups (J,)."""

    dirichlet: bool
    alpha: np.ndarray
    beta: np.ndarray
    gamma: float
    groups: np.ndarray
    estimate_alpha: bool = False
    estimate_beta: bool = False

    @property
    def scale(self) -> np.ndarray:
        """Factor of ``exp(digamma(a))`` that makes it ``exp(E log l)``."""
        return np.ones_like(self.alpha) if self.dirichlet else 1 / (1 + self.beta)


class State(NamedTuple):
    """Concentrations of rows (I, K), components (J, K), the prior, and the number of cycles so far."""

    a: np.ndarray
    theta: np.ndarray
    prior: Prior
    n_cycles: int = 0


def normalised(theta: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Columns of theta divided by their sum in each group of rows, in place."""
    if groups.max(initial=0) == 0:
        theta /= theta.sum(axis=0)
        return theta
    sums = np.zeros((groups.max() + 1, theta.shape[1]))
    np.add.at(sums, groups, theta)
    theta /= sums[groups]
    return theta


def starting_concentrations(totals: np.ndarray, prior: Prior) -> np.ndarray:
    """Equal for all components: what sets them apart is theta."""
    n_components = len(prior.alpha)
    if prior.dirichlet:
        return np.full((len(totals), n_components), 0.5)
    return np.repeat(((prior.alpha.sum() + totals) / n_components)[:, None], n_components, axis=1)


def constants(rows: Rows, prior: Prior) -> np.ndarray:
    """What no parameter changes of each row's log-likelihood: ``-sum_j log w_j!``, and ``log L!`` of groups."""
    n_rows = len(rows.indptr) - 1
    owners = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    found = -np.bincount(owners, weights=gammaln(rows.data + 1), minlength=n_rows)
    if prior.dirichlet:
        groups = prior.groups[rows.indices]
        n_groups = int(prior.groups.max(initial=0)) + 1
        totals = np.bincount(owners * n_groups + groups, weights=rows.data, minlength=n_rows * n_groups)
        found += gammaln(totals + 1).reshape(n_rows, n_groups).sum(axis=1)
    return found


def weights_and_bounds(a: np.ndarray, totals: np.ndarray, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Factors ``e`` of rows up to one factor for each, and their bounds but for ``constants`` and the fit."""
    weights, bounds = posterior_weights(a, prior.alpha, prior.scale)
    bounds -= gammaln(prior.alpha).sum()
    if prior.dirichlet:
        sums = a.sum(axis=1)
        bounds += gammaln(prior.alpha.sum()) - gammaln(sums)
        bounds += (sums - prior.alpha.sum() - totals) * digamma(sums)
    else:
        bounds += np.sum(prior.alpha * np.log(prior.beta / (1 + prior.beta)))
    return weights, bounds


def variational_cycle(table: CountTable, fixed: np.ndarray, state: State) -> tuple[State, float]:
    """One cycle over all rows; the objective is that of the state before."""
    a, theta, prior, n_cycles = state
    due = n_cycles >= FIRST_ESTIMATE and n_cycles % _EVERY == FIRST_ESTIMATE % _EVERY
    if due and (prior.estimate_alpha or prior.estimate_beta):
        counts = a - prior.alpha
        prior = estimated_prior(counts, table.weights, prior)
        a = counts + prior.alpha
    weights, bounds = weights_and_bounds(a, table.totals, prior)
    sums, fits = mixture_sums(table.rows, weights, theta)
    objective = float(table.weights @ (fixed + bounds + fits))
    if prior.gamma > 0:
        objective += prior.gamma * float(np.log(theta).sum())
    expected = mixture_sums(table.columns, theta, weights)[0]
    expected *= theta
    expected += prior.gamma
    sums *= weights
    sums += prior.alpha
    return State(sums, normalised(expected, prior.groups), prior, n_cycles + 1), objective


def row_bounds(rows: Rows, totals: np.ndarray, a: np.ndarray, theta: np.ndarray, prior: Prior) -> np.ndarray:
    """Lower bound on the log-likelihood of each row, for given components."""
    weights, bounds = weights_and_bounds(a, totals, prior)
    return constants(rows, prior) + bounds + mixture_fits(rows, weights, theta)


def nmf_cycle(table: CountTable, fixed: np.ndarray, state: tuple[np.ndarray, np.ndarray]):
    """Scores, then components, by the multiplicative updates of the Kullback-Leibler loss; the Poisson likelihood."""
    scores, theta = state
    sums, fits = mixture_sums(table.rows, scores, theta)
    lengths = theta.sum(axis=0)
    objective = float(table.weights @ (fixed + fits - scores @ lengths))
    scores = scores * (sums / lengths)
    sums = mixture_sums(table.columns, theta, scores)[0]
    theta = theta * (sums / np.maximum(table.weights @ scores, np.finfo(float).tiny))
    return (scores, theta), objective


def estimated_prior(counts: np.ndarray, weights: np.ndarray, prior: Prior, n_steps: int = _STEPS) -> Prior:
    """The prior of the scores that makes (expected) counts of rows by component likelier, by Minka's fixed-point steps.

    With scores integrated out, counts are Dirichlet-multinomial or negative binomial; no step makes them less likely.
    Counts stay what they are, so that concentrations of rows move with alpha.
    """
    alpha, beta = prior.alpha, prior.beta
    n_rows = weights.sum()
    totals = counts.sum(axis=1)
    for _ in range(n_steps):
        if prior.estimate_beta:
            beta = alpha * n_rows / np.maximum(weights @ counts, np.finfo(float).tiny)
        if prior.estimate_alpha:
            gains = weights @ digamma(counts + alpha) - n_rows * digamma(alpha)
            if prior.dirichlet:
                losses = weights @ digamma(totals + alpha.sum()) - n_rows * digamma(alpha.sum())
            else:
                losses = n_rows * np.log1p(1 / beta)
            before, alpha = alpha, np.maximum(alpha * gains / losses, _SMALLEST_PRIOR)
            if np.max(np.abs(alpha / before - 1)) < 1e-4:
                break
    return prior._replace(alpha=alpha, beta=beta)
