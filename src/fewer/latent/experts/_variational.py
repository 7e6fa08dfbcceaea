"""Variational inference for a Dirichlet-process mixture of normal gates with probit experts, missing values included.

    V_h ~ Beta(1, alpha),  pi_h = V_h prod_{l<h} (1 - V_l),  z_i ~ pi,  alpha ~ Gamma(tau_1, tau_2)
    x_i | z_i = h ~ N(mu_h, Lambda_h^-1),                    (mu_h, Lambda_h) ~ normal-Wishart
    t_ic | x_i, z_i = h ~ N(w_hc'[x_i; 1], 1),               y_ic = sign(t_ic)
    w_hc ~ N(zeta_c, diag(lambda_c)^-1),  zeta_c | lambda_c ~ N(0, diag(gamma_0 lambda_c)^-1),  lambda_cp ~ Gamma(a, b)

Two classes have one soft label t; of more classes, each has one against the others, under the same gates. The posterior
is approximated by q(t) q(x_missing, z) q(V) q(mu, Lambda) q(w) q(zeta, lambda) q(alpha). Every factor is updated in
closed form in turn, which never lowers the bound on the log evidence. The factors of one row come in one pass: first
(x_missing, z), then t, then the sums that the other factors need, so that nothing of size (rows, components, columns)
is kept. With two classes, ``q(t, x_missing, z)`` may be one factor: `_joint_labels`.

References: Wang, C., Liao, X., Carin, L. and Dunson, D. B. (2010). Classification with incomplete data using Dirichlet
process priors. Journal of Machine Learning Research 11, 3269-3311.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln, log_ndtr, logsumexp

from fewer.latent._normal_wishart import (
    Expectations,
    NormalWishart,
    divergence_from_prior,
    expectations,
    normal_wishart_posterior,
)
from fewer.latent.experts._incomplete_rows import NEGLIGIBLE, Block, conditionals, moments, quadratics_of
from fewer.latent.experts._joint_labels import add_labelled_rows, labelled_rows

_LOG_2PI = float(np.log(2 * np.pi))
# Precision of the coefficients at the start: experts that are pulled together from the beginning stay together.
_VAGUE = 0.1


class Priors(NamedTuple):
    """Parameters of the priors, by the symbols of the paper.

    Gates: a normal-Wishart distribution. Experts: a0, b0 (shape and rate of lambda), gamma0, and whether zeta is 0.
    Sticks: tau10 and tau20, shape and rate of alpha.
    """

    gates: NormalWishart
    coef_shape: float
    coef_rate: float
    coef_mean_precision: float
    sparse: bool
    concentration_shape: float
    concentration_rate: float


class Experts(NamedTuple):
    """Normal distributions of the coefficients, intercept last: means (H, C, Q) and covariances (H, C, Q, Q)."""

    means: np.ndarray
    covariances: np.ndarray


class Hyper(NamedTuple):
    """Normal-gamma distributions of the mean and precision of coefficients over experts.

    Means (C, Q), mean precision, shape, and rates (C, Q).
    """

    means: np.ndarray
    mean_precision: float
    shape: float
    rates: np.ndarray

    @property
    def precisions(self) -> np.ndarray:
        return self.shape / self.rates


class Sticks(NamedTuple):
    """Beta distributions of the stick lengths (two arrays of H - 1), gamma distribution of the concentration."""

    first: np.ndarray
    second: np.ndarray
    shape: float
    rate: float


class State(NamedTuple):
    """All factors but those of single rows; of these, the soft labels: locations (n, C), and a factor of each (C,)."""

    gates: NormalWishart
    experts: Experts
    hyper: Hyper
    sticks: Sticks
    locations: np.ndarray
    stretch: np.ndarray


class Table(NamedTuple):
    """The rows: blocks by pattern, signs of the labels (n, C), weights (n,), and the number of columns."""

    blocks: list[Block]
    signs: np.ndarray
    weights: np.ndarray
    n_columns: int


class Sums(NamedTuple):
    """What the factors of a component need of the rows, all weighted by their responsibilities.

    Sizes (H,), sums of rows (H, P), of their products (H, P, P), and of rows times soft labels (H, C, P + 1).
    """

    sizes: np.ndarray
    rows: np.ndarray
    products: np.ndarray
    labels: np.ndarray


def no_sums(n_components: int, n_outputs: int, n_columns: int) -> Sums:
    """Sums over no rows."""
    return Sums(
        np.zeros(n_components),
        np.zeros((n_components, n_columns)),
        np.zeros((n_components, n_columns, n_columns)),
        np.zeros((n_components, n_outputs, n_columns + 1)),
    )


def add_rows(sums: Sums, completed: np.ndarray, shares: np.ndarray, labels: np.ndarray) -> None:
    """Add rows (K, b, P) with shares (b, K) and expected soft labels (b, C); covariances are added elsewhere."""
    sizes = shares.sum(axis=0)
    used = np.flatnonzero(sizes > NEGLIGIBLE)
    rows = completed[used]
    weighted = rows * shares.T[used, :, None]
    sums.sizes[:] += sizes
    sums.rows[used] += weighted.sum(axis=1)
    sums.products[used] += weighted.transpose(0, 2, 1) @ rows
    sums.labels[used, :, :-1] += labels.T @ weighted
    sums.labels[used, :, -1] += shares.T[used] @ labels


def mean_soft_labels(locations: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Means of unit normal variables with these locations, given their signs."""
    return locations + signs * np.exp(-(locations**2 + _LOG_2PI) / 2 - log_ndtr(signs * locations))


