"""Products and distances of rows, with all digits wherever the origin of the columns lies.

Machines with a free intercept, and kernels of differences, do not notice where the columns are centred, but their
arithmetic does: products of rows far from zero lose the digits that matter.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

_ENTRIES_AT_ONCE = 1 << 22


def about_mean(rows: Any, *others: Any) -> tuple[Any, ...]:
    """The tables less the column means of the first, in float64; sparse ones as they are."""
    if any(sparse.issparse(each) for each in (rows, *others)):
        return (rows, *others)
    mean = rows.mean(axis=0, dtype=np.float64)
    centred = rows - mean
    return (centred, *(centred if each is rows else each - mean for each in others))


def squared_distances(X: Any, rows: Any) -> np.ndarray:
    """Squared distance of each row of X to each of ``rows``, in float64."""
    rows, X = about_mean(rows, X)
    return euclidean_distances(X, rows, squared=True).astype(np.float64, copy=False)


def centred_products(X: Any, Z: Any | None = None) -> np.ndarray:
    """``(X - m)(Z - m)'`` with m the column means of X, or the same of X with itself, in float64.

    No centred copy of the whole table is made.
    """
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
