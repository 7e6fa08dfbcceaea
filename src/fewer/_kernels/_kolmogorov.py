"""Exact p-values of the two-sample Kolmogorov-Smirnov statistic.

Order n + m values without ties at random: a path of n steps right and m steps up, all paths equally likely. The
p-value is the share of paths that somewhere leave the band ``|i / n - j / m| < gap``. The share among the paths to
``(i, j)`` is ``(i a(i - 1, j) + j a(i, j - 1)) / (i + j)``, and 1 outside of the band: only sums of positive numbers,
so that tiny p-values keep their digits.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def exact_p_value(n_first, n_second, reach):
    """Share of paths with ``|i n_second - j n_first| >= reach`` somewhere; O(n_first n_second) at most."""
    if reach <= 0:
        return 1.0
    shares = np.ones(n_second + 1)
    for right in range(n_first + 1):
        lead = right * n_second
        lowest = max(0, (lead - reach) // n_first + 1)
        highest = min(n_second, (lead + reach - 1) // n_first)
        # Below the band a path has left it: those cells are 1. The one just below was in the band a step ago.
        if lowest > 0:
            shares[lowest - 1] = 1.0
        for up in range(lowest, highest + 1):
            if right == 0 and up == 0:
                shares[0] = 0.0
                continue
            from_left = right * shares[up] if right > 0 else 0.0
            from_below = up * shares[up - 1] if up > 0 else 0.0
            shares[up] = (from_left + from_below) / (right + up)
    return shares[n_second]
