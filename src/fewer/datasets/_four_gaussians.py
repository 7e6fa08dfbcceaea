"""Two classes of two round normal clouds each, in the plane.

    x | c ~ N(centre_c, 0.04 I),    c one of four, equally likely

The classes overlap, their border is curved, and the best rule is known: an endless supply of data for watching how the
choice of hyper-parameters over-fits.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

CENTRES = np.array([[0.4, 0.7], [-0.3, 0.7], [-0.7, 0.3], [0.3, 0.3]])
CLASSES = np.array([1, 1, -1, -1])
VARIANCE = 0.04
# Integral of the smaller of the two class densities, by the midpoint rule with steps of 0.0005.
BAYES_ERROR = 0.12372


def make_four_gaussians(n_samples: int = 256, random_state: "int | RandomState | None" = None) -> Problem:
    """Rows of the synthetic benchmark for over-fitting in model selection.

    Parameters
    ----------
    n_samples : int, default=256
        Rows.
    random_state : int, RandomState instance or None, default=None
        Draws the cloud of each row, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` holds ``centres`` (those of the class +1 first), ``variance``, ``posterior`` (the
        probability of the class +1 for each row) and ``bayes_error``, the error of the best rule that there is.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> from fewer.datasets import make_four_gaussians
    >>> X, y, truth = make_four_gaussians(n_samples=100_000, random_state=0)
    >>> best_rule = (truth["posterior"] > 0.5) == (y > 0)
    >>> round(1 - float(best_rule.mean()), 2), round(truth["bayes_error"], 4)
    (0.12, 0.1237)
    """
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    clouds = random.randint(len(CENTRES), size=n_samples)
    X = CENTRES[clouds] + np.sqrt(VARIANCE) * random.normal(size=(n_samples, 2))
    truth = {
        "centres": CENTRES.copy(),
        "variance": VARIANCE,
        "posterior": _posterior(X),
        "bayes_error": BAYES_ERROR,
    }
    return Problem(X, CLASSES[clouds], truth)


def _posterior(X: np.ndarray) -> np.ndarray:
    """Probability of the class +1, given the row."""
    squared_distances = ((X[:, None, :] - CENTRES) ** 2).sum(axis=2)
    # Taking off the smallest keeps rows far from all centres from dividing 0 by 0.
    densities = np.exp((squared_distances.min(axis=1, keepdims=True) - squared_distances) / (2 * VARIANCE))
    return densities[:, CLASSES > 0].sum(axis=1) / densities.sum(axis=1)
