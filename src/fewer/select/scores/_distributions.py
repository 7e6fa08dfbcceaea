"""Scores by whole distributions: the Kolmogorov-Smirnov statistic, and the likelihood ratio of kernel densities.

*Kolmogorov-Smirnov*: ``max_t |F_c(t) - F_rest(t)|``, one walk along each sorted column. It sees any difference of two
distributions, and does not change when a column is transformed in a way that keeps its order.

*Likelihood ratio*: ``LR_m = (1/n) ( sum_c sum_(j in c) ln f_c(x_jm) - sum_j ln f(x_jm) )``: Gaussian kernel densities
of the classes (f_c) and of all rows together (f), each row under the density of the others. It sees any difference
between the distributions of the classes: in mean, spread, shape or number of modes. Widths are ``oversmooth * s_m *
n_c^(-1/5)``, with s_m the standard deviation of the column.

*Exact p-values*: order n + m values without ties at random: a path of n steps right and m steps up, all paths equally
likely. The p-value is the share of paths that somewhere leave the band ``|i / n - j / m| < gap``. The share among the
paths to ``(i, j)`` is ``(i a(i - 1, j) + j a(i, j - 1)) / (i + j)``, and 1 outside of the band: only sums of positive
numbers, so that tiny p-values keep their digits.

*Kernel densities* of all other values: ``sum_j ln f_j(z_j)``, ``f_j(z) = sum_(i != j) phi((z - z_i) / b) / ((n - 1)
b)``. Few values are summed in pairs. Many are dealt on the nodes of a fine grid, each to the two next to it, the kernel
is laid over the occupied nodes, and the density is read off between them; what a value itself had put there is taken
away. Where next to nothing is left, the value stands alone, and the few nearest ones are summed directly.
"""

from math import gcd
from typing import Any, Literal

import numpy as np
from numba import njit
from scipy.stats import kstwo

from fewer.select.scores._class_moments import class_moments
from fewer.select.scores._correlation import largest_gaps, sorted_columns
from fewer.select.scores._score import ColumnScores, column_score

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
        In nats for a row; about zero, or a little less, for a column without information.

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


