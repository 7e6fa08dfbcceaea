"""Numbers that the restricted eigenvalue is certainly not below.

Vectors of the cone satisfy ``||u||_1^2 <= (1 + a)^2 k ||u||_2^2``. So for every symmetric ``U``

    u'Sigma u >= (lambda_min(Sigma + U) - (1 + a)^2 k max |U_ij|) ||u||_2^2,

of which the smallest eigenvalue (``U = 0``) and the bound by coherence are special cases.
"""

import numpy as np

from fewer.learn.dantzig._design_covariance import coherence

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
