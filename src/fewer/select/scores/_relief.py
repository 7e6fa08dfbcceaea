"""Relief: does a column differ where the class does, among rows that are near in all columns?

For a row r, its nearest row h of the same class (hit) and its nearest row m of another (miss), all columns scaled to
0..1: ``W_j += (|x_rj - x_mj| - |x_rj - x_hj|) / n_iter``. Near rows agree in most columns, so a column that matters
only together with others shows as well: Relief sees the parity of two bits, which no score of single columns does.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._kernels._relief import class_relief, number_relief
from fewer.select.scores._score import column_score


@column_score(tasks=("classification",))
def relief_score(
    X: np.ndarray, y: np.ndarray, *, n_iter: int | None = None, n_neighbors: int = 1, random_state: Any = None
) -> np.ndarray:
    """How much more each column differs from the nearest row of another class than from the nearest of the same.

    Columns are scaled to 0..1, and rows compared by the sum of absolute differences. Other classes count as one; see
    :func:`relieff_score` for one miss from each.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    n_iter : int or None, default=None
        Rows drawn to look around; by default each row once.
    n_neighbors : int, default=1
        Nearest rows of the same class, and of others, whose differences are averaged.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and decides between equally near ones.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between -1 and 1, about zero or less for a column of noise; zero for a constant column.

    References
    ----------
    .. [1] Kira, K. and Rendell, L. A. (1992). A practical approach to feature selection. Proceedings of the ninth
       international workshop on machine learning, 249-256.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import relief_score
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 5))
    >>> y = X[:, 1] ^ X[:, 3]
    >>> sorted(np.argsort(-relief_score(X, y, random_state=0))[:2].tolist())
    [1, 3]
    """
    X, queries, seed = prepared(X, n_iter, n_neighbors, random_state)
    shares = np.bincount(y) / len(y)
    return class_relief(X, y, shares, queries, min(n_neighbors, len(y)), True, seed)


@column_score(tasks=("classification", "regression"))
def relieff_score(
    X: np.ndarray, y: np.ndarray, *, n_iter: int | None = None, n_neighbors: int = 10, random_state: Any = None
) -> np.ndarray:
    """Relief with several neighbours from every class, or for a target of numbers.

    For classes, the differences from the nearest rows of each other class are weighted by its share of the rows
    (ReliefF). For numbers, it is how likely a column differs between near rows whose targets differ, less how likely
    it differs where they do not, differences counting by their size (RReliefF).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    n_iter : int or None, default=None
        Rows drawn to look around; by default each row once.
    n_neighbors : int, default=10
        Nearest rows of each class (for numbers: of all rows); all that there are if a class has fewer.
    random_state : int, RandomState instance or None, default=None
        Draws the rows, and decides between equally near ones.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between -1 and 1, about zero or less for a column of noise; zero for a constant column.

    References
    ----------
    .. [1] Kononenko, I. (1994). Estimating attributes: analysis and extensions of RELIEF. European conference on
       machine learning, 171-182.
    .. [2] Robnik-Sikonja, M. and Kononenko, I. (2003). Theoretical and empirical analysis of ReliefF and RReliefF.
       Machine Learning 53, 23-69.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.select import relieff_score
    >>> X, y = load_iris(return_X_y=True)
    >>> relieff_score(X, y, random_state=0).round(2)
    array([0.14, 0.12, 0.36, 0.38])
    """
    X, queries, seed = prepared(X, n_iter, n_neighbors, random_state)
    if y.dtype.kind in "iu":
        shares = np.bincount(y) / len(y)
        return class_relief(X, y, shares, queries, min(n_neighbors, len(y)), False, seed)
    return number_relief(X, scaled(y[:, None])[:, 0], queries, min(n_neighbors, len(y)), seed)


def prepared(X: np.ndarray, n_iter: int | None, n_neighbors: int, random_state: Any) -> tuple[np.ndarray, Any, int]:
    """Columns with the range 0 to 1, the rows to look around, and a seed for ties."""
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be 1 or more, got {n_neighbors}.")
    if n_iter is not None and n_iter < 1:
        raise ValueError(f"n_iter must be 1 or more, or None for each row once; got {n_iter}.")
    rng = check_random_state(random_state)
    n_rows = len(X)
    queries = np.arange(n_rows) if n_iter is None else rng.choice(n_rows, size=n_iter, replace=n_iter > n_rows)
    return scaled(X), queries, int(rng.randint(np.iinfo(np.int32).max))


def scaled(X: np.ndarray) -> np.ndarray:
    """Columns with the range 0 to 1; constant ones are 0."""
    low = X.min(axis=0)
    wide = X.max(axis=0) - low
    result = np.subtract(X, low, order="C")
    result /= np.where(wide > 0, wide, 1)
    return result
