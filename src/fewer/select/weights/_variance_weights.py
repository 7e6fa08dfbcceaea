"""Weights for the columns under which a few directions hold as much variance as possible.

With unit columns m_j and weights a, ``A(a) = sum_j a_j m_j m_j'`` has eigenvalues s_1 >= s_2 >= ..., the variances
along the principal directions of the weighted table. The weights maximise

    s_1^2 + ... + s_k^2    subject to ||a|| = 1.

*Direct*: with all directions the sum is ``a' H a``, where ``H_ij = (m_i' m_j)^2``, and its maximum the leading
eigenvector of H. *Q-alpha*: with k directions Q it is ``a' G a``, where ``G_ij = (m_i' m_j) (m_i' Q Q' m_j)``; Q and a
are improved in turn, and the sum never falls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from fewer.select.weights._leading_eigenvector import leading_eigenvector
from fewer.select.weights._unit_columns import ColumnScale, UnitColumns, correlations, unit_columns

MATRIX_FREE = 2000
"""With more columns than this, and than there are rows, the matrix of squared correlations is not made."""

# Up to here all eigenvectors over the rows take no longer than some Lanczos steps.
_FEW_ROWS = 500

OnStep = Callable[[Callable[[], np.ndarray], float], bool]


class Weighting(NamedTuple):
    """Weights of length one, the objective after each step, and whether it had settled."""

    weights: np.ndarray
    path: list[float]
    converged: bool


def never(weights: Callable[[], np.ndarray], objective: float) -> bool:
    """The step callback that never stops."""
    return False


def eigenvector_tolerance(precision: float) -> float:
    """Residual at which an eigenvector has settled: 2e-12 in double precision, 6e-6 in single."""
    return float(precision**0.75)


def direct_weights(X: Any, scale: ColumnScale, on_step: OnStep = never) -> Weighting:
    """Leading eigenvector of the squared correlations; a step is one product with them."""
    n_rows, n_columns = X.shape
    if n_columns <= max(MATRIX_FREE, n_rows):
        squared = correlations(X, scale)
        squared **= 2
        return _leading_of_squared(lambda vector: squared @ vector, n_columns, np.finfo(X.dtype).eps, on_step)
    return direct_weights_of(unit_columns(X, scale), on_step)


def direct_weights_of(table: UnitColumns, on_step: OnStep = never) -> Weighting:
    """The same without the matrix, by O(p n^2) a product."""
    return _leading_of_squared(table.squared_correlation_product, table.n_columns, table.precision, on_step)


def _leading_of_squared(
    product: Callable[[np.ndarray], np.ndarray], n_columns: int, precision: float, on_step: OnStep
) -> Weighting:
    # The matrix has no negative entry, nor has its leading eigenvector: a positive start cannot miss it.
    start = product(np.ones(n_columns))
    found = leading_eigenvector(product, start, tol=eigenvector_tolerance(precision), on_step=on_step)
    weights = np.maximum(found.vector, 0)  # rounding
    return Weighting(weights / np.linalg.norm(weights), found.path, found.converged)


def principal_directions(table: UnitColumns, weights: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of ``A(a)``, largest first, and their eigenvectors."""
    n_rows = table.n_rows
    if n_rows <= max(_FEW_ROWS, 4 * k):
        gram = table.gram(weights).astype(np.float64, copy=False)
        values, vectors = linalg.eigh(gram, subset_by_index=[n_rows - k, n_rows - 1])
    else:
        operator = LinearOperator(
            (n_rows, n_rows), lambda vector: table.combined(weights * table.along(vector.ravel())), dtype=np.float64
        )
        values, vectors = eigsh(operator, k, which="LA", v0=np.cos(np.arange(n_rows, dtype=float)))
    return values[::-1], vectors[:, ::-1]


def random_directions(table: UnitColumns, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Orthonormal directions over the rows, uniformly drawn."""
    return np.linalg.qr(rng.normal(size=(table.n_rows, k)))[0]


def q_alpha_weights(
    table: UnitColumns,
    directions: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    max_iter: int,
    tol: float,
    on_step: OnStep = never,
) -> Weighting:
    """Weights and directions in turn, from a start for the directions, and where known the weights that gave them."""
    k = directions.shape[1]
    path: list[float] = []
    for _ in range(max_iter):
        weights = weights_for(table, directions, weights)
        variances, directions = principal_directions(table, weights, k)
        path.append(float(np.sum(variances**2)))
        converged = len(path) > 1 and path[-1] - path[-2] <= tol * path[-1]
        stopped = on_step(lambda weights=weights: weights, path[-1])  # type: ignore[misc]
        if converged or stopped:
            break
    assert weights is not None
    return Weighting(weights, path, converged)


def weights_for(table: UnitColumns, directions: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Best weights for given directions Q: the leading eigenvector of G, by O(n p k) a product."""
    along = table.along(directions)

    def product(vector: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", table.along(table.combined(vector[:, None] * along)), along)

    start = np.einsum("ij,ij->i", along, along).astype(np.float64)
    start /= np.linalg.norm(start)
    if weights is not None:
        start += weights
    return leading_eigenvector(product, start, tol=eigenvector_tolerance(table.precision)).vector
