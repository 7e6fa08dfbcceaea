"""Axes that several covariances have in common, as nearly as can be.

An orthogonal U is sought that minimises

    sum_k n_k log( det diag(U'S_k U) / det(U'S_k U) ),

which is zero if all S_k are diagonal in it [1]_. Sweeps turn one pair of axes after the other and never raise it.

References
----------
.. [1] Flury, B. N. and Gautschi, W. (1986). An algorithm for simultaneous orthogonal transformation of several positive
   definite symmetric matrices to nearly diagonal form. SIAM Journal on Scientific and Statistical Computing 7, 169-184.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from fewer._kernels._common_axes import sweep_of_turns


class CommonAxes(NamedTuple):
    """Axes as columns, variances along them (classes, axes), the objective, and the largest turn of the last sweep."""

    axes: np.ndarray
    variances: np.ndarray
    objective: float
    turn: float


def common_axes(covariances: np.ndarray, counts: np.ndarray, tol: float, max_iter: int) -> Iterator[CommonAxes]:
    """What each sweep leads to, from the axes of the pooled covariance on, until no pair turns by more than ``tol``."""
    weights = counts.astype(np.float64)
    start = linalg.eigh(np.tensordot(weights / weights.sum(), covariances, axes=1), check_finite=False)[1]
    axes = np.ascontiguousarray(start)
    matrices = np.ascontiguousarray(axes.T @ covariances @ axes)
    log_determinants = np.linalg.slogdet(covariances)[1]
    for _ in range(max_iter):
        turn = sweep_of_turns(matrices, axes, weights)
        variances = np.einsum("kii->ki", matrices)
        objective = float(weights @ (np.log(variances).sum(axis=1) - log_determinants))
        yield CommonAxes(axes.copy(), variances.copy(), objective, turn)
        if turn <= tol:
            return
