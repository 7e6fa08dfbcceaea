"""Kernels by name, with the width of the paper, and one whose feature space has a diameter of at most 1.

The width is one over the square of the mean distance between training rows.
"""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.preprocessing import normalize

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
    # Rounded to single precision, a kernel of few columns would have full rank: noise that looks like columns.
    X, rows = X.astype(np.float64, copy=False), rows.astype(np.float64, copy=False)
    if kernel in OF_DIFFERENCES or (centred and kernel == "linear"):
        rows, X = about_mean(rows, X)
    values = pairwise_kernels(X, rows, metric=kernel, filter_params=True, **options)
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def half_rbf(X: Any, Y: Any = None, *, gamma: float) -> np.ndarray:
    """``0.5 exp(-gamma |x - y|^2)``."""
    return np.exp(-gamma * squared_distances(X, X if Y is None else Y)) / 2


def _normalized_half_rbf(X: Any, Y: Any = None, *, gamma: float) -> np.ndarray:
    return half_rbf(normalize(X), None if Y is None else normalize(Y), gamma=gamma)


def normalized_rbf(C: float) -> Callable[..., np.ndarray]:
    """Kernel ``0.5 exp(-C |x - y|^2)`` between rows scaled to unit length.

    Two rows are at a squared distance of ``1 - 2 k(x, y)`` in its feature space, which is below 1.

    Parameters
    ----------
    C : float
        How fast similarity falls with the distance: 8 and 16 did well on images.

    Returns
    -------
    kernel : callable
        Gives the matrix of the kernel between the rows of two tables, or of one.

    References
    ----------
    .. [1] Maurer, A. (2006). Generalization bounds for subspace selection and hyperbolic PCA. Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 185-197.

    Examples
    --------
    >>> from fewer.extract import normalized_rbf
    >>> normalized_rbf(8)([[1.0, 0.0], [3.0, 0.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if not isinstance(C, Real) or not 0 < C < np.inf:
        raise ValueError(f"C must be a number above 0, such as 8; it is {C!r}.")
    return partial(_normalized_half_rbf, gamma=C)
