"""What becomes of singular values: the scalar problems behind penalties of a matrix's spectrum.

Each threshold solves ``argmin over d >= 0 of (s - d)^2 / 2 + penalty(d)`` for every singular value s of a complete
matrix; with the singular vectors kept, that is the matrix nearest to the given one under the penalty
``sum of penalty(d_i)`` [1]_.

.. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
   incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from fewer._estimators import checked_array


class Threshold(NamedTuple):
    """How singular values (in decreasing order) are shrunk, and what the shrunk ones cost.

    ``floor`` is the largest value that is set to zero, 0 where that is not known; ``cost`` is None where it is not
    known.
    """

    shrink: Callable[[np.ndarray], np.ndarray]
    cost: Callable[[np.ndarray], float] | None
    floor: float = 0.0


def soft(lam: float) -> Threshold:
    """Every value less ``lam``, at least 0: the nuclear norm, ``lam * sum of d``."""
    return Threshold(lambda s: np.maximum(s - lam, 0), lambda d: lam * float(d.sum()), lam)


def hard(lam: float) -> Threshold:
    """Values with ``s^2 / 2 > lam`` as they are, others 0: the rank, ``lam * number of d above 0``."""
    floor = float(np.sqrt(2 * lam))
    return Threshold(lambda s: np.where(s > floor, s, 0), lambda d: lam * int((d > 0).sum()), floor)


def top(rank: int) -> Threshold:
    """The ``rank`` largest values as they are, others 0: a matrix of no higher rank."""
    return Threshold(lambda s: np.where(np.arange(len(s)) < rank, s, 0), lambda d: 0.0)


def mc_plus(lam: float, mu: float) -> Threshold:
    """From soft (``mu`` large) to hard (``mu`` near 1): small values shrink, those above ``mu * lam`` do not."""

    def shrink(s: np.ndarray) -> np.ndarray:
        return np.where(s > mu * lam, s, np.maximum(s - lam, 0) / (1 - 1 / mu))

    def cost(d: np.ndarray) -> float:
        return float(np.where(d > mu * lam, mu * lam**2 / 2, lam * d - d**2 / (2 * mu)).sum())

    return Threshold(shrink, cost, lam)


def soft_threshold_svd(W: Any, lam: float, k: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrix nearest to W under a nuclear-norm penalty: its singular values less ``lam``, as far as they exceed it.

    ``argmin over Z of ||W - Z||_F^2 / 2 + lam * ||Z||_*``

    Parameters
    ----------
    W : {array-like, sparse matrix} or LinearOperator of shape (n_samples, n_features)
        A complete matrix.
    lam : float
        What is taken from each singular value.
    k : int, default=None
        Compute so many leading singular values only. By default all of an array, and of others as many as exceed
        ``lam``.

    Returns
    -------
    U : ndarray of shape (n_samples, rank)
        Left singular vectors.
    d : ndarray of shape (rank,)
        Shrunk singular values, all above 0, in decreasing order.
    V : ndarray of shape (n_features, rank)
        Right singular vectors; the matrix is ``U * d @ V.T``.

    References
    ----------
    .. [1] Mazumder, R., Hastie, T. and Tibshirani, R. (2010). Spectral regularization algorithms for learning large
       incomplete matrices. Journal of Machine Learning Research 11, 2287-2322.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import soft_threshold_svd
    >>> soft_threshold_svd(np.diag([3.0, 2.0, 0.5]), lam=1.0)[1]
    array([2., 1.])
    """
    if lam < 0:
        raise ValueError(f"lam must be at least 0; it is {lam:g}.")
    if not isinstance(W, LinearOperator):
        W = checked_array(W, "soft_threshold_svd", accept_sparse=True, dtype=[np.float64, np.float32])
    smaller = min(W.shape)
    if isinstance(W, np.ndarray) and k is None:
        k = smaller
    wanted = min(k or 8, smaller)
    U, s, V = _triplets(W, wanted)
    while k is None and wanted < smaller and s[-1] > lam:
        wanted = min(2 * wanted, smaller)
        U, s, V = _triplets(W, wanted)
    kept = s > lam
    return U[:, kept], s[kept] - lam, V[:, kept]


def _triplets(W: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    smaller = min(W.shape)
    if k >= smaller - 1 or (isinstance(W, np.ndarray) and (k > smaller // 4 or smaller <= 300)):
        whole = W if isinstance(W, np.ndarray) else W @ np.eye(W.shape[1])
        U, s, Vt = np.linalg.svd(whole, full_matrices=False)
        return U[:, :k], s[:k], Vt[:k].T
    operator = W if isinstance(W, LinearOperator) else W.astype(np.result_type(W.dtype, np.float32))
    U, s, Vt = svds(operator, k=k, v0=np.random.default_rng(0).normal(size=smaller))
    order = np.argsort(-s)
    return U[:, order], s[order], Vt[order].T
