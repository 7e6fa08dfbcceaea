"""Linear algebra at the observed entries of a table, on dense and on sparse ones alike.

A completion method needs few things of its table: values of a low-rank model at the observed entries, and products of
the residual there (a matrix that is zero where entries are missing) with thin matrices. Both classes keep numbers at
the observed entries as an array, ``values`` for those of the table itself: the whole table with zeros for missing
entries, or one number for each stored entry. Sums of such arrays, scaled, are plain numpy either way.

Kernels walk over entries that lie row by row (``indptr``, ``indices``, as in CSR; the columns of CSC serve as the rows
of the transpose), with no copy of what is summed. Each works on the rows from ``start`` to ``stop``, so that threads
can share the table.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.utils import gen_batches

from fewer._kernels._arrays import copy_into, in_threads
from fewer._kernels._numpy_lapack import largest_eigh, solve_spd
from fewer._kernels._scipy_solvers import svds
from fewer.complete._observed import Observed


@njit(cache=True, nogil=True)
def sum_stored(
    start: int, stop: int, indptr: np.ndarray, indices: np.ndarray, vectors: np.ndarray, sums: np.ndarray
) -> None:
    """Sum of the vectors of the columns that a row has stored."""
    width = vectors.shape[1]
    for row in range(start, stop):
        for k in range(width):
            sums[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            vector = vectors[indices[place]]
            for k in range(width):
                sums[row, k] += vector[k]


@njit(cache=True, nogil=True)
def multiply_stored(
    start: int,
    stop: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    vectors: np.ndarray,
    products: np.ndarray,
) -> None:
    """The table times a thin matrix."""
    width = vectors.shape[1]
    for row in range(start, stop):
        for k in range(width):
            products[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            vector = vectors[indices[place]]
            value = data[place]
            for k in range(width):
                products[row, k] += value * vector[k]


@njit(cache=True, nogil=True)
def sum_residuals(
    start: int,
    stop: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    own: np.ndarray,
    others: np.ndarray,
    own_offset: np.ndarray,
    other_offset: np.ndarray,
    weighted: np.ndarray,
    totals: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Residuals of a low-rank model at the stored entries: their sums, squared and times the other side's vectors."""
    width = own.shape[1]
    for row in range(start, stop):
        total = 0.0
        square = 0.0
        for k in range(width):
            weighted[row, k] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            residual = data[place] - own_offset[row] - other_offset[column]
            for k in range(width):
                residual -= own[row, k] * others[column, k]
            total += residual
            square += residual * residual
            for k in range(width):
                weighted[row, k] += residual * others[column, k]
        totals[row] = total
        squares[row] = square


_REORDERED = {"reassoc", "contract"}  # lets sums be vectorised; NaN and infinity keep their meaning


