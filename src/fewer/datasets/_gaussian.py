"""Draws from a normal distribution with a known covariance: ``x = m + V diag(sqrt(l)) z``.

``V`` holds the eigenvectors of the covariance, ``l`` its eigenvalues, and ``z`` is standard normal. Principal component
analysis should recover ``V`` and ``l``.
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


def make_gaussian(
    n_samples: int = 1000,
    mean: "ArrayLike" = (0.0, 5.0, 2.0),
    covariance: "ArrayLike" = ((25.0, -1.0, 7.0), (-1.0, 4.0, -4.0), (7.0, -4.0, 10.0)),
    random_state: "int | RandomState | None" = None,
) -> Problem:
    """Rows from one normal distribution, with its principal directions.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    mean : array-like of shape (n_features,), default=(0, 5, 2)
        Mean of the distribution.
    covariance : array-like of shape (n_features, n_features)
        Its covariance, symmetric and with no negative eigenvalue. The default has the eigenvalues 28.0, 9.26 and 1.74.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        No target. ``truth`` holds ``mean``, ``covariance``, ``eigenvalues`` (largest first) and ``directions``, one row
        for each eigenvalue as in ``components_`` of scikit-learn's PCA, its largest entry in absolute value positive.

    Examples
    --------
    >>> from fewer.datasets import make_gaussian
    >>> X, y, truth = make_gaussian(n_samples=100_000, random_state=0)
    >>> truth["eigenvalues"].round(3)
    array([28.004,  9.261,  1.735])
    >>> X.var(axis=0).round(0)
    array([25.,  4., 10.])
    """
    from sklearn.utils import check_random_state

    mean = np.asarray(mean, dtype=float)
    covariance = np.asarray(covariance, dtype=float)
    if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
        raise ValueError(
            f"covariance of shape {covariance.shape} does not go with a mean of shape {mean.shape}: p means need p x p."
        )
    if not np.allclose(covariance, covariance.T):
        raise ValueError("covariance must be symmetric; (covariance + covariance.T) / 2 is.")
    eigenvalues, directions = _eigen(covariance)
    rounding = len(mean) * np.finfo(float).eps * max(eigenvalues[0], 0.0)
    if eigenvalues[-1] < -rounding:
        raise ValueError(f"covariance has the negative eigenvalue {eigenvalues[-1]:.3g}, so no distribution has it.")
    # Rounding leaves an eigenvalue of 0 on either side of it, and the root of 1e-16 is 1e-8.
    eigenvalues = np.where(eigenvalues > rounding, eigenvalues, 0.0)
    standard = check_random_state(random_state).normal(size=(n_samples, len(mean)))
    truth = {"mean": mean, "covariance": covariance, "eigenvalues": eigenvalues, "directions": directions}
    return Problem(mean + (standard * np.sqrt(eigenvalues)) @ directions, None, truth)


def _eigen(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, largest first, and eigenvectors as rows with a fixed sign."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    directions = vectors.T[::-1]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return eigenvalues[::-1], directions * np.sign(largest)
