"""Factorisations and solutions that ``numpy.linalg`` lacks, beside products by NumPy.

The wheels of NumPy and of SciPy bring one OpenBLAS each, with threads of its own, and these go on spinning for
milliseconds after a call. A loop of products by NumPy and factorisations by SciPy has more busy threads than the
machine has cores, and each waits for others that do not run. So ``scipy.linalg`` is not for loops that also multiply
matrices: ``numpy.linalg`` and these functions are. They leave what is large to NumPy's BLAS, and to SciPy's, on one
thread, what is small.
"""

import numpy as np
from scipy import linalg

from fewer._kernels._one_thread import scipy_on_one_thread

_BLOCK = 96
_STRIP = 128
_MANY = 600
"""Beyond this size, a few of all eigenvectors by SciPy gain more than its threads cost."""


def solve_triangular(
    factor: np.ndarray, right: np.ndarray, *, lower: bool = True, transposed: bool = False
) -> np.ndarray:
    """Solve ``factor @ x = right``, or ``factor.T @ x = right``, by substitution: in blocks where there is much to do.

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        Triangular; the other triangle is not used.
    right : ndarray of shape (n,) or (n, k)
        Right-hand sides.
    lower : bool, default=True
        Which triangle ``factor`` has.
    transposed : bool, default=False
        Solve with the transposed factor.

    Returns
    -------
    x : ndarray of the shape of ``right``

    Raises
    ------
    LinAlgError
        If an entry of the diagonal is 0.

    Examples
    --------
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    size = len(factor)
    if right.ndim == 1 or size <= _BLOCK:
        with scipy_on_one_thread():
            return linalg.solve_triangular(factor, right, lower=lower, trans=int(transposed), check_finite=False)
    if transposed:
        factor, lower = factor.T, not lower
    x = np.array(right, dtype=np.result_type(factor, right, np.float32))
    starts = range(0, size, _BLOCK)
    for start in starts if lower else reversed(starts):
        rows = slice(start, min(start + _BLOCK, size))
        solved = slice(0, start) if lower else slice(rows.stop, size)
        x[rows] -= factor[rows, solved] @ x[solved]
        with scipy_on_one_thread():
            x[rows] = linalg.solve_triangular(factor[rows, rows], x[rows], lower=lower, check_finite=False)
    return x


def solve_cholesky(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``factor @ factor.T @ x = right``, with the lower factor of ``numpy.linalg.cholesky``.

    >>> solve_cholesky(np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]])), np.array([6.0, 4.0]))
    array([1., 1.])
    """
    if right.ndim == 1 or len(factor) <= _BLOCK:
        with scipy_on_one_thread():
            return linalg.cho_solve((factor, True), right, check_finite=False)
    return solve_triangular(factor, solve_triangular(factor, right), transposed=True)


def solve_spd(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a positive definite matrix; LinAlgError for any other. Only the lower triangle is read.

    >>> solve_spd(np.array([[4.0, 2.0], [2.0, 2.0]]), np.array([6.0, 4.0]))
    array([1., 1.])
    """
    return solve_cholesky(np.linalg.cholesky(matrix), right)


def inverse_of_lower(factor: np.ndarray) -> np.ndarray:
    """Inverse of a lower triangular matrix, which is lower triangular.

    >>> inverse_of_lower(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    size = len(factor)
    inverse = np.zeros_like(factor)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        right = np.eye(stop - start, stop, k=start, dtype=factor.dtype)
        right[:, :start] = -factor[start:stop, :start] @ inverse[:start, :start]
        inverse[start:stop, :stop] = solve_triangular(factor[start:stop, start:stop], right)
    return inverse


def generalized_eigh(matrix: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues t, rising, and vectors of ``matrix @ v = t * metric @ v``, with ``v.T @ metric @ v`` = 1.

    >>> generalized_eigh(np.diag([2.0, 8.0]), np.diag([1.0, 2.0]))[0]
    array([2., 4.])
    """
    factor = np.linalg.cholesky(metric)
    half = solve_triangular(factor, matrix)
    inner = solve_triangular(factor, half.T)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    return values, solve_triangular(factor, vectors, transposed=True)


def largest_eigh(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of a symmetric matrix, rising, and their vectors.

    >>> largest_eigh(np.diag([3.0, 1.0, 2.0]), 2)[0]
    array([2., 3.])
    """
    size = len(matrix)
    if size > _MANY and 2 * k < size:
        return linalg.eigh(matrix, subset_by_index=(size - k, size - 1), check_finite=False)
    values, vectors = np.linalg.eigh(matrix)
    return values[size - k :], vectors[:, size - k :]
