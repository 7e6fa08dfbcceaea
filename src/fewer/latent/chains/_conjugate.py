"""Conjugate priors of chains and of what rows look like in a state, variational Bayes and Gibbs sampling with them.

From masses r_nk of rows in states, the posterior has the same form as the prior, with counts, sums and squares of the
observed entries added to its parameters; a missing entry adds nothing, which is exact where entries are missing at
random. Variational Bayes needs ``E log g(x | k)`` under the posterior, and its divergence from the prior; a Gibbs
sampler needs draws from it. For normal columns,

    lambda ~ Ga(a, b),   mu | lambda ~ N(m, 1 / (kappa lambda)),   E log N(x) = (psi(a) - log b - log 2 pi - 1 / kappa
    - (a / b) (x - m)^2) / 2.

Counts and categories have gamma, beta and Dirichlet priors; probabilities of the first state and of those after each
state have Dirichlet ones. Variational Bayes takes ``exp E log`` of these and ``E log`` of the densities in the place of
their values in forward-backward; with the sum Z of all paths that this gives,

    log p(x) >= log Z - KL(q(parameters) || prior).

The Gibbs sampler draws the states of all rows at once, given the parameters, then the parameters, given the states. A
mixture is a chain whose sequences have one row each, so that this serves `LatentProfile` as well.

References: Bishop, C. M. (2006). Pattern Recognition and Machine Learning, section 10.2 and appendix B. Springer.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from fewer.latent.chains._emissions import CategoricalEmission, CodedRows, CountRows, coded_densities
from fewer.latent.chains._forward_backward import Chain, ChainState, Inference, forward_backward, sampled_states

_LOG_2PI = float(np.log(2 * np.pi))
_SMALLEST_VARIANCE = 1e-12
_RARE = 1e-10


class PriorStrength(NamedTuple):
    """How many rows the prior counts for: of means, of variances (degrees of freedom), and in each category."""

    mean_precision: float
    degrees_of_freedom: float
    category: float


class ConjugateRows:
    """Rows with a conjugate prior of their distribution in a state; posteriors are tuples of arrays."""

    def posterior(self, members: np.ndarray) -> Any:
        """The posterior, from the masses of rows in states (n, K)."""
        raise NotImplementedError

    def expected_logs(self, posterior: Any) -> np.ndarray:
        """Expected log-densities of rows in states (n, K)."""
        raise NotImplementedError

    def divergence(self, posterior: Any) -> float:
        """Kullback-Leibler divergence of the posterior from the prior."""
        raise NotImplementedError

    def drawn(self, posterior: Any, random: np.random.RandomState) -> Any:
        """Parameters of the distribution, drawn from the posterior."""
        raise NotImplementedError

    def expected(self, posterior: Any) -> Any:
        """Parameters of the distribution: posterior means."""
        raise NotImplementedError

    def log_densities(self, parameters: Any) -> np.ndarray:
        """Log-densities of rows in states (n, K)."""
        raise NotImplementedError


class NormalGamma(NamedTuple):
    """Means m (K, p), kappa (K, p); a and b of shape (K, p), or pooled: (1, p) over states, (K, 1) over columns."""

    means: np.ndarray
    mean_precisions: np.ndarray
    shapes: np.ndarray
    rates: np.ndarray


class NormalRows(ConjugateRows):
    """Standardised rows with independent normal columns: means are expected at 0, and variances at 1."""

    _pooled_axis: ClassVar[dict[str, int | None]] = {"diag": None, "tied_diag": 0, "spherical": 1}

    def __init__(self, X: np.ndarray, strength: PriorStrength, covariance_type: str) -> None:
        self.there = (~np.isnan(X)).astype(np.float64)
        self.values = np.nan_to_num(X)
        self.squares = self.values**2
        self.kappa = float(strength.mean_precision)
        self.a = self.b = float(strength.degrees_of_freedom) / 2
        self.axis = self._pooled_axis[covariance_type]

    def posterior(self, members: np.ndarray) -> NormalGamma:
        counts, sums, squares = (members.T @ each for each in (self.there, self.values, self.squares))
        precisions = self.kappa + counts
        means = sums / precisions
        # counts var + (kappa counts / (kappa + counts)) mean^2, which is squares - sums^2 / (kappa + counts)
        scatter = np.maximum(squares - sums * means, 0.0)
        if self.axis is not None:
            counts, scatter = (each.sum(axis=self.axis, keepdims=True) for each in (counts, scatter))
        return NormalGamma(means, precisions, self.a + counts / 2, self.b + scatter / 2)

    def expected_logs(self, posterior: NormalGamma) -> np.ndarray:
        means, precisions, shapes, rates = posterior
        inverse = np.broadcast_to(shapes / rates, means.shape)
        logs = digamma(shapes) - np.log(rates) - _LOG_2PI - 1 / precisions - inverse * means**2
        return (self.there @ logs.T - self.squares @ inverse.T) / 2 + self.values @ (inverse * means).T

    def divergence(self, posterior: NormalGamma) -> float:
        means, precisions, a, b = posterior
        ratio = self.kappa / precisions
        of_means = (ratio - 1 - np.log(ratio) + self.kappa * a / b * means**2) / 2
        of_variances = (a - self.a) * digamma(a) - gammaln(a) + gammaln(self.a)
        of_variances = of_variances + self.a * (np.log(b) - np.log(self.b)) + a * (self.b - b) / b
        return float(of_means.sum() + of_variances.sum())

    def drawn(self, posterior: NormalGamma, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        means, precisions, shapes, rates = posterior
        variances = np.maximum(rates / np.maximum(random.standard_gamma(shapes), 1e-300), _SMALLEST_VARIANCE)
        noise = random.standard_normal(means.shape)
        return means + noise * np.sqrt(variances / precisions), self._shaped(variances, means.shape)

    def expected(self, posterior: NormalGamma) -> tuple[np.ndarray, np.ndarray]:
        """Means, and the inverse of the expected precisions."""
        return posterior.means, self._shaped(posterior.rates / posterior.shapes, posterior.means.shape)

    def log_densities(self, parameters: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Log-densities of rows in states (n, K) with these means and variances."""
        means, variances = parameters
        logs = np.log(variances) + _LOG_2PI + means**2 / variances
        return self.values @ (means / variances).T - (self.there @ logs.T + self.squares @ (1 / variances).T) / 2

    def _shaped(self, variances: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return variances[:, 0] if self.axis == 1 else np.broadcast_to(variances, shape).copy()

    @staticmethod
    def mean_deviations(posterior: NormalGamma) -> np.ndarray:
        """Posterior standard deviations of the means, of Student's distribution with 2 a degrees of freedom."""
        means, precisions, shapes, rates = posterior
        return np.sqrt(np.broadcast_to(rates / np.maximum(shapes - 1, 1e-300), means.shape) / precisions)


class CategoryRows(ConjugateRows):
    """Rows of categories: a Dirichlet distribution of those of each column, (categories of all columns, K)."""

    def __init__(self, emission: CategoricalEmission, rows: CodedRows, strength: PriorStrength) -> None:
        self.emission, self.rows, self.prior = emission, rows, float(strength.category)
        self.sizes, self.firsts = np.diff(emission.edges), emission.edges[:-1]

    def posterior(self, members: np.ndarray) -> tuple[np.ndarray]:
        return (self.emission.counts(self.rows, members) + self.prior,)

    def _sums(self, table: np.ndarray) -> np.ndarray:
        return np.repeat(np.add.reduceat(table, self.firsts, axis=0), self.sizes, axis=0)

    def _expected_log_shares(self, table: np.ndarray) -> np.ndarray:
        return digamma(table) - digamma(self._sums(table))

    def expected_logs(self, posterior: tuple[np.ndarray]) -> np.ndarray:
        return coded_densities(self.rows, self._expected_log_shares(posterior[0]))

    def divergence(self, posterior: tuple[np.ndarray]) -> float:
        (table,) = posterior
        n_states = table.shape[1]
        found = ((table - self.prior) * self._expected_log_shares(table)).sum() - gammaln(table).sum()
        found += gammaln(np.add.reduceat(table, self.firsts, axis=0)).sum() + table.size * gammaln(self.prior)
        return float(found - n_states * gammaln(self.sizes * self.prior).sum())

    def drawn(self, posterior: tuple[np.ndarray], random: np.random.RandomState) -> tuple[np.ndarray]:
        return (self.emission.normalised(random.standard_gamma(posterior[0])),)

    def expected(self, posterior: tuple[np.ndarray]) -> tuple[np.ndarray]:
        return (posterior[0] / self._sums(posterior[0]),)


class BinaryRows(ConjugateRows):
    """Rows of 0 and 1: a beta distribution of the probability of a 1 in each state and column, both (K, p)."""

    def __init__(self, rows: CountRows, strength: PriorStrength) -> None:
        self.ones, self.zeros = rows.X, rows.observed - rows.X
        self.prior = float(strength.category)

    def posterior(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return members.T @ self.ones + self.prior, members.T @ self.zeros + self.prior

    def expected_logs(self, posterior: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        first, second = posterior
        total = digamma(first + second)
        return self.ones @ (digamma(first) - total).T + self.zeros @ (digamma(second) - total).T

    def divergence(self, posterior: tuple[np.ndarray, np.ndarray]) -> float:
        first, second = posterior
        total = digamma(first + second)
        found = (first - self.prior) * (digamma(first) - total) + (second - self.prior) * (digamma(second) - total)
        return float(np.sum(found - betaln(first, second) + betaln(self.prior, self.prior)))

    def drawn(self, posterior: tuple[np.ndarray, np.ndarray], random: np.random.RandomState) -> tuple[np.ndarray]:
        return (np.clip(random.beta(*posterior), _RARE, 1 - _RARE),)

    def expected(self, posterior: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray]:
        first, second = posterior
        return (first / (first + second),)


class RateRows(ConjugateRows):
    """Rows of counts: a gamma distribution of the rate of each state and column, expected at the mean of the column."""

    def __init__(self, rows: CountRows, strength: PriorStrength) -> None:
        self.rows = rows
        overall = rows.X.sum(axis=0) / np.maximum(rows.observed.sum(axis=0), 1)
        self.rate = float(strength.mean_precision)
        self.shape = self.rate * np.maximum(overall, _RARE)

    def posterior(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.shape + members.T @ self.rows.X, self.rate + members.T @ self.rows.observed

    def expected_logs(self, posterior: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        shapes, rates = posterior
        logs = digamma(shapes) - np.log(rates)
        return self.rows.X @ logs.T - self.rows.observed @ (shapes / rates).T + self.rows.constants[:, None]

    def divergence(self, posterior: tuple[np.ndarray, np.ndarray]) -> float:
        a, b = posterior
        found = (a - self.shape) * digamma(a) - gammaln(a) + gammaln(self.shape)
        return float(np.sum(found + self.shape * (np.log(b) - np.log(self.rate)) + a * (self.rate - b) / b))

    def drawn(self, posterior: tuple[np.ndarray, np.ndarray], random: np.random.RandomState) -> tuple[np.ndarray]:
        shapes, rates = posterior
        return (np.maximum(random.standard_gamma(shapes) / rates, _RARE),)

    def expected(self, posterior: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray]:
        shapes, rates = posterior
        return (np.maximum(shapes / rates, _RARE),)


def conjugate_rows(emission: Any, rows: Any, strength: PriorStrength) -> ConjugateRows:
    """Rows of an emission with the prior of their parameters; normal ones with independent columns."""
    if isinstance(emission, CategoricalEmission):
        return CategoryRows(emission, rows, strength)
    if emission.name == "gaussian":
        return NormalRows(rows.X, strength, emission.covariance_type)
    return BinaryRows(rows, strength) if emission.name == "bernoulli" else RateRows(rows, strength)


_SMALLEST = 1e-300


class Table(NamedTuple):
    """Rows with their conjugate prior, where sequences begin and end, and the weights of these (None: 1)."""

    rows: ConjugateRows
    indptr: np.ndarray
    weights: np.ndarray | None
    concentration: float


class Belief(NamedTuple):
    """Dirichlet parameters of the first state (K,) and of those after each (K, K), the posterior of what rows look
    like, and the share of rows in each state (K,)."""

    start: np.ndarray
    transition: np.ndarray
    rows: Any
    weights: np.ndarray


def belief_from(table: Table, members: np.ndarray, starts: np.ndarray, transitions: np.ndarray) -> Belief:
    """The posterior, from masses of rows in states (n, K), of first states (K,) and of transitions (K, K)."""
    sizes = members.sum(axis=0)
    alpha = table.concentration
    return Belief(starts + alpha, transitions + alpha, table.rows.posterior(members), sizes / sizes.sum())


def belief_from_labels(table: Table, labels: np.ndarray, n_states: int) -> Belief:
    """The posterior where the states of all rows are known."""
    members = (labels[:, None] == np.arange(n_states)).astype(np.float64)
    firsts = np.zeros(len(labels), dtype=bool)
    firsts[table.indptr[:-1][np.diff(table.indptr) > 0]] = True
    masses = _row_masses(table)
    if masses is not None:
        members = members * masses[:, None]
    after = np.flatnonzero(~firsts)
    transitions = np.zeros((n_states, n_states))
    np.add.at(transitions, (labels[after - 1], labels[after]), 1.0 if masses is None else masses[after])
    return belief_from(table, members, members[firsts].sum(axis=0), transitions)


def belief_from_inference(table: Table, found: Inference) -> Belief:
    """The posterior given expected states."""
    masses = _row_masses(table)
    members = found.posteriors if masses is None else found.posteriors * masses[:, None]
    return belief_from(table, members, found.starts, found.transitions)


def _row_masses(table: Table) -> np.ndarray | None:
    return None if table.weights is None else np.repeat(table.weights, np.diff(table.indptr))


def variational_step(table: Table, belief: Belief) -> tuple[Belief, float]:
    """The next posterior, and the bound on the log evidence at the present one."""
    log_start, log_transition = (expected_log_shares(each) for each in (belief.start, belief.transition))
    chain = Chain(np.maximum(np.exp(log_start), _SMALLEST), np.maximum(np.exp(log_transition), _SMALLEST))
    found = forward_backward(table.rows.expected_logs(belief.rows), chain, table.indptr, table.weights)
    masses = _row_masses(table)
    bound = float(found.scores.sum() if masses is None else masses @ found.scores)
    bound -= dirichlet_divergence(belief.start, log_start, table.concentration)
    bound -= dirichlet_divergence(belief.transition, log_transition, table.concentration)
    bound -= table.rows.divergence(belief.rows)
    return belief_from_inference(table, found), bound


def expected_log_shares(parameters: np.ndarray) -> np.ndarray:
    """``E log`` of shares with Dirichlet distributions along the last axis."""
    return digamma(parameters) - digamma(parameters.sum(axis=-1, keepdims=True))


def dirichlet_divergence(parameters: np.ndarray, log_shares: np.ndarray, prior: float) -> float:
    """Divergence of Dirichlet distributions along the last axis from symmetric ones with this parameter.

    >>> dirichlet_divergence(np.ones((2, 3)), expected_log_shares(np.ones((2, 3))), 1.0)
    0.0
    """
    n = parameters.shape[-1]
    found = gammaln(parameters.sum(axis=-1)) - gammaln(parameters).sum(axis=-1)
    found = found + ((parameters - prior) * log_shares).sum(axis=-1) + n * gammaln(prior) - gammaln(n * prior)
    return float(np.sum(found))


def expected_chain(belief: Belief, rows: ConjugateRows) -> ChainState:
    """Posterior means."""
    start, transition = (each / each.sum(axis=-1, keepdims=True) for each in (belief.start, belief.transition))
    return ChainState(Chain(start, transition), rows.expected(belief.rows), belief.weights)


def drawn_chain(belief: Belief, rows: ConjugateRows, random: np.random.RandomState) -> ChainState:
    """Parameters drawn from the posterior."""
    start, transition = (
        np.maximum(each / each.sum(axis=-1, keepdims=True), _SMALLEST)
        for each in map(random.standard_gamma, (belief.start, belief.transition))
    )
    return ChainState(Chain(start, transition), rows.drawn(belief.rows, random), belief.weights)


def gibbs_sweep(
    table: Table, densities: np.ndarray, drawn: ChainState, random: np.random.RandomState
) -> tuple[ChainState, float]:
    """Draw states and then parameters; ``densities`` are those of rows with the present parameters.

    Also the log-likelihood of the present parameters.
    """
    labels, log_likelihood = sampled_states(densities, drawn.chain, table.indptr, random)
    belief = belief_from_labels(table, labels, len(drawn.chain.start))
    return drawn_chain(belief, table.rows, random), log_likelihood
