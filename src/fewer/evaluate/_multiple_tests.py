"""Many tests at once: the false discovery rate of Benjamini and Hochberg.

Of m p-values, sorted ``p_(1) <= ... <= p_(m)``, reject the l smallest, where l is the largest with
``p_(l) <= l alpha / m``. Among the rejected, the expected share of true nulls is then at most alpha (for independent
or positively dependent tests).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import false_discovery_control

from fewer._figures import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Discoveries(Result):
    """Which of many null hypotheses are rejected; made by :func:`benjamini_hochberg`.

    Attributes
    ----------
    rejected : ndarray of bool
        Whether each null hypothesis is rejected, in the order and shape of the p-values.
    adjusted : ndarray of float
        Smallest false discovery rate at which it would be.
    threshold : float
        Largest p-value that is rejected; 0 when none is.
    alpha : float
        The false discovery rate that was asked for.
    """

    rejected: np.ndarray
    adjusted: np.ndarray
    threshold: float
    alpha: float

    @property
    def n_rejected(self) -> int:
        """How many are rejected."""
        return int(self.rejected.sum())

    def __repr__(self) -> str:
        return (
            f"Discoveries: {self.n_rejected} of {self.rejected.size} rejected at a false discovery rate of "
            f"{self.alpha:g} (p <= {self.threshold:.4g})"
        )


def benjamini_hochberg(p_values: "ArrayLike", alpha: float = 0.05) -> Discoveries:
    """Reject null hypotheses so that at most a share ``alpha`` of the rejections is false, on average.

    Parameters
    ----------
    p_values : array-like
        p-values of one family of tests, of any shape.
    alpha : float, default=0.05
        False discovery rate.

    Returns
    -------
    discoveries : Discoveries
        ``rejected`` and ``adjusted`` have the shape of ``p_values``.

    Examples
    --------
    >>> from fewer.evaluate import benjamini_hochberg
    >>> found = benjamini_hochberg([0.01, 0.8, 0.04, 0.02])
    >>> found
    Discoveries: 2 of 4 rejected at a false discovery rate of 0.05 (p <= 0.02)
    >>> found.rejected
    array([ True, False, False,  True])
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.size and not (np.min(p_values) >= 0 and np.max(p_values) <= 1):  # also false for NaN
        raise ValueError("p-values must lie between 0 and 1, and none may be missing.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}.")
    adjusted = np.reshape(false_discovery_control(p_values, axis=None), p_values.shape)
    rejected = adjusted <= alpha * (1 + 1e-12)  # p-values of permutations are fractions, which may round to above alpha
    threshold = float(p_values[rejected].max(initial=0.0))
    return Discoveries(rejected, adjusted, threshold, alpha)
