"""Families for a number: its mean, its median, other quantiles and expectiles."""

from dataclasses import dataclass

import numpy as np

from fewer.learn.boosting.families._family import Family, weighted_median


@dataclass(frozen=True)
class GaussianFamily(Family):
    """The mean: loss ``(y - f)^2``.

    The negative gradient is taken as ``y - f``, without the factor 2, as in the literature on boosting.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import GaussianFamily
    >>> GaussianFamily().loss(np.array([3.0]), np.array([1.0]))
    array([4.])
    """

    squared = True

    def offset(self, y, weights):
        return float(weights @ y / weights.sum())

    def loss(self, y, f, nuisance=None):
        return (y - f) ** 2

    def negative_gradient(self, y, f, weights, nuisance=None):
        return y - f

    def working_weights(self, f: np.ndarray) -> np.ndarray:
        """Change of the mean by a change of f, times the factor of ``y - mean`` in the negative gradient."""
        return np.ones_like(f)

    def deviance(self, y, f, weights):
        """Twice the negative log-likelihood, up to a constant, with the variance at its estimate."""
        return float(weights.sum() * np.log(self.risk(y, f, weights)))


@dataclass(frozen=True)
class LaplaceFamily(Family):
    """The median: loss ``|y - f|``.

    A step moves no prediction by more than the learning rate, so bring y to a scale of about 1, or take many steps.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import LaplaceFamily
    >>> LaplaceFamily().loss(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    longest_step = 1.0

    def offset(self, y, weights):
        return weighted_median(y, weights)

    def loss(self, y, f, nuisance=None):
        return np.abs(y - f)

    def negative_gradient(self, y, f, weights, nuisance=None):
        return np.sign(y - f)


@dataclass(frozen=True)
class HuberFamily(Family):
    """The mean, hardly moved by outliers: squares of small residuals, absolute values of large ones.

    Parameters
    ----------
    delta : float or None, default=None
        Where small ends; None takes the median of the absolute residuals, at each step.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import HuberFamily
    >>> HuberFamily(delta=1.0).loss(np.array([0.5, 3.0]), np.zeros(2), 1.0)
    array([0.125, 2.5  ])
    """

    delta: float | None = None

    def offset(self, y, weights):
        return weighted_median(y, weights)

    def nuisance(self, y, f, weights, previous=None):
        if self.delta is not None:
            return float(self.delta)
        return weighted_median(np.abs(y - f), weights)

    def loss(self, y, f, nuisance=None):
        size = np.abs(y - f)
        return np.where(size < nuisance, size**2 / 2, nuisance * (size - nuisance / 2))

    def negative_gradient(self, y, f, weights, nuisance=None):
        return np.clip(y - f, -nuisance, nuisance)


@dataclass(frozen=True)
class QuantileFamily(Family):
    """A quantile: loss ``tau (y - f)`` above the prediction and ``(1 - tau) (f - y)`` below.

    Starts at the median whatever tau is. A step moves no prediction by more than the learning rate, so bring y to a
    scale of about 1, or take many steps.

    Parameters
    ----------
    tau : float, default=0.5
        Share of the targets that lie below.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import QuantileFamily
    >>> QuantileFamily(0.9).loss(np.array([1.0, -1.0]), np.zeros(2))
    array([0.9, 0.1])
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        _refuse_outside(self.tau)

    @property
    def longest_step(self) -> float:  # type: ignore[override]  # a property here, a plain attribute in the base
        return max(self.tau, 1 - self.tau)

    def offset(self, y, weights):
        return weighted_median(y, weights)

    def loss(self, y, f, nuisance=None):
        return np.where(y >= f, self.tau, self.tau - 1) * (y - f)

    def negative_gradient(self, y, f, weights, nuisance=None):
        return np.where(y >= f, self.tau, self.tau - 1)


@dataclass(frozen=True)
class ExpectileFamily(Family):
    """An expectile: squared loss, weighted ``tau`` above the prediction and ``1 - tau`` below.

    Parameters
    ----------
    tau : float, default=0.5
        Weight of what lies above; 0.5 is the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ExpectileFamily
    >>> ExpectileFamily(0.75).loss(np.array([2.0, -2.0]), np.zeros(2))
    array([3., 1.])
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        _refuse_outside(self.tau)

    def offset(self, y, weights):
        return float(weights @ y / weights.sum())

    def loss(self, y, f, nuisance=None):
        return np.where(y >= f, self.tau, 1 - self.tau) * (y - f) ** 2

    def negative_gradient(self, y, f, weights, nuisance=None):
        return 2 * np.where(y >= f, self.tau, 1 - self.tau) * (y - f)


def _refuse_outside(tau: float) -> None:
    if not 0 < tau < 1:
        raise ValueError(f"tau={tau} must lie between 0 and 1.")
