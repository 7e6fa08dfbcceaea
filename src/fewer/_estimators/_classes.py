"""The classes of a target, and each row's as a number."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import type_of_target


class EncodedClasses(NamedTuple):
    """The classes in sorted order, and for each row the place of its class among them."""

    classes: np.ndarray
    codes: np.ndarray


def encoded_classes(y: np.ndarray, who: str, otherwise: Callable[[], str] = str) -> EncodedClasses:
    """Two classes or more, and the code of each row; anything else is refused in the name of ``who``.

    ``otherwise`` gives what else can be done where y holds numbers with fractions.

    Examples
    --------
    >>> import numpy as np
    >>> encoded_classes(np.array(["ham", "spam", "ham"]), "Relief").codes
    array([0, 1, 0])
    """
    if np.ndim(y) != 1:
        raise ValueError(f"y has several columns, and {who} takes one target only.")
    y = np.asarray(y)
    refuse_missing_labels(y, who)
    _refuse_mixed_labels(y)
    kind = type_of_target(y, input_name="y")
    if kind == "continuous":
        raise ValueError(
            f"Unknown label type: continuous. {who} tells classes apart, and y holds numbers with fractions; put them "
            f"into bins first{otherwise()}."
        )
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. {who} tells classes apart, and y is an array of Python objects "
            f"({type(y.flat[0]).__name__}); turn them into numbers or text, by y.astype(int) or y.astype(str)."
        )
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{who} tells classes apart, and y has one class only, {classes.tolist()[0]!r}; at least two are needed."
        )
    return EncodedClasses(classes, codes)


def refuse_missing_labels(y: np.ndarray, who: str) -> None:
    """Say in which rows there is no label."""
    if y.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(y))
    elif y.dtype.kind == "O":
        missing = np.array([row for row, label in enumerate(y) if _is_missing(label)], dtype=int)
    else:
        return
    if missing.size:
        rows = f"row {missing[0]}" if missing.size == 1 else f"{missing.size:,} rows, the first is row {missing[0]}"
        raise ValueError(
            f"Input y contains NaN: there is no label in {rows}. {who} needs a class for every row: leave these rows "
            "out, or give them a label of their own."
        )


def _refuse_mixed_labels(y: np.ndarray) -> None:
    """Text and something else, which NumPy cannot sort."""
    if y.dtype.kind != "O":
        return
    kinds = sorted({"text" if isinstance(label, str) else type(label).__name__ for label in y})
    if "text" in kinds and len(kinds) > 1:
        raise ValueError(
            f"y mixes labels of several kinds ({', '.join(kinds)}), which have no common order; make all of them text, "
            "for instance by [str(label) for label in y]."
        )


def _is_missing(label: Any) -> bool:
    # pandas' own NA is neither equal to itself nor different.
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label)
