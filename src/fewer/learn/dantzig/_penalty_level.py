"""Penalties that theory fixes from the number of rows and columns and the noise, and the errors no method can beat.

With ``s = sigma / sqrt(n)`` and columns of mean square 1: universal ``s sqrt(2 log p)``; minimax for k columns
``s sqrt(2 log(p / k))``; for coefficients in an l_r ball of radius R ``s sqrt(2 log(s^r p / R^r))``.
"""

from math import log, pi, sqrt
from typing import Literal

Kind = Literal["universal", "minimax_l0", "minimax_lr"]


def penalty_level(
    kind: Kind,
    n: int,
    p: int,
    sigma: float,
    *,
    k: int | None = None,
    r: float | None = None,
    R: float | None = None,
    eps: float | None = None,
    xi: float | None = None,
) -> float:
    """Penalty for the Dantzig selector or the Lasso, for columns of mean square 1.

    Parameters
    ----------
    kind : {"universal", "minimax_l0", "minimax_lr"}
        The level: for any coefficients, for at most ``k`` that are not zero, or for ``sum |b_j|^r <= R^r``.
    n : int
        Rows.
    p : int
        Columns.
    sigma : float
        Standard deviation of the noise.
    k : int or None, default=None
        Columns with a coefficient, for "minimax_l0".
    r : float or None, default=None
        Power, above 0 and at most 1, for "minimax_lr".
    R : float or None, default=None
        Radius, for "minimax_lr".
    eps : float or None, default=None
        With "universal": ``sigma sqrt((2 / n) log(p / eps))`` instead, which no noise exceeds with probability
        ``1 - eps / sqrt(pi log(p / eps))`` at least.
    xi : float or None, default=None
        Above 1: multiply by ``(xi + 1) / (xi - 1)``, which theory asks for the Lasso; 3 gives the factor 2.

    Returns
    -------
    alpha : float
        The penalty, as in ``alpha`` of :class:`DantzigSelector` and :class:`L1LinearRegressor`.

    References
    ----------
    .. [1] Ye, F. and Zhang, C.-H. (2010). Rate minimaxity of the Lasso and Dantzig selector for the l_q loss in l_r
       balls. JMLR 11, 3519-3540.

    Examples
    --------
    >>> from fewer.learn import penalty_level
    >>> round(penalty_level("universal", n=200, p=400, sigma=1.0), 4)
    0.2448
    >>> round(penalty_level("universal", n=200, p=400, sigma=1.0, xi=3), 4)  # for the Lasso
    0.4895
    """
    if n < 1 or p < 1 or not sigma >= 0:
        raise ValueError(f"n={n}, p={p}, sigma={sigma}: rows and columns must be 1 or more, and sigma not negative.")
    if eps is not None and kind != "universal":
        raise ValueError("eps goes with kind='universal' only.")
    if eps is not None and not 0 < eps <= 1:
        raise ValueError(f"eps={eps} must lie above 0 and at most at 1.")
    if xi is not None and not xi > 1:
        raise ValueError(f"xi={xi} must be above 1.")
    noise = sigma / sqrt(n)
    if kind == "universal":
        level = noise * sqrt(2 * log(p / (eps or 1.0)))
    elif kind == "minimax_l0":
        level = noise * sqrt(2 * log(p / _checked_k(k, p)))
    elif kind == "minimax_lr":
        level = noise * sqrt(2 * max(log(_ball_share(noise, p, r, R)), 0.0))
    else:
        raise ValueError(f"kind={kind!r} is not known; choose 'universal', 'minimax_l0' or 'minimax_lr'.")
    return level if xi is None else level * (xi + 1) / (xi - 1)


def _checked_k(k: int | None, p: int) -> int:
    if k is None or not 1 <= k <= p:
        raise ValueError(f"k={k}: give the number of columns with a coefficient, from 1 to p={p}.")
    return k


def _ball_share(noise: float, p: int, r: float | None, R: float | None) -> float:
    """``s^r p / R^r``: columns for each coefficient of the noise's size that the ball has room for."""
    if r is None or R is None or not 0 < r <= 1 or not R > 0:
        raise ValueError(f"r={r}, R={R}: give a power above 0 and at most 1, and a radius above 0.")
    if noise == 0:
        raise ValueError("sigma=0: the level of an l_r ball needs noise.")
    return p * (noise / R) ** r


def coverage(p: int, eps: float = 1.0) -> float:
    """Probability, at least, that no column's product with the noise exceeds the universal level."""
    inside = log(p / eps)
    return max(1 - eps / sqrt(pi * inside), 0.0) if inside > 0 else 0.0


def minimax_lq(
    p: int,
    n: int,
    sigma: float,
    *,
    q: float = 2.0,
    k: int | None = None,
    r: float | None = None,
    R: float | None = None,
) -> float:
    """The expected error ``E sum |b_j - beta_j|^q`` that no method can be below for all sparse coefficients.

    Parameters
    ----------
    p : int
        Columns, of mean square 1.
    n : int
        Rows.
    sigma : float
        Standard deviation of the noise.
    q : float, default=2.0
        Power of the error, 1 or more.
    k : int or None, default=None
        At most this many coefficients are not zero.
    r : float or None, default=None
        Or, with ``R``: ``sum |beta_j|^r <= R^r``.
    R : float or None, default=None
        Radius of that ball.

    Returns
    -------
    error : float
        ``k alpha^q`` or ``R^r alpha^(q - r)``, with the minimax level alpha; a limit for many columns, for any design.

    Examples
    --------
    >>> from fewer.learn import minimax_lq
    >>> round(minimax_lq(p=400, n=200, sigma=1.0, k=5), 4)
    0.2191
    """
    if not q >= 1:
        raise ValueError(f"q={q} must be 1 or more.")
    if (k is None) == (r is None):
        raise ValueError("Give either k, or r and R.")
    if k is not None:
        return k * penalty_level("minimax_l0", n, p, sigma, k=k) ** q
    level = penalty_level("minimax_lr", n, p, sigma, r=r, R=R)
    assert r is not None
    assert R is not None
    return R**r * level ** (q - r)
