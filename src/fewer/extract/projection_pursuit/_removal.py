"""Structure taken away along a direction: each class is made normal there, and stays as it is across.

``x <- x + (Phi^(-1)(F_k(a'x)) - a'x) a``, F_k the class's own distribution function along a.
"""

from itertools import pairwise

import numpy as np
from scipy import special, stats


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Values of a standard normal distribution in the order of the given ones; ties share theirs."""
    return special.ndtri((stats.rankdata(values) - 0.5) / len(values))


def without_structure(
    Z: np.ndarray, begins: np.ndarray, direction: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Rows with every class made normal along a direction, and the map of each class as two rows: from, to.

    Rows move along ``shift``, which is the direction itself unless another metric is meant.
    """
    values = Z @ direction
    new = np.concatenate([normal_scores(values[begin:end]) for begin, end in pairwise(begins)])
    maps = []
    for begin, end in pairwise(begins):
        distinct, first = np.unique(values[begin:end], return_index=True)
        maps.append(np.stack([distinct, new[begin:end][first]]))
    return Z + np.outer(new - values, shift / (shift @ direction)), maps
