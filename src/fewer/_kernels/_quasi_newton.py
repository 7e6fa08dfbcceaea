"""The direction of L-BFGS (Nocedal 1980): the gradient times the inverse Hessian, as the last steps estimate it.

For minimisation, give minus the gradient, and for ``falls`` its changes.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def quasi_newton_direction(gradient, moves, falls, n_moves):
    """Direction of ascent, from the last moves (rows of a ring) and by how much the gradient fell on each."""
    size = len(moves)
    used = min(n_moves, size)
    direction = gradient.copy()
    shares = np.empty(size)
    for back in range(used):
        row = (n_moves - 1 - back) % size
        shares[row] = np.dot(moves[row], direction) / np.dot(moves[row], falls[row])
        for a in range(len(direction)):
            direction[a] -= shares[row] * falls[row, a]
    if used:
        row = (n_moves - 1) % size
        stretch = np.dot(moves[row], falls[row]) / np.dot(falls[row], falls[row])
        for a in range(len(direction)):
            direction[a] *= stretch
    for back in range(used - 1, -1, -1):
        row = (n_moves - 1 - back) % size
        share = shares[row] - np.dot(falls[row], direction) / np.dot(moves[row], falls[row])
        for a in range(len(direction)):
            direction[a] += share * moves[row, a]
    return direction
