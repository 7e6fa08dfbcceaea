"""What models with Bayesian solvers share: chains of draws, the deviance information criterion, the log evidence.

A model with ``solver="gibbs"`` calls `_fit_chains` and implements ``_keep_draws``; ``draws_`` then holds the draws,
with components in the same order in all of them (`matched_orders`). One with ``solver="variational_bayes"`` sets
``lower_bound_``, the bound on the log evidence. `deviance_criterion` serves both.
"""

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.latent._components import match_components

Sweep = Callable[[Any, np.random.RandomState], tuple[Any, Any, float]]


class DIC(NamedTuple):
    """Deviance information criterion (less is better), and the effective number of parameters in it."""

    value: float
    n_effective: float


class BayesianSolvers:
    """Mixin of the models whose solvers include "gibbs" and "variational_bayes"."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"em", "variational_bayes", "gibbs"})],
        "n_draws": [Interval(Integral, 2, None, closed="left")],
        "n_burn_in": [Interval(Integral, 0, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
    }

    solver: str
    n_draws: int
    n_burn_in: int
    thin: int
    n_chains: int
    random_state: Any
    n_components_: int
    lower_bound_: float | None
    draws_: Any
    objectives_: np.ndarray
    objective_path_: np.ndarray
    n_iter_: int
    converged_: bool

    def _fit_chains(self, X: Any, start: Callable[[np.random.RandomState], Any], sweep: Sweep):
        """Draw all chains; ``sweep(state, random)`` gives the next state, a draw and the log-likelihood of the draw."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_chains)
        n_sweeps = self.n_burn_in + self.n_draws * self.thin
        with fit_steps(self, X, None, n_steps=self.n_chains * n_sweeps) as after_step:
            chains = []
            for seed in seeds:
                chains.append(self._one_chain(start, sweep, np.random.RandomState(seed), lambda: after_step("draw")))
                if chains[-1][1]:
                    break
            kept = [draws for draws, _ in chains]
            shortest = min(len(each) for each in kept)
            logs = np.array([[draw[1] for draw in draws[:shortest]] for draws in kept])
            self._keep_draws([draw[0] for draws in kept for draw in draws[:shortest]], logs)
            self.lower_bound_ = None
            self.objectives_ = logs.mean(axis=1)
            self.objective_path_ = logs[0]
            self.n_iter_ = n_sweeps
            self.converged_ = True
        return self

    def _one_chain(
        self,
        start: Callable[[np.random.RandomState], Any],
        sweep: Sweep,
        random: np.random.RandomState,
        on_step: Callable[[], bool],
    ) -> tuple[list[tuple[Any, float]], bool]:
        """Draws that are kept, each with its log-likelihood, and whether a callback has stopped the chain."""
        state = start(random)
        found: list[tuple[Any, float]] = []
        stopped = False
        for number in range(1 - self.n_burn_in, self.n_draws * self.thin + 1):
            state, draw, log_likelihood = sweep(state, random)
            stopped = on_step()
            if (number > 0 and number % self.thin == 0) or (stopped and not found):
                found.append((draw, log_likelihood))
            if stopped:
                break
        return found, stopped

    def _keep_draws(self, draws: list[Any], logs: np.ndarray) -> None:
        """Set the fitted attributes and ``draws_``; ``logs`` are log-likelihoods (chains, draws of each chain)."""
        raise NotImplementedError

    def _deviances(self, X: Any, n_draws: int, random_state: Any) -> tuple[Iterable[float], float]:
        """-2 log-likelihood of rows with the parameters of each draw, and with the fitted ones."""
        raise NotImplementedError

    def _log_likelihoods(self, X: Any, n_draws: int, random_state: Any) -> Iterable[np.ndarray]:
        """Log-likelihood of each row with the parameters of each draw."""
        raise NotImplementedError

    def _picked_draws(self, n_draws: int) -> np.ndarray:
        """Places of up to so many of the draws that are kept."""
        last = self.draws_.log_likelihoods.size - 1
        return np.unique(np.linspace(0, last, n_draws).round().astype(int))

    def dic(self, X, *, n_draws=500, random_state=0):
        """Deviance information criterion of the observed data, from draws of the posterior: less is better.

        With ``D = -2 log P(X | parameters)``, it is ``mean D + p_D`` with ``p_D = mean D - D(mean parameters)``. It
        shows when there are too few components, but hardly ever when there are too many: empty ones are not penalised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as a rule those of the training table.
        n_draws : int, default=500
            Number of draws; at most as many as "gibbs" has kept.
        random_state : int, RandomState instance or None, default=0
            Draws them, for "variational_bayes".

        Returns
        -------
        dic : DIC
            ``value``, and ``n_effective``, the effective number of parameters p_D.
        """
        self._check_posterior()
        return deviance_criterion(*self._deviances(X, n_draws, random_state))

    def log_lik(self, X, *, n_draws=500, random_state=0):
        """Log-likelihood of each row under each draw from the posterior, as ``fewer.evaluate.waic`` takes it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as a rule those of the training table.
        n_draws : int, default=500
            Number of draws from the posterior of "variational_bayes"; "gibbs" gives all that it has kept.
        random_state : int, RandomState instance or None, default=0
            Draws them, for "variational_bayes".

        Returns
        -------
        log_lik : ndarray of shape (n_chains, n_draws, n_samples)
            In nats, for ``waic``, ``bayes_loo`` and ``compare_models``; one chain for "variational_bayes".
        """
        self._check_posterior("log_lik")
        return self._in_chains(self._log_likelihoods(X, self._n_given(n_draws), random_state))

    def _n_given(self, n_draws: int) -> int:
        """How many draws are given: all that are kept, or so many of a posterior to draw from."""
        return n_draws if self.draws_ is None else self.draws_.log_likelihoods.size

    def _in_chains(self, of_draws: Iterable[np.ndarray]) -> np.ndarray:
        """What there is for each draw, as (chains, draws, ...)."""
        found = np.array(list(of_draws))
        return found.reshape(1 if self.draws_ is None else len(self.draws_.log_likelihoods), -1, *found.shape[1:])

    def _check_posterior(self, what: str = "DIC") -> None:
        check_is_fitted(self)
        if self.draws_ is None and self.lower_bound_ is None:
            raise ValueError(
                f"{what} needs draws from the posterior: fit with solver='gibbs' or solver='variational_bayes'."
            )

    def log_evidence(self):
        """Approximate log evidence of "variational_bayes": the bound, and log K! for the orders of the components.

        Returns
        -------
        log_evidence : float
            More is better; a difference of two models is a log Bayes factor.
        """
        check_is_fitted(self)
        if self.lower_bound_ is None:
            raise ValueError("Only solver='variational_bayes' has a bound on the evidence.")
        return float(self.lower_bound_ + gammaln(self.n_components_ + 1))