def soft_label_bounds(locations: np.ndarray, signs: np.ndarray, stretch: np.ndarray) -> np.ndarray:
    """``E[log p(t | .)]`` without its terms in x, and the entropy of t, for every soft label."""
    means = mean_soft_labels(locations, signs)
    squares = 1 + locations * means  # E[t^2] before it is stretched
    entropies = (squares - 2 * locations * means + locations**2) / 2 + log_ndtr(signs * locations)
    return entropies + np.log(stretch) - stretch**2 * squares / 2


class Scores(NamedTuple):
    """Terms of ``log p(t, x, z = h) = constant + t'intercepts + (linear + t'slopes)x - x'Ax / 2``, or of its mean.

    Constants (H,), intercepts (H, C), linear (H, P), slopes (H, C, P) and matrices A (H, P, P).
    """

    constants: np.ndarray
    intercepts: np.ndarray
    linear: np.ndarray
    slopes: np.ndarray
    matrices: np.ndarray


def scores_of(
    log_weights: np.ndarray,
    log_dets: np.ndarray,
    means: np.ndarray,
    precisions: np.ndarray,
    coef: np.ndarray,
    products: np.ndarray,
) -> Scores:
    """From weights, gates, coefficients (H, C, Q), and the sums of their products over outputs (H, Q, Q)."""
    pulled = np.einsum("hpq,hq->hp", precisions, means)
    constants = log_dets - means.shape[1] * _LOG_2PI - np.einsum("hp,hp->h", pulled, means) - products[:, -1, -1]
    return Scores(
        log_weights + constants / 2,
        coef[:, :, -1],
        pulled - products[:, :-1, -1],
        coef[:, :, :-1],
        precisions + products[:, :-1, :-1],
    )


def expected_scores(gates: NormalWishart, known: Expectations, experts: Experts, log_weights: np.ndarray) -> Scores:
    """The mean over the factors of gates and experts."""
    products = (experts.covariances + experts.means[..., :, None] * experts.means[..., None, :]).sum(axis=1)
    log_dets = known.log_det_precisions - gates.n_features / gates.mean_precisions
    return scores_of(log_weights, log_dets, gates.means, known.precisions, experts.means, products)