@njit(cache=True, nogil=True)
def exact_p_value(n_first, n_second, reach):
    """Share of paths with ``|i n_second - j n_first| >= reach`` somewhere; O(n_first n_second) at most."""
    if reach <= 0:
        return 1.0
    shares = np.ones(n_second + 1)
    for right in range(n_first + 1):
        lead = right * n_second
        lowest = max(0, (lead - reach) // n_first + 1)
        highest = min(n_second, (lead + reach - 1) // n_first)
        # Below the band a path has left it: those cells are 1. The one just below was in the band a step ago.
        if lowest > 0:
            shares[lowest - 1] = 1.0
        for up in range(lowest, highest + 1):
            if right == 0 and up == 0:
                shares[0] = 0.0
                continue
            from_left = right * shares[up] if right > 0 else 0.0
            from_below = up * shares[up - 1] if up > 0 else 0.0
            shares[up] = (from_left + from_below) / (right + up)
    return shares[n_second]


FLOOR = 1e-300
"""Least density, for a value with no other in sight."""

_MOST_IN_PAIRS = 64
_NODES_IN_A_WIDTH = 16
_REACH = 8.6
"""In kernel widths; beyond it the kernel is below 1e-16 of its top."""

_ALONE = 1e-9
_ROOT_TWO_PI = np.sqrt(2 * np.pi)


@njit(cache=True, nogil=True)
def left_out_log_likelihood(values, width):
    """Log-likelihood of sorted values, each under the kernel density of the others."""
    if values.size <= _MOST_IN_PAIRS:
        return in_pairs(values, width)
    return on_a_grid(values, width)


@njit(cache=True, nogil=True)
def in_pairs(values, width):
    """The same, by all pairs."""
    n_values = values.size
    densities = np.zeros(n_values)
    for first in range(n_values):
        for second in range(first + 1, n_values):
            apart = (values[second] - values[first]) / width
            if apart > 38.0:  # from there on the kernel underflows
                break
            kernel = np.exp(-0.5 * apart * apart)
            densities[first] += kernel
            densities[second] += kernel
    top = 1 / ((n_values - 1) * width * _ROOT_TWO_PI)
    total = 0.0
    for index in range(n_values):
        total += np.log(max(densities[index] * top, FLOOR))
    return total


@njit(cache=True, nogil=True)
def on_a_grid(values, width):
    """The same, by a grid of nodes that are occupied."""
    n_values = values.size
    step = width / _NODES_IN_A_WIDTH
    nodes, masses = np.empty(2 * n_values, np.int64), np.zeros(2 * n_values)
    lower, shares = np.empty(n_values, np.int64), np.empty(n_values)
    n_nodes = 0
    for index in range(n_values):
        position = (values[index] - values[0]) / step
        node = np.int64(np.floor(position))
        shares[index] = position - node
        if n_nodes > 1 and nodes[n_nodes - 2] == node:
            lower[index] = n_nodes - 2
        else:
            if n_nodes == 0 or nodes[n_nodes - 1] != node:
                nodes[n_nodes] = node
                n_nodes += 1
            lower[index] = n_nodes - 1
            nodes[n_nodes] = node + 1
            n_nodes += 1
        masses[lower[index]] += 1 - shares[index]
        masses[lower[index] + 1] += shares[index]
    kernel = np.exp(-0.5 * (np.arange(int(_REACH * _NODES_IN_A_WIDTH) + 1) / _NODES_IN_A_WIDTH) ** 2)
    densities = _laid_over(nodes[:n_nodes], masses[:n_nodes], kernel)
    top = 1 / ((n_values - 1) * width * _ROOT_TWO_PI)
    total = 0.0
    for index in range(n_values):
        upper = shares[index]
        rest = 1 - upper
        density = rest * densities[lower[index]] + upper * densities[lower[index] + 1]
        density -= (rest * rest + upper * upper) * kernel[0] + 2 * rest * upper * kernel[1]
        if density < _ALONE:
            density = _from_nearest(values, index, width)
        total += np.log(max(density * top, FLOOR))
    return total


@njit(cache=True, nogil=True)
def _laid_over(nodes, masses, kernel):
    """Sum of the kernels of all occupied nodes, at each of them."""
    densities = np.zeros(nodes.size)
    for first in range(nodes.size):
        densities[first] += masses[first] * kernel[0]
        for second in range(first + 1, nodes.size):
            apart = nodes[second] - nodes[first]
            if apart >= kernel.size:
                break
            densities[first] += masses[second] * kernel[apart]
            densities[second] += masses[first] * kernel[apart]
    return densities


@njit(cache=True, nogil=True)
def _from_nearest(values, index, width):
    """Kernels of the other values at the one with this index, from the nearest on until they add nothing."""
    total = 0.0
    for direction in (-1, 1):
        other = index + direction
        while 0 <= other < values.size:
            apart = (values[other] - values[index]) / width
            kernel = np.exp(-0.5 * apart * apart)
            if kernel <= 1e-17 * total or kernel == 0.0:
                break
            total += kernel
            other += direction
    return total


@njit(cache=True, nogil=True)
def likelihood_ratios(values, orders, classes, class_sizes, class_widths, width):
    """Log-likelihood by classes less that of all rows together, a row, for a block of sorted columns of one spread.

    Each row of ``values`` is a column in ascending order, with the original rows in ``orders``.
    """
    n_columns, n_rows = values.shape
    ratios = np.empty(n_columns)
    own = np.empty(n_rows)
    begins = np.zeros(class_sizes.size + 1, np.int64)
    for code in range(class_sizes.size):
        begins[code + 1] = begins[code] + class_sizes[code]
    for column in range(n_columns):
        filled = begins[:-1].copy()
        for place in range(n_rows):
            code = classes[orders[column, place]]
            own[filled[code]] = values[column, place]
            filled[code] += 1
        total = -left_out_log_likelihood(values[column], width)
        for code in range(class_sizes.size):
            total += left_out_log_likelihood(own[begins[code] : begins[code + 1]], class_widths[code])
        ratios[column] = total / n_rows
    return ratios
