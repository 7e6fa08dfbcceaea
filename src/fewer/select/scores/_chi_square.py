"""Chi-square of the class totals of a column of counts.

With ``O_cj`` the sum of column j over class c and ``E_cj = (n_c / n) sum_c O_cj``, the score is
``sum_c (O_cj - E_cj)^2 / E_cj``.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import chdtrc, erfc, gamma

from fewer._kernels._class_totals import add_entries, add_stored
from fewer.select.scores._class_moments import ratio, row_blocks
from fewer.select.scores._score import ColumnScores, column_score

_MOST_TERMS = 60


@column_score(tasks=("classification",), sparse=True, p_values=True, not_negative=True)
def chi2_score(X: Any, y: np.ndarray) -> ColumnScores:
    """Chi-square of the totals of a column over the classes, for each column of counts.

    How far the totals of the classes are from what they would be if every class had its share by rows. The p-value
    holds for counts of independent events, such as words or 0/1 columns that are rarely 1.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts, or other columns without negative values.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Chi-square statistics; zero for a column of zeros.
    p_values : ndarray of shape (n_features,)
        Their p-values; one for a column of zeros.

    Examples
    --------
    >>> from fewer.select import chi2_score
    >>> scores, p_values = chi2_score([[3, 1], [3, 2], [0, 1], [0, 2]], ["sport", "sport", "art", "art"])
    >>> scores, p_values.round(3)
    (array([6., 0.]), array([0.014, 1.   ]))
    """
    observed = class_totals(X, y)
    shares = np.bincount(y) / len(y)
    expected = shares[:, None] * observed.sum(axis=0)
    scores = ratio((observed - expected) ** 2, expected).sum(axis=0)
    return ColumnScores(scores, chi_square_tail(scores, len(shares) - 1))


def chi_square_tail(values: np.ndarray, freedom: int) -> np.ndarray:
    """Probability that chi-square with so many degrees of freedom is larger.

    With h half the value, ``Q(a + 1) = Q(a) + h^a e^(-h) / Gamma(a + 1)`` from ``Q(1/2) = erfc(sqrt(h))`` or
    ``Q(1) = e^(-h)`` on: a few terms, all positive, many times faster than the general function.
    """
    if freedom > _MOST_TERMS:
        return chdtrc(freedom, values)
    half = values / 2
    tail = erfc(np.sqrt(half)) if freedom % 2 else np.exp(-half)
    power = 0.5 if freedom % 2 else 1.0
    term = half**power * np.exp(-half) / gamma(power + 1)
    while power < freedom / 2:
        tail += term
        power += 1
        term *= half / power
    return np.minimum(tail, 1.0)


def class_totals(X: Any, codes: np.ndarray) -> np.ndarray:
    """Sum of each column over each class, in double precision."""
    totals = np.zeros((codes.max() + 1, X.shape[1]))
    if sparse.issparse(X):
        add_stored(X.data, X.indices, X.indptr, codes, totals)
    else:
        for rows, block in row_blocks(X):
            add_entries(block, codes[rows], totals)
    return totals
