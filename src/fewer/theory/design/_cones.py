"""The mathematics of design certificates: covariances, compatibility constants and bounds of restricted eigenvalues.

The compatibility constant of a support is computed exactly, with directions in its cone with little variance:
``phi^2(S) = min k u'Sigma u / ||u_S||_1^2`` over ``||u_{S^c}||_1 <= a ||u_S||_1``. With the signs of ``u_S`` held, the
cone is the non-negative combinations of ``s_i e_i`` and ``s_i e_i +- a e_j``. The least ``u'Sigma u`` with ``d'u = 1``
over a cone of generators ``G`` is a non-negative least-squares problem: the minimum ``v`` of
``||R G w||^2 + (d'G w - 1)^2`` over ``w >= 0`` is ``m / (1 + m)`` when the least is ``m``.

Lower bounds of the restricted eigenvalue: vectors of the cone satisfy ``||u||_1^2 <= (1 + a)^2 k ||u||_2^2``. So for
every symmetric ``U``

    u'Sigma u >= (lambda_min(Sigma + U) - (1 + a)^2 k max |U_ij|) ||u||_2^2,

of which the smallest eigenvalue (``U = 0``) and the bound by coherence are special cases.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from fewer._estimators import checked_array, get_feature_names
from fewer._kernels._cone_factors import MOST_PATTERNS, coherence


def scaled_design(X: Any, who: str) -> np.ndarray:
    """The table with columns of mean square 1; a column of zeros stays."""
    X = checked_array(X, who, accept_sparse=("csr", "csc"), dtype=np.float64)
    dense = X.toarray() if sparse.issparse(X) else X
    sizes = np.sqrt((dense**2).mean(axis=0))
    return dense / np.where(sizes > 0, sizes, 1.0)


def covariance_of(X: Any, who: str, precomputed: bool) -> np.ndarray:
    """``X'X / n`` after scaling the columns to mean square 1; a matrix that is given stays as it is."""
    if not precomputed:
        scaled = scaled_design(X, who)
        return scaled.T @ scaled / len(scaled)
    sigma = checked_array(X, who, dtype=np.float64)
    if sigma.shape[0] != sigma.shape[1] or not np.allclose(sigma, sigma.T):
        raise ValueError(f"{who} got precomputed=True, so X must be a symmetric matrix; its shape is {sigma.shape}.")
    return sigma


def refuse_many_patterns(k: int, who: str) -> None:
    """Exact answers double with each column of the support."""
    if k > MOST_PATTERNS:
        raise ValueError(
            f"{who} tries all {2 ** (k - 1):,} sign patterns of {k} columns for an exact answer, which is too many; "
            f"up to {MOST_PATTERNS} columns are possible."
        )


def sign_patterns(k: int) -> Iterator[np.ndarray]:
    """Signs of k numbers up to a change of all; the first is positive."""
    for rest in product((1.0, -1.0), repeat=k - 1):
        yield np.array((1.0, *rest))


def root_of(sigma: np.ndarray) -> np.ndarray:
    """``R`` with ``R'R = Sigma``, without the directions that have nothing in them."""
    eigenvalues, vectors = np.linalg.eigh(sigma)
    there = eigenvalues > 1e-12 * max(eigenvalues[-1], 0.0)
    return (vectors[:, there] * np.sqrt(eigenvalues[there])).T


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


# The search for U takes eigenvectors of all columns some hundred times.
_MANY_COLUMNS = 120


def eigenvalue_lower_bound(
    sigma: np.ndarray, support: np.ndarray | None, k: int | None, a: float, phi2: float | None = None
) -> float:
    """The best certified lower bound of ``gamma^2``, of a support or of order k; not below 0.

    ``phi2`` is a certified lower bound of the compatibility constant of the support.
    """
    size = support.size if support is not None else int(k or 1)
    width = (1 + a) ** 2 * size
    bounds = [0.0, float(np.linalg.eigvalsh(sigma)[0])]
    mu = coherence(sigma)
    bounds.append(float(np.diag(sigma).min()) + mu - mu * width)
    if phi2 is not None:
        # ||u||_2^2 <= ||u_S||_1^2 + a^2 ||u_S||_1^2.
        bounds.append(phi2 / (size * (1 + a**2)))
    if len(sigma) <= _MANY_COLUMNS:
        bounds.append(semidefinite_bound(sigma, width))
    return max(bounds)


