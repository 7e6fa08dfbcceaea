"""How likely a permutation test is to find what is there, in two settings that can be worked out by hand.

Labels permuted, two balanced classes, a classifier that errs with probability t on new rows: its number of errors is
Binomial(n, t), and about Binomial(n, 1/2) after the permutation, so that with normal approximations

    power = Phi( ((1 - 2t) sqrt(n) + Phi^-1(alpha)) / (2 sqrt(t (1 - t))) ).

Features permuted within classes, pairs of standard normal columns with correlation +rho in one class and -rho in
the other: the best rule is sign(x1 x2), right with probability 1/2 + asin(rho) / pi, and a coin once the correlation is
destroyed, so that t above is 1/2 - asin(rho) / pi.
"""

import numpy as np


def power_test1(n: int, t: float, alpha: float = 0.05) -> float:
    """Power of the test with permuted labels for a classifier of known error.

    Parameters
    ----------
    n : int
        Rows, in two classes of equal size.
    t : float
        Error of the classifier on new rows, between 0 and 1.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    power : float
        Probability that the test rejects.

    Examples
    --------
    >>> from fewer.evaluate import power_test1
    >>> round(power_test1(200, 0.4, alpha=0.01), 4)
    0.6958
    """
    from scipy.special import ndtr, ndtri

    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}.")
    if not 0 <= t <= 1:
        raise ValueError(f"t is an error rate between 0 and 1, not {t}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}.")
    gain = (1 - 2 * t) * np.sqrt(n) + ndtri(alpha)
    spread = 2 * np.sqrt(t * (1 - t))
    return float(ndtr(gain / spread)) if spread > 0 else float(gain > 0)


def power_test2(n: int, rho: float, alpha: float = 0.05) -> float:
    """Power of the test with features permuted within classes for a correlation that changes sign with the class.

    Parameters
    ----------
    n : int
        Rows, in two classes of equal size.
    rho : float
        Correlation of the two columns in one class; in the other it is ``-rho``.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    power : float
        Probability that the test rejects for the best rule, ``sign(x1 x2)``.

    Examples
    --------
    >>> from fewer.evaluate import power_test2
    >>> round(power_test2(200, 0.4, alpha=0.01), 4)
    0.9234
    """
    if not -1 <= rho <= 1:
        raise ValueError(f"rho is a correlation between -1 and 1, not {rho}.")
    return power_test1(n, 0.5 - float(np.arcsin(abs(rho))) / np.pi, alpha)
