"""Rows whose target is known, among those whose target is not."""

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d

from fewer.extract.gradients._target import holds_numbers, holds_quantity

_UNLABELLED = -1


def labelled_rows(y: np.ndarray) -> np.ndarray:
    """Mask of the rows with a target: not None, not NaN, and not -1 among whole numbers that stand for classes.

    If -1 and a single other number are all there is, they are the two classes.
    """
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        known = np.array([value is not None and value == value for value in y])
    elif y.dtype.kind == "f":
        assert_all_finite(y[~np.isnan(y)], input_name="y")
        known = ~np.isnan(y)
    else:
        known = np.ones(len(y), dtype=bool)
    if not known.any():
        raise ValueError("y holds no target at all; some rows at least must have one.")
    if holds_numbers(y[known]) and not holds_quantity(y[known]):
        classes = np.unique(y[known])
        if _UNLABELLED in classes and len(classes) > 2:
            known &= y != _UNLABELLED
    return known
