"""Relief: does a column differ where the class does, among rows that are near in all columns?

For a row r, its nearest row h of the same class (hit) and its nearest row m of another (miss), all columns scaled to
0..1: ``W_j += (|x_rj - x_mj| - |x_rj - x_hj|) / n_draws``. Near rows agree in most columns, so a column that matters
only together with others shows as well: Relief sees the parity of two bits, which no score of single columns does.

*Kernels*: rows are compared by the sum of absolute differences, all columns having the range 0 to 1. Four rows at a
time are compared with all others, so that each row is fetched a quarter as often. Of equally near rows, a number drawn
for the pair decides.
"""

from typing import Any

import numpy as np
from numba import njit, uint64
from sklearn.utils import check_random_state

from fewer.select.scores._score import column_score


@column_score(tasks=("classification",))
def relief_score(
    X: np.ndarray, y: np.ndarray, *, n_draws: int | None = None, n_neighbors: int = 1, random_state: Any = None
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
    n_draws : int or None, default=None
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
    X, queries, seed = prepared(X, n_draws, n_neighbors, random_state)
    shares = np.bincount(y) / len(y)
    return class_relief(X, y, shares, queries, min(n_neighbors, len(y)), True, seed)


@column_score(tasks=("classification", "regression"))
def relieff_score(
    X: np.ndarray, y: np.ndarray, *, n_draws: int | None = None, n_neighbors: int = 10, random_state: Any = None
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
    n_draws : int or None, default=None
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
    X, queries, seed = prepared(X, n_draws, n_neighbors, random_state)
    if y.dtype.kind in "iu":
        shares = np.bincount(y) / len(y)
        return class_relief(X, y, shares, queries, min(n_neighbors, len(y)), False, seed)
    return number_relief(X, scaled(y[:, None])[:, 0], queries, min(n_neighbors, len(y)), seed)


def prepared(X: np.ndarray, n_draws: int | None, n_neighbors: int, random_state: Any) -> tuple[np.ndarray, Any, int]:
    """Columns with the range 0 to 1, the rows to look around, and a seed for ties."""
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be 1 or more, got {n_neighbors}.")
    if n_draws is not None and n_draws < 1:
        raise ValueError(f"n_draws must be 1 or more, or None for each row once; got {n_draws}.")
    rng = check_random_state(random_state)
    n_rows = len(X)
    queries = np.arange(n_rows) if n_draws is None else rng.choice(n_rows, size=n_draws, replace=n_draws > n_rows)
    return scaled(X), queries, int(rng.randint(np.iinfo(np.int32).max))


def scaled(X: np.ndarray) -> np.ndarray:
    """Columns with the range 0 to 1; constant ones are 0."""
    low = X.min(axis=0)
    wide = X.max(axis=0) - low
    result = np.subtract(X, low, order="C")
    result /= np.where(wide > 0, wide, 1)
    return result


_AT_ONCE = 4


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _distances(X, queries, first, n_queries, out):
    """Sums of absolute differences between up to four queries and all rows; ``out`` is (4, rows)."""
    last = n_queries - 1
    row_0, row_1 = X[queries[first]], X[queries[min(first + 1, last)]]
    row_2, row_3 = X[queries[min(first + 2, last)]], X[queries[min(first + 3, last)]]
    zero = X.dtype.type(0)
    for row in range(X.shape[0]):
        other = X[row]
        sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
        for column in range(other.size):
            value = other[column]
            sum_0 += abs(row_0[column] - value)
            sum_1 += abs(row_1[column] - value)
            sum_2 += abs(row_2[column] - value)
            sum_3 += abs(row_3[column] - value)
        out[0, row], out[1, row], out[2, row], out[3, row] = sum_0, sum_1, sum_2, sum_3


@njit(cache=True, nogil=True)
def _drawn(seed, query, row):
    """A random-looking number for a pair of rows (the mixing of SplitMix64)."""
    mixed = uint64(seed) + uint64(query) * uint64(0x9E3779B97F4A7C15) + uint64(row) * uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> uint64(27))) * uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> uint64(31))


@njit(cache=True, nogil=True)
def _comes_first(distance, key, other_distance, other_key):
    return distance < other_distance or (distance == other_distance and key < other_key)