def deviance_criterion(deviances: Iterable[float], of_means: float) -> DIC:
    """DIC from the deviances of draws and that of the posterior means."""
    mean = float(np.mean(list(deviances)))
    n_effective = mean - of_means
    if n_effective < 0:
        warn_caller(
            f"The effective number of parameters is {n_effective:.1f}: the draws come from several modes, so "
            "their mean does not describe them, and this DIC is too low. Compare by BIC or by the variational bound."
        )
    return DIC(mean + n_effective, n_effective)


def matched_orders(posteriors: Iterable[np.ndarray], best: np.ndarray, shares: np.ndarray) -> list[np.ndarray]:
    """The order of the components of each draw that makes them those of the best one.

    Components are the same that have the same rows: an empty one has nothing else to be known by. ``posteriors`` and
    ``best`` are probabilities of components (n, K), and ``shares`` of rows sum to 1.
    """
    first = (best * shares[:, None]).T
    return [match_components(first, (each * shares[:, None]).T).partners for each in posteriors]


def refuse_fractions(weights: np.ndarray) -> None:
    """Raise for weights that a sampler, which draws a component for each row, cannot use."""
    if (weights != np.round(weights)).any():
        raise ValueError("solver='gibbs' draws a component for each row: sample_weight must hold whole numbers.")


def sorted_repetitions(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows as often as their weight says, in an order that follows from their values: a draw is for a single row.

    >>> sorted_repetitions(np.array([[2.0], [1.0]]), np.array([2.0, 1.0])).ravel()
    array([1., 2., 2.])
    """
    refuse_fractions(weights)
    repeated = np.repeat(X, weights.astype(np.int64), axis=0)
    return repeated[np.lexsort(repeated.T[::-1])]
