"""Draws from tempered posteriors, and the log evidence by integrating over the temperature.

A posterior at inverse temperature beta is proportional to ``prod_i p(x_i | w)^beta prior(w)``: the prior at 0, the
usual posterior at 1. With the energy ``U(w) = -sum_i log p(x_i | w)``, the free energy (minus the log evidence) is

    F = -log E_prior[exp(-U)] = int_0^1 E_beta[U] dbeta,     d E_beta[U] / dbeta = -Var_beta(U).

The integral is the sum of trapezoids, corrected by the slopes at both ends,
``(h / 2)(u_0 + u_1) - (h^2 / 12)(v_0 - v_1)`` with v the variances. Draws come from random-walk Metropolis sampling of
many chains at once.

Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information criterion in
singular learning theory. JMLR 11, 3571-3594.
Friel, N., Hurn, M. and Wyse, J. (2014). Improving power posterior estimation of statistical evidence. Statistics and
Computing 24, 709-723.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._figures import Result, line, new_figure
from fewer.evaluate.criteria._log_lik import as_draws, relative_efficiency

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorDraws(Result):
    """Draws of parameters; made by :func:`metropolis_draws`.

    Attributes
    ----------
    parameters : ndarray of shape (n_chains, n_draws, n_parameters)
        The draws.
    log_lik : ndarray of shape (n_chains, n_draws, n_samples)
        Log-likelihood of each row under each draw, for :func:`waic` and :func:`bayes_loo`.
    acceptance : ndarray of shape (n_chains,)
        Share of the steps that were accepted.
    beta : float
        Inverse temperature.
    """

    parameters: np.ndarray
    log_lik: np.ndarray
    acceptance: np.ndarray
    beta: float

    _data = ("acceptance", "beta")

    def __repr__(self) -> str:
        n_chains, n_draws, n_parameters = self.parameters.shape
        return (
            f"PosteriorDraws: {n_chains} chains of {n_draws:,} draws, {n_parameters} parameters, beta {self.beta:g}\n"
            f"  accepted {self.acceptance.mean():.0%} of the steps"
        )


def metropolis_draws(
    log_lik: Callable[[np.ndarray], Any],
    log_prior: Callable[[np.ndarray], Any],
    x0: Any,
    *,
    step_size: Any,
    beta: float = 1.0,
    n_draws: int = 1000,
    n_burn_in: int = 1000,
    thin: int = 1,
    random_state: Any = None,
) -> PosteriorDraws:
    """Draws from a posterior, also a tempered one, by random-walk Metropolis sampling of many chains at once.

    Parameters
    ----------
    log_lik : callable
        Log-likelihood of each row, of shape (n_chains, n_samples), for parameters of shape (n_chains, n_parameters).
        Chains may belong to different data sets.
    log_prior : callable
        Log prior density, of shape (n_chains,), for the same.
    x0 : array-like of shape (n_chains, n_parameters)
        Where the chains begin.
    step_size : float or array-like of shape (n_parameters,)
        Standard deviation of a step. With about a third of the steps accepted it is well chosen.
    beta : float, default=1.0
        Inverse temperature: the likelihood counts with this power; 0 draws from the prior.
    n_draws : int, default=1000
        Draws of each chain that are kept.
    n_burn_in : int, default=1000
        Steps at the beginning of each chain that are left out.
    thin : int, default=1
        Steps between two draws that are kept.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    draws : PosteriorDraws
        Parameters and log-likelihoods of the rows, for :func:`waic`, :func:`bayes_loo` and :func:`free_energy`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import metropolis_draws, waic
    >>> x = np.random.default_rng(0).normal(size=50)
    >>> found = metropolis_draws(
    ...     lambda w: -0.5 * (x - w) ** 2 - 0.5 * np.log(2 * np.pi),
    ...     lambda w: -0.5 * (w[:, 0] / 10) ** 2,
    ...     np.zeros((4, 1)), step_size=0.3, n_draws=500, random_state=0,
    ... )
    >>> round(waic(found.log_lik).p_waic, 1)
    0.9
    """
    w = np.array(x0, dtype=np.float64)
    if w.ndim != 2 or 0 in w.shape or not np.isfinite(w).all():
        raise ValueError("x0 must hold finite numbers, of shape (n_chains, n_parameters).")
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta={beta} must be 0 or a positive number.")
    if min(n_draws, thin) < 1 or n_burn_in < 0:
        raise ValueError(f"n_draws={n_draws} and thin={thin} must be at least 1, and n_burn_in={n_burn_in} at least 0.")
    steps = np.broadcast_to(np.asarray(step_size, dtype=np.float64), w.shape[1:])
    if not ((steps > 0) & (steps < np.inf)).all():
        raise ValueError("step_size must be positive.")
    random = check_random_state(random_state)
    n_chains = len(w)
    rows = _rows_of(log_lik, w)
    target = beta * rows.sum(axis=1) + _prior_of(log_prior, w)
    if not np.isfinite(target).all():
        chain = int(np.flatnonzero(~np.isfinite(target))[0])
        raise ValueError(f"The posterior density at the start of chain {chain} is not finite; start elsewhere.")
    kept, kept_rows = np.empty((n_chains, n_draws, w.shape[1])), np.empty((n_chains, n_draws, rows.shape[1]))
    accepted = np.zeros(n_chains)
    n_steps = n_burn_in + n_draws * thin
    for step in range(1, n_steps + 1):
        proposal = w + steps * random.standard_normal(w.shape)
        new_rows = _rows_of(log_lik, proposal)
        with np.errstate(invalid="ignore"):
            new = beta * new_rows.sum(axis=1) + _prior_of(log_prior, proposal)
        taken = np.log(random.uniform(size=n_chains)) < new - target  # never for NaN
        w[taken], rows[taken], target[taken] = proposal[taken], new_rows[taken], new[taken]
        accepted += taken
        if step > n_burn_in and (step - n_burn_in) % thin == 0:
            place = (step - n_burn_in) // thin - 1
            kept[:, place], kept_rows[:, place] = w, rows
    return PosteriorDraws(kept, kept_rows, accepted / n_steps, float(beta))


def _rows_of(log_lik: Callable[[np.ndarray], Any], w: np.ndarray) -> np.ndarray:
    rows = np.array(log_lik(w), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(w):
        raise ValueError(f"log_lik must give an array of shape ({len(w)}, n_samples), and gave {rows.shape}.")
    return rows


def _prior_of(log_prior: Callable[[np.ndarray], Any], w: np.ndarray) -> np.ndarray:
    values = np.asarray(log_prior(w), dtype=np.float64)
    if values.shape != (len(w),):
        raise ValueError(f"log_prior must give an array of shape ({len(w)},), and gave {values.shape}.")
    return values


@dataclass(frozen=True, eq=False, repr=False)
class FreeEnergy(Result):
    """Minus the log evidence by thermodynamic integration; made by :func:`free_energy`.

    Attributes
    ----------
    value : float
        The free energy of all rows, in nats; lower is better.
    se : float
        Its standard error from the draws.
    betas : ndarray of shape (n_betas,)
        Inverse temperatures.
    energies : ndarray of shape (n_betas,)
        Mean of minus the log-likelihood of all rows at each: n times the Gibbs training loss.
    correction : float
        What the slopes changed in the sum of trapezoids. If it is large, there are too few temperatures.
    """

    value: float
    se: float
    betas: np.ndarray
    energies: np.ndarray
    correction: float

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the rows."""
        return -self.value

    def __repr__(self) -> str:
        return (
            f"FreeEnergy: {self.value:.2f} (standard error {self.se:.2f}) from {len(self.betas)} temperatures\n"
            f"  log evidence {self.log_evidence:.2f}; correction by slopes {self.correction:.2f}"
        )

    def plot(self) -> "go.Figure":
        """Mean energy over the inverse temperature; the area below is the free energy.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(title="Free energy: the area below", x="inverse temperature", y="mean energy of all rows")
        return figure.add_trace(line("energy", self.betas, self.energies).update(mode="lines+markers"))


def free_energy(log_liks: Mapping[float, Any]) -> FreeEnergy:
    """Minus the log evidence of a model from draws at several temperatures, by thermodynamic integration.

    Parameters
    ----------
    log_liks : mapping of float to array-like
        For each inverse temperature, log-likelihoods of the rows under draws at it, as :func:`waic` takes them. Among
        them must be 0 (draws from the prior) and 1. Energies change fastest near 0: ``np.linspace(0, 1, 30) ** 5`` is
        a usual choice.

    Returns
    -------
    energy : FreeEnergy
        Free energy with its standard error; differences of two models are log Bayes factors.

    See Also
    --------
    metropolis_draws : Draws at any temperature.

    References
    ----------
    .. [1] Friel, N., Hurn, M. & Wyse, J. (2014). Improving power posterior estimation of statistical evidence.
       Statistics and Computing 24, 709-723.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import multivariate_normal, norm
    >>> from fewer.evaluate import free_energy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=30)
    >>> log_liks = {}
    >>> for beta in np.linspace(0, 1, 20) ** 5:
    ...     precision = 1 + 30 * beta  # with the prior N(0, 1) of the mean
    ...     means = rng.normal(beta * x.sum() / precision, 1 / np.sqrt(precision), size=4000)
    ...     log_liks[beta] = norm.logpdf(x, loc=means[:, None])
    >>> exact = -multivariate_normal(np.zeros(30), np.eye(30) + 1).logpdf(x)
    >>> found = free_energy(log_liks)
    >>> bool(abs(found.value - exact) < 3 * found.se + 0.05)
    True
    """
    if not isinstance(log_liks, Mapping):
        raise ValueError(
            f"log_liks must have inverse temperatures for keys, as {{0.0: log_lik, ...}}, and is a "
            f"{type(log_liks).__name__}."
        )
    betas = np.array(sorted(float(beta) for beta in log_liks))
    if len(betas) < 2 or betas[0] != 0 or betas[-1] != 1:
        raise ValueError(
            "log_liks needs draws at inverse temperatures from 0 (the prior) to 1, and has "
            f"{', '.join(f'{beta:g}' for beta in betas) or 'none'}."
        )
    by_beta = {float(beta): as_draws(each) for beta, each in log_liks.items()}
    if len({draws.n_rows for draws in by_beta.values()}) > 1:
        raise ValueError("The log-likelihoods at all temperatures must be of the same rows.")
    energies = [-by_beta[beta].values.sum(axis=2, dtype=np.float64) for beta in betas]  # (chains, draws)
    means = np.array([each.mean() for each in energies])
    variances = np.array([each.var() for each in energies])
    efficiencies = np.array([relative_efficiency(each[:, :, None])[0] for each in energies])
    widths = np.diff(betas)
    shares = np.zeros(len(betas))
    shares[:-1] += widths / 2
    shares[1:] += widths / 2
    correction = -float(widths**2 @ (variances[:-1] - variances[1:]) / 12)
    errors = variances / (efficiencies * [each.size for each in energies])
    return FreeEnergy(float(shares @ means) + correction, float(np.sqrt(shares**2 @ errors)), betas, means, correction)