@njit(cache=True, nogil=True)
def _nearest_of_groups(distances, query, groups, nearest, near_distances, near_keys, found, seed):
    """The nearest rows of each group, nearest first, in ``nearest`` (groups, neighbours); ``found`` counts them."""
    n_neighbors = nearest.shape[1]
    found[:] = 0
    for row in range(distances.size):
        if row == query:
            continue
        group, distance = groups[row], distances[row]
        n_found = found[group]
        if n_found == n_neighbors and distance > near_distances[group, n_found - 1]:
            continue
        key = _drawn(seed, query, row)
        if n_found == n_neighbors:
            if not _comes_first(distance, key, near_distances[group, n_found - 1], near_keys[group, n_found - 1]):
                continue
            place = n_found - 1
        else:
            place = n_found
            found[group] += 1
        while place > 0 and _comes_first(distance, key, near_distances[group, place - 1], near_keys[group, place - 1]):
            near_distances[group, place] = near_distances[group, place - 1]
            near_keys[group, place] = near_keys[group, place - 1]
            nearest[group, place] = nearest[group, place - 1]
            place -= 1
        near_distances[group, place], near_keys[group, place], nearest[group, place] = distance, key, row


@njit(cache=True, nogil=True)
def _add_differences(X, query, other, weight, weights):
    for column in range(weights.size):
        weights[column] += weight * abs(X[query, column] - X[other, column])


@njit(cache=True, nogil=True)
def class_relief(X, classes, shares, queries, n_neighbors, pooled, seed):
    """Relief weights of the columns of ``X``, for classes with these ``shares`` of the rows.

    With ``pooled``, all other classes together give the misses; otherwise each gives its own, by its share. A query
    that is alone in its class has no hit, and is left out.
    """
    n_rows, n_columns = X.shape
    n_groups = 2 if pooled else shares.size
    distances = np.empty((_AT_ONCE, n_rows), X.dtype)
    nearest = np.empty((n_groups, n_neighbors), np.int64)
    near_distances = np.empty((n_groups, n_neighbors), X.dtype)
    near_keys = np.empty((n_groups, n_neighbors), np.uint64)
    found = np.empty(n_groups, np.int64)
    groups = classes.copy()
    weights = np.zeros(n_columns)
    n_used = 0
    for first in range(0, queries.size, _AT_ONCE):
        _distances(X, queries, first, queries.size, distances)
        for index in range(first, min(first + _AT_ONCE, queries.size)):
            query = queries[index]
            own = classes[query]
            if pooled:
                for row in range(n_rows):
                    groups[row] = 1 if classes[row] == own else 0
            _nearest_of_groups(
                distances[index - first], query, groups, nearest, near_distances, near_keys, found, seed + index
            )
            hit = 1 if pooled else own
            if found[hit] == 0:
                continue
            n_used += 1
            for group in range(n_groups):
                if found[group] == 0:
                    continue
                if group == hit:
                    weight = -1.0
                else:
                    weight = 1.0 if pooled else shares[group] / (1 - shares[own])
                for place in range(found[group]):
                    _add_differences(X, query, nearest[group, place], weight / found[group], weights)
    return weights / max(n_used, 1)


@njit(cache=True, nogil=True)
def number_relief(X, target, queries, n_neighbors, seed):
    """Relief weights of the columns for a target of numbers with the range 0 to 1.

    How likely a column differs between near rows given that their targets differ, less how likely given that they do
    not.
    """
    n_rows, n_columns = X.shape
    distances = np.empty((_AT_ONCE, n_rows), X.dtype)
    nearest = np.empty((1, n_neighbors), np.int64)
    near_distances = np.empty((1, n_neighbors), X.dtype)
    near_keys = np.empty((1, n_neighbors), np.uint64)
    found, groups = np.empty(1, np.int64), np.zeros(n_rows, np.int64)
    differs, both_differ, target_differs = np.zeros(n_columns), np.zeros(n_columns), 0.0
    for first in range(0, queries.size, _AT_ONCE):
        _distances(X, queries, first, queries.size, distances)
        for index in range(first, min(first + _AT_ONCE, queries.size)):
            query = queries[index]
            _nearest_of_groups(
                distances[index - first], query, groups, nearest, near_distances, near_keys, found, seed + index
            )
            for place in range(found[0]):
                other = nearest[0, place]
                apart = abs(target[query] - target[other])
                target_differs += apart / found[0]
                _add_differences(X, query, other, 1.0 / found[0], differs)
                _add_differences(X, query, other, apart / found[0], both_differ)
    target_agrees = queries.size - target_differs
    if target_differs <= 0 or target_agrees <= 0:
        return np.zeros(n_columns)
    return both_differ / target_differs - (differs - both_differ) / target_agrees
