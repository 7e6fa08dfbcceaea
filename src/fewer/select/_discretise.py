"""From numbers to a few levels: cuts by description length (Fayyad and Irani), equal frequency or equal width.

The levels of a column are 0, 1, ... in ascending order of its values. By description length, a cut into parts S1 and S2
of the n rows S is made where the class entropy of the parts is least, if it gains more than it costs to tell:

    H(S) - (n1 H(S1) + n2 H(S2)) / n > [log2(n - 1) + log2(3^k - 2) - k H(S) + k1 H(S1) + k2 H(S2)] / n

with k, k1, k2 the numbers of classes present, and then again in both parts. A column that says nothing about the
classes by itself is left in one piece, as a single level.

Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for classification
learning. IJCAI, 1022-1027.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from fewer._kernels._cuts import equal_frequency_cuts, intervals, mdl_intervals

Discretisation = Literal["mdl", "equal_frequency", "equal_width"]

# Cells of a block of columns that is sorted at a time: the rest of the table is never copied.
_BLOCK_CELLS = 2**22


@dataclass(frozen=True)
class LevelTable:
    """A table of levels, a row for each column of the original one; only what is not zero, if that was sparse.

    Attributes
    ----------
    n_levels : ndarray of shape (n_columns,)
        How many levels each column has.
    n_rows : int
        Rows of the original table.
    codes : ndarray
        Levels, of shape (n_columns, n_rows); or those of the stored cells, column by column.
    indptr, indices : ndarray or None
        Where stored cells are, as in a CSC matrix.
    zero_codes : ndarray of shape (n_columns,) or None
        Level of zero in each column.
    """

    n_levels: np.ndarray
    n_rows: int
    codes: np.ndarray
    indptr: np.ndarray | None = None
    indices: np.ndarray | None = None
    zero_codes: np.ndarray | None = None

    @property
    def n_columns(self) -> int:
        """Columns of the original table."""
        return len(self.n_levels)

    def column(self, column: int) -> np.ndarray:
        """Level of each row in a column."""
        if self.indptr is None or self.indices is None or self.zero_codes is None:
            return self.codes[column].astype(np.int32)
        stored = slice(self.indptr[column], self.indptr[column + 1])
        levels = np.full(self.n_rows, self.zero_codes[column], dtype=np.int32)
        levels[self.indices[stored]] = self.codes[stored]
        return levels

    def dense(self) -> "LevelTable":
        """The same with every cell stored."""
        if self.indptr is None:
            return self
        codes = np.empty((self.n_columns, self.n_rows), dtype=self.codes.dtype)
        for column in range(self.n_columns):
            codes[column] = self.column(column)
        return LevelTable(self.n_levels, self.n_rows, codes)


def suitable_n_bins(n_rows: int) -> int:
    """Bins so that a table of two columns has about five rows in a cell, at least 2 and at most 10.

    Examples
    --------
    >>> [suitable_n_bins(n_rows) for n_rows in (10, 60, 150, 1000)]
    [2, 3, 5, 10]
    """
    return int(np.clip(np.sqrt(n_rows / 5), 2, 10))


def discretise(
    X: Any,
    classes: np.ndarray | None = None,
    *,
    method: Discretisation = "equal_frequency",
    n_bins: int | None = None,
) -> LevelTable:
    """Levels of every column.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_rows, n_columns)
        Finite numbers.
    classes : ndarray of shape (n_rows,) or None, default=None
        Classes as 0, 1, ...; only ``method="mdl"`` looks at them.
    method : {"mdl", "equal_frequency", "equal_width"}, default="equal_frequency"
        Where to cut. By frequency, a column of at most ``n_bins`` values keeps them all, and equal values are never
        parted.
    n_bins : int or None, default=None
        Levels at most, for equal frequency and width; by default 2 to 10, more with more rows.

    Returns
    -------
    table : LevelTable
        With the levels in as few bytes as they need.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.1, 7.0], [0.2, 7.0], [0.8, 7.0], [0.9, 1.0]])
    >>> discretise(X, n_bins=2).codes
    array([[0, 0, 1, 1], [1, 1, 1, 0]], dtype=uint8)
    """
    n_rows, n_columns = X.shape
    n_bins = suitable_n_bins(n_rows) if n_bins is None else n_bins
    levels_of = _ways_to_cut(classes, n_rows, n_bins)[method]
    sparse = sp.issparse(X)
    codes = np.empty(X.nnz if sparse else (n_columns, n_rows), dtype=np.uint8)
    n_levels = np.ones(n_columns, dtype=np.int64)
    zero_codes = np.zeros(n_columns, dtype=np.int64)
    width = max(1, _BLOCK_CELLS // max(n_rows, 1))
    for start in range(0, n_columns, width):
        block = slice(start, min(start + width, n_columns))
        columns = np.ascontiguousarray((X[:, block].toarray() if sparse else X[:, block]).T)
        block_codes, n_levels[block] = levels_of(columns)
        if n_levels[block].max() > 256 and codes.dtype == np.uint8:
            codes = codes.astype(np.int32)
        if not sparse:
            codes[block] = block_codes
            continue
        at_zero = (columns == 0).argmax(axis=1)
        zero_codes[block] = block_codes[np.arange(len(columns)), at_zero]
        stored = slice(X.indptr[block.start], X.indptr[block.stop])
        own = np.repeat(np.arange(len(columns)), np.diff(X.indptr[block.start : block.stop + 1]))
        codes[stored] = block_codes[own, X.indices[stored]]
    if sparse:
        return LevelTable(n_levels, n_rows, codes, X.indptr, X.indices, zero_codes)
    return LevelTable(n_levels, n_rows, codes)


def _ways_to_cut(
    classes: np.ndarray | None, n_rows: int, n_bins: int
) -> dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]:
    """For each method a function from columns (a row each) to their levels and the numbers of these."""
    return {
        "mdl": lambda columns: _mdl_levels(columns, classes, n_rows),
        "equal_frequency": lambda columns: _equal_frequency_levels(columns, n_bins),
        "equal_width": lambda columns: _equal_width_levels(columns, n_bins),
    }


def _mdl_levels(columns: np.ndarray, classes: np.ndarray | None, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    if classes is None:
        raise ValueError("Cuts by description length (method='mdl') need classes.")
    counts = np.arange(n_rows + 1, dtype=float)
    xlogx = counts * np.log2(np.maximum(counts, 1))
    codes = np.empty(columns.shape, dtype=np.int32)
    n_levels = np.empty(len(columns), dtype=np.int64)
    order = np.argsort(columns, axis=1)
    mdl_intervals(columns, order, classes.astype(np.int32), int(classes.max()) + 1, xlogx, codes, n_levels)
    return codes, n_levels


def _equal_frequency_levels(columns: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    cuts = np.empty((len(columns), max(n_bins - 1, 1)), dtype=columns.dtype)
    n_cuts = np.empty(len(columns), dtype=np.int64)
    equal_frequency_cuts(np.sort(columns, axis=1), n_bins, cuts, n_cuts)
    return _cut(columns, cuts, n_cuts)


def _equal_width_levels(columns: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    shares = (np.arange(1, n_bins) / n_bins).astype(columns.dtype)
    cuts = low * (1 - shares) + high * shares
    codes, _ = _cut(columns, cuts, np.where(high[:, 0] > low[:, 0], n_bins - 1, 0))
    return codes, np.where(high[:, 0] > low[:, 0], n_bins, 1)


def _cut(columns: np.ndarray, cuts: np.ndarray, n_cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes = np.empty(columns.shape, dtype=np.uint8 if cuts.shape[1] < 256 else np.int32)
    intervals(columns, cuts, n_cuts, codes)
    return codes, n_cuts + 1
