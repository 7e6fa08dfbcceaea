"""Information of a column about the target: chi-square, mutual information by bins, and by nearest neighbours.

*Chi-square*: with ``O_cj`` the sum of column j over class c and ``E_cj = (n_c / n) sum_c O_cj``, the score is ``sum_c
(O_cj - E_cj)^2 / E_cj``.

*Mutual information by bins*: ``I = sum_(b, c) p(b, c) ln(p(b, c) / (p(b) p(c)))`` over the bins b of the column, with
about equally many rows each, and the classes c (or the bins of a target of numbers). ``2 n I`` is the G statistic,
chi-square with ``(bins - 1)(classes - 1)`` degrees of freedom when the two are independent. With few rows in a cell it
is too large; Williams' correction divides it by ``1 + (bins + 1)(classes + 1) / 6n`` (the value for margins that are
equal, the smallest).

Williams, D. A. (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika 63, 33-37.

*By nearest neighbours*: for classes (Ross, 2014), with d_i the distance of row i to its k-th nearest row of the same
class, N_i the rows of that class and m_i the rows of any class that are nearer (itself among them),

    I = psi(n) + <psi(k)> - <psi(N_i)> - <psi(m_i)>;

for numbers (Kraskov, Stoegbauer and Grassberger, 2004), with d_i the distance to the k-th nearest row in the plane of
column and target, and the rows nearer in the column alone and in the target alone,

    I = psi(n) + psi(k) - <psi(n_x,i)> - <psi(n_y,i)>.

Columns and a target of numbers are divided by their standard deviation and get noise of relative size 1e-10, which
parts equal values: the conventions of scikit-learn, from which the same random state gives the same answers.

*Kernels*: in one dimension the k nearest neighbours of a value are a window of the sorted column that only moves
forward, and how many values are within a distance is found by steps that double. In two dimensions, rows are dealt into
strips of equally many along one axis, each strip sorted by the other axis; only the strips that can hold a nearer row
are looked at.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import chdtrc, digamma, erfc, gamma
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from fewer.select.information._levels import N_BINS
from fewer.select.scores._class_moments import class_moments, ratio, row_blocks
from fewer.select.scores._correlation import binned_information, sorted_columns
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
        raise ValueError(f"n_bins must be 2 or more, got {n_bins}.")
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


_NOISE = 1e-10
_ENTRIES_AT_ONCE = 1 << 21


@column_score(tasks=("classification", "regression"))
def knn_mutual_information_score(
    X: np.ndarray, y: np.ndarray, *, n_neighbors: int = 3, discrete: Any = False, random_state: Any = None
) -> np.ndarray:
    """Mutual information of each column and the target, from distances to nearest neighbours.

    It sees any relation, at any scale, and needs no bins. The same estimates as scikit-learn's ``mutual_info_classif``
    and ``mutual_info_regression`` with the same ``random_state``, many times faster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    n_neighbors : int, default=3
        Neighbours; more of them vary less from sample to sample, and blur more.
    discrete : bool or array-like of shape (n_features,), default=False
        Which columns hold codes rather than measurements: all, none, or a mask.
    random_state : int, RandomState instance or None, default=None
        Draws the noise that parts equal values.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        In nats; estimates below zero are set to zero.

    References
    ----------
    .. [1] Ross, B. C. (2014). Mutual information between discrete and continuous data sets. PLoS ONE 9, e87357.
    .. [2] Kraskov, A., Stoegbauer, H. and Grassberger, P. (2004). Estimating mutual information. Physical Review E 69,
       066138.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.select import knn_mutual_information_score
    >>> X, y = load_iris(return_X_y=True)
    >>> knn_mutual_information_score(X, y, random_state=0).round(2)
    array([0.47, 0.29, 0.99, 0.97])
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be 1 or more, got {n_neighbors}.")
    n_rows, n_columns = X.shape
    mask = np.broadcast_to(np.asarray(discrete, dtype=bool), (n_columns,))
    psi = np.append(0.0, digamma(np.arange(1, max(n_rows, n_neighbors) + 1)))
    rng = check_random_state(random_state)
    continuous = np.flatnonzero(~mask)
    noisy = noisy_columns(X if continuous.size == n_columns else X[:, continuous], rng) if continuous.size else None
    scores = np.zeros(n_columns)
    if y.dtype.kind in "iu":
        if noisy is not None:
            scores[continuous] = classes_and_columns(noisy, y, n_neighbors, psi)
        if mask.any():
            scores[mask] = classes_and_codes(X[:, mask], y)
        return scores
    if n_neighbors >= n_rows:
        raise ValueError(f"n_neighbors={n_neighbors} neighbours need more than the {n_rows} rows that there are.")
    target = noisy_columns(y[:, None], rng)[0]
    if noisy is not None:
        scores[continuous] = numbers_and_columns(noisy, target, n_neighbors, psi)
    if mask.any():
        scores[mask] = numbers_and_codes(X[:, mask], target, n_neighbors, psi)
    return scores


