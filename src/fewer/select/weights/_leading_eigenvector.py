"""Leading eigenvector of a symmetric matrix that is known by its products with vectors only.

Lanczos steps with full orthogonalisation, restarted from the best vector when the basis is full. Unlike a call of
ARPACK it can be stopped after any product and keeps what it has, and where the largest eigenvalue is shared by several
eigenvectors it gives the projection of the start on them, so the answer does not depend on rounding errors.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

_BASIS = 40
"""Vectors kept for orthogonalisation; with 100,000 columns they take 32 MB."""


class Leading(NamedTuple):
    """Unit eigenvector, eigenvalue, the eigenvalue as it was seen after each product, and whether it had settled."""

    vector: np.ndarray
    value: float
    path: list[float]
    converged: bool


def leading_eigenvector(
    product: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    tol: float,
    max_products: int = 1000,
    on_step: Callable[[Callable[[], np.ndarray], float], bool] = lambda vector, value: False,
) -> Leading:
    """Eigenvector of the largest eigenvalue, from a start that is not orthogonal to it.

    Settled means a residual below ``tol`` of the eigenvalue. ``on_step`` is called after each product with a function
    that gives the vector so far, and the eigenvalue so far; it may return True to stop and keep them.
    """
    vector = start / np.linalg.norm(start)
    path: list[float] = []
    while True:
        basis = np.empty((min(_BASIS, len(start)), len(start)))
        diagonal, off_diagonal = np.empty(len(basis)), np.empty(len(basis))
        basis[0] = vector
        for step in range(len(basis)):
            known = basis[: step + 1]
            image = np.asarray(product(basis[step]), dtype=np.float64)
            diagonal[step] = basis[step] @ image
            for _ in range(2):  # once leaves rounding errors that bring back copies of eigenvalues
                image -= (known @ image) @ known
            off_diagonal[step] = np.linalg.norm(image)
            value, mixture = _top_of_tridiagonal(diagonal[: step + 1], off_diagonal[:step])
            path.append(value)
            converged = bool(off_diagonal[step] * abs(mixture[-1]) <= tol * abs(value))
            stopped = on_step(lambda mixture=mixture, known=known: _unit(mixture @ known), value)  # type: ignore[misc]
            if converged or stopped or len(path) == max_products:
                return Leading(_unit(mixture @ known), value, path, converged)
            if step + 1 < len(basis):
                basis[step + 1] = image / off_diagonal[step]
        vector = _unit(mixture @ known)


def _top_of_tridiagonal(diagonal: np.ndarray, off_diagonal: np.ndarray) -> tuple[float, np.ndarray]:
    last = len(diagonal) - 1
    values, vectors = eigh_tridiagonal(diagonal, off_diagonal, select="i", select_range=(last, last))
    return float(values[0]), vectors[:, 0]


def _unit(vector: np.ndarray) -> np.ndarray:
    """At length one, and with the sign that makes the sum positive."""
    return vector / (np.linalg.norm(vector) * (-1.0 if vector.sum() < 0 else 1.0))
