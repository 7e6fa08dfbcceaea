"""Normal-Wishart distributions of the means and precisions of K normal components, for conjugate Bayesian models.

    Lambda_k ~ W(B_k, nu_k),    mu_k | Lambda_k ~ N(m_k, (u_k Lambda_k)^-1),    E[Lambda_k] = nu_k B_k.

From rows with weights r_k that sum to N_k, with mean xbar_k and scatter S_k = sum r_k (x - xbar_k)(x - xbar_k)',

    u_k = u_0 + N_k,    nu_k = nu_0 + N_k,    m_k = (u_0 m_0 + N_k xbar_k) / u_k,
    B_k^-1 = B_0^-1 + S_k + (u_0 N_k / u_k) (xbar_k - m_0)(xbar_k - m_0)'.

Scales are kept as their inverses B^-1, which is what sums over rows give; a distribution with one component is a prior
of all components of another. Stacks of small matrices go to LAPACK in one call.

References: Bishop, C. M. (2006). Pattern Recognition and Machine Learning, section 10.2 and appendix B. Springer.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, multigammaln


class NormalWishart(NamedTuple):
    """K distributions: m (K, P), u (K,), B^-1 (K, P, P) and nu (K,)."""

    means: np.ndarray
    mean_precisions: np.ndarray
    inverse_scales: np.ndarray
    degrees_of_freedom: np.ndarray

    @property
    def n_features(self) -> int:
        return self.means.shape[1]


class Expectations(NamedTuple):
    """Of K normal-Wishart distributions: scales B, ``log |B|``, ``E[Lambda] = nu B`` and ``E[log |Lambda|]``."""

    scales: np.ndarray
    log_det_scales: np.ndarray
    precisions: np.ndarray
    log_det_precisions: np.ndarray


def single_normal_wishart(
    mean: np.ndarray, mean_precision: float, inverse_scale: np.ndarray, degrees_of_freedom: float
) -> NormalWishart:
    """One normal-Wishart distribution, a prior for example."""
    return NormalWishart(
        np.asarray(mean, dtype=float)[None],
        np.array([float(mean_precision)]),
        np.asarray(inverse_scale, dtype=float)[None],
        np.array([float(degrees_of_freedom)]),
    )


def normal_wishart_posterior(
    prior: NormalWishart, weights: np.ndarray, means: np.ndarray, scatters: np.ndarray
) -> NormalWishart:
    """Posterior of K components from the sum of the weights, the weighted mean and the scatter of the rows of each.

    Examples
    --------
    >>> prior = single_normal_wishart(np.zeros(1), 1.0, np.eye(1), 2.0)
    >>> found = normal_wishart_posterior(prior, np.array([3.0]), np.array([[4.0]]), np.array([[[6.0]]]))
    >>> found.means, found.mean_precisions, found.inverse_scales, found.degrees_of_freedom
    (array([[3.]]), array([4.]), array([[[19.]]]), array([5.]))
    """
    precisions = prior.mean_precisions + weights
    difference = means - prior.means
    shrinkage = prior.mean_precisions * weights / precisions
    return NormalWishart(
        prior.means + (weights / precisions)[:, None] * difference,
        precisions,
        prior.inverse_scales + scatters + shrinkage[:, None, None] * difference[:, :, None] * difference[:, None, :],
        prior.degrees_of_freedom + weights,
    )


def log_det_of(matrices: np.ndarray) -> np.ndarray:
    """Logarithms of the determinants of positive definite matrices, from their Cholesky factors."""
    diagonals = np.diagonal(np.linalg.cholesky(matrices), axis1=-2, axis2=-1)
    return 2 * np.log(diagonals).sum(axis=-1)


def mean_log_det(log_det_scales: np.ndarray, degrees_of_freedom: np.ndarray, n_features: int) -> np.ndarray:
    """``E[log |Lambda|] = sum_p psi((nu + 1 - p) / 2) + P log 2 + log |B|`` of Wishart matrices."""
    halves = (np.asarray(degrees_of_freedom)[..., None] - np.arange(n_features)) / 2
    return digamma(halves).sum(axis=-1) + n_features * np.log(2) + log_det_scales


def expectations(distribution: NormalWishart) -> Expectations:
    """What updates of other variables need of each component."""
    log_dets = -log_det_of(distribution.inverse_scales)
    scales = np.linalg.inv(distribution.inverse_scales)
    scales = (scales + scales.transpose(0, 2, 1)) / 2
    degrees = distribution.degrees_of_freedom
    mean_log_dets = mean_log_det(log_dets, degrees, distribution.n_features)
    return Expectations(scales, log_dets, degrees[:, None, None] * scales, mean_log_dets)


def mean_squared_distances(X: np.ndarray, distribution: NormalWishart) -> np.ndarray:
    """``E[(x - mu)' Lambda (x - mu)] = nu (x - m)' B (x - m) + P / u`` of every row to every component, (n, K)."""
    distances = np.empty((len(X), len(distribution.means)))
    # One small inverse and a product of matrices for each component: a solution for every row takes three times longer.
    for k, root in enumerate(np.linalg.inv(np.linalg.cholesky(distribution.inverse_scales))):
        whitened = root @ (X - distribution.means[k]).T
        distances[:, k] = np.einsum("pn,pn->n", whitened, whitened)
    return distances * distribution.degrees_of_freedom + distribution.n_features / distribution.mean_precisions


def log_wishart_normalizer(log_det_scales: np.ndarray, degrees_of_freedom: np.ndarray, n_features: int) -> np.ndarray:
    """Logarithm of the factor in front of the Wishart density, from ``log |B|`` and the degrees of freedom."""
    degrees = np.asarray(degrees_of_freedom, dtype=float)
    return -degrees / 2 * (log_det_scales + n_features * np.log(2)) - multigammaln(degrees / 2, n_features)


def divergence_from_prior(
    distribution: NormalWishart, prior: NormalWishart, known: Expectations | None = None
) -> np.ndarray:
    """Kullback-Leibler divergence of each component from the prior, (K,); 0 where nothing was learnt."""
    known = expectations(distribution) if known is None else known
    p = distribution.n_features
    difference = distribution.means - prior.means
    ratio = prior.mean_precisions / distribution.mean_precisions
    squared = np.einsum("kp,kpq,kq->k", difference, known.precisions, difference)
    of_means = (p * (ratio - 1 - np.log(ratio)) + prior.mean_precisions * squared) / 2
    degrees, degrees_before = distribution.degrees_of_freedom, prior.degrees_of_freedom
    log_det_before = -log_det_of(prior.inverse_scales)
    traces = np.einsum("pq,kqp->k", prior.inverse_scales[0], known.scales)
    of_precisions = (
        log_wishart_normalizer(known.log_det_scales, degrees, p)
        - log_wishart_normalizer(log_det_before, degrees_before, p)
        + (degrees - degrees_before) / 2 * known.log_det_precisions
        + degrees / 2 * (traces - p)
    )
    return of_means + of_precisions


def log_evidence(posterior: NormalWishart, prior: NormalWishart, weights: np.ndarray) -> np.ndarray:
    """Log marginal likelihood of the rows of each component under the prior, (K,)."""
    p = posterior.n_features
    return (
        log_wishart_normalizer(-log_det_of(prior.inverse_scales), prior.degrees_of_freedom, p)
        - log_wishart_normalizer(-log_det_of(posterior.inverse_scales), posterior.degrees_of_freedom, p)
        + p / 2 * np.log(prior.mean_precisions / posterior.mean_precisions)
        - weights * p / 2 * np.log(2 * np.pi)
    )


def log_predictive_densities(X: np.ndarray, distribution: NormalWishart) -> np.ndarray:
    """Log densities of new rows under each component, (n, K): Student's t with ``nu + 1 - P`` degrees of freedom."""
    p = distribution.n_features
    degrees = distribution.degrees_of_freedom + 1 - p
    share = distribution.mean_precisions / (1 + distribution.mean_precisions)
    squared = mean_squared_distances(X, distribution) - p / distribution.mean_precisions
    squared *= share / distribution.degrees_of_freedom
    log_dets = p * np.log(share) - log_det_of(distribution.inverse_scales)
    constant = gammaln((degrees + p) / 2) - gammaln(degrees / 2) - p / 2 * np.log(np.pi) + log_dets / 2
    return constant - (degrees + p) / 2 * np.log1p(squared)


def draw_normal_wishart(
    distribution: NormalWishart, random: np.random.RandomState | np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """One draw of the means (K, P) and the precisions (K, P, P), by Bartlett's decomposition."""
    n_components, p = distribution.means.shape
    # Lambda = L^-T A A' L^-1 where B^-1 = L L', and the squares of A's diagonal are chi-squared.
    lower = np.tril(random.normal(size=(n_components, p, p)), -1)
    squares = random.chisquare(distribution.degrees_of_freedom[:, None] - np.arange(p))
    lower[:, np.arange(p), np.arange(p)] = np.sqrt(squares)
    factors = np.linalg.cholesky(distribution.inverse_scales)
    roots = np.linalg.solve(factors.transpose(0, 2, 1), lower)
    noise = np.linalg.solve(roots.transpose(0, 2, 1), random.normal(size=(n_components, p, 1)))[:, :, 0]
    means = distribution.means + noise / np.sqrt(distribution.mean_precisions)[:, None]
    return means, roots @ roots.transpose(0, 2, 1)
