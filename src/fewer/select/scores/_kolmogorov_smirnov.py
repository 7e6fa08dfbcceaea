"""Largest gap between the distribution functions of a class and of the rest: the Kolmogorov-Smirnov statistic.

``max_t |F_c(t) - F_rest(t)|``, one walk along each sorted column. It sees any difference of two distributions, and does
not change when a column is transformed in a way that keeps its order.
"""

from math import gcd
from typing import Any, Literal

import numpy as np
from scipy.stats import kstwo

from fewer._kernels._kolmogorov import exact_p_value
from fewer._kernels._sorted_columns import largest_gaps
from fewer.select.scores._score import ColumnScores, column_score
from fewer.select.scores._sorted_columns import sorted_columns

_MOST_ROWS_EXACT = 1000


@column_score(tasks=("classification",), sparse=True, p_values=True, for_each_class=True)
def kolmogorov_smirnov_score(
    X: Any, y: np.ndarray, *, method: Literal["auto", "exact", "asymptotic"] = "auto"
) -> ColumnScores:
    """Largest gap between the distribution functions of a class and of the rest, for each column.

    ``max_t |F_c(t) - F_rest(t)|``: it sees any difference of two distributions, and does not change under a
    transformation that keeps the order.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes.
    method : {"auto", "exact", "asymptotic"}, default="auto"
        How p-values are found; exactly up to 1,000 rows in the larger group, by default. Both take it that there are no
        ties; with ties p-values are too large rather than too small.

    Returns
    -------
    scores : ndarray of shape (n_features,) or (n_classes, n_features)
        Between 0 and 1: one number for each column with two classes, and a row for each class against the rest with
        more. Zero for a constant column.
    p_values : ndarray of the same shape
        Their p-values.

    References
    ----------
    .. [1] Hodges, J. L. (1958). The significance probability of the Smirnov two-sample test. Arkiv foer Matematik 3,
       469-486.

    Examples
    --------
    >>> from fewer.select import kolmogorov_smirnov_score
    >>> scores, p_values = kolmogorov_smirnov_score([[0, 5], [1, 7], [3, 6], [4, 8]], ["well", "well", "ill", "ill"])
    >>> scores, p_values.round(3)
    (array([1. , 0.5]), array([0.333, 1.   ]))
    """
    sizes = np.bincount(y)
    first = 1 if len(sizes) == 2 else 0
    scores = np.empty((len(sizes) - first, X.shape[1]))
    for columns, block in sorted_columns(X):
        scores[:, columns] = largest_gaps(*block, y, sizes, first)
    p_values = np.stack(
        [
            gap_p_values(gaps, int(size), len(y) - int(size), method)
            for gaps, size in zip(scores, sizes[first:], strict=True)
        ]
    )
    return ColumnScores(scores[0], p_values[0]) if first else ColumnScores(scores, p_values)


def gap_p_values(gaps: np.ndarray, n_first: int, n_second: int, method: str = "auto") -> np.ndarray:
    """P-values of gaps between the distribution functions of two samples; equal gaps are looked up once."""
    if method == "auto":
        method = "exact" if max(n_first, n_second) <= _MOST_ROWS_EXACT else "asymptotic"
    if method == "asymptotic":
        return kstwo.sf(gaps, round(n_first * n_second / (n_first + n_second)))
    common = gcd(n_first, n_second)
    reaches, which = np.unique(np.rint(gaps * (n_first // common) * n_second).astype(np.int64), return_inverse=True)
    found = np.array([exact_p_value(n_first, n_second, reach * common) for reach in reaches])
    return np.minimum(found, 1.0)[which]
