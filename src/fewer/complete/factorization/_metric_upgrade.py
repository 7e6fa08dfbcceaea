"""From a factorisation of image coordinates to shape and motion: the map that makes the camera's axes orthonormal.

A factorisation ``W = M S`` of points seen from many sides is found up to an invertible map Q. Rows of M are a camera's
axes if ``m_t' Q Q' m_t = n_t' Q Q' n_t = 1`` and ``m_t' Q Q' n_t = 0`` in every frame t: linear equations for ``Q Q'``
[1]_.

.. [1] Tomasi, C. and Kanade, T. (1992). Shape and motion from image streams under orthography: a factorization method.
   International Journal of Computer Vision 9, 137-154.
"""

from typing import NamedTuple

import numpy as np

from fewer._estimators import warn_caller


class MetricUpgrade(NamedTuple):
    """Camera axes and points after the map Q; ``metric`` is False where no map makes the axes orthonormal."""

    motion: np.ndarray
    shape: np.ndarray
    Q: np.ndarray
    metric: bool


def metric_upgrade(motion: np.ndarray, shape: np.ndarray) -> MetricUpgrade:
    """Turn an affine reconstruction of points into one with right angles and lengths.

    Parameters
    ----------
    motion : array-like of shape (2 * n_frames, 3)
        Camera axes up to a map: horizontal ones of all frames, then vertical ones (``scores_`` of an affine
        ``WeightedFactorization`` without their last column).
    shape : array-like of shape (3, n_points)
        Points up to the inverse map (``components_`` without its last row).

    Returns
    -------
    upgrade : MetricUpgrade
        ``motion @ Q``, ``Q^-1 @ shape``, ``Q``, and whether it is metric: where noise leaves no such map, Q is the
        identity and a warning says so. What is left open is a rotation, and whether the points are seen in a mirror.

    References
    ----------
    .. [1] Tomasi, C. and Kanade, T. (1992). Shape and motion from image streams under orthography: a factorization
       method. International Journal of Computer Vision 9, 137-154.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import metric_upgrade
    >>> angles = np.linspace(0, 1, 8)
    >>> across = np.column_stack([np.cos(angles), np.sin(angles) * 0.6, np.sin(angles) * 0.8])
    >>> up = np.column_stack([0 * angles, 0 * angles + 0.8, 0 * angles - 0.6])
    >>> map = np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.1, 0.0, 0.7]])
    >>> points = np.random.default_rng(0).normal(size=(3, 5))
    >>> found = metric_upgrade(np.vstack([across, up]) @ map, np.linalg.inv(map) @ points)
    >>> bool(np.allclose(found.shape.T @ found.shape, points.T @ points))
    True
    """
    motion, shape = np.asarray(motion, dtype=float), np.asarray(shape, dtype=float)
    if motion.ndim != 2 or motion.shape[1] != 3 or len(motion) % 2 or shape.ndim != 2 or len(shape) != 3:
        raise ValueError(
            f"motion must have 3 columns and two rows for each frame, shape 3 rows; they are {motion.shape} and "
            f"{shape.shape}. An affine factorisation has a fourth, the offsets: leave it out."
        )
    if not (np.isfinite(motion).all() and np.isfinite(shape).all()):
        raise ValueError("motion and shape must be complete and finite; fit a completer to the table with holes first.")
    across, up = np.split(motion, 2)
    equations = np.vstack([_products(across, across), _products(up, up), _products(across, up)])
    wanted = np.concatenate([np.ones(len(motion)), np.zeros(len(across))])
    entries = np.linalg.lstsq(equations, wanted)[0]
    upper, lower = np.triu_indices(3)
    square = np.zeros((3, 3))
    square[upper, lower] = entries
    square[lower, upper] = entries
    eigenvalues = np.linalg.eigvalsh(square)
    if not eigenvalues[0] > 1e-9 * abs(eigenvalues[-1]):
        warn_caller(
            "No map makes the camera's axes orthonormal (the points may be seen from too few sides, or with too much "
            "noise): the reconstruction stays affine."
        )
        return MetricUpgrade(motion, shape, np.eye(3), False)
    Q = np.linalg.cholesky(square)
    return MetricUpgrade(motion @ Q, np.linalg.solve(Q, shape), Q, True)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Coefficients of a symmetric matrix's upper triangle in ``a' L b``, one row for each pair (a, b)."""
    upper, lower = np.triu_indices(3)
    both = first[:, upper] * second[:, lower] + first[:, lower] * second[:, upper]
    return np.where(upper == lower, both / 2, both)
