"""Families for counts."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from fewer.learn.boosting.families._family import Family


def _checked_counts(y: np.ndarray) -> np.ndarray:
    if (y < 0).any():
        raise ValueError(f"y has negative entries (the first is {y[y < 0][0]:g}), and counts cannot be.")
    if not y.any():
        raise ValueError("y is zero throughout, so there is no rate to learn.")
    return y


@dataclass(frozen=True)
class PoissonFamily(Family):
    """Counts whose variance is their mean: loss ``exp(f) - y f``; predictions are ``exp(f)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import PoissonFamily
    >>> PoissonFamily().negative_gradient(np.array([3.0]), np.zeros(1), np.ones(1))
    array([2.])
    """

    def checked(self, y):
        return _checked_counts(y)

    def offset(self, y, weights):
        return float(np.log(weights @ y / weights.sum()))

    def loss(self, y, f, nuisance=None):
        return np.exp(f) - y * f

    def negative_gradient(self, y, f, weights, nuisance=None):
        return y - np.exp(f)

    def response(self, f):
        return np.exp(f)

    def working_weights(self, f: np.ndarray) -> np.ndarray:
        """Change of the mean by a change of f, times the factor of ``y - mean`` in the negative gradient."""
        return np.exp(f)

    def deviance(self, y, f, weights):
        """Twice the negative log-likelihood."""
        return 2 * float(weights @ (self.loss(y, f) + gammaln(y + 1)))


@dataclass(frozen=True)
class NegativeBinomialFamily(Family):
    """Counts that vary more than Poisson's: variance ``m + m^2 / theta``, with theta estimated at each step.

    Parameters
    ----------
    largest : float, default=100.0
        Upper end of the search for theta; there it is close to Poisson's.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import NegativeBinomialFamily
    >>> NegativeBinomialFamily().negative_gradient(np.array([3.0]), np.zeros(1), np.ones(1), 1.0)
    array([1.])
    """

    largest: float = 100.0

    def checked(self, y):
        return _checked_counts(y)

    def offset(self, y, weights):
        return float(np.log(weights @ y / weights.sum()))

    def nuisance(self, y, f, weights, previous=None):
        found = minimize_scalar(
            lambda log_theta: self.risk(y, f, weights, np.exp(log_theta)),
            bounds=(np.log(1e-4), np.log(self.largest)),
            method="bounded",
            options={"xatol": 1e-6},
        )
        return float(np.exp(found.x))

    def loss(self, y, f, nuisance=None):
        log_both = np.logaddexp(f, np.log(nuisance))
        likelihood = gammaln(y + nuisance) - gammaln(nuisance) - gammaln(y + 1)
        return (y + nuisance) * log_both - nuisance * np.log(nuisance) - y * f - likelihood

    def negative_gradient(self, y, f, weights, nuisance=None):
        return y - (y + nuisance) / (1 + nuisance * np.exp(-f))

    def response(self, f):
        return np.exp(f)
