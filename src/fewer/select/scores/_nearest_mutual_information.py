"""What a column tells about the target, estimated from distances to nearest neighbours instead of bins.

For classes (Ross, 2014), with d_i the distance of row i to its k-th nearest row of the same class, N_i the rows of that
class and m_i the rows of any class that are nearer (itself among them),

    I = psi(n) + <psi(k)> - <psi(N_i)> - <psi(m_i)>;

for numbers (Kraskov, Stoegbauer and Grassberger, 2004), with d_i the distance to the k-th nearest row in the plane of
column and target, and the rows nearer in the column alone and in the target alone,

    I = psi(n) + psi(k) - <psi(n_x,i)> - <psi(n_y,i)>.

Columns and a target of numbers are divided by their standard deviation and get noise of relative size 1e-10, which
parts equal values: the conventions of scikit-learn, from which the same random state gives the same answers.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import digamma
from sklearn.utils import check_random_state

from fewer._kernels._nearest_information import class_information, class_informations, number_informations
from fewer._kernels._sorted_columns import binned_information
from fewer.select.scores._class_moments import class_moments, row_blocks
from fewer.select.scores._score import column_score
from fewer.select.scores._sorted_columns import sorted_columns

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
