"""Families of a prediction f: a loss, its negative gradient, where f starts, and how f is read.

Here are those for a number (its mean, median, other quantiles and expectiles), for counts, and for classes: two of
them, -1 and +1, or several in an order. Survival times are in ``_survival_families``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln, log_expit


class Family:
    """A loss ``rho(y, f)``, its negative gradient in f, and how f is read.

    For a loss of your own derive from this class, and write ``loss``, ``negative_gradient`` and ``offset``. Parameters
    that are estimated along with f (a scale, thresholds) come from ``nuisance`` and are passed to the others.

    Attributes
    ----------
    task : {"regression", "survival", "classification", "ordinal"}
        What the target is: numbers; times and events; -1 and +1; or the places 0, 1, ... of ordered classes.
    squared : bool
        Whether the negative gradient is ``y - f``, which allows a shortcut.
    longest_step : float or None
        What the negative gradient cannot exceed, on the scale of the target; None where there is no bound.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ComponentwiseBoostingRegressor, Family
    >>> class LogCosh(Family):
    ...     def loss(self, y, f, nuisance=None):
    ...         return np.log(np.cosh(y - f))
    ...
    ...     def negative_gradient(self, y, f, weights, nuisance=None):
    ...         return np.tanh(y - f)
    ...
    ...     def offset(self, y, weights):
    ...         return np.median(y)
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ComponentwiseBoostingRegressor(family=LogCosh()).fit(X, X[:, 1]).selected_[:3]
    array([1, 1, 1])
    """

    task = "regression"
    squared = False
    longest_step: float | None = None
    risk_sign = 1.0  # of f, for survival: +1 where a larger f means an earlier event

    def checked(self, y: np.ndarray) -> np.ndarray:
        """The target, or an error that names what is wrong with it.

        Parameters
        ----------
        y : ndarray
            Target.

        Returns
        -------
        y : ndarray
            The same.
        """
        return y

    def offset(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Where f starts.

        Parameters
        ----------
        y : ndarray
            Target.
        weights : ndarray
            Weights of the rows.

        Returns
        -------
        offset : float
            A constant prediction.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `offset(y, weights)`.")

    def nuisance(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray, previous: Any = None) -> Any:
        """Parameters beside f, estimated at f.

        Parameters
        ----------
        y : ndarray
            Target.
        f : ndarray
            Prediction.
        weights : ndarray
            Weights of the rows.
        previous : object
            Those of the step before; None at the start.

        Returns
        -------
        nuisance : object
            None where there are none.
        """
        return None

    def loss(self, y: np.ndarray, f: np.ndarray, nuisance: Any = None) -> np.ndarray:
        """Loss of each row.

        Parameters
        ----------
        y : ndarray
            Target.
        f : ndarray
            Prediction.
        nuisance : object
            What :meth:`nuisance` gave.

        Returns
        -------
        loss : ndarray
            By row.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `loss(y, f, nuisance)`.")

    def risk(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray, nuisance: Any = None) -> float:
        """Weighted mean of the loss.

        Parameters
        ----------
        y : ndarray
            Target.
        f : ndarray
            Prediction.
        weights : ndarray
            Weights of the rows.
        nuisance : object
            What :meth:`nuisance` gave.

        Returns
        -------
        risk : float
            The mean.
        """
        return float(weights @ self.loss(y, f, nuisance) / weights.sum())

    def negative_gradient(self, y: np.ndarray, f: np.ndarray, weights: np.ndarray, nuisance: Any = None) -> np.ndarray:
        """Direction in which the prediction of each row should move.

        Parameters
        ----------
        y : ndarray
            Target.
        f : ndarray
            Prediction.
        weights : ndarray
            Weights of the rows, for losses that tie rows together.
        nuisance : object
            What :meth:`nuisance` gave.

        Returns
        -------
        u : ndarray
            By row.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `negative_gradient(y, f, weights, nuisance)`.")

    def response(self, f: np.ndarray) -> np.ndarray:
        """Prediction on the scale of the target.

        Parameters
        ----------
        f : ndarray
            Prediction.

        Returns
        -------
        response : ndarray
            The same, mapped.
        """
        return f


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The middle of the values, each counted as often as its weight says; of two in the middle, their mean.

    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]))
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    tolerance = 1e-12 * reached[-1]
    low = np.searchsorted(reached, half - tolerance)
    high = np.searchsorted(reached, half + tolerance)
    return float((values[order[low]] + values[order[min(high, len(values) - 1)]]) / 2)


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
    max_theta : float, default=100.0
        Upper end of the search for theta; there it is close to Poisson's.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import NegativeBinomialFamily
    >>> NegativeBinomialFamily().negative_gradient(np.array([3.0]), np.zeros(1), np.ones(1), 1.0)
    array([1.])
    """

    max_theta: float = 100.0

    def checked(self, y):
        return _checked_counts(y)

    def offset(self, y, weights):
        return float(np.log(weights @ y / weights.sum()))

    def nuisance(self, y, f, weights, previous=None):
        found = minimize_scalar(
            lambda log_theta: self.risk(y, f, weights, np.exp(log_theta)),
            bounds=(np.log(1e-4), np.log(self.max_theta)),
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


def half_logit(y: np.ndarray, weights: np.ndarray) -> float:
    """Half the log-odds of +1; a class without rows counts as half a row."""
    share = float(weights[y > 0].sum() / weights.sum())
    least = 0.5 / len(y)
    share = min(max(share, least), 1 - least)
    return 0.5 * np.log(share / (1 - share))


@dataclass(frozen=True)
class BinomialFamily(Family):
    """Logistic regression for two classes: loss ``log2(1 + exp(-2 y f))``.

    f is *half* the log-odds: the probability of the second class is ``1 / (1 + exp(-2 f))``, and coefficients are half
    those of ordinary logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import BinomialFamily
    >>> BinomialFamily().loss(np.array([1.0, -1.0]), np.zeros(2))
    array([1., 1.])
    """

    task = "classification"

    def offset(self, y, weights):
        return half_logit(y, weights)

    def loss(self, y, f, nuisance=None):
        return -log_expit(2 * y * f) / np.log(2)

    def negative_gradient(self, y, f, weights, nuisance=None):
        return 2 / np.log(2) * y * expit(-2 * y * f)

    def response(self, f):
        return expit(2 * f)

    def working_weights(self, f: np.ndarray) -> np.ndarray:
        """Change of the mean by a change of f, times the factor of ``y - mean`` in the negative gradient."""
        return 4 / np.log(2) * expit(2 * f) * expit(-2 * f)

    def deviance(self, y, f, weights):
        """Twice the negative log-likelihood."""
        return 2 * np.log(2) * float(weights @ self.loss(y, f))


@dataclass(frozen=True)
class AdaExpFamily(Family):
    """The exponential loss of AdaBoost for two classes, ``exp(-y f)``.

    Harder on outliers than :class:`BinomialFamily`; its f is half the log-odds, too.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import AdaExpFamily
    >>> AdaExpFamily().loss(np.array([1.0, -1.0]), np.zeros(2))
    array([1., 1.])
    """

    task = "classification"

    def offset(self, y, weights):
        return half_logit(y, weights)

    def loss(self, y, f, nuisance=None):
        return np.exp(-y * f)

    def negative_gradient(self, y, f, weights, nuisance=None):
        return y * np.exp(-y * f)

    def response(self, f):
        return expit(2 * f)


@dataclass(frozen=True)
class ProportionalOddsFamily(Family):
    """Ordered classes: ``P(y <= k) = 1 / (1 + exp(f - threshold_k))``, with thresholds estimated at each step.

    The larger f, the higher the class.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import ProportionalOddsFamily
    >>> family = ProportionalOddsFamily()
    >>> y = np.array([0, 0, 1, 2])
    >>> thresholds = family.nuisance(y, np.zeros(4), np.ones(4))
    >>> family.probabilities(np.zeros(1), thresholds).round(3)
    array([[0.5 , 0.25, 0.25]])
    """

    task = "ordinal"

    def offset(self, y, weights):
        return 0.0

    def nuisance(self, y, f, weights, previous=None):
        if previous is None:
            shares = np.cumsum(np.bincount(y, weights=weights))[:-1] / weights.sum()
            shares = np.clip(shares, 1e-6, 1 - 1e-6)
            # Classes without rows would have no width.
            start = np.log(shares / (1 - shares)) + 1e-6 * np.arange(len(shares)) + np.average(f, weights=weights)
            return self.nuisance(y, f, weights, start)
        return _newton_thresholds(y, f, weights, previous)

    def _cumulative(self, y, f, thresholds):
        """``P(y <= k)`` at the upper and the lower bound of each row's class."""
        bounds = np.concatenate([[-np.inf], thresholds, [np.inf]])
        return expit(bounds[y + 1] - f), expit(bounds[y] - f)

    def loss(self, y, f, nuisance=None):
        upper, lower = self._cumulative(y, f, nuisance)
        return -np.log(np.maximum(upper - lower, 1e-300))

    def negative_gradient(self, y, f, weights, nuisance=None):
        upper, lower = self._cumulative(y, f, nuisance)
        return upper + lower - 1

    def probabilities(self, f: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Of each class.

        Parameters
        ----------
        f : ndarray of shape (n_samples,)
            Prediction.
        thresholds : ndarray of shape (n_classes - 1,)
            Thresholds.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They sum to one.
        """
        cumulative = expit(thresholds - f[:, None])
        return np.diff(cumulative, axis=1, prepend=0.0, append=1.0)


def _newton_thresholds(y, f, weights, start):
    """Thresholds of the largest likelihood, which is concave in them; the start is increasing, and so is each step."""
    family, thresholds = ProportionalOddsFamily(), start
    risk = family.risk(y, f, weights, thresholds)
    for _ in range(50):
        slope, curvature = _threshold_derivatives(y, f, weights, thresholds)
        if np.abs(slope).max() < 1e-10 * weights.sum():
            break
        move = np.linalg.solve(curvature + 1e-12 * np.eye(len(slope)), slope)
        for halving in 0.5 ** np.arange(30):
            tried = thresholds - halving * move
            if (np.diff(tried) > 0).all() and (lower := family.risk(y, f, weights, tried)) < risk:
                thresholds, risk = tried, lower
                break
        else:
            break
    return thresholds


def _threshold_derivatives(y, f, weights, thresholds):
    """Gradient and Hessian of the summed loss in the thresholds."""
    n_thresholds = len(thresholds)
    upper, lower = ProportionalOddsFamily()._cumulative(y, f, thresholds)
    share = np.maximum(upper - lower, 1e-300)
    above, below = upper * (1 - upper), lower * (1 - lower)
    bend_above, bend_below = above * (1 - 2 * upper), below * (1 - 2 * lower)

    def summed(by_row, classes):
        totals = np.bincount(classes, weights=weights * by_row, minlength=n_thresholds + 2)
        return totals[1 : n_thresholds + 1]

    slope = summed(below / share, y) - summed(above / share, y + 1)
    diagonal = summed((above / share) ** 2 - bend_above / share, y + 1)
    diagonal += summed((below / share) ** 2 + bend_below / share, y)
    curvature = np.diag(diagonal)
    # A row of a class between two thresholds ties these together.
    between = np.bincount(y, weights=weights * above * below / share**2, minlength=n_thresholds + 1)[1:n_thresholds]
    places = np.arange(n_thresholds - 1)
    curvature[places, places + 1] = curvature[places + 1, places] = -between
    return slope, curvature
