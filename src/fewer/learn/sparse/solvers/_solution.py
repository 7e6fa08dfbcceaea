"""What a solver returns."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

OnIteration = Callable[[np.ndarray, np.ndarray], bool]


class Solution(NamedTuple):
    coefficients: np.ndarray
    predictions: np.ndarray
    objective: float
    violation: float
    n_iter: int
    converged: bool
    gradient: np.ndarray | None = None  # of the loss, where the solver has it at the end


def go_on(coefficients: np.ndarray, predictions: np.ndarray) -> bool:
    """The ``on_iteration`` of somebody who only wants the end."""
    return False
