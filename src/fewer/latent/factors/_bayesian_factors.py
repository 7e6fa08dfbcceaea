"""Posteriors of factor analysis: variational Bayes and Gibbs sampling, with missing values.

    x_nj = b_j'[z_n; 1] + e_nj,   e_nj ~ N(0, psi_j),   z_n ~ N(0, I),
    b_j | psi_j ~ N(0, psi_j C^-1),   1 / psi_j ~ Gamma(s, r),

where b_j holds the loadings of column j and its mean, and C is diagonal: how many rows the prior counts for. Given the
factors, each column is a linear regression on the rows that observe it, with a conjugate prior; given the regressions,
the factors of a row are normal. Variational Bayes takes the posterior as ``q(z) prod_j q(b_j, psi_j)``, and the sampler
draws the two in turn.

Factors and loadings wait for each other: a larger scale of the one is a smaller scale of the other. So each step of
variational Bayes ends with the linear map R of the factors (and its inverse for the loadings) that raises the bound
most. With ``F = sum_n E[z z']`` and ``L = sum_j E[w_j w_j' / psi_j]`` the bound changes by

    (n - p) log |R| - tr(R F R') / 2 - c tr(R^-T L R^-1) / 2,

a quadratic equation for ``R'R``.

References
----------
Titterington, D. M. (2006). Some aspects of latent structure analysis. LNCS 3940, 69-83.
Luttinen, J. and Ilin, A. (2010). Transformations in variational Bayesian factor analysis to speed up learning.
Neurocomputing 73, 1093-1102.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln, logsumexp

from fewer.latent.factors._factor_model import Factors, Rows, posterior

_LOG_2PI = float(np.log(2 * np.pi))
LEAST_NOISE = 0.05
_SMALLEST = 1e-8
"""Factors whose variance is below this share of the largest one are not stretched."""
_FEWEST = 1e-6
"""Nor are those of groups with fewer rows."""


class Priors(NamedTuple):
    """How many rows the prior counts for: of loadings, means, and noise variances, expected at that of the column."""

    loadings: float
    means: float
    noise: float


class Regressions(NamedTuple):
    """q(b_j, psi_j): means (p, q + 1), inverse precisions (p, q + 1, q + 1) in units of psi, shapes and rates (p,)."""

    means: np.ndarray
    inverses: np.ndarray
    shapes: np.ndarray
    rates: np.ndarray

    @property
    def second_moments(self) -> np.ndarray:
        """``E[b_j b_j' / psi_j]``."""
        scaled = self.means * (self.shapes / self.rates)[:, None]
        return scaled[:, :, None] * self.means[:, None, :] + self.inverses


class FactorSums(NamedTuple):
    """Of each column, over the rows that observe it: masses (p,), squares (p,), products with [z; 1] (p, q + 1), and
    products of [z; 1] with itself (p, q + 1, q + 1)."""

    masses: np.ndarray
    squares: np.ndarray
    products: np.ndarray
    factors: np.ndarray


def factor_sums(rows: Rows, means: np.ndarray, covariances: np.ndarray | None = None) -> FactorSums:
    """From the means of the factors of each row, and their covariances for each pattern."""
    observed = np.ones((1, rows.X.shape[1])) if rows.observed is None else rows.observed.astype(np.float64)
    (n, q), n_patterns = means.shape, len(observed)
    extended = np.column_stack([means, np.ones(n)])
    weighted = extended * rows.weights[:, None]
    outer = (weighted[:, :, None] * extended[:, None, :]).reshape(n, (q + 1) ** 2)
    members = sparse.csr_array((np.ones(n), (rows.pattern, np.arange(n))), shape=(n_patterns, n))
    of_patterns = (members @ outer).reshape(n_patterns, q + 1, q + 1)
    masses = members @ rows.weights
    if covariances is not None:
        of_patterns[:, :q, :q] += masses[:, None, None] * covariances
    factors = (observed.T @ of_patterns.reshape(n_patterns, -1)).reshape(-1, q + 1, q + 1)
    return FactorSums(observed.T @ masses, rows.weights @ rows.X**2, rows.X.T @ weighted, factors)


def _prior_precisions(priors: Priors, n_factors: int) -> np.ndarray:
    return np.append(np.full(n_factors, priors.loadings), priors.means)


def regressions(sums: FactorSums, priors: Priors) -> Regressions:
    """The posterior of all columns, given the factors."""
    size = sums.products.shape[1]
    inverses = np.linalg.inv(sums.factors + np.diag(_prior_precisions(priors, size - 1)))
    inverses = (inverses + inverses.swapaxes(1, 2)) / 2
    means = np.einsum("jab,jb->ja", inverses, sums.products)
    left = np.maximum(sums.squares - np.einsum("ja,ja->j", means, sums.products), 0.0)
    return Regressions(means, inverses, (priors.noise + sums.masses) / 2, (priors.noise + left) / 2)


class FactorPosterior(NamedTuple):
    """q(z): means (n, q) and covariances (patterns, q, q); and of each row its part of the bound."""

    means: np.ndarray
    covariances: np.ndarray
    bounds: np.ndarray


def expected_posterior(rows: Rows, belief: Regressions) -> FactorPosterior:
    """The best q(z), and ``log of the integral of exp E[log p(x, z)]`` over z."""
    p, q = len(belief.means), belief.means.shape[1] - 1
    observed = np.ones((1, p)) if rows.observed is None else rows.observed.astype(np.float64)
    seconds, precisions = belief.second_moments, belief.shapes / belief.rates
    inverse = np.eye(q) + (observed @ seconds[:, :q, :q].reshape(p, -1)).reshape(-1, q, q)
    covariances = np.linalg.inv(inverse)
    scaled = belief.means * precisions[:, None]
    linear = rows.X @ scaled[:, :q] - (observed @ seconds[:, :q, q])[rows.pattern]
    means = np.einsum("nij,nj->ni", covariances[rows.pattern], linear)
    logs = digamma(belief.shapes) - np.log(belief.rates) - _LOG_2PI
    constants = observed @ (logs - seconds[:, q, q]) - np.linalg.slogdet(inverse)[1]
    bounds = constants[rows.pattern] - rows.X**2 @ precisions + 2 * rows.X @ scaled[:, q]
    return FactorPosterior(means, covariances, (bounds + np.einsum("ni,ni->n", linear, means)) / 2)


def divergence(belief: Regressions, priors: Priors) -> float:
    """Kullback-Leibler divergence of q(b, psi) from the prior."""
    size, half = belief.means.shape[1], priors.noise / 2
    known = _prior_precisions(priors, size - 1)
    of_noise = (
        (belief.shapes - half) * digamma(belief.shapes)
        - gammaln(belief.shapes)
        + gammaln(half)
        + half * (np.log(belief.rates) - np.log(half))
        + belief.shapes * (half / belief.rates - 1)
    )
    spread = np.einsum("jaa,a->j", belief.second_moments, known) - np.linalg.slogdet(belief.inverses)[1]
    return float(np.sum(of_noise + (spread - size - np.log(known).sum()) / 2))


def variational_step(rows: Rows, priors: Priors, belief: Regressions) -> tuple[Regressions, float]:
    """The next belief, and the bound on the log evidence with the present one."""
    found = expected_posterior(rows, belief)
    bound = float(rows.weights @ found.bounds) - divergence(belief, priors)
    sums = factor_sums(rows, found.means, found.covariances)
    return stretched(regressions(sums, priors), found, rows, priors), bound


def stretched(belief: Regressions, found: FactorPosterior, rows: Rows, priors: Priors) -> Regressions:
    """The belief after the map of the factors that raises the bound most; see the module."""
    p, q = len(belief.means), belief.means.shape[1] - 1
    masses = np.bincount(rows.pattern, weights=rows.weights, minlength=len(found.covariances))
    own = (found.means * rows.weights[:, None]).T @ found.means
    own += np.einsum("m,mij->ij", masses, found.covariances)
    seconds = priors.loadings * belief.second_moments[:, :q, :q].sum(axis=0)
    values = np.linalg.eigvalsh(own)
    if rows.total < _FEWEST or values[0] <= _SMALLEST * values[-1]:
        return belief
    lower = np.linalg.cholesky(own)
    # N = L'ML solves N^2 - (n - p) N = L'(c sum E[ww'/psi])L, where M = R'R and F = LL'.
    squares, vectors = np.linalg.eigh(lower.T @ seconds @ lower)
    free = rows.total - p
    root = np.sqrt(free**2 + 4 * squares)
    stretch = (free + root) / 2 if free > 0 else 2 * squares / (root - free)
    back = np.eye(q + 1)  # of [w; mu]: R^-T for the loadings, with R = N^(1/2) V' L^-1
    back[:q, :q] = (lower @ (vectors / np.sqrt(stretch))).T
    return belief._replace(means=belief.means @ back.T, inverses=back @ belief.inverses @ back.T)


def starting_belief(rows: Rows, model: Factors, priors: Priors) -> Regressions:
    """From parameters of the likelihood, whose noise may be at its floor."""
    found = posterior(rows, model._replace(noise=np.maximum(model.noise, LEAST_NOISE)))
    return regressions(factor_sums(rows, found.means, found.covariances), priors)


def expected_factors(belief: Regressions) -> Factors:
    """Posterior means of all parameters."""
    noise = belief.rates / np.maximum(belief.shapes - 1, 0.5)
    return Factors(belief.means[:, -1], belief.means[:, :-1], noise)


def drawn_factors(belief: Regressions, random: np.random.RandomState) -> Factors:
    """Parameters from the posterior."""
    noise = belief.rates / np.maximum(random.gamma(belief.shapes), 1e-300)
    roots = np.linalg.cholesky(belief.inverses) * np.sqrt(noise)[:, None, None]
    drawn = belief.means + np.einsum("jab,jb->ja", roots, random.standard_normal(belief.means.shape))
    return Factors(drawn[:, -1], drawn[:, :-1], noise)


def gibbs_sweep(
    rows: Rows, priors: Priors, model: Factors, random: np.random.RandomState
) -> tuple[Factors, Factors, float]:
    """The next parameters, the present ones, and the log-likelihood of these, factors integrated out."""
    found = posterior(rows, model)
    roots = np.linalg.cholesky(found.covariances)[rows.pattern]
    factors = found.means + np.einsum("nij,nj->ni", roots, random.standard_normal(found.means.shape))
    belief = regressions(factor_sums(rows, factors), priors)
    return drawn_factors(belief, random), model, float(rows.weights @ found.log_likelihoods)


class GroupBelief(NamedTuple):
    """Of a mixture of factor analysers: parameters of the Dirichlet posterior of sizes (K,), and each group's."""

    sizes: np.ndarray
    groups: list[Regressions]


def dirichlet_divergence(sizes: np.ndarray, prior: float) -> float:
    """Kullback-Leibler divergence from a symmetric Dirichlet distribution.

    >>> dirichlet_divergence(np.array([2.0, 2.0]), 2.0)
    0.0
    """
    k, total = len(sizes), sizes.sum()
    constants = gammaln(total) - gammaln(sizes).sum() - gammaln(k * prior) + k * gammaln(prior)
    return float(constants + (sizes - prior) @ (digamma(sizes) - digamma(total)))


def mixture_variational_step(
    rows: Rows, priors: Priors, concentration: float, belief: GroupBelief
) -> tuple[GroupBelief, float]:
    """The next belief, and the bound with the present one: q(group, z) of each row has one factor."""
    found = [expected_posterior(rows, each) for each in belief.groups]
    log_sizes = digamma(belief.sizes) - digamma(belief.sizes.sum())
    joint = np.column_stack([each.bounds for each in found]) + log_sizes
    totals = logsumexp(joint, axis=1)
    bound = float(rows.weights @ totals) - dirichlet_divergence(belief.sizes, concentration)
    bound -= sum(divergence(each, priors) for each in belief.groups)
    shares = np.exp(joint - totals[:, None]) * rows.weights[:, None]
    groups = []
    for share, own in zip(shares.T, found, strict=True):
        inside = rows._replace(weights=np.ascontiguousarray(share))
        sums = factor_sums(inside, own.means, own.covariances)
        groups.append(stretched(regressions(sums, priors), own, inside, priors))
    return GroupBelief(concentration + shares.sum(axis=0), groups), bound


def drawn_groups(
    rows: Rows,
    priors: Priors,
    concentration: float,
    groups: list[Factors],
    log_sizes: np.ndarray,
    random: np.random.RandomState,
) -> tuple[np.ndarray, list[Factors], float]:
    """Sizes and groups given the rows of each, which are drawn first; and the log-likelihood of the present ones."""
    found = [posterior(rows, each) for each in groups]
    joint = np.column_stack([each.log_likelihoods for each in found]) + log_sizes
    totals = logsumexp(joint, axis=1)
    running = np.cumsum(np.exp(joint - totals[:, None]), axis=1)
    chosen = np.minimum((running < random.uniform(size=(len(joint), 1))).sum(axis=1), len(groups) - 1)
    drawn = []
    for k, own in enumerate(found):
        inside = np.flatnonzero(chosen == k)
        members = rows._replace(X=rows.X[inside], weights=rows.weights[inside], pattern=rows.pattern[inside])
        roots = np.linalg.cholesky(own.covariances)[members.pattern]
        noise = random.standard_normal((len(inside), own.means.shape[1]))
        factors = own.means[inside] + np.einsum("nij,nj->ni", roots, noise)
        drawn.append(drawn_factors(regressions(factor_sums(members, factors), priors), random))
    sizes = random.dirichlet(concentration + np.bincount(chosen, minlength=len(groups)))
    return sizes, drawn, float(rows.weights @ totals)


def aligned_draws(draws: list[Factors], best: int) -> Factors:
    """All draws in one, their factors turned to those of the best draw, then to the mean: any rotation fits as well.

    Examples
    --------
    >>> loadings = np.array([[0.9, 0.0], [0.8, 0.1], [0.0, 0.7]])
    >>> turned = loadings @ [[0.0, -1.0], [1.0, 0.0]]
    >>> draws = [Factors(np.zeros(3), each, np.ones(3)) for each in (loadings, turned)]
    >>> bool(np.allclose(aligned_draws(draws, best=0).loadings, loadings))
    True
    """
    found = Factors(*(np.array(parts) for parts in zip(*draws, strict=True)))
    reference = standardised(found)[best]
    for _ in range(2):
        left, _, right = np.linalg.svd(np.swapaxes(standardised(found), 1, 2) @ reference)
        found = found._replace(loadings=found.loadings @ (left @ right))
        reference = standardised(found).mean(axis=0)
    return found


def standardised(model: Factors) -> np.ndarray:
    """Loadings of columns with variance 1; of one model, or of several in one."""
    return model.loadings / np.sqrt(np.sum(model.loadings**2, axis=-1) + model.noise)[..., None]
