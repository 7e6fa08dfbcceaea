"""Two classes by a quadratic and a linear column, among columns that have nothing to do with them.

``x ~ U[0, 1]^p``, and the class is whether ``x1^2 + 2 x2`` is above its median in the sample.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState


def make_simple_relevance(
    n_samples: int = 300, n_features: int = 9, random_state: "int | RandomState | None" = None
) -> Problem:
    """Two relevant columns, the second with more influence, among irrelevant ones.

    Parameters
    ----------
    n_samples : int, default=300
        Rows.
    n_features : int, default=9
        Columns; the first two are relevant.
    random_state : int, RandomState instance or None, default=None
        Draws the table.

    Returns
    -------
    problem : Problem
        Uniform columns and classes 0 and 1, half of the rows each. ``truth`` holds ``support`` (n_features,), True for
        the relevant columns.

    Examples
    --------
    >>> from fewer.datasets import make_simple_relevance
    >>> X, y, truth = make_simple_relevance(random_state=0)
    >>> X.shape, int(y.sum()), truth["support"].nonzero()[0].tolist()
    ((300, 9), 150, [0, 1])
    """
    from sklearn.utils import check_random_state

    if n_samples < 2 or n_features < 2:
        raise ValueError(f"n_samples={n_samples} and n_features={n_features} must both be at least 2.")
    X = check_random_state(random_state).uniform(size=(n_samples, n_features))
    response = X[:, 0] ** 2 + 2 * X[:, 1]
    y = (response > np.median(response)).astype(int)
    return Problem(X, y, {"support": np.arange(n_features) < 2})
