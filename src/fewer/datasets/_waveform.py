"""Noisy mixtures of two of three triangular waves: ``x = u h_a + (1 - u) h_b + e``, the class being the pair (a, b).

``h_1``, ``h_2`` and ``h_3`` have height 6 and are centred at 7, 15 and 11 on the points 1 to 21, ``u`` is uniform on
[0, 1] and ``e`` standard normal. Columns of pure noise follow. Breiman et al. (1984).
"""

from typing import TYPE_CHECKING

import numpy as np

from fewer.datasets._problem import Problem

if TYPE_CHECKING:
    from numpy.random import RandomState

_CENTRES = (7, 15, 11)
_N_POINTS = 21
_PAIRS = np.array([(0, 1), (0, 2), (1, 2)])


def make_waveform(n_samples: int = 5000, n_noise: int = 19, random_state: "int | RandomState | None" = None) -> Problem:
    """Noisy mixtures of two of three triangular waves, and columns of pure noise.

    Parameters
    ----------
    n_samples : int, default=5000
        Rows.
    n_noise : int, default=19
        Columns of pure noise after the 21 points of the wave.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    problem : Problem
        ``y`` is 0, 1 or 2, for the waves (1, 2), (1, 3) and (2, 3). ``truth`` holds ``waves`` (3 x 21) and
        ``support``, True for the columns that tell about the class: all points but the first and the last, where
        every wave is 0.

    Notes
    -----
    The best possible rule is right for about 86% of rows [1]_.

    References
    ----------
    .. [1] Breiman, L., Friedman, J., Olshen, R. & Stone, C. (1984). Classification and regression trees. Wadsworth.

    Examples
    --------
    >>> from fewer.datasets import make_waveform
    >>> X, y, truth = make_waveform(n_samples=300, random_state=0)
    >>> X.shape, int(truth["support"].sum())
    ((300, 40), 19)
    """
    from sklearn.utils import check_random_state

    if n_samples < 1 or n_noise < 0:
        raise ValueError(f"n_samples={n_samples} must be at least 1, and n_noise={n_noise} at least 0.")
    rng = check_random_state(random_state)
    points = np.arange(1, _N_POINTS + 1)
    waves = np.maximum(6.0 - np.abs(points - np.array(_CENTRES)[:, None]), 0.0)
    y = rng.randint(3, size=n_samples)
    share = rng.uniform(size=(n_samples, 1))
    first, second = waves[_PAIRS[y, 0]], waves[_PAIRS[y, 1]]
    X = rng.normal(size=(n_samples, _N_POINTS + n_noise))
    X[:, :_N_POINTS] += share * first + (1 - share) * second
    support = np.concatenate([waves.any(axis=0), np.zeros(n_noise, dtype=bool)])
    return Problem(X, y, {"waves": waves, "support": support})
