"""Targets as groups of rows: classes as they are, numbers cut into slices of about equal size."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import encoded_classes

_USUAL_SLICES = 10
_ROWS_OF_A_CLASS = 5


class Slices(NamedTuple):
    """Groups in order (the classes; or the mean target of each slice), and the group of each row."""

    labels: np.ndarray
    codes: np.ndarray


def slices_of(y: Any, n_slices: int | None, who: str, rows_of_a_slice: int = 1) -> Slices:
    """Groups of rows by their target.

    Without ``n_slices``, labels are classes, and numbers are too if they have no fractions and each comes at least five
    times on average; other numbers are cut into ten slices, or fewer so that each has ``rows_of_a_slice``. Equal
    numbers always share a slice.

    Examples
    --------
    >>> import numpy as np
    >>> slices_of(np.array([0.1, 0.2, 0.3, 0.4]), 2, "SIR").codes
    array([0, 0, 1, 1])
    """
    numbers = np.ndim(y) == 1 and np.asarray(y).dtype.kind in "iuf"
    if not numbers or (n_slices is None and _are_classes(y)):
        return Slices(*encoded_classes(y, who))
    values = np.asarray(y, dtype=np.float64)
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"{who} tells classes or slices of y apart, and y is {distinct[0]:g} in every row.")
    middle_ranks = np.cumsum(counts) - counts / 2
    n_slices = n_slices or max(2, min(_USUAL_SLICES, len(values) // rows_of_a_slice))
    cut = np.floor(middle_ranks / len(values) * min(n_slices, len(distinct))).astype(int)
    _, slice_of_value = np.unique(cut, return_inverse=True)
    if slice_of_value[-1] == 0:  # one value holds nearly all rows: it stands against the others
        slice_of_value = (counts == counts.max()).astype(int)
    codes = slice_of_value[places]
    return Slices(np.bincount(codes, weights=values) / np.bincount(codes), codes)


def _are_classes(y: np.ndarray) -> bool:
    return type_of_target(y) in ("binary", "multiclass") and len(np.unique(y)) * _ROWS_OF_A_CLASS <= max(
        len(y), 2 * _ROWS_OF_A_CLASS
    )
