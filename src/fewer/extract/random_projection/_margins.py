"""Margins: the cosine of the angle between each row, turned to its side, and a plane's normal.

margin of (x, y) under w  =  y (w . x) / (|w| |x|),    y = +-1
"""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import column_or_1d

from fewer._estimators import checked_array, encoded_classes


def margins(X: Any, signs: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Margin of each row."""
    lengths = row_norms(X)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        raise ValueError(
            f"Row {empty[0]} is all zeros ({len(empty):,} such rows in all): it lies on every plane through the origin "
            "and has no margin. Leave such rows out."
        )
    return signs * (X @ w) / (lengths * np.linalg.norm(w))


def signs_of(y: Any, who: str) -> np.ndarray:
    """-1 for the first of two classes, 1 for the second."""
    classes, codes = encoded_classes(column_or_1d(y), who)
    if len(classes) != 2:
        raise ValueError(
            f"{who} is about one plane between two classes, and y has {len(classes)}; set one of them against the "
            "others, as in y == label."
        )
    return 2.0 * codes - 1


def perceptron_mistake_bound(X: Any, y: Any, w: Any) -> float:
    """Most mistakes that a perceptron makes on rows with a given separator, in any order.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, none of them all zeros.
    y : array-like of shape (n_samples,)
        Two classes; the second in sorted order is on the side of ``w``.
    w : array-like of shape (n_features,)
        Normal of a plane through the origin.

    Returns
    -------
    bound : float
        ``1 / gamma^2``, where gamma is the smallest margin; infinite where some row is on the wrong side. It is for a
        perceptron that brings rows to unit length.

    References
    ----------
    .. [1] Blum, A. (2006). Random projection, margins, kernels, and feature-selection. Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 52-68.

    Examples
    --------
    >>> from fewer.extract import perceptron_mistake_bound
    >>> perceptron_mistake_bound([[3.0, 4.0], [-4.0, 3.0]], [1, 0], [1.0, 0.0])
    2.777...
    """
    X = checked_array(X, "perceptron_mistake_bound", accept_sparse="csr", dtype=np.float64)
    signs = signs_of(y, "perceptron_mistake_bound")
    check_consistent_length(X, signs)
    return bound_of(float(margins(X, signs, normal(w, X.shape[1])).min()))


def bound_of(gamma: float) -> float:
    """``1 / gamma^2``, or infinity without a margin."""
    return 1 / gamma**2 if gamma > 0 else np.inf


def normal(w: Any, n_columns: int) -> np.ndarray:
    """A plane's normal as a vector."""
    vector = np.asarray(w, dtype=np.float64).ravel()
    if len(vector) != n_columns:
        raise ValueError(f"w has {len(vector)} entries, and X has {n_columns} columns; it needs one for each.")
    if not np.isfinite(vector).all() or not vector.any():
        raise ValueError("w must hold finite numbers that are not all zero.")
    return vector
