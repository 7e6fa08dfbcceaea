"""Free energy of a normal mixture with conjugate priors, its gradients, and two ways to lower it.

    pi ~ Dir(a_0),    (mu_k, Lambda_k) ~ normal-Wishart,    x_n | k ~ N(mu_k, Lambda_k^-1),
    q(Z) = prod r_nk^z_nk,    q(pi) = Dir(a),    q(mu_k, Lambda_k) = N(m_k, (u_k Lambda_k)^-1) W(B_k, nu_k),
    F = sum_nk r_nk (ln r_nk - ln rho_nk) + KL(q(pi)) + sum_k KL(q(mu_k, Lambda_k)),    -F <= ln p(X),
    ln rho_nk = E[ln pi_k] + (E[ln |Lambda_k|] - P ln 2 pi - E[(x_n - mu_k)' Lambda_k (x_n - mu_k)]) / 2.

EM sets r to rho, and the other parameters to their best values, in turn. Conjugate gradients move the means m_k and the
logits gamma_nk (r = softmax gamma); for these, the others have their best values in closed form, so that F depends on m
and gamma alone. The natural gradients are

    (N_k (m_k - xbar_k) + u_0 (m_k - m_0)) / u_k    and    ln r_nk - ln rho_nk,

the second up to a constant for each row, which changes neither r nor any inner product. A step of length 1 against them
is the step of EM. With a = a_0 + N_k, u = u_0 + N_k and nu = nu_0 + N_k (without the "+ 1" that some texts print).

Honkela, A., Raiko, T., Kuusela, M., Tornio, M. and Karhunen, J. (2010). Approximate Riemannian conjugate gradient
learning for fixed-form variational Bayes. Journal of Machine Learning Research 11, 3235-3268.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from fewer.latent._normal_wishart import (
    Expectations,
    NormalWishart,
    divergence_from_prior,
    expectations,
    mean_squared_distances,
    normal_wishart_posterior,
)
from fewer.latent.variational._riemannian_cg import Metric, riemannian_cg

_FEW_COLUMNS = 20


class MixturePosterior(NamedTuple):
    """Concentrations of the weights, and the distributions of means and precisions."""

    concentrations: np.ndarray
    components: NormalWishart


class MixtureFit(NamedTuple):
    """Where one start ended: the posterior, F at the end of each iteration, and what it took."""

    posterior: MixturePosterior
    path: np.ndarray
    n_eval: int
    converged: bool
    stopped: bool


class _Point(NamedTuple):
    """Everything that follows from means and responsibilities (components x rows)."""

    shares: np.ndarray
    log_shares: np.ndarray
    sizes: np.ndarray
    centres: np.ndarray
    posterior: MixturePosterior
    known: Expectations


class MixtureRows:
    """Rows with weights and priors, and the free energy of a mixture of them."""

    def __init__(self, X: np.ndarray, weights: np.ndarray, concentration: float, prior: NormalWishart):
        self.X = X
        self.weights = weights
        self.concentration = concentration
        self.prior = prior
        p = X.shape[1]
        self._pairs = np.triu_indices(p)
        # Sums over rows of all products of columns, for all components, are then one product of matrices.
        self._products = X[:, self._pairs[0]] * X[:, self._pairs[1]] if p <= _FEW_COLUMNS else None

    def moments(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes, means and scatters of the rows of each component."""
        weighted = shares * self.weights
        sizes = weighted.sum(axis=1)
        centres = weighted @ self.X / np.maximum(sizes, 1e-300)[:, None]
        n_components, p = centres.shape
        scatters = np.empty((n_components, p, p))
        if self._products is not None:
            upper = weighted @ self._products
            scatters[:, self._pairs[0], self._pairs[1]] = upper
            scatters[:, self._pairs[1], self._pairs[0]] = upper
            scatters -= sizes[:, None, None] * centres[:, :, None] * centres[:, None, :]
        else:
            for k in range(n_components):
                centred = (self.X - centres[k]) * np.sqrt(weighted[k])[:, None]
                scatters[k] = centred.T @ centred
        return sizes, centres, scatters

    def posterior(self, shares: np.ndarray) -> MixturePosterior:
        """The M-step."""
        sizes, centres, scatters = self.moments(shares)
        return MixturePosterior(
            self.concentration + sizes, normal_wishart_posterior(self.prior, sizes, centres, scatters)
        )

    def expected_log_densities(self, posterior: MixturePosterior, known: Expectations | None = None) -> np.ndarray:
        """``ln rho``, components x rows."""
        return expected_log_densities(self.X, posterior, known)

    def divergence(self, posterior: MixturePosterior, known: Expectations | None = None) -> float:
        """Divergence of the posterior of all parameters from their prior."""
        prior = np.full(len(posterior.concentrations), float(self.concentration))
        of_weights = dirichlet_divergence(posterior.concentrations, prior)
        return of_weights + float(divergence_from_prior(posterior.components, self.prior, known).sum())

    def free_energy(self, means: np.ndarray, logits: np.ndarray) -> tuple[float, Callable[[], _Point]]:
        """F at means and logits, the other parameters at their best values, and what its gradients need."""
        shares, log_shares = softmax(logits)
        sizes, centres, scatters = self.moments(shares)
        apart, away = centres - means, means - self.prior.means
        own = scatters + sizes[:, None, None] * apart[:, :, None] * apart[:, None, :]
        u0 = float(self.prior.mean_precisions[0])
        components = NormalWishart(
            means,
            u0 + sizes,
            self.prior.inverse_scales + own + u0 * away[:, :, None] * away[:, None, :],
            self.prior.degrees_of_freedom + sizes,
        )
        posterior = MixturePosterior(self.concentration + sizes, components)
        try:
            known = expectations(components)
        except np.linalg.LinAlgError:
            return np.inf, lambda: _raise_singular()
        p = self.X.shape[1]
        squared = np.einsum("kij,kji->k", known.precisions, own) + sizes * p / components.mean_precisions
        constant = _expected_log_weights(posterior) + (known.log_det_precisions - p * np.log(2 * np.pi)) / 2
        entropy = np.einsum("kn,kn,n->", shares, log_shares, self.weights)
        value = entropy - sizes @ constant + squared.sum() / 2 + self.divergence(posterior, known)
        return float(value), lambda: _Point(shares, log_shares, sizes, centres, posterior, known)

    def gradients(
        self, point: _Point, natural: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of F, for means and logits; from the natural gradients, where these are known."""
        natural_means, natural_logits = self.natural_gradients(point) if natural is None else natural
        components = point.posterior.components
        of_means = np.einsum("kij,kj->ki", point.known.precisions, natural_means)
        centred = natural_logits - (point.shares * natural_logits).sum(axis=0)
        return of_means * components.mean_precisions[:, None], centred * point.shares * self.weights

    def natural_gradients(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        """Gradients times the inverse Fisher information of q; that for logits up to a constant for each row."""
        components = point.posterior.components
        u0 = float(self.prior.mean_precisions[0])
        pulls = point.sizes[:, None] * (components.means - point.centres) + u0 * (components.means - self.prior.means)
        gaps = point.log_shares - self.expected_log_densities(point.posterior, point.known)
        # The most probable component of a row is the reference: the difference of one that has no share may be large.
        reference = np.take_along_axis(gaps, point.shares.argmax(axis=0)[None], axis=0)
        return pulls / components.mean_precisions[:, None], gaps - reference


def _raise_singular() -> _Point:
    raise np.linalg.LinAlgError("the scale of a component is not positive definite")


def softmax(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of components (rows of the array) and their logarithms."""
    shifted = logits - logits.max(axis=0)
    shares = np.exp(shifted)
    totals = shares.sum(axis=0)
    return shares / totals, shifted - np.log(totals)


def _expected_log_weights(posterior: MixturePosterior) -> np.ndarray:
    return digamma(posterior.concentrations) - digamma(posterior.concentrations.sum())


def expected_log_densities(X: np.ndarray, posterior: MixturePosterior, known: Expectations | None = None) -> np.ndarray:
    """``ln rho`` of any rows, components x rows."""
    known = expectations(posterior.components) if known is None else known
    constant = _expected_log_weights(posterior) + (known.log_det_precisions - X.shape[1] * np.log(2 * np.pi)) / 2
    return constant[:, None] - mean_squared_distances(X, posterior.components).T / 2


def dirichlet_divergence(concentrations: np.ndarray, prior: np.ndarray) -> float:
    """Kullback-Leibler divergence of two Dirichlet distributions.

    >>> dirichlet_divergence(np.array([2.0, 3.0]), np.array([2.0, 3.0]))
    0.0
    """
    logs = digamma(concentrations) - digamma(concentrations.sum())
    normalizers = [gammaln(each.sum()) - gammaln(each).sum() for each in (concentrations, prior)]
    return float(normalizers[0] - normalizers[1] + (concentrations - prior) @ logs)


class _MixtureMetric(Metric):
    """Fisher information of q where the gradient was last asked for: natural gradients are known before gradients."""

    natural: np.ndarray

    def solve(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return self.natural


def fit_by_em(
    rows: MixtureRows, start: MixturePosterior, *, tol: float, max_iter: int, on_step: Callable[[], bool]
) -> MixtureFit:
    """Variational EM: responsibilities and parameters in turn, until F falls by less than tol twice in a row."""
    posterior = start
    path: list[float] = []
    calm, stopped, before = 0, False, np.inf
    _, log_shares = softmax(rows.expected_log_densities(start))
    while len(path) < max_iter and calm < 2 and not stopped:
        posterior = rows.posterior(np.exp(log_shares))
        known = expectations(posterior.components)
        log_densities = rows.expected_log_densities(posterior, known)
        _, log_shares = softmax(log_densities)
        # r = rho / sum rho, so that ln r - ln rho is the same for all components of a row
        value = float(rows.weights @ (log_shares[0] - log_densities[0])) + rows.divergence(posterior, known)
        path.append(value)
        calm = calm + 1 if before - value < tol else 0
        before = value
        stopped = on_step()
    return MixtureFit(posterior, np.array(path), len(path), calm >= 2, stopped)


def fit_by_gradients(
    rows: MixtureRows,
    start: MixturePosterior,
    *,
    method: str,
    geometry: str,
    tol: float,
    max_iter: int,
    on_step: Callable[[], bool],
) -> MixtureFit:
    """Means and logits by `riemannian_cg`, from the responsibilities that a start gives."""
    means = start.components.means
    _, logits = softmax(rows.expected_log_densities(start))
    shape = means.shape
    metric = _MixtureMetric()

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[: means.size].reshape(shape), x[means.size :].reshape(logits.shape)

    def fun_grad(x: np.ndarray):
        value, point_of = rows.free_energy(*parts(x))

        def gradient() -> np.ndarray:
            point = point_of()
            natural = rows.natural_gradients(point)
            metric.natural = np.concatenate([each.ravel() for each in natural])
            return np.concatenate([each.ravel() for each in rows.gradients(point, natural)])

        return value, gradient

    found = riemannian_cg(
        fun_grad,
        metric,
        np.concatenate([means.ravel(), logits.ravel()]),
        method=method,  # type: ignore[arg-type]
        geometry=geometry,  # type: ignore[arg-type]
        restart="sqrt",
        tol=tol,
        max_iter=max_iter,
        callback=on_step,
    )
    posterior = rows.free_energy(*parts(found.x))[1]().posterior
    return MixtureFit(posterior, found.path, found.n_eval, found.converged, found.stopped)
