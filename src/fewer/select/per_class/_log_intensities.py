"""Raw intensities to the log scale, with a floor for those that are not positive."""

from typing import Any

import numpy as np
from scipy import sparse


def log_intensities(X: Any, floor: float | None = None, names: Any = None) -> Any:
    """Logarithms of a table; entries that are not positive are first replaced by ``floor``.

    A sparse table stays sparse: its logarithms are taken relative to the floor, which adds the same to every entry and
    so changes neither differences of means nor spreads.
    """
    if sparse.issparse(X):
        if floor is None:
            raise ValueError(
                "log_transform=True takes logarithms, and a sparse table is full of zeros: give floor=, a small "
                "positive number that takes their place."
            )
        X = X.copy()
        X.data = np.log(np.where(X.data > 0, X.data, X.dtype.type(floor))) - X.dtype.type(np.log(floor))
        return X
    low = ~(X > 0)
    if low.any():
        if floor is None:
            row, column = np.argwhere(low)[0]
            name = repr(str(names[column])) if names is not None else column
            raise ValueError(
                f"log_transform=True takes logarithms, and {int(low.sum()):,} values are not positive, the first in "
                f"row {row} of column {name}. Give floor=, a small positive number that takes their place, or "
                "log_transform=False if the table is on the log scale already."
            )
        X = np.where(low, X.dtype.type(floor), X)
    return np.log(X)
