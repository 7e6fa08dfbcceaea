"""The classes of a target, and each row's as a number."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target


class EncodedClasses(NamedTuple):
    """The classes in sorted order, and for each row the place of its class among them."""

    classes: np.ndarray
    codes: np.ndarray


def encoded_classes(y: np.ndarray, who: str, otherwise: str = "") -> EncodedClasses:
    """Two classes or more, and the code of each row; anything else is refused in the name of ``who``.

    Examples
    --------
    >>> import numpy as np
    >>> encoded_classes(np.array(["ham", "spam", "ham"]), "Relief").codes
    array([0, 1, 0])
    """
    if np.ndim(y) != 1:
        raise ValueError(f"y has several columns, and {who} takes one target only.")
    if type_of_target(y) == "continuous":
        raise ValueError(
            f"Unknown label type: continuous. {who} tells classes apart, and y holds numbers with fractions; put them "
            f"into bins first{otherwise}."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{who} tells classes apart, and y has one class only, {classes.tolist()[0]!r}; at least two are needed."
        )
    return EncodedClasses(classes, codes)
