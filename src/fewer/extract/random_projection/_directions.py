"""Random directions, each kind held in the form that takes least room.

``project`` gives the product of a table with them, and whether all of it is finite.

All keep the squared length of a row on average. With d directions,

- "gaussian" has entries ``N(0, 1 / d)``;
- "sign" has entries ``+-1 / sqrt(d)``, one bit each;
- "orthogonal" has directions at right angles, of length ``sqrt(p / d)``;
- "sparse" adds each of the p columns to s of the new ones, with signs ``+-1 / sqrt(s)``.

The squared length of a projected row x varies by ``2 |x|^4 / d`` for the first, and by ``2 (|x|^4 - sum x_i^4) / d``
for signs, few or many: a fixed number of entries for each column spares the sparse ones what chance would add.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import gen_batches

from fewer._kernels._in_threads import in_threads
from fewer._kernels._sparse_projection import project_rows, project_sparse_rows

_CELLS = 4_000_000
"""Entries that are unpacked at a time."""


@dataclass(frozen=True)
class DenseDirections:
    """All entries, of (columns, directions), with as many digits as they have or fewer."""

    entries: np.ndarray
    dtype: str  # of what comes out, by its name, which skops trusts

    @property
    def n_components(self) -> int:
        return self.entries.shape[1]

    def matrix(self) -> np.ndarray:
        """The directions as rows."""
        return self.entries.T.astype(self.dtype, copy=False)

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        if self.entries.dtype == X.dtype:
            return _and_whether_finite(X @ self.entries)
        parts = _projected_in_parts(X, self.n_components, lambda columns: self.entries[columns].astype(X.dtype))
        return _and_whether_finite(parts)


@dataclass(frozen=True)
class SignDirections:
    """One bit for each entry, of (columns, directions / 8)."""

    bits: np.ndarray
    n_components: int
    dtype: str

    def matrix(self) -> np.ndarray:
        """The directions as rows."""
        return self._signs(slice(None)).T / np.sqrt(self.n_components, dtype=self.dtype)

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        projected = _projected_in_parts(X, self.n_components, self._signs)
        projected /= math.sqrt(self.n_components)
        return _and_whether_finite(projected)

    def _signs(self, columns: slice) -> np.ndarray:
        signs = np.unpackbits(self.bits[columns], axis=1, count=self.n_components).astype(self.dtype)
        signs *= 2
        signs -= 1
        return signs


@dataclass(frozen=True)
class SparseDirections:
    """To which directions each column goes: twice their number, plus 1 if it is taken away, of (columns, spread)."""

    codes: np.ndarray
    n_components: int
    dtype: str

    @property
    def size(self) -> float:
        """Size of all entries."""
        return 1 / math.sqrt(self.codes.shape[1])

    def matrix(self) -> sparse.csr_array:
        """The directions as rows."""
        n_columns, spread = self.codes.shape
        entries = np.where(self.codes.ravel() & 1, -self.size, self.size).astype(self.dtype)
        columns = np.repeat(np.arange(n_columns), spread)
        where = ((self.codes.ravel() >> 1).astype(np.int64), columns)
        return sparse.csr_array((entries, where), shape=(self.n_components, n_columns))

    def project(self, X: Any) -> tuple[np.ndarray, bool]:
        projected = np.empty((X.shape[0], self.n_components), dtype=X.dtype)
        finite = np.empty(X.shape[0], dtype=bool)
        rest = (self.codes, self.size, projected, finite)
        n_columns, spread = self.codes.shape
        if sparse.issparse(X):
            in_threads(project_sparse_rows, X.indptr, X.indices, X.data, *rest, cost=spread)
        else:
            places = np.arange(X.shape[0] + 1)
            in_threads(project_rows, places, np.ascontiguousarray(X), *rest, cost=spread * n_columns)
        return projected, bool(finite.all())


@dataclass(frozen=True)
class AllColumns:
    """The columns as they are."""

    n_components: int
    dtype: str

    def matrix(self) -> sparse.csr_array:
        """The directions as rows."""
        return sparse.eye_array(self.n_components, format="csr", dtype=self.dtype)

    def project(self, X: Any) -> tuple[Any, bool]:
        return X.copy(), bool(np.isfinite(X.data if sparse.issparse(X) else X).all())


Directions = DenseDirections | SignDirections | SparseDirections | AllColumns


def drawn_directions(
    kind: str, n_columns: int, n_components: int, spread: int, dtype: np.dtype, rng: np.random.Generator
) -> Directions:
    """Directions of a kind; ``spread`` is for sparse ones."""
    if kind == "gaussian":
        return DenseDirections(gaussian_entries(n_columns, n_components, rng), dtype.name)
    if kind == "orthogonal":
        return DenseDirections(orthogonal_entries(n_columns, n_components, rng).astype(dtype), dtype.name)
    if kind == "sign":
        bits = rng.integers(256, size=(n_columns, -(-n_components // 8)), dtype=np.uint8)
        return SignDirections(bits, n_components, dtype.name)
    return sparse_directions(n_columns, n_components, min(spread, n_components), dtype, rng)


def _and_whether_finite(projected: np.ndarray) -> tuple[np.ndarray, bool]:
    return projected, bool(np.isfinite(projected).all())


def _projected_in_parts(X: Any, n_components: int, entries: Callable[[slice], np.ndarray]) -> np.ndarray:
    """The product of a table with entries that are made for some columns at a time."""
    if sparse.issparse(X):
        X = X.tocsc()  # of which some columns are cheap to take
    projected = np.zeros((X.shape[0], n_components), dtype=X.dtype)
    for columns in gen_batches(X.shape[1], max(1, _CELLS // n_components)):
        projected += X[:, columns] @ entries(columns)
    return projected


def gaussian_entries(n_columns: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Normal entries with as many digits as chance needs: single precision is twice as fast to draw."""
    entries = rng.standard_normal((n_columns, n_components), dtype=np.float32)
    entries /= np.float32(math.sqrt(n_components))
    return entries


def orthogonal_entries(n_columns: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """Directions at right angles, as columns."""
    drawn = rng.standard_normal((n_columns, n_components))
    if n_columns >= 2 * n_components:
        # So tall a matrix of normal entries is well conditioned, and its products lose no digits: much faster than QR.
        factor = linalg.cholesky(drawn.T @ drawn, check_finite=False)
        basis = linalg.solve_triangular(factor, drawn.T, trans="T", check_finite=False, overwrite_b=True).T
    else:
        basis, _ = linalg.qr(drawn, mode="economic", check_finite=False)
    return basis * math.sqrt(n_columns / n_components)


def sparse_directions(
    n_columns: int, n_components: int, spread: int, dtype: np.dtype, rng: np.random.Generator
) -> SparseDirections:
    """One target in each of ``spread`` equal parts of the new columns, so that no two of a column's are the same."""
    edges = np.linspace(0, n_components, spread + 1).astype(np.int64)
    codes = rng.integers(2 * edges[:-1], 2 * edges[1:], size=(n_columns, spread))
    short = 2 * n_components <= 2**16
    return SparseDirections(codes.astype(np.uint16 if short else np.uint32), n_components, dtype.name)
