"""Five classes and four columns, of which the one that is worst by itself belongs to the best pair.

Row i of class c is ``x_i = m_c + e_i`` with standard normal noise e. The means of x1 keep all classes apart but the
last two, which x4 alone tells apart; x2 and x3 only repeat what x1 knows.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_MEANS = np.array(
    [
        [0.0, 0.0, 0.0, 0.0],
        [4.0, 0.0, 4.0, 0.0],
        [8.0, 4.0, 4.0, 0.0],
        [12.0, 8.0, 8.0, -2.5],
        [12.0, 8.0, 8.0, 2.5],
    ]
)


def make_five_classes(
    n_per_class: int = 60, noise: float = 1.0, random_state: "int | RandomState | None" = None
) -> Problem:
    """Five classes whose best pair of columns holds the worst single column.

    Parameters
    ----------
    n_per_class : int, default=60
        Rows of each class.
    noise : float, default=1.0
        Standard deviation of every column within a class.
    random_state : int, RandomState instance or None, default=None
        Draws the noise.

    Returns
    -------
    problem : Problem
        Four columns, classes 1 to 5 in order. ``truth`` holds ``means`` (n_classes, n_features) and ``best_pair``, the
        columns (0, 3) that keep all classes apart.

    Examples
    --------
    >>> from fewer.datasets import make_five_classes
    >>> X, y, truth = make_five_classes(random_state=0)
    >>> X.shape, truth["best_pair"]
    ((300, 4), (0, 3))
    """
    from sklearn.utils import check_random_state

    if n_per_class < 1 or noise < 0:
        raise ValueError(f"n_per_class={n_per_class} must be at least 1, and noise={noise} must not be negative.")
    y = np.repeat(np.arange(1, 6), n_per_class)
    X = _MEANS[y - 1] + noise * check_random_state(random_state).normal(size=(len(y), 4))
    return Problem(X, y, {"means": _MEANS.copy(), "best_pair": (0, 3)})
