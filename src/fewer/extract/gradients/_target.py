"""What the target holds: numbers, or classes, each of which is learnt against the others."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import encoded_classes

_MOST_SMALL_CLASSES = 10
_ROWS_OF_A_CLASS = 5


class Targets(NamedTuple):
    """What functions are fitted to, one a row; the classes if these are signs, else None; what was taken from numbers.

    Of two classes one function tells, +1 for the second; of more, each class has its own.
    """

    values: np.ndarray
    classes: np.ndarray | None
    offset: float


def targets_of(y: np.ndarray, loss: str, who: str = "GradientLearner") -> Targets:
    """Numbers about their mean for the squared loss; classes as signs for the logistic one, and if y holds names.

    What is refused, is so in the name of ``who``.
    """
    if loss == "squared" and holds_numbers(y):
        numbers = y.astype(float)
        return Targets((numbers - numbers.mean())[None], None, float(numbers.mean()))
    classes, codes = encoded_classes(y, who, otherwise=lambda: ", or let loss='squared'")
    told = classes[1:] if len(classes) == 2 else classes
    signs = np.where(classes[codes] == told[:, None], 1.0, -1.0)
    return Targets(signs, classes, 0.0)


def holds_numbers(y: np.ndarray) -> bool:
    """Whether y can be read as numbers."""
    if y.dtype.kind not in "OUS":
        return True
    return y.dtype.kind == "O" and all(isinstance(value, (int, float, np.number)) for value in y)


def holds_quantity(y: np.ndarray) -> bool:
    """Whether y is something that is measured rather than classes: fractions, or whole numbers of very many kinds."""
    if not holds_numbers(y):
        return False
    n_kinds = len(np.unique(y))
    many_kinds = n_kinds > _MOST_SMALL_CLASSES and len(y) < _ROWS_OF_A_CLASS * n_kinds
    return many_kinds or type_of_target(y).startswith("continuous")
