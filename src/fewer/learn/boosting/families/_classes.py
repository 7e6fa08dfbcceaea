"""Families for classes: two of them, -1 and +1, or several in an order."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from fewer.learn.boosting.families._family import Family


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
