"""How far predicted probabilities are from the shares of rows that are of the class, over sliding windows.

    CAL = mean over windows of |mean probability - share of the class|

Rows are sorted by probability, and every ``rows_per_window`` that follow one another are a window: no bins need to be
chosen, in which most rows might fall into one. Caruana, R. and Niculescu-Mizil, A. (2004). Data mining in metric space:
an empirical analysis of supervised learning performance criteria. KDD, 69-78.
"""

from typing import Any

import numpy as np

from fewer._estimators import encoded_classes
from fewer.catalogue import method


@method(
    tasks=["evaluation"],
    when="Whether a predicted probability of 0.8 means 80%, as one number to compare classifiers by.",
    cost="O(n log n) for each class",
    paper="instance-specific",
)
def calibration_error(y: Any, proba: Any, *, rows_per_window: int = 100) -> float:
    """Mean distance between predicted probabilities and shares of the class, over windows of rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class of each row.
    proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Predicted probability of each class, in sorted order, as ``predict_proba`` gives it for rows that were held out;
        or that of the second of two classes.
    rows_per_window : int, default=100
        Rows of a window; with fewer rows than that there is one window.

    Returns
    -------
    error : float
        From 0, where probabilities are right, to 1. With more than two classes, the mean over classes.

    See Also
    --------
    sklearn.calibration.calibration_curve : The same by bins, as a curve.

    Notes
    -----
    Rows of equal probability count with their common share of the class, so that the order of the rows plays no part.
    Where all probabilities are right, the share of a window still differs from them by chance, by up to
    ``0.4 / sqrt(rows_per_window)`` on average. Only compare errors with the same windows on as many rows.

    References
    ----------
    .. [1] Caruana, R. and Niculescu-Mizil, A. (2004). Data mining in metric space: an empirical analysis of supervised
       learning performance criteria. KDD, 69-78.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import calibration_error
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random(2000)
    >>> y = rng.random(2000) < proba
    >>> round(calibration_error(y, proba), 3), round(calibration_error(y, proba**2), 3)
    (0.034, 0.178)
    """
    labels = np.asarray(y)
    found = encoded_classes(labels, "calibration_error")
    table = np.asarray(proba, dtype=float)
    if table.ndim == 1:
        table = np.column_stack([1 - table, table])
    if table.shape != (len(labels), len(found.classes)):
        raise ValueError(
            f"proba has the shape {table.shape}, and y has {len(labels)} rows of {len(found.classes)} classes: give a "
            "column for each class, or the probabilities of the second of two."
        )
    if not ((table >= 0) & (table <= 1)).all():
        row = int(np.argmax(~((table >= 0) & (table <= 1)).all(axis=1)))
        raise ValueError(f"proba must lie between 0 and 1, and does not in row {row}.")
    if rows_per_window < 1:
        raise ValueError(f"rows_per_window={rows_per_window} must be at least 1.")
    # Both classes of two have the same error.
    shown = range(1, 2) if len(found.classes) == 2 else range(len(found.classes))
    return float(np.mean([_window_error(table[:, each], found.codes == each, rows_per_window) for each in shown]))


def _window_error(proba: np.ndarray, is_class: np.ndarray, size: int) -> float:
    values, place, counts = np.unique(proba, return_inverse=True, return_counts=True)
    gaps = np.repeat(values - np.bincount(place, is_class) / counts, counts)
    size = min(size, len(gaps))
    sums = np.concatenate([[0.0], np.cumsum(gaps)])
    return float(np.abs(sums[size:] - sums[:-size]).mean() / size)
