"""Friedman's regression function as two classes: an interaction, a parabola and two lines, among irrelevant columns.

``x ~ U[0, 1]^p``, ``r = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + e`` with ``e ~ N(0, noise^2)``, and the
class is whether r is above a threshold.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_friedman_classes(
    n_samples: int = 300,
    n_features: int = 10,
    noise: float = 1.0,
    threshold: float = 14.0,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Two classes by Friedman's function of five columns, among irrelevant ones.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=10
        Columns; the first five are relevant.
    noise : float, default=1.0
        Standard deviation of the noise that is added to the function.
    threshold : float, default=14.0
        Class 1 is above it.
    random_state : int, RandomState instance or None, default=None
        Draws the table and the noise.

    Returns
    -------
    problem : Problem
        Uniform columns and classes 0 and 1. ``truth`` holds ``support`` (n_features,), True for the relevant columns,
        and ``response`` (n_samples,), the function with noise.

    See Also
    --------
    sklearn.datasets.make_friedman1 : The same function for regression.

    Examples
    --------
    >>> from fewer.datasets import make_friedman_classes
    >>> X, y, truth = make_friedman_classes(random_state=0)
    >>> X.shape, truth["support"].nonzero()[0].tolist()
    ((300, 10), [0, 1, 2, 3, 4])
    """
    from sklearn.utils import check_random_state

    if n_samples < 1 or n_features < 5 or noise < 0:
        raise ValueError(
            f"n_samples={n_samples} must be at least 1, n_features={n_features} at least 5, and noise={noise} must not "
            "be negative."
        )
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, n_features))
    response = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    response += noise * rng.normal(size=n_samples)
    return Problem(X, (response > threshold).astype(int), {"support": np.arange(n_features) < 5, "response": response})
