"""Several discrete causes that add up behind rows of numbers: cooperative vector quantisation.

    x = sum_m W_m z_m + e,        z_m one of S states with probabilities pi_m,        e ~ N(0, Lambda), diagonal.

The causes are independent, but not given x. With D = M S indicators z of all states, the M-step of every solver is

    W_i = (sum_n x_ni E[z_n]') (sum_n E[z_n z_n'])^+,    Lambda_i = mean of E (x_ni - W_i z_n)^2,    pi = mean E[z_n],

over the rows in which column i is observed, which is exact for values missing at random. The E-step is

- *em*: all S^M combinations of states;
- *variational_em*: independent causes, ``q_m ~ pi_m exp(W_m' Lambda^-1 (x - sum_{l /= m} W_l q_l) - diag(W_m' Lambda^-1
  W_m) / 2)``, which maximise a lower bound of the likelihood;
- *gibbs*: one cause after the other is drawn given the others, then the parameters from their conjugate posteriors.

Ghahramani, Z. (1995). Factorial learning and the EM algorithm. Advances in Neural Information Processing Systems 7.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from fewer.latent.mixtures._class_mixture import kmeans_labels

MOST_COMBINATIONS = 1024
_TINY = 1e-300
_LOG_2PI = float(np.log(2 * np.pi))


class Causes(NamedTuple):
    """Codebooks W as (M, S, p), probabilities of the states (M, S), and noise variances (p,)."""

    codebooks: np.ndarray
    priors: np.ndarray
    noise: np.ndarray


class Table(NamedTuple):
    """Rows with 0 for missing entries, which entries are observed (as numbers), and weights of rows."""

    X: np.ndarray
    observed: np.ndarray
    weights: np.ndarray

    @property
    def is_complete(self) -> bool:
        return bool(self.observed.all())


class Expected(NamedTuple):
    """Means of the indicators (n, D), means of their products (n, D, D), and log-likelihoods or bounds of rows."""

    means: np.ndarray
    products: np.ndarray
    log_likelihoods: np.ndarray


def table_of(X: np.ndarray, weights: np.ndarray) -> Table:
    """Rows with NaN for missing entries, as the steps need them."""
    observed = ~np.isnan(X)
    return Table(np.where(observed, X, 0.0), observed.astype(np.float64), weights)


def combinations(n_causes: int, n_states: int) -> np.ndarray:
    """Indicators of all combinations of states (S^M, M S)."""
    codes = np.array(list(product(range(n_states), repeat=n_causes)))
    return np.eye(n_states)[codes].reshape(len(codes), -1)


def exact_expectations(table: Table, causes: Causes) -> Expected:
    """By all combinations of states; the log-likelihood is exact."""
    M, S, p = causes.codebooks.shape
    indicators = combinations(M, S)
    means = indicators @ causes.codebooks.reshape(M * S, p)
    with np.errstate(divide="ignore"):
        log_prior = indicators @ np.log(np.maximum(causes.priors, _TINY)).ravel()
    joint = log_prior + _log_densities(table, means, causes.noise)
    logs = logsumexp(joint, axis=1)
    shares = np.exp(joint - logs[:, None])
    products = shares @ np.einsum("ka,kb->kab", indicators, indicators).reshape(len(indicators), -1)
    return Expected(shares @ indicators, products.reshape(len(table.X), M * S, M * S), logs)


def _log_densities(table: Table, means: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """``log p(x_n | mean_k)`` of the observed entries, for rows and means."""
    constants = table.observed @ (np.log(noise) + _LOG_2PI) + table.X**2 @ (1 / noise)
    cross = table.X @ (means / noise).T
    return cross - (constants[:, None] + table.observed @ (means**2 / noise).T) / 2


def variational_expectations(
    table: Table, causes: Causes, start: np.ndarray | None = None, max_sweeps: int = 100
) -> Expected:
    """By independent causes, updated one after the other; gives a lower bound of the log-likelihood.

    Each row stops by itself, so that none depends on the others.
    """
    M, S, _ = causes.codebooks.shape
    n = len(table.X)
    q = np.broadcast_to(causes.priors, (n, M, S)).copy() if start is None else start.reshape(n, M, S).copy()
    log_prior = np.log(np.maximum(causes.priors, _TINY))
    scaled = causes.codebooks / causes.noise
    halves = np.stack([table.observed @ (own**2 / causes.noise).T / 2 for own in causes.codebooks], axis=1)
    moving = np.arange(n)
    for _ in range(max_sweeps):
        before = q[moving].copy()
        observed, X = table.observed[moving], table.X[moving]
        fitted = np.einsum("nms,msp->np", before, causes.codebooks, optimize=True)
        own = before.copy()
        for m in range(M):
            rest = fitted - own[:, m] @ causes.codebooks[m]
            logits = log_prior[m] + (observed * (X - rest)) @ scaled[m].T - halves[moving, m]
            logits -= logits.max(axis=1, keepdims=True)
            own[:, m] = np.exp(logits)
            own[:, m] /= own[:, m].sum(axis=1, keepdims=True)
            fitted = rest + own[:, m] @ causes.codebooks[m]
        q[moving] = own
        moving = moving[np.abs(own - before).max(axis=(1, 2)) > 1e-9]
        if not len(moving):
            break
    flat = q.reshape(n, M * S)
    products = flat[:, :, None] * flat[:, None, :]
    for m in range(M):
        inside = slice(m * S, (m + 1) * S)
        products[:, inside, inside] = q[:, m, :, None] * np.eye(S)
    fitted = np.einsum("nms,msp->np", q, causes.codebooks, optimize=True)
    # The variance of each cause by itself adds to the squared distance from the mean.
    squares = table.observed * (table.X - fitted) ** 2 @ (1 / causes.noise)
    for m in range(M):
        squares += 2 * np.sum(q[:, m] * halves[:, m], axis=1)
        squares -= table.observed * (q[:, m] @ causes.codebooks[m]) ** 2 @ (1 / causes.noise)
    constants = table.observed @ (np.log(causes.noise) + _LOG_2PI)
    entropy = -np.sum(q * (np.log(np.maximum(q, _TINY)) - log_prior), axis=(1, 2))
    return Expected(flat, products, entropy - (constants + squares) / 2)


def maximised(table: Table, found: Expected, shape: tuple[int, int, int], floor: float) -> Causes:
    """The M-step; a column without variance keeps the smallest noise."""
    M, S, p = shape
    D, w = M * S, table.weights
    sums = (table.X * w[:, None]).T @ found.means
    flat = found.products.reshape(len(w), D * D)
    if table.is_complete:
        gram = (w @ flat).reshape(D, D)
        W = sums @ np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
        totals = np.full(p, w.sum())
        fits = np.einsum("ia,ab,ib->i", W, gram, W, optimize=True)
    else:
        grams = ((table.observed * w[:, None]).T @ flat).reshape(p, D, D)
        W = np.einsum("ia,iab->ib", sums, np.linalg.pinv(grams, rcond=1e-10, hermitian=True))
        totals = w @ table.observed
        fits = np.einsum("ia,iab,ib->i", W, grams, W, optimize=True)
    squares = w @ table.X**2 - 2 * np.sum(W * sums, axis=1) + fits
    noise = np.maximum(squares / np.maximum(totals, _TINY), floor)
    priors = (w @ found.means).reshape(M, S) / w.sum()
    return Causes(np.ascontiguousarray(W.T).reshape(M, S, p), priors, noise)


def starting_causes(table: Table, n_causes: int, n_states: int, floor: float, random: np.random.RandomState) -> Causes:
    """Causes one after the other: k-means of what the ones before leave, on half of the columns at random."""
    n, p = table.X.shape
    rest = table.X.copy()
    indicators = np.zeros((n, n_causes, n_states))
    for m in range(n_causes):
        columns = np.sort(random.permutation(p)[: max(1, (p + 1) // 2)])
        labels = kmeans_labels(rest[:, columns], table.weights, n_states, random)
        soft = np.full((n, n_states), 0.1 / n_states)
        soft[np.arange(n), labels] += 0.9
        indicators[:, m] = soft
        sizes = (table.observed * table.weights[:, None]).T @ soft
        centres = ((rest * table.weights[:, None]).T @ soft) / np.maximum(sizes, _TINY)
        rest = table.observed * (rest - soft @ centres.T)
    flat = indicators.reshape(n, -1)
    products = flat[:, :, None] * flat[:, None, :]
    for m in range(n_causes):
        inside = slice(m * n_states, (m + 1) * n_states)
        products[:, inside, inside] = indicators[:, m, :, None] * np.eye(n_states)
    return maximised(table, Expected(flat, products, np.zeros(n)), (n_causes, n_states, p), floor)


def drawn_states(table: Table, causes: Causes, states: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """One pass of Gibbs over the causes: states (n, M) given the parameters."""
    states = states.copy()
    M, S, _ = causes.codebooks.shape
    uniform = random.uniform(size=(M, len(states)))
    fitted = sum(causes.codebooks[m][states[:, m]] for m in range(M))
    for m in range(M):
        rest = fitted - causes.codebooks[m][states[:, m]]
        residual = Table(table.observed * (table.X - rest), table.observed, table.weights)
        logits = np.log(np.maximum(causes.priors[m], _TINY))
        logits = logits + _log_densities(residual, causes.codebooks[m], causes.noise)
        running = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
        states[:, m] = np.minimum(np.sum(uniform[m][:, None] * running[:, -1:] > running, axis=1), S - 1)
        fitted = rest + causes.codebooks[m][states[:, m]]
    return states


def drawn_causes(table: Table, states: np.ndarray, now: Causes, floor: float, random: np.random.RandomState) -> Causes:
    """Parameters given the states: normal codebooks, inverse-gamma noise, Dirichlet probabilities.

    The prior of the codebooks is normal with the variance of the columns (1), and that of the others is flat.
    """
    M, S, p = now.codebooks.shape
    Z = np.eye(S)[states].reshape(len(states), M * S)
    w = table.weights
    W = np.empty((p, M * S))
    noise = np.empty(p)
    for i in range(p):
        own = (w * table.observed[:, i])[:, None] * Z
        precision = own.T @ Z / now.noise[i] + np.eye(M * S)
        factor = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, own.T @ table.X[:, i] / now.noise[i])
        W[i] = mean + np.linalg.solve(factor.T, random.standard_normal(M * S))
        squares = float(w @ (table.observed[:, i] * (table.X[:, i] - Z @ W[i]) ** 2))
        noise[i] = max(squares / 2 / random.gamma(max(float(w @ table.observed[:, i]) / 2, 0.5)), floor)
    counts = (w @ Z).reshape(M, S)
    priors = np.array([random.dirichlet(1 + own) for own in counts])
    return Causes(W.T.reshape(M, S, p), priors, noise)


def centred(causes: Causes) -> tuple[np.ndarray, Causes]:
    """The mean of the rows, and codebooks whose states have mean 0: what a cause adds to the mean."""
    means = np.einsum("ms,msp->mp", causes.priors, causes.codebooks)
    return means.sum(axis=0), causes._replace(codebooks=causes.codebooks - means[:, None])


def aligned(causes: Causes, target: Causes) -> Causes:
    """Causes and their states in the order in which centred codebooks are closest to those of the target."""
    M = len(target.codebooks)
    costs, orders = np.zeros((M, M)), {}
    for a, goal in enumerate(target.codebooks):
        for b, own in enumerate(causes.codebooks):
            distances = ((goal[:, None] - own[None]) ** 2).sum(axis=2)
            rows, places = linear_sum_assignment(distances)
            costs[a, b], orders[a, b] = distances[rows, places].sum(), places
    _, partners = linear_sum_assignment(costs)
    codebooks = np.array([causes.codebooks[b][orders[a, b]] for a, b in enumerate(partners)])
    priors = np.array([causes.priors[b][orders[a, b]] for a, b in enumerate(partners)])
    return Causes(codebooks, priors, causes.noise)
