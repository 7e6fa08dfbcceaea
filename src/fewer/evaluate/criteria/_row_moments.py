"""Moments of the log-likelihood of each row over posterior draws: what WAIC, DIC and the cumulants are made of.

    log E[p],    E[log p],    E[(log p - E[log p])^k] for k = 2 to 4,

as means over draws. WAIC needs the first three, which take one pass over the numbers.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewer._kernels._arrays import in_threads, read_only
from fewer.evaluate.criteria._exponentials import BLOCK, exp_into
from fewer.evaluate.criteria._log_lik import Draws

_FAR = 300.0


@njit(cache=True, nogil=True)
def _row_moments(start, stop, indptr, log_lik, weights, higher, train, means, moments):
    """log E[p], E[log p] and central moments 2 (to 4) of log p of blocks of rows; ``log_lik`` is (draws, rows).

    Inner loops run over the rows of a block, which lie side by side, so that processors do several at once.
    """
    n_rows = log_lik.shape[1]
    for block in range(start, stop):
        first, last = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        if higher or not _in_one_pass(first, last, log_lik, weights, train, means, moments):
            _in_two_passes(first, last, log_lik, weights, higher, train, means, moments)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _in_one_pass(first, last, log_lik, weights, train, means, moments):
    """The same without moments 3 and 4, reading every number once; False where a draw is too far from the first one.

    Sums are about the first draw of each row: it is as good as the largest unless another one is ``_FAR`` above it, and
    as good as the mean unless it is many standard deviations away.
    """
    width, n_draws = last - first, len(log_lik)
    scaled, shifts, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    reference = np.zeros(width)
    started = False
    highest = np.zeros(width)
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            if not started:
                reference[:] = line
                started = True
            for i in range(width):
                away = line[i] - reference[i]
                scaled[i] = away
                highest[i] = max(highest[i], away)
                away *= weight
                mean[i] += away
                square[i] += away * scaled[i]
            exp_into(powers, scaled, shifts, width)
            for i in range(width):
                total[i] += weight * powers[i]
    for i in range(width):
        variance = square[i] - mean[i] * mean[i]
        if highest[i] > _FAR or mean[i] * mean[i] > _FAR * variance:
            return False
        train[first + i] = np.log(total[i]) + reference[i]
        means[first + i] = mean[i] + reference[i]
        moments[first + i, 0], moments[first + i, 1], moments[first + i, 2] = variance, 0.0, 0.0
    return True


@njit(cache=True, nogil=True)
def _in_two_passes(first, last, log_lik, weights, higher, train, means, moments):
    """Largest value and mean first, and then exponentials and powers of the distances from them."""
    width, n_draws = last - first, len(log_lik)
    scaled, shifts, powers = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    top, mean, total = np.full(width, -np.inf), np.zeros(width), np.zeros(width)
    second, third, fourth = np.zeros(width), np.zeros(width), np.zeros(width)
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            for i in range(width):
                top[i] = max(top[i], line[i])
                mean[i] += weight * line[i]
    for s in range(n_draws):
        line, weight = log_lik[s, first:last], weights[s]
        if weight > 0.0:
            for i in range(width):
                centred = line[i] - mean[i]
                second[i] += weight * centred * centred
                scaled[i] = line[i] - top[i]
            if higher:
                for i in range(width):
                    centred = line[i] - mean[i]
                    cube = weight * centred * centred * centred
                    third[i] += cube
                    fourth[i] += cube * centred
            exp_into(powers, scaled, shifts, width)
            for i in range(width):
                total[i] += weight * powers[i]
    for i in range(width):
        train[first + i] = np.log(total[i]) + top[i]
        means[first + i] = mean[i]
        moments[first + i, 0], moments[first + i, 1], moments[first + i, 2] = second[i], third[i], fourth[i]


@dataclass(frozen=True, eq=False)
class Moments:
    """For each row: log E[p], E[log p], and the central moments 2 to 4 of log p over draws."""

    log_mean: np.ndarray
    mean_log: np.ndarray
    central: np.ndarray


def row_moments(draws: Draws, *, higher: bool = False) -> Moments:
    """What WAIC and the cumulants are made of; moments 3 and 4 are 0 unless ``higher``."""
    n = draws.n_rows
    train, means, moments = np.empty(n), np.empty(n), np.empty((n, 3))
    blocks = np.arange(-(-n // BLOCK) + 1) * BLOCK * draws.n_draws
    table = np.ascontiguousarray(draws.values.reshape(draws.n_draws, n), dtype=np.float64)
    in_threads(_row_moments, blocks, read_only(table), read_only(draws.weights), higher, train, means, moments, cost=8)
    return Moments(train, means, moments)
