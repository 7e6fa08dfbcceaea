"""The compatibility constant of a support, exactly, and directions in its cone with little variance.

``phi^2(S) = min k u'Sigma u / ||u_S||_1^2`` over ``||u_{S^c}||_1 <= a ||u_S||_1``. With the signs of ``u_S`` held, the
cone is the non-negative combinations of ``s_i e_i`` and ``s_i e_i +- a e_j``. The least ``u'Sigma u`` with ``d'u = 1``
over a cone of generators ``G`` is a non-negative least-squares problem: the minimum ``v`` of
``||R G w||^2 + (d'G w - 1)^2`` over ``w >= 0`` is ``m / (1 + m)`` when the least is ``m``.
"""

import numpy as np
from scipy.optimize import nnls

from fewer.learn.dantzig._design_covariance import sign_patterns


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
    images = root @ generators
    along = direction @ generators
    weights, _ = nnls(
        np.vstack([images, along]), np.append(np.zeros(len(images)), 1.0), maxiter=30 * generators.shape[1]
    )
    total = along @ weights
    return generators @ weights / total


def compatible_direction(
    root: np.ndarray, support: np.ndarray, signs: np.ndarray, generators: np.ndarray
) -> tuple[float, np.ndarray]:
    """``phi^2`` with the signs held, and the direction that has it."""
    functional = np.zeros(root.shape[1])
    functional[support] = signs
    u = least_variance(root, generators, functional)
    return support.size * float(((root @ u) ** 2).sum()), u


def compatibility(root: np.ndarray, support: np.ndarray, a: float) -> tuple[float, np.ndarray]:
    """``phi^2(S)`` over all signs, and the direction that has it."""
    found = (
        compatible_direction(root, support, signs, cone_generators(root.shape[1], support, signs, a))
        for signs in sign_patterns(support.size)
    )
    return min(found, key=lambda pair: pair[0])


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
