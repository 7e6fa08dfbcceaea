"""Sweeps of plane rotations that bring several symmetric matrices near a diagonal at once (Flury and Gautschi)."""

import numpy as np
from numba import njit

_TURNS = 20
_STILL = 1e-14
# Logs are rounded: a turn that raises their sum by no more than this share of the weights has not raised it.
_ROUNDING = 1e-14


@njit(cache=True, nogil=True)
def _plane_turn(planes, weights):
    """Cosine and sine of the rotation of one plane that minimises the weighted sum of log products of diagonals.

    ``planes`` has one row ``(t_jj, t_jl, t_ll)`` for each matrix. Given a rotation with diagonals d_1 and d_2, the next
    one has the eigenvectors of ``sum_k n_k (d_k1 - d_k2) / (d_k1 d_k2) T_k``.
    """
    cosine, sine = 1.0, 0.0
    for _ in range(_TURNS):
        a, b, c = 0.0, 0.0, 0.0
        for k in range(planes.shape[0]):
            first, cross, second = planes[k]
            d1 = cosine * cosine * first + 2 * cosine * sine * cross + sine * sine * second
            d2 = sine * sine * first - 2 * cosine * sine * cross + cosine * cosine * second
            share = weights[k] * (d1 - d2) / (d1 * d2)
            a += share * first
            b += share * cross
            c += share * second
        # The smaller of the two angles that diagonalise: axes keep their places.
        angle = 0.5 * np.arctan2(2 * b, a - c)
        if angle > np.pi / 4:
            angle -= np.pi / 2
        elif angle < -np.pi / 4:
            angle += np.pi / 2
        turned = np.cos(angle), np.sin(angle)
        change = abs(turned[0] * sine - turned[1] * cosine)
        cosine, sine = turned
        if change < _STILL:
            break
    before, after = 0.0, 0.0
    for k in range(planes.shape[0]):
        first, cross, second = planes[k]
        d1 = cosine * cosine * first + 2 * cosine * sine * cross + sine * sine * second
        d2 = sine * sine * first - 2 * cosine * sine * cross + cosine * cosine * second
        before += weights[k] * (np.log(first) + np.log(second))
        after += weights[k] * (np.log(d1) + np.log(d2))
    if after > before + _ROUNDING * weights.sum():
        return 1.0, 0.0
    return cosine, sine


@njit(cache=True, nogil=True)
def sweep_of_turns(matrices, axes, weights):
    """Turn every pair of axes once, ``matrices`` (A'S_k A) and ``axes`` (A) in place; gives the largest sine."""
    n_matrices, n_dims = matrices.shape[:2]
    planes = np.empty((n_matrices, 3))
    largest = 0.0
    for j in range(n_dims - 1):
        for m in range(j + 1, n_dims):
            for k in range(n_matrices):
                planes[k, 0] = matrices[k, j, j]
                planes[k, 1] = matrices[k, j, m]
                planes[k, 2] = matrices[k, m, m]
            cosine, sine = _plane_turn(planes, weights)
            largest = max(largest, abs(sine))
            if sine == 0.0:
                continue
            for i in range(n_dims):
                kept = axes[i, j]
                axes[i, j] = cosine * kept + sine * axes[i, m]
                axes[i, m] = cosine * axes[i, m] - sine * kept
            for k in range(n_matrices):
                for i in range(n_dims):
                    kept = matrices[k, i, j]
                    matrices[k, i, j] = cosine * kept + sine * matrices[k, i, m]
                    matrices[k, i, m] = cosine * matrices[k, i, m] - sine * kept
                for i in range(n_dims):
                    kept = matrices[k, j, i]
                    matrices[k, j, i] = cosine * kept + sine * matrices[k, m, i]
                    matrices[k, m, i] = cosine * matrices[k, m, i] - sine * kept
    return largest
