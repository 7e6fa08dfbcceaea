"""A table with every column centred and scaled to norm one, and the products with it that the weights need.

With columns ``m_j = (x_j - mean_j) / ||x_j - mean_j||`` the inner products ``m_i' m_j`` are the correlations. A dense
table is copied once, a sparse one stays as it is: the means are taken off the products. A table with more rows than
columns is replaced by a square one with the same inner products, for nothing here depends on more than these.

*Leading eigenvector* of a symmetric matrix that is known by its products with vectors only: Lanczos steps with full
orthogonalisation, restarted from the best vector when the basis is full. Unlike a call of ARPACK it can be stopped
after any product and keeps what it has, and where the largest eigenvalue is shared by several eigenvectors it gives the
projection of the start on them, so the answer does not depend on rounding errors.

*Quadratic forms* ``x_j' K x_j`` of every column j of a sparse table go over its stored entries only. That takes ``sum_j
nnz_j^2`` steps. Going through the dense product K X would take ``n nnz``, with room for K X.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit
from scipy import sparse
from scipy.linalg import eigh_tridiagonal
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

_BLOCK = 2**21
"""Entries of a temporary array: 16 MB in double precision."""


def is_small(X: Any) -> bool:
    """Whether the table has so few entries that products with it are as fast on one thread as on several."""
    return X.shape[0] * X.shape[1] <= 2**19


class ColumnScale(NamedTuple):
    """Mean of each column, norm of what is left without it (0 when constant), and which columns vary."""

    mean: np.ndarray
    norm: np.ndarray
    varies: np.ndarray


class UnitColumns(Protocol):
    """A table M whose columns have mean zero and norm one."""

    n_rows: int
    n_columns: int
    precision: float

    def along(self, directions: np.ndarray) -> np.ndarray:
        """``M' Q``: every column along directions in the space of rows."""

    def combined(self, coefficients: np.ndarray) -> np.ndarray:
        """``M B``: combinations of the columns."""

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``M diag(w) M'``, a square matrix over the rows."""

    def squared_correlation_product(self, vector: np.ndarray) -> np.ndarray:
        """``(M'M)^.2 v``, where the square is taken entry by entry, without that matrix."""


def column_scale(X: Any) -> ColumnScale:
    """Means and norms of the columns, without a copy of the table."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        mean, variance = (np.asarray(part, dtype=np.float64) for part in mean_variance_axis(X, axis=0))
        lowest, highest = min_max_axis(X, axis=0)
        norm = np.sqrt(variance * n_rows)
    else:
        lowest, highest = X.min(axis=0), X.max(axis=0)
        width = highest.astype(np.float64) - lowest
        width[width == 0] = 1
        mean = X.mean(axis=0, dtype=np.float64)
        squares = np.zeros(n_columns)
        for rows in blocks(n_rows, n_columns):
            part = (X[rows] - mean) / width  # divided first, so that the square of a huge number is none
            squares += np.einsum("ij,ij->j", part, part)
        norm = width * np.sqrt(squares)
    varies = (highest != lowest) & (norm > 0)
    return ColumnScale(mean, np.where(varies, norm, 0.0), varies)


def varying_part(X: Any, scale: ColumnScale) -> tuple[Any, ColumnScale]:
    """The table without its constant columns."""
    if scale.varies.all():
        return X, scale
    return X[:, scale.varies], ColumnScale(*(part[scale.varies] for part in scale))


def correlations(X: Any, scale: ColumnScale) -> np.ndarray:
    """Correlation matrix of columns that all vary, in double precision and without a copy of the table."""
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        products = (X.T @ X).toarray().astype(np.float64) - n_rows * np.outer(scale.mean, scale.mean)
        products /= np.outer(scale.norm, scale.norm)
    else:
        products = np.zeros((n_columns, n_columns))
        for rows in blocks(n_rows, n_columns):
            part = (X[rows] - scale.mean) / scale.norm
            products += part.T @ part
    np.fill_diagonal(products, 1.0)
    return products


def unit_columns(X: Any, scale: ColumnScale) -> UnitColumns:
    """The table of unit columns, with no more rows than columns."""
    n_rows, n_columns = X.shape
    if n_rows > n_columns:
        return DenseUnitColumns(symmetric_root(correlations(X, scale)), np.finfo(X.dtype).eps)
    if sparse.issparse(X):
        return SparseUnitColumns(X, scale)
    return DenseUnitColumns(scaled(X, scale))


def scaled(X: np.ndarray, scale: ColumnScale) -> np.ndarray:
    """The unit columns themselves, in the table's own precision."""
    columns = X - scale.mean.astype(X.dtype)
    columns /= scale.norm.astype(X.dtype)
    if X.dtype != np.float64:  # the rounded mean leaves a rest, which counts where the mean is large
        columns -= columns.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return columns


