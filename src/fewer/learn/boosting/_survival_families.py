"""Families for times until an event, some of which are censored: observation ended before the event.

The target has two columns: the time, and whether the event happened then (1) or observation ended (0).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_ndtr

from fewer.learn.boosting._families import Family, weighted_median


def times_and_events(y: Any) -> np.ndarray:
    """A target as two columns, time and event (1 or 0).

    >>> times_and_events(np.array([(True, 2.5)], dtype=[("event", bool), ("time", float)]))
    array([[2.5, 1. ]])
    """
    target = np.asarray(y)
    if target.dtype.names is not None:
        names = target.dtype.names
        events = [name for name in names if target.dtype[name].kind == "b"]
        times = [name for name in names if name not in events]
        if len(events) != 1 or len(times) != 1:
            raise ValueError(f"y must have one boolean field and one field of times; its fields are {names}.")
        target = np.column_stack([target[times[0]], target[events[0]]])
    target = np.asarray(target, dtype=np.float64)
    if target.ndim != 2 or target.shape[1] != 2:
        raise ValueError(
            "A survival family needs y with two columns, time and event (1 if it happened, 0 if censored), "
            f"or a structured array with these two fields; y has the shape {target.shape}."
        )
    if not np.isfinite(target).all():
        raise ValueError("Input y contains NaN or infinity.")
    if not np.isin(target[:, 1], [0, 1]).all():
        raise ValueError("The second column of y, the event, must be 0 or 1; the first is the time.")
    if not target[:, 1].any():
        raise ValueError("No event happened in y, so there is nothing to learn from.")
    return target


def concordance(y: np.ndarray, risk: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Share of comparable pairs in which the one with the higher risk had the event first; ties count half.

    >>> concordance(np.array([[1.0, 1], [2.0, 1], [3.0, 0]]), np.array([3.0, 1.0, 2.0]))
    0.6666666666666666
    """
    time, event = y[:, 0], y[:, 1] > 0
    weights = np.ones(len(y)) if weights is None else weights
    agreeing = total = 0.0
    for row in np.flatnonzero(event):
        later = (time > time[row]) | ((time == time[row]) & ~event)
        pair = weights[row] * weights[later]
        total += pair.sum()
        agreeing += pair @ np.where(risk[row] > risk[later], 1.0, np.where(risk[row] == risk[later], 0.5, 0.0))
    return float(agreeing / total) if total else np.nan


@dataclass(frozen=True)
class CoxFamily(Family):
    """Cox's proportional hazards: minus the logarithm of the partial likelihood, with Breslow's ties.

    Predictions are logarithms of relative hazards: higher means sooner.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import CoxFamily
    >>> y = np.array([[1.0, 1], [2.0, 1], [3.0, 0]])
    >>> CoxFamily().negative_gradient(y, np.zeros(3), np.ones(3)).round(3)
    array([ 0.667,  0.167, -0.833])
    """

    task = "survival"

    def checked(self, y):
        return times_and_events(y)

    def offset(self, y, weights):
        return 0.0

    def _at_risk(self, y, f, weights):
        """Order by time, latest first; logarithm of the summed hazards at each time; the last row of each time."""
        order = np.argsort(-y[:, 0], kind="stable")
        time = y[order, 0]
        shift = f.max()
        sums = np.cumsum(weights[order] * np.exp(f[order] - shift))
        last = np.searchsorted(-time, -time, side="right") - 1
        return order, np.log(np.maximum(sums[last], 1e-300)) + shift, last

    def risk(self, y, f, weights, nuisance=None):
        order, log_sums, _ = self._at_risk(y, f, weights)
        terms = weights[order] * y[order, 1] * (f[order] - log_sums)
        return float(-terms.sum() / weights.sum())

    def negative_gradient(self, y, f, weights, nuisance=None):
        order, log_sums, _ = self._at_risk(y, f, weights)
        time = y[order, 0]
        # Events up to a row's time are those at its place or later in the order, ties included.
        hazards = np.cumsum((weights[order] * y[order, 1] * np.exp(f.max() - log_sums))[::-1])[::-1]
        first = np.searchsorted(-time, -time, side="left")
        u = np.empty_like(f)
        u[order] = y[order, 1] - np.exp(f[order] - f.max()) * hazards[first]
        return u