def semidefinite_bound(sigma: np.ndarray, width: float, n_steps: int = 150, n_sizes: int = 7) -> float:
    """``max_U lambda_min(Sigma + U) - width max |U_ij|``, as far as a search gets; every ``U`` is a certificate."""
    eigenvalues, vectors = np.linalg.eigh(sigma)
    best = float(eigenvalues[0])
    largest = coherence(sigma)
    if largest == 0 or np.abs(vectors[:, 0]).sum() ** 2 <= width:
        return best  # the slope of the bound at U = 0 points downhill
    low, high = np.log(1e-4 * largest), np.log(largest)
    for _ in range(n_sizes):
        middle = (low + high) / 2
        value, spread = _ascent(sigma, float(np.exp(middle)), width, n_steps)
        best = max(best, value)
        # The slope in the size of U: the absolute entries of the optimal density matrix against the width.
        low, high = (middle, high) if spread > width else (low, middle)
    return best


def _ascent(sigma: np.ndarray, size: float, width: float, n_steps: int) -> tuple[float, float]:
    """The best bound with ``|U_ij| <= size``, and the sum of absolute entries of the last density matrix."""
    sharpness = 30 / size
    U = ahead = np.zeros_like(sigma)
    best, momentum, spread = -np.inf, 1.0, 0.0
    for _ in range(n_steps):
        eigenvalues, vectors = np.linalg.eigh(sigma + ahead)
        best = max(best, float(eigenvalues[0]) - width * float(np.abs(ahead).max()))
        weights = np.exp(-sharpness * (eigenvalues - eigenvalues[0]))
        density = (vectors * (weights / weights.sum())) @ vectors.T
        spread = float(np.abs(density).sum())
        following = np.clip(ahead + density / sharpness, -size, size)
        quicker = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = np.clip(following + (momentum - 1) / quicker * (following - U), -size, size)
        U, momentum = following, quicker
    return best, spread


def column_positions(columns: Any, X: Any, who: str) -> np.ndarray:
    """Positions of some columns of a table, in the order in which they are given.

    >>> column_positions([True, False, True], np.eye(3), "anyone")
    array([0, 2])
    """
    n_columns = np.shape(X)[1]
    given = np.atleast_1d(columns)
    if given.dtype == bool and given.shape == (n_columns,):
        positions = np.flatnonzero(given)
    elif given.dtype.kind in "OUT" and given.size > 0:
        positions = np.array([_position(name, get_feature_names(X), who) for name in given.tolist()])
    else:
        positions = given
    if not _are_positions(positions, n_columns):
        raise ValueError(
            f"{who} needs different columns, by their positions from 0 to {n_columns - 1}, by their names or by a mask "
            f"of length {n_columns}; got {columns}."
        )
    return positions.astype(int)


def sorted_positions(columns: Any, X: Any, who: str) -> np.ndarray:
    """Positions of some columns of a table, in the order of the table."""
    return np.sort(column_positions(columns, X, who))


def _are_positions(found: np.ndarray, n_columns: int) -> bool:
    whole = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iuf" and bool(np.all(found == np.round(found)))
    return whole and found.min() >= 0 and found.max() < n_columns and np.unique(found).size == found.size


def _position(name: Any, names: np.ndarray | None, who: str) -> int:
    if names is None:
        raise ValueError(
            f"{who} got the column name {name!r}, and the table has no names; pass a data frame, or its position."
        )
    if name in names:
        return int(np.flatnonzero(names == name)[0])
    close = get_close_matches(str(name), list(names), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{who} got the column name {name!r}, which the table does not have.{hint}")
