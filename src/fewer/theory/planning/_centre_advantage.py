"""Why hubs are inevitable: how much nearer to all others a row near the centre of a normal cloud is.

Lengths of normal vectors in d dimensions are chi distributed, with mean mu and standard deviation sigma. The distance
of a row of length lambda to the others has the mean of the noncentral chi distribution,

    mu(d, lambda) = sqrt(pi / 2) L_(1/2)^(d/2 - 1)(-lambda^2 / 2) = mu(d) 1F1(-1/2; d/2; -lambda^2 / 2)
                  = sum_j Poisson(j | lambda^2 / 2) mu(d + 2 j),

and ``mu(d, mu + c2 sigma) - mu(d, mu + c1 sigma)`` for c1 < c2 <= 0 is positive and grows with d: whatever is near the
centre comes nearer to everything, in comparison with a row at the usual distance.

Radovanovic, M., Nanopoulos, A. and Ivanovic, M. (2010). Hubs in space. JMLR 11, 2487-2531.
"""

from numbers import Real

import numpy as np
from scipy.special import poch
from scipy.stats import poisson


def centre_advantage(n_dims: float, near: float = -2.0, usual: float = 0.0) -> float:
    """How much nearer to all others a row near the centre of a normal cloud is than a row at the usual distance.

    Parameters
    ----------
    n_dims : float
        Dimensions of the cloud, d.
    near, usual : float, default=-2.0, 0.0
        Distances of the two rows from the centre (c1 and c2): standard deviations from the mean distance.

    Returns
    -------
    advantage : float
        Difference of their mean distances to all rows, in standard deviations of a column (Delta mu).

    See Also
    --------
    fewer.evaluate.HubnessAnalyzer : Where the hubs of a table sit.

    References
    ----------
    .. [1] Radovanovic, M., Nanopoulos, A. & Ivanovic, M. (2010). Hubs in space: popular nearest neighbors in
       high-dimensional data. Journal of Machine Learning Research 11, 2487-2531.

    Examples
    --------
    >>> from fewer.theory import centre_advantage
    >>> [round(centre_advantage(n_dims), 4) for n_dims in (3, 10, 20, 100)]
    [0.5879, 0.8323, 0.895, 0.9599]
    """
    if not isinstance(n_dims, Real) or not 1 <= n_dims < np.inf:
        raise ValueError(f"n_dims={n_dims!r} must be a number of dimensions, from 1 on.")
    mean = mean_length(n_dims)
    std = np.sqrt(max(n_dims - mean**2, 0.0))
    lengths = [mean + shift * std for shift in (near, usual)]
    if min(lengths) < 0:
        raise ValueError(
            f"No row lies {min(near, usual):g} standard deviations from the mean distance to the centre: in "
            f"{n_dims:g} dimensions the smallest is {-mean / std:.2f}."
        )
    return float(mean_length(n_dims, lengths[1]) - mean_length(n_dims, lengths[0]))


def mean_length(n_dims: float, distance: float = 0.0) -> float:
    """Mean length of a normal vector whose mean lies at a distance from zero.

    >>> round(mean_length(20, mean_length(20)), 4)
    6.2258
    """
    usual = np.sqrt(2) * poch(n_dims / 2, 0.5)
    if distance == 0:
        return float(usual)
    # 1F1 loses all digits for large arguments; as a mean over a Poisson distribution it has positive terms only.
    rate = distance**2 / 2
    room = 12 * np.sqrt(rate) + 20
    extra = np.arange(max(0, int(rate - room)), int(rate + room) + 1)
    return float(poisson.pmf(extra, rate) @ (np.sqrt(2) * poch(n_dims / 2 + extra, 0.5)))
