"""What partial least squares multiplies each piece of least squares by: ``f(l) = 1 - prod_j (1 - l / mu_j)``.

The product of many components loses all digits, for it multiplies what rounding leaves at an eigenvalue that has been
found by ratios of eigenvalues. So factors are read off the fit: ``f(l_i) = v_i'fit / v_i'y`` along the principal
direction v_i of the rows.
"""

import numpy as np

NOTHING_ALONG = 1e-8
"""Share of the largest ``v_i'y`` below which y does not go with a direction: then there is nothing to shrink."""


def shrinkage_factors(
    fit: np.ndarray, along: np.ndarray, eigenvalues: np.ndarray, ritz_values: np.ndarray
) -> np.ndarray:
    """Factors of PLS1, given ``v_i'fit`` and ``v_i'y``; by the formula where y does not go with the direction."""
    goes = np.abs(along) > NOTHING_ALONG * np.abs(along).max(initial=0)
    factors = np.empty_like(fit)
    factors[goes] = fit[goes] / along[goes]
    with np.errstate(over="ignore", invalid="ignore"):
        factors[~goes] = 1 - np.prod(1 - eigenvalues[~goes, None] / ritz_values, axis=1)
    return factors
