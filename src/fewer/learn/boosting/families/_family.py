"""What a family is: a loss between a target and a prediction f, and all that boosting needs to know about it."""

from typing import Any

import numpy as np


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
        """The target, or an error that says what is wrong with it.

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