@dataclass(frozen=True)
class _AcceleratedFamily(Family):
    """``log time = f + scale * e``: a shape for e, and a scale that is estimated at each step."""

    task = "survival"
    risk_sign = -1.0  # a larger prediction means a later event

    def checked(self, y):
        target = times_and_events(y)
        if (target[:, 0] <= 0).any():
            raise ValueError(f"{type(self).__name__} takes logarithms of times; y has times that are not positive.")
        return target

    def offset(self, y, weights):
        logs = np.log(y[:, 0])
        found = minimize_scalar(
            lambda constant: self.risk(y, np.full(len(y), constant), weights, 1.0),
            bounds=(logs.min() - 1.0, logs.max() + 5.0),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return float(found.x)

    def nuisance(self, y, f, weights, previous=None):
        typical = max(weighted_median(np.abs(np.log(y[:, 0]) - f), weights), 1e-6)
        found = minimize_scalar(
            lambda log_scale: self.risk(y, f, weights, np.exp(log_scale)),
            bounds=(np.log(typical) - 5, np.log(typical) + 5),
            method="bounded",
            options={"xatol": 1e-6},
        )
        return float(np.exp(found.x))

    def loss(self, y, f, nuisance=None):
        with np.errstate(over="ignore", invalid="ignore"):  # the search for the scale begins far out
            return self._loss((np.log(y[:, 0]) - f) / nuisance, y[:, 1] > 0, np.log(nuisance))

    def negative_gradient(self, y, f, weights, nuisance=None):
        return self._slope((np.log(y[:, 0]) - f) / nuisance, y[:, 1] > 0) / nuisance

    def response(self, f):
        return np.exp(f)

    def _loss(self, e, event, log_scale):
        raise NotImplementedError

    def _slope(self, e, event):
        raise NotImplementedError


@dataclass(frozen=True)
class WeibullFamily(_AcceleratedFamily):
    """Times by Weibull's distribution: ``log time = f + scale * e``, e with the smallest extreme value's distribution.

    Predictions are times, ``exp(f)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import WeibullFamily
    >>> WeibullFamily().negative_gradient(np.array([[1.0, 1], [1.0, 0]]), np.zeros(2), np.ones(2), 1.0)
    array([0., 1.])
    """

    def _loss(self, e, event, log_scale):
        return np.exp(e) - np.where(event, e - log_scale, 0.0)

    def _slope(self, e, event):
        return np.exp(e) - event


@dataclass(frozen=True)
class LogLogisticFamily(_AcceleratedFamily):
    """Times whose logarithm has a logistic distribution around f, with a scale that is estimated at each step.

    Predictions are times, ``exp(f)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import LogLogisticFamily
    >>> LogLogisticFamily().negative_gradient(np.array([[1.0, 1], [1.0, 0]]), np.zeros(2), np.ones(2), 1.0)
    array([0. , 0.5])
    """

    def _loss(self, e, event, log_scale):
        survived = np.logaddexp(0, e)
        return np.where(event, 2 * survived - e + log_scale, survived)

    def _slope(self, e, event):
        return np.where(event, 2 * expit(e) - 1, expit(e))


@dataclass(frozen=True)
class LogNormalFamily(_AcceleratedFamily):
    """Times whose logarithm has a normal distribution around f, with a scale that is estimated at each step.

    Predictions are times, ``exp(f)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.learn import LogNormalFamily
    >>> LogNormalFamily().negative_gradient(np.array([[1.0, 1], [1.0, 0]]), np.zeros(2), np.ones(2), 1.0).round(3)
    array([0.   , 0.798])
    """

    def _loss(self, e, event, log_scale):
        return np.where(event, e**2 / 2 + log_scale + np.log(2 * np.pi) / 2, -log_ndtr(-e))

    def _slope(self, e, event):
        # phi(e) / (1 - Phi(e)), by logarithms: both are tiny where e is large.
        rate = np.exp(-(e**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(-e))
        return np.where(event, e, rate)
