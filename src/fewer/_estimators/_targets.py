"""A target of any kind as a matrix of numbers: classes by their indicator, numbers as they are."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target

from fewer._estimators import encoded_classes

_FEW_VALUES = 20


class Target(NamedTuple):
    """Numbers of shape (rows, targets), and the classes that they stand for, if any."""

    values: np.ndarray
    classes: np.ndarray | None


def target_matrix(y: np.ndarray, kind: str, who: str, balanced: bool) -> Target:
    """A target that is "classes", "numbers", or what "auto" makes of it; ``balanced``: E Pi^{-1/2} rather than E."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if kind == "classes" or (kind == "auto" and _looks_like_classes(y)):
        classes, codes = encoded_classes(y, who)
        indicator = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
        return Target(indicator / np.sqrt(indicator.sum(axis=0)) if balanced else indicator, classes)
    numbers = np.asarray(y, dtype=np.float64)
    return Target(numbers.reshape(len(numbers), -1), None)


def _looks_like_classes(y: np.ndarray) -> bool:
    if y.ndim == 1 and y.dtype.kind == "O" and not all(isinstance(value, Real) for value in y):
        return True  # labels; what may be wrong with them is told where they are encoded
    if y.ndim != 1 or type_of_target(y) not in ("binary", "multiclass"):
        return False
    return y.dtype.kind not in "iuf" or len(np.unique(y)) <= _FEW_VALUES


def known_target(y: Any, classes: np.ndarray | None) -> np.ndarray:
    """New values of a target whose classes are known, as a matrix of the same columns."""
    if classes is None:
        numbers = np.asarray(y, dtype=np.float64)
        return numbers.reshape(len(numbers), -1)
    labels = np.asarray(y)
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(f"y holds the class {unknown.tolist()[0]!r}, which was not seen in fit.")
    return (labels[:, None] == classes).astype(np.float64)
