"""How much likelier a column is when every class has a density of its own: the likelihood ratio of densities.

``LR_m = (1/n) ( sum_c sum_(j in c) ln f_c(x_jm) - sum_j ln f(x_jm) )``: Gaussian kernel densities of the classes (f_c)
and of all rows together (f), each row under the density of the others. It sees any difference between the distributions
of the classes: in mean, spread, shape or number of modes. Widths are ``oversmooth * s_m * n_c^(-1/5)``, with s_m the
standard deviation of the column.
"""

from typing import Any

import numpy as np

from fewer._kernels._left_out_densities import likelihood_ratios
from fewer.select.scores._class_moments import class_moments
from fewer.select.scores._score import column_score

_ENTRIES_AT_ONCE = 1 << 22


@column_score(tasks=("classification",))
def likelihood_ratio_feature_score(X: np.ndarray, y: Any, *, oversmooth: float = 1.3) -> np.ndarray:
    """Mean log-likelihood ratio of densities by class against one density for all, for each column.

    Kernel densities, each row under the density of the others: a filter that sees any difference between the
    distributions of the classes, in mean, spread, shape or number of modes. A column of few different values has no
    density; all such columns are at the same disadvantage, so compare them among themselves.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes; rows that are alone in their class are left out.
    oversmooth : float, default=1.3
        Kernel width over ``s n^(-1/5)``, with s the standard deviation of the column and n the rows of the class (or
        all); 1.06 is best for a normal density.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        In nats for a row; about zero, or a little less, for a column that tells nothing.

    References
    ----------
    .. [1] Zhu, M. and Hastie, T. (2003). Feature extraction for nonparametric discriminant analysis. Journal of
       Computational and Graphical Statistics 12, 101-120.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.select import likelihood_ratio_feature_score
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> X = rng.normal(size=(400, 3))
    >>> X[:, 1] *= 1 + 3 * y
    >>> likelihood_ratio_feature_score(X, y).round(1) + 0.0
    array([0. , 0.2, 0. ])
    """
    if not oversmooth > 0:
        raise ValueError(f"oversmooth must be positive, got {oversmooth}.")
    sizes = np.bincount(y)
    if sizes.min() < 2:
        X, y = rows_in_company(X, y, sizes)
        sizes = np.bincount(y)
    n_rows, n_columns = X.shape
    spread = np.sqrt(class_moments(X, np.zeros(n_rows, dtype=np.int64)).squares[0] / n_rows)
    spread[spread == 0] = 1.0
    class_widths, width = oversmooth * sizes**-0.2, oversmooth * n_rows**-0.2
    scores = np.empty(n_columns)
    at_once = max(1, _ENTRIES_AT_ONCE // n_rows)
    for start in range(0, n_columns, at_once):
        columns = slice(start, start + at_once)
        block = np.ascontiguousarray(X[:, columns].T, dtype=float) / spread[columns, None]
        orders = np.argsort(block, axis=1)
        values = np.take_along_axis(block, orders, axis=1)
        scores[columns] = likelihood_ratios(values, orders, y, sizes, class_widths, width)
    return scores


def rows_in_company(X: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes with two or more, which are numbered anew."""
    if np.count_nonzero(sizes > 1) < 2:
        raise ValueError(
            "The score 'likelihood_ratio' needs at least two classes with two or more rows each: the density of a "
            "class at a row is made of the other rows of that class."
        )
    kept = sizes[codes] > 1
    return X[kept], np.unique(codes[kept], return_inverse=True)[1]
