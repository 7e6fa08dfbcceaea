"""Expected information gain of the best cut when two classes are in random order, by counting paths.

Row by row, the number k of minority rows seen so far is a path from (0, 0) to (n, m), all paths equally likely. The
best gain is at most t when the path stays on the cells (i, k) whose gain is at most t. One pass over the cells carries
the probability of that for many t at once.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cut_gain(n_rows, n_minority, place, seen, xlogx):
    """Gain in bits of the cut after ``place`` rows, ``seen`` of them from the minority."""
    rest, unseen = n_rows - place, n_minority - seen
    value = xlogx[n_rows] - xlogx[n_minority] - xlogx[n_rows - n_minority]
    value -= xlogx[place] - xlogx[seen] - xlogx[place - seen]
    value -= xlogx[rest] - xlogx[unseen] - xlogx[rest - unseen]
    return max(value, 0.0) / n_rows


@njit(cache=True, nogil=True)
def all_cut_gains(n_rows, n_minority, xlogx):
    """Gains of all possible cuts."""
    gains = np.empty(n_rows * (n_minority + 1))
    n_gains = 0
    for place in range(1, n_rows):
        for seen in range(max(0, place - n_rows + n_minority), min(place, n_minority) + 1):
            gains[n_gains] = cut_gain(n_rows, n_minority, place, seen, xlogx)
            n_gains += 1
    return gains[:n_gains]


@njit(cache=True, nogil=True)
def best_gain_distribution(n_rows, n_minority, levels, xlogx):
    """Probability that the best gain is at most each of the levels, which ascend."""
    n_levels = levels.size
    paths = np.zeros((n_minority + 1, n_levels))
    paths[0] = 1.0
    lowest = highest = 0  # between them are all paths that are still on cells with a gain below the highest level
    for place in range(1, n_rows):
        rows_left = n_rows - place + 1
        highest = min(highest + 1, n_minority)
        before, lowest = lowest, max(lowest, place - n_rows + n_minority)
        last_open, first_open = -1, n_minority + 1
        for seen in range(highest, lowest - 1, -1):
            blocked = np.searchsorted(levels, cut_gain(n_rows, n_minority, place, seen, xlogx))
            stay = (rows_left - (n_minority - seen)) / rows_left
            step = (n_minority - seen + 1) / rows_left
            paths[seen, :blocked] = 0.0
            if seen == 0:
                for level in range(blocked, n_levels):
                    paths[0, level] *= stay
            else:
                for level in range(blocked, n_levels):
                    paths[seen, level] = paths[seen, level] * stay + paths[seen - 1, level] * step
            if blocked < n_levels:
                last_open, first_open = max(last_open, seen), seen
        paths[before:lowest] = 0.0
        lowest, highest = first_open, last_open
    total = np.zeros(n_levels)
    for seen in range(lowest, highest + 1):
        total += paths[seen]
    return total
