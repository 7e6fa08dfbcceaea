"""Errors of decision values, which change smoothly where the error rate jumps.

    mean squared error     (1/n) sum_i (y_i - f_i)^2
    smoothed error rate    (1/2n) sum_i (1 - y_i tanh(gamma f_i))

for y = +-1 and values f whose sign is the class.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def smoothed_error_rate(y: "ArrayLike", f: "ArrayLike", gamma: float = 8.0) -> float:
    """Error rate with soft edges, as a criterion for choosing hyper-parameters.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        -1 and +1, or any two labels, of which the larger is the positive class.
    f : array-like of shape (n_samples,)
        Decision values; positive ones speak for the positive class.
    gamma : float, default=8.0
        Steepness: the larger, the nearer to the error rate itself.

    Returns
    -------
    rate : float
        Between 0 and 1.

    References
    ----------
    .. [1] Bo, L., Wang, L. & Jiao, L. (2006). Feature scaling for kernel Fisher discriminant analysis using
       leave-one-out cross validation. Neural Computation 18, 961-978.

    Examples
    --------
    >>> from fewer.evaluate import smoothed_error_rate
    >>> round(smoothed_error_rate([1, 1, -1, -1], [0.9, -0.2, -1.1, 0.0]), 3)
    0.365
    """
    y, f = np.asarray(y), np.asarray(f, dtype=float)
    if y.shape != f.shape or y.ndim != 1 or not len(y):
        raise ValueError(f"y of shape {y.shape} and f of shape {f.shape} must hold one entry for each row.")
    if gamma <= 0:
        raise ValueError(f"gamma={gamma} must be positive.")
    return float(np.mean(1 - _signs(y) * np.tanh(gamma * f)) / 2)


def _signs(y: np.ndarray) -> np.ndarray:
    """+1 for the larger of two labels, -1 for the other."""
    labels = np.unique(y)
    if set(labels.tolist()) <= {-1, 1}:
        return y.astype(float)
    if len(labels) != 2:
        raise ValueError(f"y has {len(labels)} different labels; give two, or -1 and +1.")
    return np.where(y == labels[1], 1.0, -1.0)


def squared_errors(fitted: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Squared error of each row: of a classifier's decision values from +-1, or of a regressor's prediction."""
    from sklearn.base import is_classifier

    if not is_classifier(fitted):
        return (y - fitted.predict(X)) ** 2
    if hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X))
    else:
        values = 2 * fitted.predict_proba(X) - 1
        values = values[:, 1] if len(fitted.classes_) == 2 else values
    return squared_distances(values, y, fitted.classes_)


def squared_distances(values: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Of decision values from the targets +-1, the mean over classes when there are more than two.

    The first axis of ``values`` is rows, with more than two classes the second is classes; axes behind are kept.
    """
    if len(classes) == 2:
        targets = np.where(y == classes[1], 1.0, -1.0)
        return (values - targets.reshape(-1, *[1] * (values.ndim - 1))) ** 2
    targets = np.where(y[:, None] == classes, 1.0, -1.0)
    return ((values - targets.reshape(*targets.shape, *[1] * (values.ndim - 2))) ** 2).mean(axis=1)
