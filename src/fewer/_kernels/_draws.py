"""Random numbers inside kernels: the generator splitmix64, its state an array with one entry.

Each task owns its state, so what is drawn does not depend on which thread it runs in.
"""

import numpy as np
from numba import njit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(cache=True, nogil=True, inline="always")
def next_bits(state):
    """The next 64 random bits."""
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> _S30)) * _MIX_1
    bits = (bits ^ (bits >> _S27)) * _MIX_2
    return bits ^ (bits >> _S31)


@njit(cache=True, nogil=True, inline="always")
def draw_below(state, stop):
    """An integer from 0 to ``stop - 1``, for ``stop`` up to 2**32; no number is favoured by more than stop / 2**32."""
    return np.int64(((next_bits(state) >> _S32) * np.uint64(stop)) >> _S32)


@njit(cache=True, nogil=True)
def shuffle(values, n_values, state):
    """Put the first entries of an array into random order, in place."""
    for last in range(n_values - 1, 0, -1):
        other = draw_below(state, last + 1)
        values[last], values[other] = values[other], values[last]


@njit(cache=True, nogil=True)
def distinct_bootstrap_rows(n_rows, state):
    """Rows of a bootstrap sample, each once, in order: about 63% of all."""
    drawn = np.zeros(n_rows, dtype=np.bool_)
    for _ in range(n_rows):
        drawn[draw_below(state, n_rows)] = True
    return np.flatnonzero(drawn)
