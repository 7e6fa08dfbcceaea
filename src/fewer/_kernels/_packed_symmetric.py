"""Many small symmetric matrices, each packed as its upper triangle row by row: a stack has shape (n, c(c + 1)/2).

They work on the range of places from ``start`` to ``stop``, so that threads can share the stack.
"""

import numpy as np
from numba import njit

# A pivot below this share of the largest diagonal entry counts as zero: the matrix has no inverse worth the name.
_SINGULAR = 1e-12


@njit(cache=True, nogil=True)
def add_outer_products(
    start: int, stop: int, indptr: np.ndarray, members: np.ndarray, vectors: np.ndarray, totals: np.ndarray
) -> None:
    """Add to the total of each group the outer products of its members with themselves."""
    size = vectors.shape[1]
    for group in range(start, stop):
        total = totals[group]
        for place in range(indptr[group], indptr[group + 1]):
            vector = vectors[members[place]]
            at = 0
            for a in range(size):
                left = vector[a]
                for b in range(a, size):
                    total[at] += left * vector[b]
                    at += 1


@njit(cache=True, nogil=True)
def invert_packed(
    start: int,
    stop: int,
    places: np.ndarray,
    packed: np.ndarray,
    ridge: np.ndarray,
    inverses: np.ndarray,
    log_determinants: np.ndarray,
    sound: np.ndarray,
) -> None:
    """Inverse and log determinant of ``matrix + diag(ridge)``, by Cholesky; ``sound`` says where there is one."""
    size = len(ridge)
    lower = np.zeros((size, size))
    inverse = np.zeros((size, size))
    for place in range(start, stop):
        at = 0
        largest = 0.0
        for a in range(size):
            for b in range(a, size):
                lower[b, a] = packed[place, at]
                at += 1
            lower[a, a] += ridge[a]
            largest = max(largest, lower[a, a])
        sound[place] = True
        log_determinant = 0.0
        for a in range(size):
            pivot = lower[a, a]
            for k in range(a):
                pivot -= lower[a, k] * lower[a, k]
            if not pivot > _SINGULAR * largest:
                sound[place] = False
                break
            log_determinant += np.log(pivot)
            root = np.sqrt(pivot)
            lower[a, a] = root
            for b in range(a + 1, size):
                entry = lower[b, a]
                for k in range(a):
                    entry -= lower[b, k] * lower[a, k]
                lower[b, a] = entry / root
        if not sound[place]:
            continue
        for a in range(size):
            inverse[a, a] = 1.0 / lower[a, a]
            for b in range(a + 1, size):
                entry = 0.0
                for k in range(a, b):
                    entry -= lower[b, k] * inverse[k, a]
                inverse[b, a] = entry / lower[b, b]
        at = 0
        for a in range(size):
            for b in range(a, size):
                entry = 0.0
                for k in range(b, size):
                    entry += inverse[k, a] * inverse[k, b]
                inverses[place, at] = entry
                at += 1
        log_determinants[place] = log_determinant


@njit(cache=True, nogil=True)
def multiply_packed(
    start: int,
    stop: int,
    places: np.ndarray,
    which: np.ndarray,
    packed: np.ndarray,
    vectors: np.ndarray,
    products: np.ndarray,
) -> None:
    """Matrix ``which[i]`` times vector i."""
    size = vectors.shape[1]
    for i in range(start, stop):
        matrix = packed[which[i]]
        for a in range(size):
            products[i, a] = 0.0
        at = 0
        for a in range(size):
            products[i, a] += matrix[at] * vectors[i, a]
            at += 1
            for b in range(a + 1, size):
                products[i, a] += matrix[at] * vectors[i, b]
                products[i, b] += matrix[at] * vectors[i, a]
                at += 1
