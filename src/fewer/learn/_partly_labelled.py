"""Targets of semi-supervised classifiers, in which some rows have no label."""

from typing import Any, Protocol

import numpy as np

from fewer._estimators import encoded_classes


class _SemiSupervised(Protocol):
    unlabeled_value: Any


def known_labels(estimator: _SemiSupervised, y: Any) -> tuple[np.ndarray, Any]:
    """Which rows have a label, by the estimator's ``unlabeled_value``, and y as an array."""
    value = estimator.unlabeled_value
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: pass the classes, with "
            "unlabeled_value for rows without."
        )
    table = y if isinstance(y, np.ndarray) else np.asarray(y)
    if table.ndim != 1:
        return np.ones(len(table), dtype=bool), y
    if value is None:
        if table.dtype.kind == "f":
            return ~np.isnan(table), table
        return np.array([not (each is None or each != each) for each in table.tolist()], dtype=bool), table
    same = [type(each) is not bool and each == value for each in table.tolist()]
    if not any(same) and not isinstance(value, str) and str(value) in set(table.tolist()):
        raise ValueError(
            f"y holds the text {str(value)!r}, and unlabeled_value is the number {value!r}: give "
            f"unlabeled_value={str(value)!r} if it stands for rows without a label, else unlabeled_value=None."
        )
    return ~np.array(same, dtype=bool), table


def encoded_known(estimator: _SemiSupervised, y: np.ndarray, *, all_known: bool) -> tuple[np.ndarray, np.ndarray]:
    """Classes and codes of the labels that there are."""
    try:
        return encoded_classes(y, type(estimator).__name__)
    except ValueError as error:
        if "one class only" in str(error) and not all_known:
            raise ValueError(
                f"{error} Rows where y is {estimator.unlabeled_value!r} count as rows without a label; if it is a "
                "class of yours, give another unlabeled_value."
            ) from None
        raise


def any_label(y: np.ndarray, known: np.ndarray) -> Any:
    """A label to stand where there is none, while the target is checked."""
    if not known.any():
        raise ValueError("No row has a label; at least one of each class is needed.")
    return y[np.argmax(known)]
