"""Many small symmetric matrices, each packed as its upper triangle row by row: a stack has shape (n, c(c + 1)/2).

Kernels work on the range of places from ``start`` to ``stop``, so that threads can share the stack.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._arrays import in_threads

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


class Inverses(NamedTuple):
    """Packed inverses, and the logarithm of the determinant of each inverse."""

    matrices: np.ndarray
    log_determinants: np.ndarray


def size_of(packed: np.ndarray) -> int:
    """Rows of each matrix of a stack."""
    return int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)


@cache
def _triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size)


@cache
def _diagonal(size: int) -> np.ndarray:
    """Places of the diagonal in a packed matrix."""
    rows, columns = _triangle(size)
    return np.flatnonzero(rows == columns)


@cache
def _multiplicities(size: int) -> np.ndarray:
    """How often each entry of a packed matrix stands in the full one."""
    rows, columns = _triangle(size)
    return np.where(rows == columns, 1.0, 2.0)


def unpacked(packed: np.ndarray) -> np.ndarray:
    """The stack as full matrices, of shape (n, c, c)."""
    size = size_of(packed)
    rows, columns = _triangle(size)
    full = np.empty((*packed.shape[:-1], size, size))
    full[..., rows, columns] = packed
    full[..., columns, rows] = packed
    return full


def packed_of(full: np.ndarray) -> np.ndarray:
    """The stack of full symmetric matrices, packed."""
    return np.ascontiguousarray(full[(..., *_triangle(full.shape[-1]))])


def diagonals(packed: np.ndarray) -> np.ndarray:
    """Diagonal of each matrix."""
    return packed[..., _diagonal(size_of(packed))]


def packed_diagonals(diagonal: np.ndarray) -> np.ndarray:
    """Diagonal matrices, packed."""
    size = diagonal.shape[-1]
    packed = np.zeros((*diagonal.shape[:-1], size * (size + 1) // 2))
    packed[..., _diagonal(size)] = diagonal
    return packed


def for_inner_products(packed: np.ndarray) -> np.ndarray:
    """Packed so that the plain inner product with another packed matrix is the trace of their product."""
    return packed * _multiplicities(size_of(packed))


def inverses(packed: np.ndarray, ridge: np.ndarray) -> Inverses:
    """Inverse of ``matrix + diag(ridge)`` for each matrix; where there is none, the pseudo-inverse."""
    found = np.empty_like(packed)
    log_determinants = np.zeros(len(packed))
    sound = np.zeros(len(packed), dtype=bool)
    places = np.arange(len(packed) + 1)
    in_threads(invert_packed, places, packed, ridge, found, log_determinants, sound, cost=len(ridge) ** 3)
    unsound = np.flatnonzero(~sound)
    if len(unsound):
        full = unpacked(packed[unsound]) + np.diag(ridge)
        found[unsound] = packed_of(np.linalg.pinv(full, hermitian=True, rcond=1e-12))
    return Inverses(found, -log_determinants)


def products(which: np.ndarray, packed: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrix ``which[i]`` of the stack times vector i."""
    found = np.empty_like(vectors)
    places = np.arange(len(vectors) + 1)
    in_threads(multiply_packed, places, which, packed, vectors, found, cost=vectors.shape[1] ** 2)
    return found
