"""How far apart rounding may bring two computations of the same number.

Two ways to compute a sum of n products differ by at most

    30 sqrt(n) eps x scale x condition.

``scale`` is the size of what is summed: the sum of the terms without their signs, or a bound on it. For an inner
product this is the product of the two lengths, which stays as large where the terms cancel. ``condition`` is the factor
by which later steps magnify a relative error of that size: the condition number of a system that is solved, the norm of
a matrix over the distance to the next eigenvalue for an eigenvector, the size before a subtraction over that after it.

Why sqrt(n): n rounding errors of at most eps / 2 each add up to at most l sqrt(n) eps / 2 with a probability of
1 - 2 n exp(-l^2 / 2) (Higham and Mary 2019). With l = 10 that is certain in practice, for each of the two computations;
30 leaves room for a few sums one after the other, and is the threshold in LAPACK's own test programs.

References
----------
N. J. Higham and T. Mary (2019). A new approach to probabilistic rounding error analysis. SIAM Journal on Scientific
Computing 41(5), A2815-A2835.
"""

import numpy as np

THRESHOLD = 30


def rounding(n, scale=1.0, condition=1.0, dtype=float):
    """Bound on the difference between two computations of one number.

    Parameters
    ----------
    n : int
        Number of terms in the longest sum; of several after one another, their total.
    scale : float
        Size of what is summed, without cancellation; the unit of the result.
    condition : float
        Factor by which later steps magnify the error of the sums.
    dtype : dtype
        Precision of the computation.

    Returns
    -------
    float
    """
    return float(THRESHOLD * np.sqrt(n) * np.finfo(dtype).eps * scale * condition)
