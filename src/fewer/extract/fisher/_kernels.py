"""Kernels by name, with the width of the paper: one over the square of the mean distance between training rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

from fewer._kernels._row_products import about_mean, squared_distances

OF_DIFFERENCES = ("rbf", "laplacian")
"""Kernels that do not depend on the origin of the columns."""


def kernel_width(X: Any, kernel: str | Callable, gamma: float | str) -> float | None:
    """The width for a kernel, None for one that has none."""
    if not isinstance(kernel, str) or "gamma" not in KERNEL_PARAMS.get(kernel, ()):
        return None
    return float(gamma) if not isinstance(gamma, str) else 1 / mean_distance(X) ** 2


def mean_distance(X: Any) -> float:
    """Mean distance between two different rows; 1 where all rows are the same."""
    n_rows = X.shape[0]
    mean = float(np.sqrt(squared_distances(X, X)).sum()) / max(n_rows * (n_rows - 1), 1)
    return mean if mean > 0 else 1.0


def kernel_values(
    X: Any,
    rows: Any,
    kernel: str | Callable,
    gamma: float | None,
    degree: float,
    coef0: float,
    who: str,
    centred: bool = False,
) -> np.ndarray:
    """Kernel of every row of X with each of ``rows``, in double precision; a precomputed one as it is.

    With ``centred`` the kernel will be centred, so that products of rows may be taken about the mean of ``rows``.
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"A precomputed kernel has one row and one column for each training row; {who} got {rows.shape[0]} "
                f"rows and {rows.shape[1]} columns. Pass the kernel of all pairs of rows, or name a kernel."
            )
        return np.asarray(X, dtype=np.float64)
    if callable(kernel):
        return np.asarray(pairwise_kernels(X, rows, metric=kernel), dtype=np.float64)
    options = {"gamma": gamma, "degree": degree, "coef0": coef0}
    # Rounded to single precision, a kernel of few columns would have full rank: noise that nothing tells from columns.
    X, rows = X.astype(np.float64, copy=False), rows.astype(np.float64, copy=False)
    if kernel in OF_DIFFERENCES or (centred and kernel == "linear"):
        rows, X = about_mean(rows, X)
    values = pairwise_kernels(X, rows, metric=kernel, filter_params=True, **options)
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