def variational_step(table: Table, priors: Priors, state: State, joint: bool = False) -> tuple[State, float]:
    """Update every factor once; the new state, and the bound after the update of q(x_missing, z).

    ``joint`` takes one factor of q(t, x_missing, z), for a single output.
    """
    known = expectations(state.gates)
    scores = expected_scores(state.gates, known, state.experts, log_stick_weights(state.sticks))
    quadratics = quadratics_of(scores.matrices)
    n_components, n_outputs = len(scores.constants), table.signs.shape[1]
    sums = no_sums(n_components, n_outputs, table.n_columns)
    locations = np.empty_like(state.locations)
    fit, squares = 0.0, np.zeros(n_outputs)
    for block in table.blocks:
        signs, weights = table.signs[block.rows], table.weights[block.rows]
        if joint:
            rows = labelled_rows(
                block, quadratics, scores.linear, scores.slopes[:, 0], scores.constants, scores.intercepts[:, 0],
                signs[:, 0], weights, sums.products,
            )  # fmt: skip
            fit += weights @ rows.totals
            squares += add_labelled_rows(sums, rows, weights)
            locations[block.rows, 0] = np.einsum("bk,kb->b", rows.shares, rows.means)
            continue
        before = state.locations[block.rows]
        labels = mean_soft_labels(before, signs) * state.stretch
        linear = scores.linear[:, None, :] + labels @ scores.slopes
        found = conditionals(block, quadratics, linear, scores.constants + labels @ scores.intercepts.T)
        totals = logsumexp(found.log_masses, axis=1)
        fit += weights @ (totals + soft_label_bounds(before, signs, state.stretch).sum(axis=1))
        shares = np.exp(found.log_masses - totals[:, None])
        completed = moments(block, quadratics, found, shares * weights[:, None], sums.products).completed
        predicted = np.einsum("kbp,kcp->bkc", completed, scores.slopes, optimize=True) + scores.intercepts
        locations[block.rows] = np.einsum("bk,bkc->bc", shares, predicted)
        labels = mean_soft_labels(locations[block.rows], signs)
        squares += weights @ (1 + locations[block.rows] * labels)
        add_rows(sums, completed, shares * weights[:, None], labels)
    bound = fit - divergence(state, priors, known)
    return updated(sums, squares, priors, state.hyper, state.sticks, locations), bound


def updated(
    sums: Sums, squares: np.ndarray, priors: Priors, hyper: Hyper, sticks: Sticks, locations: np.ndarray
) -> State:
    """The factors of sticks, gates, experts and their priors, from sums over rows."""
    gates, sticks = updated_gates(sums, priors), updated_sticks(sums.sizes, priors, sticks)
    experts, hyper, stretch = stretched_experts(sums, squares, priors, hyper)
    return State(gates, experts, hyper, sticks, locations, stretch)


def stretched_experts(
    sums: Sums, squares: np.ndarray, priors: Priors, hyper: Hyper
) -> tuple[Experts, Hyper, np.ndarray]:
    """q(w), then q(zeta, lambda), then the common factor of them and of the soft labels that is best."""
    experts = updated_experts(sums, hyper)
    hyper = updated_hyper(experts, priors)
    stretch = stretch_of(sums, squares, experts, hyper, priors)
    factors = stretch[:, None]
    experts = Experts(experts.means * factors, experts.covariances * factors[..., None] ** 2)
    return experts, hyper._replace(means=hyper.means * factors, rates=hyper.rates * factors**2), stretch


def stretch_of(sums: Sums, squares: np.ndarray, experts: Experts, hyper: Hyper, priors: Priors) -> np.ndarray:
    """Factors of t, w and zeta, with lambda divided by their squares, that raise the bound most, one for each output.

    Labels and coefficients grow together, which takes hundreds of steps where each waits for the other (Qi, Y. and
    Jaakkola, T. S. (2006). Parameter expanded variational Bayesian methods. NIPS 19). The bound changes by
    ``(n - 2 a Q) log c - c^2 E|t - w'x|^2 / 2 - b sum(lambda) / c^2``; at its maximum the factor is 1.
    """
    n_coef = hyper.means.shape[1]
    second = experts.covariances + experts.means[..., :, None] * experts.means[..., None, :]
    fitted = np.einsum("hpq,hcqp->c", extended_products(sums), second)
    residuals = squares - 2 * np.einsum("hcq,hcq->c", sums.labels, experts.means) + fitted
    free = sums.sizes.sum() - 2 * priors.coef_shape * n_coef
    pulled = priors.coef_rate * hyper.precisions.sum(axis=1)
    # The derivative in c^2 vanishes: residuals c^4 - free c^2 - 2 pulled = 0.
    return np.sqrt((free + np.sqrt(free**2 + 8 * pulled * residuals)) / (2 * residuals))


