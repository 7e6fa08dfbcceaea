"""Centred tables in any unit, along their principal axes, as the solver multiplies by them.

``A = ((X - 1 m') / s, 1)``, with ``m`` the weighted column means and ``s`` the square root of the total variance, so
that a penalty of 1 is as large as the sum of the variances of all columns, in any unit. The last column, of ones, is
that of the intercept.

A dense table is rotated to its principal axes, ``(X - 1 m') / s = Z V'`` with orthonormal ``V``. The coefficients
``w = V v`` have the norm of ``v``, so that a model whose penalty is this norm is the same model on ``Z``. But ``Z'Z``
is diagonal, so that iterative solvers converge in few steps, and ``Z`` has no more columns than rows. Sparse tables
stay as they are: the means are subtracted from products.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

# The smaller side of a table up to which its axes are worth an eigenproblem of that size.
_FEW, _FEW_SPARSE_ROWS = 1000, 300
# Cells of a sparse table up to which its scores on the principal axes, which are dense, are made if they are asked for.
_FEW_CELLS = 10_000_000
# Sets that one pass over a sparse table serves: five folds.
_BLOCK = 5


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was centred, scaled and rotated, and the way back to its columns.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_samples, n_columns)
        The table. A dense one is centred, and has the column of ones at its end.
    shift : ndarray of shape (n_columns,) or None
        What is yet to be subtracted from each row of a sparse table.
    unit : float
        Total variance of the columns, which a penalty of 1 stands for.
    fit_intercept : bool
        Whether there is a column of ones.
    back : callable
        From coefficients of these columns, without the intercept's, to coefficients of the columns that were given.
    mean : ndarray of shape (n_features,)
        What was subtracted from the columns that were given.
    on_axes : bool
        Whether the columns are the principal axes.
    """

    rows: Any
    shift: np.ndarray | None
    unit: float
    fit_intercept: bool
    back: Callable[[np.ndarray], np.ndarray]
    mean: np.ndarray
    on_axes: bool = True

    @property
    def size(self) -> int:
        """Number of coefficients, with the intercept."""
        return self.rows.shape[1] + (self.fit_intercept and self.shift is not None)

    @property
    def penalised(self) -> np.ndarray:
        """1 for every coefficient, 0 for the intercept."""
        ones = np.ones(self.size)
        if self.fit_intercept:
            ones[-1] = 0.0
        return ones

    def forward(self, coefs: np.ndarray) -> np.ndarray:
        """``A W`` for coefficients of shape (size, ...)."""
        flat = coefs.reshape(self.size, -1)
        if self.shift is None:
            products = self.rows @ flat.astype(self.rows.dtype, copy=False)
        else:
            inner = flat[: len(self.shift)]
            products = self.rows @ inner
            products -= self.shift @ inner - (flat[-1] if self.fit_intercept else 0.0)
        return products.astype(np.float64, copy=False).reshape(-1, *coefs.shape[1:])

    def backward(self, values: np.ndarray) -> np.ndarray:
        """``A' R`` for values of shape (n_samples, ...)."""
        flat = values.reshape(len(values), -1)
        if self.shift is None:
            products = self.rows.T @ flat.astype(self.rows.dtype, copy=False)
        else:
            products = self._with_totals(self.rows.T @ flat, flat.sum(axis=0), self.shift)
        return products.astype(np.float64, copy=False).reshape(-1, *values.shape[1:])

    def curved(self, loss: Any, terms: Any, coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``A W`` and ``A' H A W``, with ``H`` the second derivatives of the losses."""
        _, n_sets, n_outputs = coefs.shape
        if self.shift is None or n_outputs > 1 or (n_sets > 1 and n_sets % _BLOCK):
            image = self.forward(coefs)
            return image, self.backward(loss.curved(terms, image))
        image, products = np.empty(terms.slopes.shape), np.zeros(coefs.shape)
        pass_over = _curved_one if n_sets == 1 else _curved_in_blocks
        # Without the axis of outputs, and known to be contiguous.
        values = (values.reshape(-1, n_sets) for values in (coefs, terms.curvature, image, products))
        pass_over(self.rows.data, self.rows.indices, self.rows.indptr, self.shift, *values)
        return image, products

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """The diagonals of ``A' D A``, for weights of the rows of shape (n_samples, ...)."""
        flat = weights.reshape(len(weights), -1)
        if self.shift is None:
            squares = self._squares.T @ flat.astype(self.rows.dtype, copy=False)
        else:
            squares = self._with_totals(self._squares.T @ flat, flat.sum(axis=0), -(self.shift**2))
        return squares.astype(np.float64, copy=False).reshape(-1, *weights.shape[1:])

    @cached_property
    def _squares(self):
        """Squares of the entries; of a sparse table without those of the shifts, which are the same in every row."""
        if self.shift is None:
            return self.rows**2
        squares = self.rows.copy()
        squares.data *= self.rows.data - 2 * self.shift[self.rows.indices]
        return squares

    def _with_totals(self, products: np.ndarray, totals: np.ndarray, shift: np.ndarray) -> np.ndarray:
        products -= np.multiply.outer(shift, totals)
        return np.vstack([products, totals]) if self.fit_intercept else products

    def original(self, coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_features, ...) and intercepts (...) for the columns that were given."""
        shape = coefs.shape[1:]
        inner, intercept = (coefs[:-1], coefs[-1]) if self.fit_intercept else (coefs, np.zeros(shape))
        inner = self.back(inner.reshape(len(inner), -1))
        return inner.reshape(-1, *shape), intercept - (self.mean @ inner).reshape(shape)


@njit(cache=True, nogil=True)
def _curved_in_blocks(data, indices, indptr, shift, coefs, curvature, image, products):
    """One pass over the stored entries of each row, for five sets at a time: both products while the row is at hand."""
    n_columns = shift.size
    for b in range(0, coefs.shape[1], _BLOCK):
        start = np.zeros(_BLOCK)
        total = np.zeros(_BLOCK)
        for j in range(n_columns):
            for s in range(_BLOCK):
                start[s] -= shift[j] * coefs[j, b + s]
        for j in range(n_columns, coefs.shape[0]):
            for s in range(_BLOCK):
                start[s] += coefs[j, b + s]
        for i in range(indptr.size - 1):
            # Five scalars stay in registers, an array of them would not; unsigned numbers are not looked at for a sign.
            z0, z1, z2, z3, z4 = start[0], start[1], start[2], start[3], start[4]
            for k in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                value, at = data[k], np.uintp(indices[k])
                z0 += value * coefs[at, b]
                z1 += value * coefs[at, b + 1]
                z2 += value * coefs[at, b + 2]
                z3 += value * coefs[at, b + 3]
                z4 += value * coefs[at, b + 4]
            image[i, b], image[i, b + 1], image[i, b + 2], image[i, b + 3], image[i, b + 4] = z0, z1, z2, z3, z4
            z0 *= curvature[i, b]
            z1 *= curvature[i, b + 1]
            z2 *= curvature[i, b + 2]
            z3 *= curvature[i, b + 3]
            z4 *= curvature[i, b + 4]
            for k in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                value, at = data[k], np.uintp(indices[k])
                products[at, b] += value * z0
                products[at, b + 1] += value * z1
                products[at, b + 2] += value * z2
                products[at, b + 3] += value * z3
                products[at, b + 4] += value * z4
            total[0] += z0
            total[1] += z1
            total[2] += z2
            total[3] += z3
            total[4] += z4
        for j in range(n_columns):
            for s in range(_BLOCK):
                products[j, b + s] -= shift[j] * total[s]
        for j in range(n_columns, coefs.shape[0]):
            for s in range(_BLOCK):
                products[j, b + s] = total[s]


@njit(cache=True, nogil=True)
def _curved_one(data, indices, indptr, shift, coefs, curvature, image, products):
    """The same for one set."""
    n_columns, start, total = shift.size, 0.0, 0.0
    for j in range(n_columns):
        start -= shift[j] * coefs[j, 0]
    for j in range(n_columns, coefs.shape[0]):
        start += coefs[j, 0]
    for i in range(indptr.size - 1):
        z = start
        for k in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            z += data[k] * coefs[np.uintp(indices[k]), 0]
        image[i, 0] = z
        z *= curvature[i, 0]
        for k in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            products[np.uintp(indices[k]), 0] += data[k] * z
        total += z
    for j in range(n_columns):
        products[j, 0] -= shift[j] * total
    for j in range(n_columns, coefs.shape[0]):
        products[j, 0] = total


def prepared_table(
    X: Any,
    weights: np.ndarray,
    *,
    fit_intercept: bool,
    with_std: bool = False,
    unit: float | None = None,
    axes: bool = False,
) -> Table:
    """The table as the solver wants it, centred and scaled by weights of the rows that sum to 1.

    ``unit`` is that of another table, on whose scale penalties are to be. ``axes`` asks for the principal axes of a
    sparse table, too, as long as they are few.
    """
    if not sparse.issparse(X):
        return _dense_table(X, weights, fit_intercept, with_std, unit)
    n_rows, n_columns = X.shape
    if axes and n_columns <= min(n_rows, _FEW) and n_rows * n_columns <= _FEW_CELLS:
        return _dense_table(X.toarray(), weights, fit_intercept, with_std, unit)
    few = _FEW if axes else _FEW_SPARSE_ROWS
    return _sparse_table(X, weights, fit_intercept, with_std, unit, row_space=n_rows < n_columns and n_rows <= few)


def _dense_table(X, weights, fit_intercept, with_std, unit) -> Table:
    n_rows, n_columns = X.shape
    mean = weights.astype(X.dtype) @ X if fit_intercept else np.zeros(n_columns, dtype=X.dtype)
    inner = X - mean
    # Squares of the entries must be finite in any unit.
    largest = float(np.abs(inner).max(initial=0.0)) or 1.0
    inner /= X.dtype.type(largest)
    variances = weights @ inner**2
    scale, unit = _scales(variances, mean / largest, with_std, unit, largest)
    inner /= (scale / largest).astype(X.dtype)
    mean = mean.astype(np.float64)
    if min(n_rows, n_columns) > _FEW:
        rotated, back = inner, lambda coefs: coefs
    elif n_rows >= n_columns:
        axes = np.linalg.eigh(inner.T @ inner)[1].astype(X.dtype, copy=False)
        rotated, back = inner @ axes, lambda coefs: axes @ coefs
    else:
        inner = inner.astype(np.float64, copy=False)
        rotated, dual = _row_space(inner @ inner.T)
        back = lambda coefs: inner.T @ (dual @ coefs)  # noqa: E731
    rows = np.hstack([rotated, np.ones((n_rows, int(fit_intercept)), dtype=rotated.dtype)])
    on_axes = min(n_rows, n_columns) <= _FEW
    return Table(rows, None, unit, fit_intercept, lambda coefs: back(coefs) / scale[:, None], mean, on_axes)


def _sparse_table(X, weights, fit_intercept, with_std, unit, row_space) -> Table:
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    n_rows, n_columns = rows.shape
    offset = np.zeros(n_columns)
    if fit_intercept:
        # A column without zeros may be far from zero; one with zeros has a mean of at most sqrt(n) standard deviations.
        full = np.bincount(rows.indices, minlength=n_columns) == n_rows
        offset[full] = (weights @ rows)[full]
        rows.data -= offset[rows.indices]
    largest = float(np.abs(rows.data).max(initial=0.0)) or 1.0
    rows.data /= largest
    shift = weights @ rows if fit_intercept else np.zeros(n_columns)
    variances = np.maximum(weights @ rows.power(2) - shift**2, 0.0)
    scale, unit = _scales(variances, offset / largest + shift, with_std, unit, largest)
    rows.data /= (scale / largest)[rows.indices]
    shift = shift / (scale / largest)
    if row_space:
        means = rows @ shift
        rotated, dual = _row_space((rows @ rows.T).toarray() - means[:, None] - means + shift @ shift)
        rotated = np.hstack([rotated, np.ones((n_rows, int(fit_intercept)))])

        def back(coefs):
            inner = dual @ coefs
            return (rows.T @ inner - np.outer(shift, inner.sum(axis=0))) / scale[:, None]

        return Table(rotated, None, unit, fit_intercept, back, offset)
    mean = offset + shift * scale
    return Table(rows, shift, unit, fit_intercept, lambda coefs: coefs / scale[:, None], mean, on_axes=False)


def _scales(variances, mean, with_std, unit, largest) -> tuple[np.ndarray, float]:
    """By what to divide the columns, and the total variance then; variances and means are in units of ``largest``."""
    noise = (10 * np.finfo(mean.dtype).eps * mean.astype(np.float64)) ** 2
    varies = variances > noise
    if with_std:
        deviations = np.where(varies, np.sqrt(variances), 1.0) * largest
        unit = float(varies.sum() or 1.0) if unit is None else unit
        return deviations * np.sqrt(unit), unit
    if unit is None:
        unit = variances[varies].sum() * largest**2 if varies.any() else 1.0
    return np.full(len(variances), np.sqrt(unit)), float(unit)


def _row_space(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From ``A A'``, the scores ``Z`` on the principal axes ``V`` of A, and ``D`` with ``V = A' D``."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > len(gram) * np.finfo(float).eps * max(eigenvalues[-1], np.finfo(float).tiny)
    lengths = np.sqrt(eigenvalues[kept])
    return vectors[:, kept] * lengths, vectors[:, kept] / lengths
