"""What a target is to a filter: classes or numbers, and its levels."""

from typing import Any

import numpy as np

from fewer._estimators import encoded_classes
from fewer.select._discretise import discretise
from fewer.select.scores._score import holds_numbers


def task_of(y: np.ndarray, task: str) -> str:
    """Numbers ask for regression, whole numbers of few kinds and names for classification, unless the user says."""
    if task != "auto":
        return task
    return "regression" if holds_numbers(y) else "classification"


def numbers(y: np.ndarray, who: str) -> np.ndarray:
    """The target as floats that are not all equal."""
    try:
        found = y.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who} with task='regression' needs numbers in y, and y holds {str(y[0])!r}; take task='classification'."
        ) from None
    if found.min() == found.max():
        raise ValueError(
            f"{who} compares columns with the target, and y has the same value, {found[0]:g}, in every row."
        )
    return found


def target_levels(y: Any, task: str, n_bins: int, who: str) -> np.ndarray:
    """Classes as 0, 1, ...; or numbers, cut into intervals that hold equally many rows."""
    if task == "classification":
        return encoded_classes(y, who).codes
    return discretise(numbers(y, who)[:, None], n_bins=n_bins).column(0)