def updated_gates(sums: Sums, priors: Priors) -> NormalWishart:
    """q(mu, Lambda)."""
    sizes = np.maximum(sums.sizes, 1e-300)
    means = sums.rows / sizes[:, None]
    scatters = sums.products - sums.rows[:, :, None] * means[:, None, :]
    return normal_wishart_posterior(priors.gates, sums.sizes, means, (scatters + scatters.transpose(0, 2, 1)) / 2)


def updated_experts(sums: Sums, hyper: Hyper) -> Experts:
    """q(w)."""
    precisions = np.repeat(extended_products(sums)[:, None], len(hyper.means), axis=1)
    diagonal = np.arange(precisions.shape[-1])
    precisions[:, :, diagonal, diagonal] += hyper.precisions
    covariances = np.linalg.inv(precisions)
    covariances = (covariances + covariances.swapaxes(-1, -2)) / 2
    means = covariances @ (sums.labels + hyper.precisions * hyper.means)[..., None]
    return Experts(means[..., 0], covariances)


def extended_products(sums: Sums) -> np.ndarray:
    """Sums of the products of rows with a 1 at the end, (H, P + 1, P + 1)."""
    p = sums.rows.shape[1]
    products = np.empty((len(sums.sizes), p + 1, p + 1))
    products[:, :-1, :-1] = sums.products
    products[:, -1, :-1] = products[:, :-1, -1] = sums.rows
    products[:, -1, -1] = sums.sizes
    return products


def updated_hyper(experts: Experts, priors: Priors) -> Hyper:
    """q(zeta, lambda)."""
    n_experts = len(experts.means)
    squares = (experts.means**2 + np.diagonal(experts.covariances, axis1=-2, axis2=-1)).sum(axis=0)
    precision = priors.coef_mean_precision + n_experts
    means = np.zeros_like(squares) if priors.sparse else experts.means.sum(axis=0) / precision
    rates = priors.coef_rate + (squares - precision * means**2) / 2
    return Hyper(means, precision, priors.coef_shape + n_experts / 2, rates)


def updated_sticks(sizes: np.ndarray, priors: Priors, sticks: Sticks) -> Sticks:
    """q(V), then q(alpha)."""
    after = sizes[::-1].cumsum()[::-1][1:]
    first, second = 1 + sizes[:-1], sticks.shape / sticks.rate + after
    log_rests = digamma(second) - digamma(first + second)
    return Sticks(
        first, second, priors.concentration_shape + len(first), priors.concentration_rate - float(log_rests.sum())
    )


def log_stick_weights(sticks: Any) -> np.ndarray:
    """``E[log pi_h]``, along the last axis."""
    total = digamma(sticks.first + sticks.second)
    one = np.zeros((*total.shape[:-1], 1))
    rests = np.concatenate([one, np.cumsum(digamma(sticks.second) - total, axis=-1)], axis=-1)
    return rests + np.concatenate([digamma(sticks.first) - total, one], axis=-1)


