"""How sure a majority of n independent votes is, each right with probability p.

``P = sum_{i >= n/2} C(n, i) p^i (1-p)^(n-i)``, as Rogers and Gunn write it: a draw counts as right when n is even.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def majority_vote_convergence(p: "ArrayLike", n: "ArrayLike") -> np.ndarray:
    """Probability that at least half of n independent votes are right.

    How fast a forest converges on a row depends on the margin ``2 p - 1`` that a single tree has there. Irrelevant
    columns shrink it, so more trees are needed for the same error.

    Parameters
    ----------
    p : array-like of float
        Probability that one tree is right, from 0 to 1.
    n : array-like of int
        Trees, at least 1. An even number counts a draw as right; odd numbers compare fairly.

    Returns
    -------
    probability : ndarray of float
        In the shape of ``p`` and ``n`` broadcast together.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.select import majority_vote_convergence
    >>> majority_vote_convergence(0.6, [1, 11, 101]).round(3)  # a margin of 0.2
    array([0.6  , 0.753, 0.979])
    """
    p, n = np.asarray(p, dtype=float), np.asarray(n)
    if np.any((p < 0) | (p > 1)):
        raise ValueError("p must be probabilities, from 0 to 1.")
    if np.any(n < 1) or np.any(n != np.floor(n)):
        raise ValueError("n must be whole numbers of trees, at least 1.")
    return stats.binom.sf(np.ceil(n / 2) - 1, n, p)