def noisy_columns(X: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Columns over their standard deviation, with a little noise, as the rows of a new table."""
    n_rows, n_columns = X.shape
    spread = np.sqrt(class_moments(X, np.zeros(n_rows, dtype=np.int64)).squares[0] / n_rows)
    size = np.zeros(n_columns)
    for _, block in row_blocks(X):
        size += np.abs(block).sum(axis=0, dtype=float)
    spread[spread <= 10 * np.finfo(float).eps * size / n_rows] = 1.0
    noise = _NOISE * np.maximum(1.0, size / spread / n_rows)
    noisy = np.empty((n_columns, n_rows))
    height = max(1, _ENTRIES_AT_ONCE // n_columns)
    for start in range(0, n_rows, height):
        rows = slice(start, min(start + height, n_rows))
        block = X[rows] / spread + noise * rng.standard_normal(size=(rows.stop - rows.start, n_columns))
        noisy[:, rows] = block.T
    return noisy


def classes_and_columns(noisy: np.ndarray, classes: np.ndarray, n_neighbors: int, psi: np.ndarray) -> np.ndarray:
    """Information of each row of ``noisy`` (a column of the table) on the classes."""
    n_classes = int(classes.max()) + 1
    blocks = [
        class_informations(values, orders, classes, n_classes, n_neighbors, psi)
        for values, orders in sorted_rows(noisy)
    ]
    return np.concatenate(blocks)


def numbers_and_columns(noisy: np.ndarray, target: np.ndarray, n_neighbors: int, psi: np.ndarray) -> np.ndarray:
    """Information of each row of ``noisy`` (a column of the table) on a target of numbers."""
    order = np.argsort(target)
    blocks = [
        number_informations(values, orders, target, order, target[order], n_neighbors, psi)
        for values, orders in sorted_rows(noisy)
    ]
    return np.concatenate(blocks)


def classes_and_codes(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Information of columns of codes on the classes, from their tables of counts."""
    sizes = np.bincount(classes)
    return np.concatenate(
        [binned_information(*block, classes, sizes, len(classes))[0] for _, block in sorted_columns(codes)]
    )


def numbers_and_codes(codes: np.ndarray, target: np.ndarray, n_neighbors: int, psi: np.ndarray) -> np.ndarray:
    """Information of columns of codes on a target of numbers: a column's codes are the classes of the target."""
    order = np.argsort(target)
    found = np.empty(codes.shape[1])
    for column in range(codes.shape[1]):
        kinds, which = np.unique(codes[order, column], return_inverse=True)
        found[column] = class_information(target[order], which, len(kinds), n_neighbors, psi)
    return found


def sorted_rows(noisy: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of rows, each row in ascending order, and the order."""
    height = max(1, _ENTRIES_AT_ONCE // noisy.shape[1])
    for start in range(0, len(noisy), height):
        block = noisy[start : start + height]
        orders = np.argsort(block, axis=1)
        yield np.take_along_axis(block, orders, axis=1), orders


@njit(cache=True, nogil=True)
def add_entries(X, classes, totals):
    """Add the rows of a dense table to ``totals`` (classes, columns), in place."""
    for row in range(X.shape[0]):
        total = totals[classes[row]]
        for column in range(X.shape[1]):
            total[column] += np.float64(X[row, column])


@njit(cache=True, nogil=True)
def add_stored(data, indices, indptr, classes, totals):
    """Add the stored entries of a sparse table by columns to ``totals``, in place."""
    for column in range(indptr.size - 1):
        for place in range(indptr[column], indptr[column + 1]):
            totals[classes[indices[place]], column] += np.float64(data[place])


@njit(cache=True, nogil=True)
def _count_within(values, at, radius):
    """How many of the sorted values are within ``radius`` of the one at position ``at``, itself included."""
    here, last = values[at], values.size - 1
    right, step = at, 1
    while right + step <= last and values[right + step] - here <= radius:
        right += step
        step *= 2
    while step > 0:
        if right + step <= last and values[right + step] - here <= radius:
            right += step
        step //= 2
    left, step = at, 1
    while left - step >= 0 and here - values[left - step] <= radius:
        left -= step
        step *= 2
    while step > 0:
        if left - step >= 0 and here - values[left - step] <= radius:
            left -= step
        step //= 2
    return right - left + 1


@njit(cache=True, nogil=True)
def class_information(values, classes, n_classes, n_neighbors, digamma):
    """Information (nats) of one sorted column on the classes of its rows (Ross, 2014).

    The distance to the k-th nearest row of the same class is the radius; what counts is how many rows of any class are
    nearer. Rows that are alone in their class are left out. ``digamma[m]`` is the digamma function of m.
    """
    sizes = np.zeros(n_classes, np.int64)
    for place in range(values.size):
        sizes[classes[place]] += 1
    kept, n_kept = np.empty(values.size), 0
    begins = np.zeros(n_classes + 1, np.int64)
    for code in range(n_classes):
        begins[code + 1] = begins[code] + (sizes[code] if sizes[code] > 1 else 0)
    positions, filled = np.empty(begins[n_classes], np.int64), begins[:-1].copy()
    for place in range(values.size):
        code = classes[place]
        if sizes[code] > 1:
            kept[n_kept] = values[place]
            positions[filled[code]] = n_kept
            filled[code] += 1
            n_kept += 1
    if n_kept == 0:
        return 0.0
    kept = kept[:n_kept]
    total = 0.0
    for code in range(n_classes):
        own = positions[begins[code] : begins[code + 1]]
        size = own.size
        if size == 0:
            continue
        k = min(n_neighbors, size - 1)
        total += size * (digamma[k] - digamma[size])
        low = 0
        for index in range(size):
            here = kept[own[index]]
            low = max(low, index - k)
            while low < index and low + k + 1 < size and kept[own[low + k + 1]] - here < here - kept[own[low]]:
                low += 1
            radius = max(here - kept[own[low]], kept[own[low + k]] - here)
            total -= digamma[_count_within(kept, own[index], np.nextafter(radius, 0.0))]
    return max(0.0, digamma[n_kept] + total / n_kept)


@njit(cache=True, nogil=True)
def class_informations(values, orders, classes, n_classes, n_neighbors, digamma):
    """The same for a block of sorted columns, each a row of ``values``, with the original rows in ``orders``."""
    found = np.empty(values.shape[0])
    in_order = np.empty(values.shape[1], np.int64)
    for column in range(values.shape[0]):
        for place in range(values.shape[1]):
            in_order[place] = classes[orders[column, place]]
        found[column] = class_information(values[column], in_order, n_classes, n_neighbors, digamma)
    return found


@njit(cache=True, nogil=True)
def _note(nearest, distance):
    """Put a distance into the ascending list of the least ones."""
    place = nearest.size - 1
    if distance >= nearest[place]:
        return
    while place > 0 and distance < nearest[place - 1]:
        nearest[place] = nearest[place - 1]
        place -= 1
    nearest[place] = distance


@njit(cache=True, nogil=True)
def _look_along(strip_x, strip_y, start, stop, below, above, x, y, nearest):
    """Note the rows of a strip, going up from ``above`` and down from ``below`` until they are too far in y."""
    furthest = nearest.size - 1
    while above < stop and strip_y[above] - y < nearest[furthest]:
        _note(nearest, max(abs(strip_x[above] - x), strip_y[above] - y))
        above += 1
    while below >= start and y - strip_y[below] < nearest[furthest]:
        _note(nearest, max(abs(strip_x[below] - x), y - strip_y[below]))
        below -= 1


@njit(cache=True, nogil=True)
def number_information(values, order, target, target_order, target_sorted, n_neighbors, digamma):
    """Information (nats) of one column on a target of numbers (Kraskov, Stoegbauer and Grassberger, 2004).

    The distance to the k-th nearest row in the plane, the larger of the two differences, is the radius; what counts is
    how many rows are nearer in the column alone and in the target alone. ``values`` is sorted by ``order``, ``target``
    is by row, and ``target_order`` sorts it.
    """
    n_rows = values.size
    width = max(4, int(np.sqrt(n_neighbors * n_rows)))
    n_strips = (n_rows + width - 1) // width
    rank = np.empty(n_rows, np.int64)
    for place in range(n_rows):
        rank[order[place]] = place
    strip_x, strip_y = np.empty(n_rows), np.empty(n_rows)
    strip_rank, strip_place = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    filled = np.arange(n_strips) * width
    for place in range(n_rows):
        row = target_order[place]
        strip = rank[row] // width
        at = filled[strip]
        strip_x[at], strip_y[at] = values[rank[row]], target[row]
        strip_rank[at], strip_place[at] = rank[row], place
        filled[strip] += 1
    nearest = np.empty(n_neighbors)
    total = 0.0
    for strip in range(n_strips):
        start, stop = strip * width, min((strip + 1) * width, n_rows)
        for at in range(start, stop):
            x, y = strip_x[at], strip_y[at]
            nearest[:] = np.inf
            _look_along(strip_x, strip_y, start, stop, at - 1, at + 1, x, y, nearest)
            other = strip - 1
            while other >= 0 and x - values[(other + 1) * width - 1] < nearest[n_neighbors - 1]:
                begin, end = other * width, (other + 1) * width
                above = begin + np.searchsorted(strip_y[begin:end], y)
                _look_along(strip_x, strip_y, begin, end, above - 1, above, x, y, nearest)
                other -= 1
            other = strip + 1
            while other < n_strips and values[other * width] - x < nearest[n_neighbors - 1]:
                begin, end = other * width, min((other + 1) * width, n_rows)
                above = begin + np.searchsorted(strip_y[begin:end], y)
                _look_along(strip_x, strip_y, begin, end, above - 1, above, x, y, nearest)
                other += 1
            radius = np.nextafter(nearest[n_neighbors - 1], 0.0)
            total += digamma[_count_within(values, strip_rank[at], radius)]
            total += digamma[_count_within(target_sorted, strip_place[at], radius)]
    return max(0.0, digamma[n_rows] + digamma[n_neighbors] - total / n_rows)


@njit(cache=True, nogil=True)
def number_informations(values, orders, target, target_order, target_sorted, n_neighbors, digamma):
    """The same for a block of sorted columns, each a row of ``values``."""
    found = np.empty(values.shape[0])
    for column in range(values.shape[0]):
        found[column] = number_information(
            values[column], orders[column], target, target_order, target_sorted, n_neighbors, digamma
        )
    return found