def symmetric_root(matrix: np.ndarray) -> np.ndarray:
    """The square R with ``R'R`` equal to a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


class DenseUnitColumns:
    """Unit columns as an array."""

    def __init__(self, columns: np.ndarray, precision: float | None = None):
        self.columns = columns
        self.n_rows, self.n_columns = columns.shape
        self.precision = float(np.finfo(columns.dtype).eps if precision is None else precision)

    def along(self, directions: np.ndarray) -> np.ndarray:
        return self.columns.T @ directions.astype(self.columns.dtype, copy=False)

    def combined(self, coefficients: np.ndarray) -> np.ndarray:
        return self.columns @ coefficients.astype(self.columns.dtype, copy=False)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        weights = weights.astype(self.columns.dtype, copy=False)
        total = np.zeros((self.n_rows, self.n_rows), dtype=self.columns.dtype)
        for block in blocks(self.n_columns, self.n_rows):
            part = self.columns[:, block]
            total += (part * weights[block]) @ part.T
        return total

    def squared_correlation_product(self, vector: np.ndarray) -> np.ndarray:
        gram = self.gram(vector)
        forms = np.empty(self.n_columns)
        for block in blocks(self.n_columns, self.n_rows):
            part = self.columns[:, block]
            forms[block] = np.einsum("ij,ij->j", part, gram @ part)
        return forms


class SparseUnitColumns:
    """Unit columns of a sparse table, never made."""

    def __init__(self, X: Any, scale: ColumnScale):
        self.by_columns = X.tocsc()
        self.by_rows = X.tocsr()
        self.mean, self.norm = scale.mean, scale.norm
        self.n_rows, self.n_columns = X.shape
        self.precision = float(np.finfo(X.dtype).eps)

    def along(self, directions: np.ndarray) -> np.ndarray:
        sums = directions.sum(axis=0)
        return ((self.by_columns.T @ directions).T - np.multiply.outer(sums, self.mean)).T / _like(
            self.norm, directions
        )

    def combined(self, coefficients: np.ndarray) -> np.ndarray:
        coefficients = coefficients / _like(self.norm, coefficients)
        return self.by_rows @ coefficients - self.mean @ coefficients

    def gram(self, weights: np.ndarray) -> np.ndarray:
        return np.concatenate([part for _, part in self._gram_rows(weights)])

    def squared_correlation_product(self, vector: np.ndarray) -> np.ndarray:
        forms = np.zeros(self.n_columns)
        whole = self.by_columns
        for rows, rows_of_gram in self._gram_rows(vector):
            # The rows and columns of the matrix sum to zero, so the means need not be taken off the table again.
            part = self.by_rows[rows].tocsc()
            add_quadratic_forms(
                part.indptr, part.indices, part.data, whole.indptr, whole.indices, whole.data, rows_of_gram, forms
            )
        return forms / self.norm**2

    def _gram_rows(self, weights: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of ``M diag(w) M'``, some at a time, and which they are."""
        scaled_weights = weights / self.norm**2
        sums = self.by_rows @ (scaled_weights * np.asarray(self.by_columns.sum(axis=0)).ravel()) / self.n_rows
        weighted = self.by_rows @ sparse.diags_array(scaled_weights)
        for rows in blocks(self.n_rows, self.n_rows):
            part = (weighted[rows] @ self.by_columns.T).toarray()
            part -= sums[rows, None]
            part -= sums - sums.mean()
            yield rows, part


def blocks(length: int, other_length: int) -> Iterator[slice]:
    """Slices of one side of a table whose other side is ``other_length``, each of a bounded number of entries."""
    return gen_batches(length, max(1, _BLOCK // max(other_length, 1)))


def _like(scale: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One number for each column, in the shape that divides a vector or a matrix over the columns."""
    return scale if values.ndim == 1 else scale[:, None]


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


@njit(cache=True, nogil=True)
def add_quadratic_forms(
    part_indptr: np.ndarray,
    part_indices: np.ndarray,
    part_data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    rows_of_k: np.ndarray,
    forms: np.ndarray,
) -> None:
    """Add to ``forms`` what some rows of K contribute.

    The table comes by columns (CSC) twice: only the rows at hand, counted from the first of them, and whole.
    """
    for column in range(len(indptr) - 1):
        total = 0.0
        for left in range(part_indptr[column], part_indptr[column + 1]):
            row = rows_of_k[part_indices[left]]
            inner = 0.0
            for right in range(indptr[column], indptr[column + 1]):
                inner += row[indices[right]] * data[right]
            total += part_data[left] * inner
        forms[column] += total