def stick_weights(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """``E[pi_h]`` of sticks with these beta distributions."""
    taken = first / (first + second)
    return np.append(taken, 1.0) * np.concatenate([[1.0], np.cumprod(1 - taken)])


def divergence(state: State, priors: Priors, known: Expectations) -> float:
    """Kullback-Leibler divergence of all factors but those of the rows from their priors."""
    of_gates = divergence_from_prior(state.gates, priors.gates, known).sum()
    return float(
        of_gates + expert_divergence(state.experts, state.hyper, priors) + stick_divergence(state.sticks, priors)
    )


def expert_divergence(experts: Experts, hyper: Hyper, priors: Priors) -> float:
    """That of q(w) and q(zeta, lambda)."""
    n_experts, _, n_coef = experts.means.shape
    log_precisions = digamma(hyper.shape) - np.log(hyper.rates)
    squares = (experts.means - hyper.means) ** 2 + np.diagonal(experts.covariances, axis1=-2, axis2=-1)
    expected = hyper.precisions * squares + (0 if priors.sparse else 1 / hyper.mean_precision)
    log_dets = np.linalg.slogdet(experts.covariances)[1]
    of_coef = (expected.sum() - n_experts * log_precisions.sum() - log_dets.sum() - log_dets.size * n_coef) / 2
    shape, rate = priors.coef_shape, priors.coef_rate
    of_precisions = (
        hyper.shape * np.log(hyper.rates)
        - gammaln(hyper.shape)
        - shape * np.log(rate)
        + gammaln(shape)
        + (hyper.shape - shape) * log_precisions
        - (hyper.rates - rate) * hyper.precisions
    ).sum()
    if priors.sparse:
        return float(of_coef + of_precisions)
    ratio = priors.coef_mean_precision / hyper.mean_precision
    pulled = priors.coef_mean_precision * hyper.precisions * hyper.means**2
    of_means = (pulled + ratio - 1 - np.log(ratio)).sum() / 2
    return float(of_coef + of_precisions + of_means)


def stick_divergence(sticks: Sticks, priors: Priors) -> float:
    """That of q(V) and q(alpha)."""
    first, second, shape, rate = sticks
    total = digamma(first + second)
    log_taken, log_rest = digamma(first) - total, digamma(second) - total
    mean, log_mean = shape / rate, digamma(shape) - np.log(rate)
    of_sticks = (first - 1) * log_taken + (second - mean) * log_rest - betaln(first, second) - log_mean
    prior_shape, prior_rate = priors.concentration_shape, priors.concentration_rate
    of_concentration = (
        shape * np.log(rate)
        - gammaln(shape)
        - prior_shape * np.log(prior_rate)
        + gammaln(prior_shape)
        + (shape - prior_shape) * log_mean
        - (rate - prior_rate) * mean
    )
    return float(of_sticks.sum() + of_concentration)


def first_hyper(priors: Priors, n_outputs: int, n_columns: int) -> Hyper:
    """Coefficients about 0, with a small precision."""
    rates = np.full((n_outputs, n_columns + 1), priors.coef_shape / _VAGUE)
    return Hyper(np.zeros_like(rates), priors.coef_mean_precision, priors.coef_shape, rates)


def starting_state(table: Table, priors: Priors, filled: np.ndarray, shares: np.ndarray, spread: np.ndarray) -> State:
    """Factors that follow from responsibilities (n, H), with missing entries at 0 and with variances ``spread``."""
    n_outputs, n_columns = table.signs.shape[1], table.n_columns
    order = np.argsort(-(table.weights @ shares), kind="stable")
    shares = shares[:, order] * table.weights[:, None]
    sums = no_sums(shares.shape[1], n_outputs, n_columns)
    locations = table.signs.astype(np.float64)
    add_rows(
        sums,
        np.broadcast_to(np.nan_to_num(filled), (shares.shape[1], *filled.shape)),
        shares,
        mean_soft_labels(locations, table.signs),
    )
    uncertain = np.isnan(filled).astype(np.float64)
    sums.products[:] += np.einsum("ih,ip->hp", shares, uncertain)[:, :, None] * np.diag(spread)
    hyper = first_hyper(priors, n_outputs, n_columns)
    n_sticks = shares.shape[1] - 1
    sticks = Sticks(np.ones(n_sticks), np.ones(n_sticks), priors.concentration_shape, priors.concentration_rate)
    squares = table.weights @ (1 + locations * mean_soft_labels(locations, table.signs))
    return updated(sums, squares, priors, hyper, sticks, locations)
