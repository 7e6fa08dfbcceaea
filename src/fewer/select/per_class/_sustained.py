"""The number of columns at which the error is not only small, but stays small for its neighbours as well.

The curve of errors over the number of columns is averaged over ``window`` consecutive numbers. A dip that is due to
chance is narrow, and the average fills it up.
"""

from collections.abc import Iterable
from numbers import Integral

import numpy as np


def sustained_errors(errors: np.ndarray, window: int) -> np.ndarray:
    """Centred moving average; NaN at the ends, where the window does not fit. A shorter curve has a shorter window.

    Examples
    --------
    >>> import numpy as np
    >>> sustained_errors(np.array([0.3, 0.0, 0.3, 0.3]), 3).round(2)
    array([nan, 0.2, 0.2, nan])
    """
    window = min(window, len(errors))
    sums = np.cumsum(np.concatenate([[0.0], errors]))
    sustained = np.full(len(errors), np.nan)
    first = (window - 1) // 2
    sustained[first : first + len(errors) - window + 1] = (sums[window:] - sums[:-window]) / window
    return sustained


def sustained_best(errors: np.ndarray, window: int) -> int:
    """Place of the smallest sustained error; of equals, the first."""
    # Sums in another order differ in the last digit, which must not decide between equals.
    return int(np.nanargmin(sustained_errors(errors, window).round(12)))


def checked_grid(grid: Iterable[int], n_columns: int) -> np.ndarray:
    """Numbers of columns per class in rising order, without those above the number of columns there are."""
    numbers = list(grid)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
            raise ValueError(f"grid holds {number!r}; a number of columns per class is a whole number, at least 1.")
    if not numbers:
        raise ValueError("grid is empty; give numbers of columns per class, such as range(2, 101).")
    possible = [int(number) for number in numbers if number <= n_columns]
    return np.unique(possible or [n_columns])
