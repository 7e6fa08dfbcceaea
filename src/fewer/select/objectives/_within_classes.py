"""Columns as discriminants need them: scaled, with those named that do not vary within classes."""

import numpy as np

from fewer._estimators import known_column, warn_caller

# scikit-learn leaves out directions whose standard deviation is below 1e-4 of the columns' own.
DETERMINED = 1e-8


def scaled_columns(X: np.ndarray) -> np.ndarray:
    """Columns less their middle, in units of a power of two near their range.

    Discriminants do not depend on either, products then neither overflow nor lose digits to a large mean.
    """
    lowest, highest = X.min(axis=0), X.max(axis=0)
    middle = lowest / 2 + highest / 2
    exponents = np.frexp(np.maximum(highest - middle, middle - lowest))[1]
    return np.ldexp(X - middle, -exponents)


def warn_of_separators(squares: np.ndarray, centres: np.ndarray) -> None:
    """Columns that are constant within every class but differ between classes cannot be put in a covariance."""
    separators = np.flatnonzero((squares == 0) & (np.ptp(centres, axis=0) > 1e-12))
    if len(separators):
        first = known_column(separators[0], len(squares))
        warn_caller(
            f"Column {first!r} is constant within every class and differs between them ({len(separators)} such "
            "columns). It has no variance to measure distances by, and is left out of account, as in scikit-learn; by "
            "itself it tells the classes apart."
        )
