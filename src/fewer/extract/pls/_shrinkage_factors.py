"""What partial least squares multiplies each piece of least squares by: ``f(l) = 1 - prod_j (1 - l / mu_j)``."""

import numpy as np


def pls_factors_of(eigenvalues: np.ndarray, ritz_values: np.ndarray) -> np.ndarray:
    """Shrinkage factors of PLS1 along principal directions with these eigenvalues of X'X."""
    return 1 - np.prod(1 - eigenvalues[:, None] / ritz_values, axis=1)
