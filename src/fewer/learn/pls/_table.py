"""A table with its columns centred, and scaled to unit variance if asked for, and the leading pair of two tables.

A dense table is centred as a copy, which is exact. A sparse one is never centred itself: its means are subtracted from
the products instead. The same is done for a dense one in double precision of which only products are needed, where the
means are so small compared with the standard deviations that no digits are lost. The pair of directions with the
largest covariance of two tables are the leading singular vectors of ``S = X'Y``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewer._kernels._numpy_lapack import largest_eigh
from fewer._kernels._scipy_solvers import eigsh

MEANS_ARE_SMALL = 100.0
"""Squares of the means, in units of what is left without them, up to which products are centred rather than a copy."""

_AT_HAND = 2**22
ROW_BLOCK, COLUMN_BLOCK = 2**19, 2**18
"""Cells of a table that is at hand as a whole when it is read a second time, and of the blocks of a larger one."""


class CentredTable:
    """Products of a centred table: ``times`` from the right, ``back`` with its transpose.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_columns)
        As it is.
    scale : bool, default=False
        Whether columns are scaled to unit variance.
    mean : ndarray of shape (n_columns,), default=None
        Where it is known.
    products_only : bool, default=False
        Whether nobody will read ``values``, which are then centred only where products could not be.

    Attributes
    ----------
    values : {ndarray, sparse matrix}
        The table, centred and scaled unless ``by_products``.
    by_products : bool
        Whether the products are centred rather than the values.
    mean, scale : ndarray of shape (n_columns,)
        What each column is centred by, and then divided by; 1 where it is not scaled or constant.
    """

    def __init__(
        self, X: Any, *, scale: bool = False, mean: np.ndarray | None = None, products_only: bool = False
    ) -> None:
        self.shape: tuple[int, int] = X.shape
        self.dtype = X.dtype
        self.sparse = sparse.issparse(X)
        self.mean, variance = _mean_and_variance(X, scale or self.sparse, mean)
        self.scale = spread(variance, self.mean, self.shape[0], X.dtype) if scale else np.ones_like(self.mean)
        self.by_products, self.values = True, X
        if self.sparse:
            self.square = float(self.shape[0] * np.sum(variance / self.scale**2))
            return
        if products_only and not scale and X.dtype == np.float64:  # in single precision a little would be lost
            of_means = self.shape[0] * float(self.mean @ self.mean)
            self.square = _sum_of_squares(X) - of_means
            if of_means <= MEANS_ARE_SMALL * self.square:
                return
        self.by_products, self.values = False, X - self.mean.astype(X.dtype)
        if scale:
            self.values /= self.scale.astype(X.dtype)
        self.square = _sum_of_squares(self.values)

    @property
    def size(self) -> float:
        """Frobenius norm."""
        return float(np.sqrt(self.square))

    def times(self, V: np.ndarray) -> np.ndarray:
        """Rows along directions."""
        scaled = (V.T / self.scale).T if self.sparse else V.astype(self.dtype, copy=False)
        products = np.asarray(self.values @ scaled, dtype=np.float64)
        return products - self.mean @ scaled if self.by_products else products

    def back(self, T: np.ndarray) -> np.ndarray:
        """Columns times weights of the rows."""
        if self.sparse:
            products = np.asarray(self.values.T @ T, dtype=np.float64)
        else:  # from the left: in this order it takes half of the time
            products = np.asarray(T.T.astype(self.dtype, copy=False) @ self.values, dtype=np.float64).T
        if self.by_products:
            products -= np.multiply.outer(self.mean, T.sum(axis=0))
        return (products.T / self.scale).T if self.sparse else products

    @property
    def _at_hand(self) -> bool:
        return self.sparse or self.shape[0] * self.shape[1] <= _AT_HAND

    def forth_and_back(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows along a direction, and the columns times that: the table is read once."""
        size = self.size or 1.0  # by which what goes back is of a size for single precision, too
        if self._at_hand:
            along = self.times(v)
            return along, size * self.back(along / size)
        v = v.astype(self.dtype, copy=False)
        shift = float(self.mean @ v) if self.by_products else 0.0
        along, back = np.empty(self.shape[0]), np.zeros(self.shape[1])
        for rows in gen_batches(self.shape[0], max(1, ROW_BLOCK // self.shape[1])):
            block = self.values[rows]
            along[rows] = block @ v
            along[rows] -= shift
            back += (along[rows] / size).astype(self.dtype, copy=False) @ block
        back *= size
        return along, back - self.mean * along.sum() if self.by_products else back

    def back_and_forth(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns times weights of the rows, and the rows along that: the table is read once."""
        if self._at_hand:
            back = self.back(t)
            return back, self.times(back)
        t = t.astype(self.dtype, copy=False)
        total = float(t.sum())
        along, back = np.zeros(self.shape[0]), np.empty(self.shape[1])
        for columns in gen_batches(self.shape[1], max(1, COLUMN_BLOCK // self.shape[0])):
            block = self.values[:, columns]
            back[columns] = t @ block
            if self.by_products:
                back[columns] -= total * self.mean[columns]
            along += block @ back[columns].astype(self.dtype, copy=False)
        return back, along - float(self.mean @ back) if self.by_products else along

    def row_products(self) -> np.ndarray:
        """``XX'``, of rows by rows."""
        if not self.sparse:
            wide = self.values.astype(np.float64, copy=False)
            products = wide @ wide.T
            if not self.by_products:
                return products
            shift = wide @ self.mean
            return products - shift[:, None] - shift + self.mean @ self.mean
        scaled = self.values.astype(np.float64) @ sparse.diags_array(1 / self.scale)
        shift = scaled @ (self.mean / self.scale)
        centre = np.sum((self.mean / self.scale) ** 2)
        return (scaled @ scaled.T).toarray() - shift[:, None] - shift + centre

    def column_products(self) -> np.ndarray:
        """``X'X``, of columns by columns."""
        if not self.sparse:
            tall = self.values.astype(np.float64, copy=False)
            products = tall.T @ tall
            return products - self.shape[0] * np.outer(self.mean, self.mean) if self.by_products else products
        scaled = self.values.astype(np.float64) @ sparse.diags_array(1 / self.scale)
        mean = self.mean / self.scale
        return (scaled.T @ scaled).toarray() - self.shape[0] * np.outer(mean, mean)


def spread(variance: np.ndarray, mean: np.ndarray, n_rows: int | np.ndarray, dtype: Any) -> np.ndarray:
    """Standard deviation with n - 1 of each column; 1 for a constant one, of which rounding may leave a little."""
    rounding = float(np.finfo(dtype).eps) * np.sqrt(n_rows) * np.abs(mean)
    deviation = np.sqrt(np.maximum(variance, 0) * n_rows / np.maximum(n_rows - 1, 1))
    return np.where(deviation > rounding, deviation, 1.0)


def _sum_of_squares(X: np.ndarray) -> float:
    flat = X.ravel(order="K")
    if X.dtype == np.float64:
        return float(np.dot(flat, flat))
    return float(np.einsum("i,i->", flat, flat, dtype=np.float64))  # else squares may be beyond single precision


def column_means(X: np.ndarray) -> np.ndarray:
    """Mean of each column of a dense table, in double precision; NaN where a column has missing values."""
    if X.dtype == np.float64:
        return np.full(X.shape[0], 1 / X.shape[0]) @ X  # several times as fast as a sum along the rows
    return X.mean(axis=0, dtype=np.float64)


def _mean_and_variance(X: Any, with_variance: bool, mean: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        return mean.astype(np.float64), variance.astype(np.float64)
    mean = column_means(X) if mean is None else mean
    return mean, X.var(axis=0, dtype=np.float64) if with_variance else np.zeros_like(mean)


_LARGEST_EIGENPROBLEM = 500


def leading_pair(S: np.ndarray, max_iter: int = 500, tol: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Leading left and right singular vectors; the largest entry of the left one is positive.

    They come from the eigenproblem of the shorter side; where both sides are long, by Lanczos' method with at most
    ``max_iter`` restarts, until the residual is below ``tol`` of the eigenvalue, which the loop of NIPALS would take
    many more products to reach.
    """
    if S.shape[1] == 1:
        left, right = S[:, 0], np.ones(1)
    elif min(S.shape) > _LARGEST_EIGENPROBLEM:
        longest = S[:, np.einsum("pm,pm->m", S, S).argmax()]
        found = _lanczos(lambda v: S.T @ (S @ v), S.T @ longest, max_iter, tol)
        right = _by_eigenproblem(S.T @ S) if found is None else found
        left = S @ right
    elif S.shape[1] <= S.shape[0]:
        right = leading_vector(S.T @ S)
        left = S @ right
    else:
        left = leading_vector(S @ S.T)
        right = S.T @ left
        right /= np.linalg.norm(right)
    left = left / np.linalg.norm(left)
    sign = largest_signs(left[:, None])[0]
    return sign * left, sign * right


def largest_signs(columns: np.ndarray) -> np.ndarray:
    """1 for each column whose largest entry is positive, -1 for the others."""
    return np.where(columns.max(axis=0) < -columns.min(axis=0), -1.0, 1.0)


def leading_vector(M: np.ndarray, max_iter: int = 500, tol: float = 1e-10) -> np.ndarray:
    """Eigenvector of the largest eigenvalue of a positive semi-definite matrix; Lanczos' where the matrix is large."""
    found = None
    if len(M) > _LARGEST_EIGENPROBLEM:
        found = _lanczos(lambda v: M @ v, M[:, np.diag(M).argmax()], max_iter, tol)
    return _by_eigenproblem(M) if found is None else found


def _by_eigenproblem(M: np.ndarray) -> np.ndarray:
    return largest_eigh(M, 1)[1][:, 0]


def _lanczos(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, max_iter: int, tol: float
) -> np.ndarray | None:
    """The leading eigenvector of a matrix of which products are known; None where restarts were too few."""
    size = len(start)
    try:
        return eigsh(
            LinearOperator((size, size), matvec=product, dtype=np.float64), k=1, v0=start, maxiter=max_iter, tol=tol
        )[1][:, 0]
    except ArpackNoConvergence:
        return None
