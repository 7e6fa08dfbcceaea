"""Products of centred rows: ``(X - m)(Z - m)'``, with m the column means of X.

Machines with a free intercept do not notice where the columns are centred, but their arithmetic does: products of rows
far from zero lose the digits that matter. No centred copy of a whole table is ever made.
"""

from typing import Any

import numpy as np
from scipy import sparse

_ENTRIES_AT_ONCE = 1 << 22


def centred_products(X: Any, Z: Any | None = None) -> np.ndarray:
    """Products of all rows of X with each other, or of the rows of Z (first axis) with those of X, in float64."""
    if sparse.issparse(X):
        return _sparse_products(X, Z)
    products = np.zeros(((X if Z is None else Z).shape[0], X.shape[0]))
    width = max(1, _ENTRIES_AT_ONCE // max(products.shape))
    for start in range(0, X.shape[1], width):
        columns = slice(start, start + width)
        mean = X[:, columns].mean(axis=0, dtype=np.float64)
        rows = X[:, columns] - mean
        products += (rows if Z is None else Z[:, columns] - mean) @ rows.T
    return products


def _sparse_products(X: Any, Z: Any | None) -> np.ndarray:
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    left = X if Z is None else Z.astype(np.float64)
    products = (left @ X.T).toarray()
    products -= (left @ mean)[:, None]
    products -= X @ mean
    products += mean @ mean
    return products