_AT_ONCE = 256


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_low_rank_values(start, stop, indptr, indices, left, right, out):
    """``out[e] = left[i] . right[j]`` at every entry e = (i, j)."""
    for i in range(start, stop):
        own = left[i]
        for e in range(indptr[i], indptr[i + 1]):
            other = right[indices[e]]
            total = own[0] * other[0]
            for k in range(1, own.shape[0]):
                total += own[k] * other[k]
            out[e] = total


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_reordered_products(start, stop, indptr, indices, order, values, thin, out):
    """``out[i] = sum of values[order[e]] * thin[j]``: the values lie in another order, that of the transposed table."""
    for i in range(start, stop):
        sums = out[i]
        sums[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            value = values[order[e]]
            other = thin[indices[e]]
            for k in range(sums.shape[0]):
                sums[k] += value * other[k]


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def fill_ridge_rows(start, stop, indptr, indices, order, values, thin, penalties, out):
    """``out[i]`` minimises the squared error at row i's entries, plus ``sum penalties * out[i]**2``; 0 without entries.

    ``order`` is empty where the values lie in the order of the entries. Penalties must make each system positive
    definite: that is left to the caller.
    """
    rank = thin.shape[1]
    gram = np.empty((rank, rank))
    product = np.empty((rank, rank))
    right = np.empty(rank)
    # Vectors are gathered, some at a time, so that the Gram matrix is a product of matrices and not a sum of small
    # ones.
    gathered = np.empty((_AT_ONCE, rank))
    reordered = order.shape[0] > 0
    for i in range(start, stop):
        if indptr[i] == indptr[i + 1]:
            out[i] = 0
            continue
        gram[:] = 0
        right[:] = 0
        for first in range(indptr[i], indptr[i + 1], _AT_ONCE):
            n = min(_AT_ONCE, indptr[i + 1] - first)
            for at in range(n):
                e = first + at
                value = values[order[e]] if reordered else values[e]
                other = thin[indices[e]]
                row = gathered[at]
                for k in range(rank):
                    row[k] = other[k]
                    right[k] += value * row[k]
            some = gathered[:n]
            np.dot(some.T, some, product)
            gram += product
        for k in range(rank):
            gram[k, k] += penalties[k]
        _solve_in_place(gram, right)
        copy_into(out[i], right)


@njit(cache=True, nogil=True, fastmath=_REORDERED)
def _solve_in_place(gram, right):
    """Solves ``gram @ x = right`` by Cholesky, reading and overwriting the lower triangle; x replaces ``right``."""
    rank = right.shape[0]
    for k in range(rank):
        pivot = gram[k, k]
        for m in range(k):
            pivot -= gram[k, m] * gram[k, m]
        pivot = np.sqrt(pivot)
        gram[k, k] = pivot
        for i in range(k + 1, rank):
            total = gram[i, k]
            for m in range(k):
                total -= gram[i, m] * gram[k, m]
            gram[i, k] = total / pivot
        total = right[k]
        for m in range(k):
            total -= gram[k, m] * right[m]
        right[k] = total / pivot
    for k in range(rank - 1, -1, -1):
        total = right[k]
        for i in range(k + 1, rank):
            total -= gram[i, k] * right[i]
        right[k] = total / gram[k, k]


_DENSE_SHARE = 0.1
"""Above this share of observed entries, products with the whole table are quicker than those with the entries alone."""
_DENSE_ENTRIES = 1 << 24
"""A sparse table is never made into a dense one with more entries than this, 128 MB."""
_SMALL = 300
"""Up to this many rows or columns, a whole SVD is as quick as a few leading values."""
_SQUARED = 1500
"""Up to this many rows or columns, leading values of a dense table come quickest from its square."""
_PRODUCTS = 1 << 22
"""Products of pairs of vectors, and Gram matrices of rows, held at one time: 32 MB."""
_ROUGH = 1e-2
_ROUGH_PASSES = 4
"""From this tolerance on, a few products with a block of vectors do."""


def observed_entries(table: Observed) -> Any:
    """The observed entries of a table, in the form that is quicker."""
    n_rows, n_columns = table.shape
    crowded = table.n_observed > _DENSE_SHARE * n_rows * n_columns
    if crowded and (table.dense is not None or n_rows * n_columns <= _DENSE_ENTRIES):
        dense = table.dense if table.dense is not None else table.with_nan()
        mask = ~np.isnan(dense)
        return DenseEntries(np.where(mask, dense, dense.dtype.type(0)), mask)
    stored = table.by_rows
    return SparseEntries(stored.data, stored.indices, stored.indptr, table.shape)


class DenseEntries:
    """The observed entries as a whole table with zeros for missing entries."""

    def __init__(self, values: np.ndarray, mask: np.ndarray) -> None:
        self.values = values
        self.shape = values.shape
        self.dtype = values.dtype
        self.mask = mask
        self.n_observed = int(mask.sum())

    @cached_property
    def ones(self) -> np.ndarray:
        """One at each observed entry."""
        return self.mask.astype(self.dtype)

    def low_rank_values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """``left @ right'`` at the observed entries."""
        values = left @ right.T
        values *= self.ones
        return values

    def residual(self, left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """What ``left @ right'`` leaves of the observed entries."""
        values = np.matmul(-left, right.T, out=out)
        values += self.values
        values *= self.ones
        return values

    def times(self, values: np.ndarray, thin: np.ndarray) -> np.ndarray:
        """The table that has ``values`` at the observed entries, times a thin matrix."""
        return values @ thin

    def transposed_times(self, values: np.ndarray, thin: np.ndarray) -> np.ndarray:
        """That table transposed, times a thin matrix."""
        return values.T @ thin

    def column_squares(self) -> np.ndarray:
        """Sum of squares of each column."""
        return np.einsum("ij,ij->j", self.values, self.values, dtype=np.float64)

    def ridge_rows(self, thin: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """For each row the coefficients of the thin matrix's columns that fit its observed entries."""
        return _ridge_solutions(self.ones, self.values, thin, penalties)

    def ridge_columns(self, thin: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """The same for each column."""
        return _ridge_solutions(self.ones.T, self.values.T, thin, penalties)

    def matrix(self, values: np.ndarray) -> Any:
        """The table that has ``values`` at the observed entries."""
        return values

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each observed entry, row by row."""
        rows, columns = np.nonzero(self.mask)
        return rows, columns

    def where(self, kept: np.ndarray) -> np.ndarray:
        """The table's values at some of the observed entries (a mask over ``positions``), and zero at the others."""
        values = np.zeros_like(self.values)
        values[self.mask] = self.values[self.mask] * kept
        return values


class SparseEntries:
    """The observed entries alone, row by row."""

    def __init__(self, values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
        self.values = values
        self.indices = indices
        self.indptr = indptr
        self.shape = shape
        self.dtype = values.dtype
        self.n_observed = len(values)

    @cached_property
    def ones(self) -> np.ndarray:
        """One at each observed entry."""
        return np.ones(self.n_observed, dtype=self.dtype)

    @cached_property
    def _by_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The transposed table's row starts, column numbers, and where each entry lies in the order by rows."""
        places = np.arange(self.n_observed, dtype=np.int32 if self.n_observed < 2**31 else np.int64)
        turned = sparse.csr_array((places, self.indices, self.indptr), shape=self.shape).tocsc()
        return turned.indptr, turned.indices, turned.data

    def low_rank_values(self, left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """``left @ right'`` at the observed entries."""
        out = np.empty(self.n_observed, dtype=self.dtype) if out is None else out
        if not left.shape[1]:
            out[:] = 0
        else:
            left, right = _in_rows(left, self.dtype), _in_rows(right, self.dtype)
            in_threads(fill_low_rank_values, self.indptr, self.indices, left, right, out, cost=left.shape[1])
        return out

    def residual(self, left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """What ``left @ right'`` leaves of the observed entries."""
        values = self.low_rank_values(-left, right, out)
        values += self.values
        return values

    def times(self, values: np.ndarray, thin: np.ndarray) -> np.ndarray:
        """The table that has ``values`` at the observed entries, times a thin matrix."""
        thin = _in_rows(thin, self.dtype)
        out = np.empty((self.shape[0], thin.shape[1]), dtype=self.dtype)
        in_threads(multiply_stored, self.indptr, self.indices, values, thin, out, cost=thin.shape[1])
        return out

    def transposed_times(self, values: np.ndarray, thin: np.ndarray) -> np.ndarray:
        """That table transposed, times a thin matrix."""
        thin = _in_rows(thin, self.dtype)
        out = np.empty((self.shape[1], thin.shape[1]), dtype=self.dtype)
        starts, indices, order = self._by_columns
        in_threads(fill_reordered_products, starts, indices, order, values, thin, out, cost=thin.shape[1])
        return out

    def column_squares(self) -> np.ndarray:
        """Sum of squares of each column."""
        return np.bincount(self.indices, weights=self.values.astype(np.float64) ** 2, minlength=self.shape[1])

    def ridge_rows(self, thin: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """For each row the coefficients of the thin matrix's columns that fit its observed entries."""
        as_they_lie = np.empty(0, dtype=np.int32)
        return self._ridge(self.indptr, self.indices, as_they_lie, thin, penalties)

    def ridge_columns(self, thin: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """The same for each column."""
        return self._ridge(*self._by_columns, thin, penalties)

    def _ridge(self, starts, indices, order, thin, penalties) -> np.ndarray:
        rank = thin.shape[1]
        out = np.zeros((len(starts) - 1, rank), dtype=self.dtype)
        if rank:
            thin, penalties = _in_rows(thin, self.dtype), penalties.astype(np.float64)
            in_threads(fill_ridge_rows, starts, indices, order, self.values, thin, penalties, out, cost=rank**2)
        return out

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each observed entry, row by row."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices

    def where(self, kept: np.ndarray) -> np.ndarray:
        """The table's values at some of the observed entries (a mask over ``positions``), and zero at the others."""
        return self.values * kept

    def matrix(self, values: np.ndarray) -> Any:
        """The table that has ``values`` at the observed entries, as an operator."""
        return LinearOperator(
            self.shape,
            matvec=lambda vector: self.times(values, vector.reshape(-1, 1))[:, 0],
            rmatvec=lambda vector: self.transposed_times(values, vector.reshape(-1, 1))[:, 0],
            matmat=lambda thin: self.times(values, thin),
            rmatmat=lambda thin: self.transposed_times(values, thin),
            dtype=self.dtype,
        )


def leading_triplets(
    entries: Any, values: np.ndarray, k: int, seed: int = 0, tol: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest ``k`` singular triplets (U, d, V) of the table that has ``values`` at the observed entries."""
    matrix = entries.matrix(values)
    smaller = min(entries.shape)
    if k >= smaller - 1 or smaller <= _SMALL:
        dense = matrix if isinstance(matrix, np.ndarray) else _whole(matrix)
        U, d, Vt = np.linalg.svd(dense, full_matrices=False)
        return U[:, :k], d[:k], Vt[:k].T
    if not values.any():
        return np.eye(entries.shape[0], k), np.zeros(k), np.eye(entries.shape[1], k)
    if tol >= _ROUGH:
        return _rough_triplets(entries, values, k, seed)
    if tol > 0 and isinstance(matrix, np.ndarray) and smaller <= _SQUARED:
        return _triplets_of_square(matrix, k)
    start = np.random.default_rng(seed).normal(size=smaller).astype(entries.dtype)
    U, d, Vt = svds(matrix, k=k, tol=tol, v0=start)
    order = np.argsort(-d)
    return U[:, order], d[order], Vt[order].T


def _rough_triplets(entries: Any, values: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading triplets by a few products with a block of random vectors: near enough to start from."""
    size = min(k + 10, *entries.shape)
    basis = np.random.default_rng(seed).normal(size=(entries.shape[1], size)).astype(entries.dtype)
    for _ in range(_ROUGH_PASSES):
        basis = np.linalg.qr(entries.transposed_times(values, np.linalg.qr(entries.times(values, basis))[0]))[0]
    U, d, Pt = np.linalg.svd(entries.times(values, basis), full_matrices=False)
    return U[:, :k], d[:k], basis @ Pt[:k].T


def _triplets_of_square(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading triplets from the smaller of ``M M'`` and ``M' M``; they cost some digits of the values, not of the
    first."""
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    squares, inner = largest_eigh(tall.T @ tall, k)
    d, inner = np.sqrt(np.maximum(squares[::-1], 0)), inner[:, ::-1]
    outer = tall @ (inner / np.maximum(d, np.finfo(d.dtype).tiny))
    return (outer, d, inner) if matrix.shape[0] >= matrix.shape[1] else (inner, d, outer)


def spectral_norm(entries: Any, values: np.ndarray, tol: float = 1e-5) -> float:
    """Largest singular value of the table that has ``values`` at the observed entries."""
    return float(leading_triplets(entries, values, 1, tol=tol)[1][0])


def _whole(operator: LinearOperator) -> np.ndarray:
    """An operator as an array, by the products that its smaller side needs."""
    n_rows, n_columns = operator.shape
    if n_columns <= n_rows:
        return operator.matmat(np.eye(n_columns, dtype=operator.dtype))
    return operator.rmatmat(np.eye(n_rows, dtype=operator.dtype)).T


def _in_rows(thin: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(thin, dtype=dtype)


def _ridge_solutions(ones: np.ndarray, values: np.ndarray, thin: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Ridge coefficients of every row of a dense table, by one product for the Gram matrices of many rows."""
    rank = thin.shape[1]
    out = np.empty((len(values), rank), dtype=thin.dtype)
    diagonal = np.diag(penalties).astype(thin.dtype)
    right = values @ thin
    if thin.size * rank > _PRODUCTS:
        for i, row in enumerate(ones):
            seen = thin[row > 0]
            out[i] = solve_spd(seen.T @ seen + diagonal, right[i])
        return out
    upper, lower = np.triu_indices(rank)
    products = thin[:, upper] * thin[:, lower]
    places = np.empty((rank, rank), dtype=np.intp)
    places[upper, lower] = places[lower, upper] = np.arange(len(upper))
    for some in gen_batches(len(values), max(1, _PRODUCTS // max(rank, 1) ** 2)):
        grams = np.take(ones[some] @ products, places, axis=1)
        grams += diagonal
        out[some] = np.linalg.solve(grams, right[some, :, None])[..., 0]
    return out
