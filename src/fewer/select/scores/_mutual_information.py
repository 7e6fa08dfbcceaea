"""What a column, cut into bins, tells about the target: mutual information of a table of counts.

``I = sum_(b, c) p(b, c) ln(p(b, c) / (p(b) p(c)))`` over the bins b of the column, with about equally many rows each,
and the classes c (or the bins of a target of numbers). ``2 n I`` is the G statistic, chi-square with ``(bins -
1)(classes - 1)`` degrees of freedom when the two are independent. With few rows in a cell it is too large; Williams'
correction divides it by ``1 + (bins + 1)(classes + 1) / 6n`` (the value for margins that are equal, the smallest).

Williams, D. A. (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika 63, 33-37.
"""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from fewer._kernels._sorted_columns import binned_information
from fewer.select._discretise import N_BINS
from fewer.select.scores._chi_square import chi_square_tail
from fewer.select.scores._score import ColumnScores, column_score
from fewer.select.scores._sorted_columns import sorted_columns


@column_score(tasks=("classification", "regression"), sparse=True, p_values=True)
def mutual_information_score(X: Any, y: np.ndarray, *, n_bins: int = N_BINS) -> ColumnScores:
    """Mutual information of each column, cut into bins of equally many rows, and the target.

    It sees any relation that is not finer than the bins. A column of few different values keeps them, so that columns
    of codes and counts are taken as they are. The estimate grows with the number of cells even where there is nothing
    to see; the p-values make up for that, so columns of different kinds are best compared with ``alpha``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes, or numbers, which are cut into bins as well.
    n_bins : int, default=5
        Bins for each column.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        In nats; zero for a constant column.
    p_values : ndarray of shape (n_features,)
        P-values of the G test, with Williams' correction.

    Examples
    --------
    >>> from fewer.select import mutual_information_score
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> scores, p_values = mutual_information_score(X, ["well", "well", "ill", "ill"])
    >>> scores.round(3), p_values.round(3)
    (array([0.693, 0.   ]), array([0.045, 1.   ]))
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be 2 or more for a column to tell anything, got {n_bins}.")
    codes = y if y.dtype.kind in "iu" else binned(y, n_bins)
    sizes = np.bincount(codes)
    scores, occupied = np.empty(X.shape[1]), np.empty(X.shape[1])
    for columns, block in sorted_columns(X):
        scores[columns], occupied[columns] = binned_information(*block, codes, sizes, n_bins)
    n_classes = np.count_nonzero(sizes)
    freedom = (occupied - 1) * (n_classes - 1)
    statistics = 2 * len(y) * scores / (1 + (occupied + 1) * (n_classes + 1) / (6 * len(y)))
    p_values = np.ones(X.shape[1])
    for free in np.unique(freedom[freedom > 0]).astype(int):
        p_values[freedom == free] = chi_square_tail(statistics[freedom == free], free)
    return ColumnScores(scores, p_values)


def binned(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Bin of each value, with about equally many in each; values of few kinds keep them, and equals stay together."""
    kinds, codes = np.unique(values, return_inverse=True)
    if len(kinds) <= n_bins:
        return codes
    middles = rankdata(values) - 0.5
    return np.unique((n_bins * middles / len(values)).astype(np.int64), return_inverse=True)[1]
