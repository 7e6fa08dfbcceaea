"""Normal rows whose columns are correlated, ``x ~ N(0, Sigma)``, of the kinds that theory speaks about.

Toeplitz: ``Sigma_ij = a^|i - j|``. Spiked identity: ``Sigma = (1 - a) I + a 11'``. Degenerate: rows from the covariance
of a first sample, whose rank is at most the number of its rows.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import toeplitz

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


def make_gaussian_design(
    n_samples: int = 100,
    n_features: int = 200,
    cov: "str | ArrayLike" = "toeplitz",
    a: float = 0.5,
    *,
    degenerate: bool = False,
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows from a normal distribution with correlated columns.

    Parameters
    ----------
    n_samples : int, default=100
        Rows.
    n_features : int, default=200
        Columns.
    cov : {"toeplitz", "spiked", "identity"} or array-like of shape (n_features, n_features), default="toeplitz"
        Covariance of the columns: correlations that die off with the distance, the same between any two, none, or a
        matrix of your own.
    a : float, default=0.5
        Correlation of neighbours ("toeplitz", between -1 and 1), or of any two ("spiked", from 0 to below 1).
    degenerate : bool, default=False
        Draw ``n_samples`` rows first and use their covariance, whose rank is at most ``n_samples``, for those returned.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``covariance``, that of the distribution which the rows are from.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian_design
    >>> make_gaussian_design(50, 4, "spiked", a=0.3, random_state=0).truth["covariance"]
    array([[1. , 0.3, 0.3, 0.3],
           [0.3, 1. , 0.3, 0.3],
           [0.3, 0.3, 1. , 0.3],
           [0.3, 0.3, 0.3, 1. ]])
    """
    from sklearn.utils import check_random_state

    draws = check_random_state(random_state)
    covariance = _covariance(cov, n_features, a)
    if degenerate:
        first = _rows(covariance, n_samples, draws)
        covariance = first.T @ first / n_samples
    return Problem(_rows(covariance, n_samples, draws), None, {"covariance": covariance})


def _covariance(cov: "str | ArrayLike", n_features: int, a: float) -> np.ndarray:
    if not isinstance(cov, str):
        given = np.asarray(cov, dtype=float)
        if given.shape != (n_features, n_features) or not np.allclose(given, given.T):
            raise ValueError(
                f"cov of shape {given.shape} must be symmetric, {n_features} x {n_features} as n_features says."
            )
        return given
    if cov == "identity":
        return np.eye(n_features)
    if cov == "toeplitz":
        if not -1 < a < 1:
            raise ValueError(f"a={a}: a correlation of neighbours lies between -1 and 1.")
        return toeplitz(float(a) ** np.arange(n_features))
    if cov == "spiked":
        if not 0 <= a < 1:
            raise ValueError(f"a={a}: a correlation that any two of many columns share lies from 0 to below 1.")
        return (1 - a) * np.eye(n_features) + a
    raise ValueError(f"cov={cov!r} is not known; choose 'toeplitz', 'spiked', 'identity', or give a matrix.")


def _rows(covariance: np.ndarray, n_samples: int, draws) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(covariance)
    if eigenvalues[0] < -1e-10 * max(eigenvalues[-1], 0.0):
        raise ValueError(f"cov has the negative eigenvalue {eigenvalues[0]:.3g}, so no distribution has it.")
    # Rounding leaves an eigenvalue of 0 on either side of it, and the root of 1e-16 is 1e-8.
    rounding = len(covariance) * np.finfo(float).eps * eigenvalues[-1]
    root = vectors * np.sqrt(np.where(eigenvalues > rounding, eigenvalues, 0.0))
    return draws.normal(size=(n_samples, len(covariance))) @ root.T
