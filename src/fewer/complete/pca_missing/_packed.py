"""Stacks of small symmetric matrices, packed as their upper triangles (see ``_kernels/_packed_symmetric.py``)."""

from functools import cache
from typing import NamedTuple

import numpy as np

from fewer._kernels._in_threads import in_threads
from fewer._kernels._packed_symmetric import invert_packed, multiply_packed


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
