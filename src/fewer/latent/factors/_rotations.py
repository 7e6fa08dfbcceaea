"""Rotations of loadings towards a simple structure: few large loadings in each row and column.

Any rotation of the factors fits as well. An orthogonal one takes loadings A to ``L = A T`` with ``T'T = I``; an oblique
one to ``L = A T'^-1`` with columns of T of unit length, and correlations ``T'T`` of the factors. Each minimises a
criterion Q(L), by projected gradients (Jennrich 2001, 2002):

- *varimax*: ``- sum_k var_i(L_ik^2)``, and *quartimax*: ``- sum_ik L_ik^4``, orthogonal;
- *oblimin* (quartimin): ``sum_i sum_{k < l} L_ik^2 L_il^2``, and *geomin*: ``sum_i (prod_k (L_ik^2 + 0.01))^(1/q)``,
  oblique;
- *promax*: the oblique rotation closest to the fourth powers of varimax loadings (Hendrickson and White 1964).

For varimax, quartimax and promax, rows count alike whatever their length (Kaiser's normalisation), as in R's factanal.

References
----------
Bernaards, C. A. and Jennrich, R. I. (2005). Gradient projection algorithms and software for arbitrary rotation criteria
in factor analysis. Educational and Psychological Measurement 65, 676-696.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

_MAX_STEPS = 1000
_TOL = 1e-9
_N_STARTS = 8
_GEOMIN = 0.01

Criterion = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Rotation(NamedTuple):
    """Rotated loadings L (p, q), the map of old factors to new ones (q, q), and correlations of the new (q, q).

    If z are the old factors, ``turn @ z`` are the new ones, so that ``L = A @ inv(turn)`` and ``phi = turn @ turn.T``.
    """

    loadings: np.ndarray
    turn: np.ndarray
    correlations: np.ndarray


def varimax(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    away = L**2 - np.mean(L**2, axis=0)
    return -float(np.sum(away**2)) / 4, -L * away


def quartimax(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    return -float(np.sum(L**4)) / 4, -(L**3)


def oblimin(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    squares = L**2
    others = squares.sum(axis=1, keepdims=True) - squares
    return float(np.sum(squares * others)) / 4, L * others


def geomin(L: np.ndarray) -> tuple[float, np.ndarray]:
    """Criterion and gradient."""
    squares = L**2 + _GEOMIN
    means = np.exp(np.mean(np.log(squares), axis=1))
    return float(means.sum()), 2 / L.shape[1] * (L / squares) * means[:, None]


ORTHOGONAL: dict[str, Criterion] = {"varimax": varimax, "quartimax": quartimax}
OBLIQUE: dict[str, Criterion] = {"oblimin": oblimin, "geomin": geomin}
ROTATIONS = (*ORTHOGONAL, "promax", *OBLIQUE)


def rotated(loadings: np.ndarray, rotation: str | None) -> Rotation:
    """Rotate standardised loadings; factors of decreasing sums of squares, whose largest loading is positive.

    Examples
    --------
    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> turned = simple @ np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> bool(np.allclose(rotated(turned, "varimax").loadings, simple, atol=1e-6))
    True
    """
    q = loadings.shape[1]
    turn = np.eye(q)
    if rotation is not None and q > 1 and np.any(loadings):
        lengths = np.sqrt(np.sum(loadings**2, axis=1, keepdims=True))
        normal = loadings / np.where(lengths > 0, lengths, 1)
        if rotation in ORTHOGONAL:
            turn = _orthogonal(normal, ORTHOGONAL[rotation]).T
        elif rotation == "promax":
            turn = _promax(loadings, _orthogonal(normal, varimax))
        else:
            turn = _oblique(loadings, OBLIQUE[rotation], _orthogonal(normal, varimax)).T
    return _arranged(loadings @ linalg.inv(turn), turn)


def _arranged(loadings: np.ndarray, turn: np.ndarray) -> Rotation:
    order = np.argsort(-np.sum(loadings**2, axis=0), kind="stable")
    largest = loadings[np.abs(loadings).argmax(axis=0), np.arange(len(order))]
    signs = np.where(largest < 0, -1.0, 1.0)[order]
    turn = turn[order] * signs[:, None]
    return Rotation(loadings[:, order] * signs, turn, turn @ turn.T)


def _starts(q: int) -> list[np.ndarray]:
    """The identity, and random rotations: criteria have several minima."""
    random = np.random.RandomState(0)
    return [np.eye(q), *(linalg.qr(random.standard_normal((q, q)))[0] for _ in range(_N_STARTS))]


def _orthogonal(A: np.ndarray, criterion: Criterion) -> np.ndarray:
    def at(T):
        value, slope = criterion(A @ T)
        return value, A.T @ slope

    def tangent(T, gradient):
        inner = T.T @ gradient
        return gradient - T @ (inner + inner.T) / 2

    def on_manifold(T):
        left, _, right = linalg.svd(T)
        return left @ right

    found = [_projected_descent(T, at, tangent, on_manifold) for T in _starts(A.shape[1])]
    return min(found, key=lambda each: each[0])[1]


def _oblique(A: np.ndarray, criterion: Criterion, start: np.ndarray) -> np.ndarray:
    def at(T):
        inverse = linalg.inv(T)
        L = A @ inverse.T
        value, slope = criterion(L)
        return value, -(L.T @ slope @ inverse).T

    def tangent(T, gradient):
        return gradient - T * np.sum(T * gradient, axis=0)

    def on_manifold(T):
        return T / np.sqrt(np.sum(T**2, axis=0))

    starts = [start, *_starts(A.shape[1])]
    found = [_projected_descent(T, at, tangent, on_manifold) for T in starts]
    return min(found, key=lambda each: each[0])[1]


def _projected_descent(T, at, tangent, on_manifold) -> tuple[float, np.ndarray]:
    """Minimise over a manifold of matrices; steps double where they succeed, and are halved where they do not."""
    value, gradient = at(T)
    step = 1.0
    for _ in range(_MAX_STEPS):
        direction = tangent(T, gradient)
        length = float(np.linalg.norm(direction))
        if length < _TOL:
            break
        step *= 2
        for _ in range(40):
            moved = on_manifold(T - step * direction)
            after, slope = at(moved)
            if after < value - 0.5 * step * length**2:
                break
            step /= 2
        else:
            break
        T, value, gradient = moved, after, slope
    return value, T


def _promax(A: np.ndarray, T: np.ndarray, power: int = 4) -> np.ndarray:
    L = A @ T
    target = L * np.abs(L) ** (power - 1)
    turn, *_ = linalg.lstsq(L, target)
    turn = turn * np.sqrt(np.diag(linalg.inv(turn.T @ turn)))
    return linalg.inv(T @ turn)
