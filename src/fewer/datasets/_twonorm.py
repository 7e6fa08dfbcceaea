"""Two unit normals whose means lie at plus and minus ``(2 / sqrt(20)) (1, ..., 1)`` in 20 dimensions (twonorm).

The best rule is linear and weighs all columns alike, so anything that weighs them differently over-fits.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem
from fewer.datasets._two_gaussians import make_two_gaussians

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_twonorm(
    n_samples: int = 400, n_features: int = 20, random_state: "int | RandomState | None" = None
) -> Problem:
    """Rows of the benchmark twonorm.

    Parameters
    ----------
    n_samples : int, default=400
        Rows.
    n_features : int, default=20
        Columns; the class means are always 4 apart.
    random_state : int, RandomState instance or None, default=None
        Draws the class of each row by a fair coin, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` is that of :func:`make_two_gaussians`: ``mu``, ``ranking`` and ``bayes_error``.

    References
    ----------
    .. [1] Breiman, L. (1996). Bias, variance, and arcing classifiers. Technical report 460, University of California,
       Berkeley.

    Examples
    --------
    >>> from fewer.datasets import make_twonorm
    >>> X, y, truth = make_twonorm(random_state=0)
    >>> X.shape, round(truth["bayes_error"], 4)
    ((400, 20), 0.0228)
    """
    if n_features < 1:
        raise ValueError(f"n_features={n_features}: there must be at least one column.")
    mu = np.full(n_features, 2 / np.sqrt(n_features))
    return make_two_gaussians(n_samples, mu, balanced=False, random_state=random_state)
