"""P-values that account for the number of columns: one table, many tests."""

import numpy as np
from scipy.stats import false_discovery_control

CORRECTIONS = ("fdr", "holm", "bonferroni")


def adjusted_p_values(p_values: np.ndarray, correction: str | None) -> np.ndarray:
    """P-values that account for the number of columns, along the last axis.

    "fdr" bounds the expected share of useless columns among those kept (Benjamini and Hochberg); "holm", and less
    sharply "bonferroni", the probability that any useless one is kept; None takes them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> adjusted_p_values(np.array([0.01, 0.02, 0.5]), "holm")
    array([0.03, 0.04, 0.5 ])
    """
    if correction is None:
        return p_values
    if correction == "fdr":
        return false_discovery_control(p_values, axis=-1, method="bh")
    m = p_values.shape[-1]
    if correction == "bonferroni":
        return np.minimum(p_values * m, 1.0)
    order = np.argsort(p_values, axis=-1)
    stepped = np.take_along_axis(p_values, order, axis=-1) * np.arange(m, 0, -1)
    stepped = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted
