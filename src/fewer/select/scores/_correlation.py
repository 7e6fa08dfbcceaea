"""How a column goes with a number for each row: in proportion (Pearson), or in order (Spearman).

``r = sum_i (x_i - m)(y_i - k) / sqrt(sum_i (x_i - m)^2 sum_i (y_i - k)^2)``, and the same of the midranks. Under
independence of normal columns ``(1 - |r|) / 2`` follows a beta distribution with both parameters ``n / 2 - 1``.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc
from scipy.stats import rankdata

from fewer._kernels._class_moments import add_rows_with_target, sparse_products
from fewer._kernels._sorted_columns import rank_correlations
from fewer.select.scores._class_moments import row_blocks, without_duplicates
from fewer.select.scores._score import ColumnScores, column_score
from fewer.select.scores._sorted_columns import sorted_columns


@column_score(tasks=("regression",), sparse=True, p_values=True)
def pearson_score(X: Any, y: np.ndarray) -> ColumnScores:
    """Absolute value of the correlation of each column with the target.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Numbers; two classes count as 0 and 1.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        Two-sided p-values, exact for normal columns.

    Examples
    --------
    >>> from fewer.select import pearson_score
    >>> scores, p_values = pearson_score([[1, 3], [2, 1], [3, 3], [4, 1]], [2.0, 4.0, 6.0, 8.5])
    >>> scores.round(3), p_values.round(3)
    (array([0.998, 0.467]), array([0.002, 0.533]))
    """
    scores = np.abs(correlations(X, y))
    return ColumnScores(scores, correlation_p_values(scores, len(y)))


@column_score(tasks=("regression",), sparse=True, p_values=True)
def spearman_score(X: Any, y: np.ndarray) -> ColumnScores:
    """Absolute value of the rank correlation of each column with the target.

    The correlation of the ranks, equal values sharing the mean of theirs: large for any relation that only rises or
    only falls, and blind to outliers.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Numbers; two classes count as 0 and 1.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and 1; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        Two-sided p-values by the t distribution, good from some ten rows on.

    Examples
    --------
    >>> from fewer.select import spearman_score
    >>> scores, p_values = spearman_score([[1, 3], [10, 1], [100, 3], [1000, 1]], [2.0, 4.0, 6.0, 8.5])
    >>> scores.round(3), p_values.round(3)
    (array([1.   , 0.447]), array([0.   , 0.553]))
    """
    target = rankdata(y) - (len(y) + 1) / 2
    scores = np.empty(X.shape[1])
    for columns, block in sorted_columns(X):
        scores[columns] = np.abs(rank_correlations(*block, target))
    scores = np.minimum(scores, 1.0)
    return ColumnScores(scores, correlation_p_values(scores, len(y)))


def correlations(X: Any, y: np.ndarray) -> np.ndarray:
    """Correlation of each column with y; 0 where either is constant."""
    centred = y - y.mean()
    if sparse.issparse(X):
        X = without_duplicates(X)
        squares, products = sparse_products(X.data, X.indices, X.indptr, centred)
    else:
        squares, products, means = (np.zeros(X.shape[1]) for _ in range(3))
        mean = 0.0
        for rows, block in row_blocks(X):
            mean = add_rows_with_target(block, centred[rows], rows.start, mean, means, squares, products)
    scale = np.sqrt(squares) * np.linalg.norm(centred)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, np.clip(products / scale, -1.0, 1.0), 0.0)


def correlation_p_values(strength: np.ndarray, n_rows: int) -> np.ndarray:
    """Two-sided p-values of the absolute values of correlations."""
    if n_rows < 3:
        return np.ones_like(strength)
    half = n_rows / 2 - 1
    return np.minimum(2 * betainc(half, half, (1 - strength) / 2), 1.0)
