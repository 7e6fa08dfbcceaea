"""Table and target as the solvers want them: without offsets, in a unit near 1, in an order that is fast to read.

With an intercept, ``X w + b`` and ``(X - 1 c') w + (b + c'w)`` are one model for every ``c``. Columns far from zero are
nearly multiples of the constant, so ``c_j`` is their mean. Columns near zero are left as they are: a table that needs
nothing is not copied, and a sparse column stays sparse. Sparse columns are centred where the mean exceeds the standard
deviation; more than half of such a column is stored, so that to store all of it takes at most twice the memory.

One power of two divides the whole table, and one the target of the squared loss. That only multiplies the weight of the
loss: ``|w| + C loss(X w)`` is ``(|u| + C s loss(X u / s)) / s`` with ``u = s w``.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from fewer._kernels import _dense_columns
from fewer.learn.sparse._columns import DenseColumns

# Means beyond this share of the standard deviation are subtracted.
_DENSE_OFFSET, _SPARSE_OFFSET = 0.1, 1.0
_ROWS_ENOUGH, _ENTRIES_ENOUGH = 2000, 1000
_USUAL_UNITS = 10  # as powers of two, either way


def columns_of(X) -> np.ndarray | tuple:
    """The table in the form that the kernels read: Fortran order, or the arrays of its CSC form.

    For every other kind of array they would be compiled anew, which takes long. So read-only arrays come as if they
    could be written, and a table of one column or row, which is in C and Fortran order at once, comes as CSC.
    """
    if not sparse.issparse(X) and X.flags.c_contiguous and X.flags.f_contiguous:
        X = with_short_indices(sparse.csc_array(X))
    if sparse.issparse(X):
        return _as_if_writable(X.data), _as_if_writable(X.indices), _as_if_writable(X.indptr), X.shape[0]
    return _as_if_writable(X)


def _as_if_writable(array: np.ndarray) -> np.ndarray:
    """The same memory; for kernels that read it only."""
    if array.flags.writeable:
        return array
    memory = dict(array.__array_interface__)
    memory["data"] = (memory["data"][0], False)
    return np.asarray(SimpleNamespace(__array_interface__=memory, owner=array))


def with_fast_columns(X):
    """The table as the solvers want it: dense in Fortran order, or CSC; numbers of 32 bits stay so."""
    if sparse.issparse(X):
        X = X.tocsc()
        if not X.has_canonical_format:
            X = X.copy()  # what the user gave stays as it is
            X.sum_duplicates()
        return with_short_indices(X)
    return np.asfortranarray(X)


def with_short_indices(X):
    """The same sparse table with indices of 32 bits, for which the kernels are compiled, where they suffice."""
    largest = np.iinfo(np.int32).max
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(*X.shape, X.nnz) > largest:
        return X
    parts = X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return type(X)(parts, shape=X.shape)


class Prepared(NamedTuple):
    """``(table - centres) / unit``; no centres where nothing is subtracted."""

    X: np.ndarray | sparse.csc_array
    centres: np.ndarray | None
    unit: float


def prepared(X, weights: np.ndarray | None, centred: bool) -> Prepared:
    """The table for the solvers, with offsets taken out if there is an intercept to take them up."""
    fast, centres = with_fast_columns(X), None
    if centred:
        named, means = (_sparse_offsets if sparse.issparse(fast) else _dense_offsets)(fast, weights)
        if named.size:
            centres = np.zeros(X.shape[1], dtype=fast.dtype)
            centres[named] = means
            if sparse.issparse(fast):
                fast = _sparse_shifted(fast, named, centres)
            else:
                fast = np.subtract(fast, centres, out=None if np.may_share_memory(fast, X) else fast)
            centres = centres.astype(np.float64)
    entries = fast.data if sparse.issparse(fast) else fast.T.ravel()
    unit = unit_of(entries[:: max(entries.size // _ENTRIES_ENOUGH, 1)])
    return Prepared(fast if unit == 1.0 else fast * (1 / unit), centres, unit)


def prepared_target(y: np.ndarray, weights: np.ndarray, centred: bool) -> tuple[np.ndarray, float, float]:
    """Numbers to predict without their mean, if there is an intercept, and in a unit near 1; the mean and the unit."""
    centre = float(weights @ y / weights.sum()) if centred else 0.0
    rest = y - centre
    rest[np.abs(rest) <= 8 * np.finfo(float).eps * abs(centre)] = 0.0  # a constant target has nothing to predict
    unit = unit_of(rest)
    return rest / unit, centre, unit


def unit_of(values: np.ndarray) -> float:
    """A power of two near the median of the numbers that are not zero; 1 if that is near enough.

    >>> import numpy as np
    >>> unit_of(np.array([0.0, 2e12, -3e12, 5e12])) == 2.0**41, unit_of(np.array([0.5, 20.0]))
    (True, 1.0)
    """
    sizes = np.abs(values[values != 0.0])
    exponent = round(float(np.log2(np.median(sizes)))) if sizes.size else 0
    return 2.0**exponent if abs(exponent) > _USUAL_UNITS else 1.0


def _dense_offsets(X: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Columns with an offset, and their means. Some of the rows tell which these are."""
    step = max(X.shape[0] // _ROWS_ENOUGH, 1)
    means, squares = moments(X if step == 1 else np.asfortranarray(X[::step]), None)
    named = np.flatnonzero(means**2 > _DENSE_OFFSET**2 * (squares - means**2))
    if named.size and (step > 1 or weights is not None):
        means, _ = moments(X, weights)
    return named, _constants_kept(means[named], X[0, named])


def moments(X, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means of the columns and of their squares, of a table with fast columns."""
    shares = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    table = columns_of(X)
    if isinstance(table, tuple):
        sparse_table = sparse.csc_array(X).astype(np.float64)
        return shares @ sparse_table, shares @ (sparse_table * sparse_table)
    means, squares = np.empty(X.shape[1]), np.empty(X.shape[1])
    DenseColumns(table).products(shares, means)
    _dense_columns.weighted_squares(table, np.arange(X.shape[1]), shares, squares)
    return means, squares


def _sparse_offsets(X: sparse.csc_array, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    full = np.flatnonzero(2 * np.diff(X.indptr) > X.shape[0])
    means, squares = moments(X[:, full], weights)
    offset = means**2 > _SPARSE_OFFSET**2 * (squares - means**2)
    return full[offset], _constants_kept(means[offset], X.data[X.indptr[full[offset]]])


def _constants_kept(means: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The means, of constant columns without the rounding of their sums."""
    return np.where(np.abs(first - means) <= 1e-13 * np.abs(means), first, means)


def _sparse_shifted(X: sparse.csc_array, named: np.ndarray, centres: np.ndarray) -> sparse.csc_array:
    n_rows = X.shape[0]
    starts = np.zeros(X.shape[1] + 1, dtype=np.int32)
    starts[named + 1] = n_rows
    offsets = np.repeat(centres[named], n_rows), np.tile(np.arange(n_rows, dtype=np.int32), named.size)
    return with_fast_columns(X - type(X)((*offsets, np.cumsum(starts, dtype=np.int64)), shape=X.shape))
