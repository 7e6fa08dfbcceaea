"""The bound of ``fewer.extract.information`` from products of rows; the symbols are those of ``_gram_form`` there.

SciPy's inverse from a Cholesky factor keeps other threads waiting, and takes as long as the products here.
"""

import numpy as np
from numba import njit

from fewer._kernels._information_bound import product, transposed

_SMALL, _BAND = 32, 96
"""Rows of a triangle that is inverted entry by entry, and of a band of a product."""


@njit(cache=True, nogil=True)
def gram_inverse(products, rows, roots, reg):
    """``G^-1`` and ``log|G|`` for ``G = M M' + reg I`` of some rows with weights, from the products of all rows."""
    size = len(rows)
    G = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            G[a, b] = roots[a] * roots[b] * products[rows[a], rows[b]]
        G[a, a] += reg
    factor = np.linalg.cholesky(G)
    log_det = 0.0
    for a in range(size):
        log_det += 2 * np.log(factor[a, a])
    return _own_product(_triangular_inverse(factor)), log_det


@njit(cache=True, nogil=True)
def _own_product(R):
    """``R'R`` of a lower triangular matrix, by bands of its rows up to the diagonal, which need R from there on."""
    size = len(R)
    found = np.empty((size, size))
    for start in range(0, size, _BAND):
        end = min(start + _BAND, size)
        below, turned = np.empty((size - start, end)), np.empty((end - start, size - start))
        for a in range(start, size):
            for b in range(end):
                below[a - start, b] = R[a, b]
            for b in range(start, end):
                turned[b - start, a - start] = R[a, b]
        band = product(turned, below)
        for a in range(start, end):
            for b in range(end):
                found[a, b] = band[a - start, b]
            for b in range(start):
                found[b, a] = band[a - start, b]
    return found


@njit(cache=True, nogil=True)
def _triangular_inverse(L):
    """The inverse of a lower triangular matrix; of a large one by halves, so that most of it is products."""
    size = len(L)
    R = np.zeros((size, size))
    if size <= _SMALL:
        for a in range(size):
            R[a, a] = 1 / L[a, a]
            for b in range(a):
                total = 0.0
                for c in range(b, a):
                    total += L[a, c] * R[c, b]
                R[a, b] = -total * R[a, a]
        return R
    half = size // 2
    first = _triangular_inverse(np.ascontiguousarray(L[:half, :half]))
    second = _triangular_inverse(np.ascontiguousarray(L[half:, half:]))
    R[:half, :half], R[half:, half:] = first, second
    R[half:, :half] = product(second, product(np.ascontiguousarray(-L[half:, :half]), first))
    return R


@njit(cache=True, nogil=True)
def seen_state(inverse, T, blur, reg):
    """How much the projection changes h(E), what its gradient is made of, and ``N^-1``, ``D^-1``, ``T'G^-1 Q``.

    The gradient of ``-1/2 h(E)`` in B is ``pull'M - s^2 within B``. ``X T`` and the parts of
    ``X = M (S^-1 + reg S^-2) M' = I - reg^2 G^-2 + Q L' + L Q'`` come last.
    """
    size, n_codes = T.shape
    T_transposed = transposed(T, n_codes)
    once = product(inverse, T)
    twice = product(inverse, once)
    N, D = product(T_transposed, T), product(T_transposed, once)
    squared = product(transposed(once, n_codes), once)
    for a in range(n_codes):
        for b in range(n_codes):
            squared[a, b] = D[a, b] - reg * squared[a, b]
            D[a, b] = reg * D[a, b] + blur[a, b]
            N[a, b] += blur[a, b]
    N_inverse, D_inverse = np.linalg.inv(N), np.linalg.inv(D)
    change = np.linalg.slogdet(D)[1] - np.linalg.slogdet(N)[1]
    outer = product(product(D_inverse, squared), D_inverse)
    for a in range(n_codes):
        for b in range(n_codes):
            change -= reg * D_inverse[a, b] * squared[a, b]
            outer[a, b] = 0.5 * (D_inverse[a, b] + reg * outer[a, b])
    Q, R, XT = np.empty((size, n_codes)), np.empty((size, n_codes)), np.empty((size, n_codes))
    for i in range(size):
        for a in range(n_codes):
            Q[i, a] = T[i, a] - reg * once[i, a]
            R[i, a] = reg * (once[i, a] - reg * twice[i, a])
            XT[i, a] = T[i, a] - reg * reg * twice[i, a]
    L = product(R, D_inverse) + product(Q, outer)
    XT += product(Q, product(transposed(L, n_codes), T)) + product(L, product(transposed(Q, n_codes), T))
    inner = product(N_inverse, product(T_transposed, XT))
    pull = product(XT - product(T, inner), N_inverse)
    return change, pull, product(inner, N_inverse), N_inverse, D_inverse, squared, XT, Q, L


@njit(cache=True, nogil=True)
def weighted_distances(inverse, T, reg, within, N_inverse, XT, Q, L):
    """``w d'(S^-1 + reg S^-2) d`` of the rows of a state with ``d = z - U W z``.

    It is the diagonal of ``F X F`` with ``F = I - T N^-1 T'``.
    """
    size, n_codes = T.shape
    found = np.zeros(size)
    for a in range(size):
        for b in range(size):
            found[b] -= inverse[a, b] * inverse[a, b]
    fitted, inside = product(T, N_inverse), product(T, within)
    for i in range(size):
        found[i] = 1 + reg * reg * found[i]
        for a in range(n_codes):
            found[i] += 2 * Q[i, a] * L[i, a] + T[i, a] * inside[i, a] - 2 * fitted[i, a] * XT[i, a]
    return found
