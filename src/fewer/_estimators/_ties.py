"""Ties between scores: what float arithmetic leaves of one, a difference in the last digits, must not break it."""

import numpy as np

ROUNDING = 1e-10
"""Scores whose relative difference is less are equal."""


def clearly_better(score: float, other: float) -> bool:
    """Whether a score is higher by more than rounding."""
    if not (np.isfinite(score) and np.isfinite(other)):
        return score > other
    return score - other > ROUNDING * max(abs(score), abs(other))


def first_of_best(values: np.ndarray) -> np.ndarray:
    """Place of the largest value along the last axis; of values that are equal but for rounding, the first.

    Examples
    --------
    >>> import numpy as np
    >>> int(first_of_best(np.array([0.5, 0.3, 0.1 + 0.2 + 0.2])))
    0
    """
    values = np.asarray(values, dtype=float)
    largest = values.max(axis=-1, keepdims=True)
    slack = ROUNDING * np.where(np.isfinite(largest), np.abs(largest), 0.0)
    return np.argmax(values >= largest - slack, axis=-1)


def without_rounding(values: np.ndarray) -> np.ndarray:
    """Values for sorting, to as many digits as count; those that are equal but for rounding come out equal."""
    finite = np.abs(values[np.isfinite(values)])
    scale = float(finite.max(initial=0.0)) or 1.0
    return np.round(values / scale, -int(np.log10(ROUNDING)))
