"""The compatibility constant of a support, exactly, and directions in its cone with little variance.

``phi^2(S) = min k u'Sigma u / ||u_S||_1^2`` over ``||u_{S^c}||_1 <= a ||u_S||_1``. With the signs of ``u_S`` held, the
cone is the non-negative combinations of ``s_i e_i`` and ``s_i e_i +- a e_j``. The least ``u'Sigma u`` with ``d'u = 1``
over a cone of generators ``G`` is a non-negative least-squares problem: the minimum ``v`` of
``||R G w||^2 + (d'G w - 1)^2`` over ``w >= 0`` is ``m / (1 + m)`` when the least is ``m``.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from fewer.learn.dantzig._design_covariance import sign_patterns

TELLING_APART = 1e-6
"""Size, beside the largest entry of a table, of what is added to it so that its columns are independent."""


def cone_generators(p: int, support: np.ndarray, signs: np.ndarray, a: float) -> np.ndarray:
    """Generators of the cone with these signs on the support, as columns."""
    inside = np.zeros((p, support.size))
    inside[support, np.arange(support.size)] = signs
    others = np.setdiff1d(np.arange(p), support)
    if a == 0 or others.size == 0:
        return inside
    aside = np.zeros((p, others.size))
    aside[others, np.arange(others.size)] = a
    both = [(inside[:, [i]] + turn * aside) for i in range(support.size) for turn in (1.0, -1.0)]
    return np.hstack([inside, *both])


def least_variance(root: np.ndarray, generators: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The ``u`` of a cone with the least ``||R u||^2`` among those with ``direction'u = 1``."""
    table, wanted = _least_squares(root, generators, direction)
    weights = _nonnegative_weights(table, wanted)
    return generators @ weights / (table[-1] @ weights)


def _nonnegative_weights(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Non-negative least squares, also where columns of the table depend on one another."""
    size, most = float(np.abs(table).max()), 30 * table.shape[1]
    weights, _ = nnls(table, wanted, maxiter=most)
    slopes = table.T @ (wanted - table @ weights)
    if slopes.max() <= TELLING_APART * size:
        return weights
    # With dependent columns the solver may end anywhere. These rows tell them apart, and move the least sum of squares
    # by the square of their size.
    apart = TELLING_APART * size * np.eye(table.shape[1])
    return nnls(np.vstack([table, apart]), np.append(wanted, np.zeros(len(apart))), maxiter=most)[0]


def _least_squares(root: np.ndarray, generators: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.vstack([root @ generators, direction @ generators]), np.append(np.zeros(len(root)), 1.0)


class Compatibility(NamedTuple):
    """``phi^2`` as found, the direction that has it, and what ``phi^2`` is certainly not below."""

    phi2: float
    direction: np.ndarray
    certified: float


def compatible_direction(
    root: np.ndarray, support: np.ndarray, signs: np.ndarray, generators: np.ndarray
) -> Compatibility:
    """The compatibility constant with the signs held."""
    functional = np.zeros(root.shape[1])
    functional[support] = signs
    u = least_variance(root, generators, functional)
    found = float(((root @ u) ** 2).sum())
    # Every generator has functional'g = 1, so lowering the last residual makes the residuals of any u a point of the
    # dual program, and its value a bound that does not depend on how well the least squares were solved.
    table, wanted = _least_squares(root, generators, functional)
    residuals = wanted - np.append(root @ u, 1.0) / (1 + found)
    residuals[-1] -= max(float((table.T @ residuals).max()), 0.0)
    below = max(2 * residuals[-1] - float(residuals @ residuals), 0.0)
    return Compatibility(support.size * found, u, support.size * below / (1 - below))


def compatibility(root: np.ndarray, support: np.ndarray, a: float) -> Compatibility:
    """The compatibility constant over all signs."""
    found = [
        compatible_direction(root, support, signs, cone_generators(root.shape[1], support, signs, a))
        for signs in sign_patterns(support.size)
    ]
    best = min(found, key=lambda one: one.phi2)
    return best._replace(certified=min(one.certified for one in found))


def lowered_quotient(root: np.ndarray, generators: np.ndarray, start: np.ndarray, n_most: int = 100) -> np.ndarray:
    """A ``u`` of the cone with a small ``u'Sigma u / u'u``, from a start in the cone downhill.

    ``||u||`` is at least ``u_t'u / ||u_t||``, with equality at ``u_t``; so the least variance along ``u_t`` lowers the
    quotient. Without a cone this is inverse iteration.
    """
    u = start / np.linalg.norm(start)
    value = float(((root @ u) ** 2).sum())
    for _ in range(n_most):
        following = least_variance(root, generators, u)
        following = following / np.linalg.norm(following)
        lower = float(((root @ following) ** 2).sum())
        if not lower < value:
            break
        u, before, value = following, value, lower
        if before - value <= 1e-10 * before:
            break
    return u
