"""What the target holds, as objectives ask for it."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from fewer.select.scores._score import holds_numbers


def has_classes(y: np.ndarray, task: str = "auto") -> bool:
    """Whether y holds classes, of which there must be two at least, rather than numbers."""
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task={task!r} must be 'auto', 'classification' or 'regression'.")
    kind = type_of_target(y, raise_unknown=True)
    if kind.startswith("multilabel") or kind.endswith("multioutput"):
        raise ValueError("y has several columns; subsets are scored on one target only.")
    classes = not holds_numbers(y) if task == "auto" else task == "classification"
    if classes and len(np.unique(y)) < 2:
        raise ValueError("y has one class only, so there is nothing to tell apart; at least two classes are needed.")
    return classes
