"""Two spherical normal classes: ``x | y ~ N(y mu, I)`` with ``y`` in {-1, +1}, both equally likely.

``|mu_j|`` says how much column j tells about the class. With few rows, columns that tell little do harm even though
they are independent of each other and none is pure noise. No rule errs less than ``Phi(-||mu||)``.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


def make_two_gaussians(
    n_samples: int = 100,
    mu: "ArrayLike | None" = None,
    balanced: bool = True,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows of two normal classes that differ in their means alone.

    Parameters
    ----------
    n_samples : int, default=100
        Rows, at least 2.
    mu : array-like of shape (n_features,), default=None
        Mean of the class +1; that of the class -1 is ``-mu``. By default ``mu_j = 1 / j`` for 1,000 columns.
    balanced : bool, default=True
        Whether both classes have ``n_samples / 2`` rows, up to one. Otherwise each row's class is a fair coin.
    random_state : int, RandomState instance or None, default=None
        Draws the order of the classes, then the rows.

    Returns
    -------
    problem : Problem
        ``y`` is -1 or +1. ``truth`` holds ``mu``, ``ranking`` (1 is the column with the largest ``|mu_j|``) and
        ``bayes_error``, the error of the best rule that there is.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> from fewer.datasets import make_two_gaussians
    >>> X, y, truth = make_two_gaussians(n_samples=50, mu=[1.0, 0.5, 0.0], random_state=0)
    >>> X.shape, int(y.sum())
    ((50, 3), 0)
    >>> round(truth["bayes_error"], 4)
    0.1318
    """
    from scipy.special import ndtr
    from sklearn.utils import check_random_state

    mu = 1 / np.arange(1.0, 1001.0) if mu is None else np.asarray(mu, dtype=float)
    if mu.ndim != 1 or mu.size == 0 or not np.isfinite(mu).all():
        raise ValueError(f"mu of shape {mu.shape} must be one finite number for each column.")
    if n_samples < 2:
        raise ValueError(f"n_samples={n_samples} rows cannot hold two classes; ask for 2 or more.")
    random = check_random_state(random_state)
    if balanced:
        y = random.permutation(np.where(np.arange(n_samples) % 2, -1, 1))
    else:
        y = random.choice([-1, 1], size=n_samples)
    X = random.normal(size=(n_samples, mu.size))
    X += y[:, None] * mu
    ranking = np.empty(mu.size, dtype=int)
    ranking[np.argsort(-np.abs(mu), kind="stable")] = np.arange(1, mu.size + 1)
    return Problem(X, y, {"mu": mu, "ranking": ranking, "bayes_error": float(ndtr(-np.linalg.norm(mu)))})
