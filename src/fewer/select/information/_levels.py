"""Levels of columns, their entropies, and the information that two of them share.

*Levels*: cuts by description length, equal frequency or equal width (`fewer._kernels._cuts`). The levels of a column
are 0, 1, ... in ascending order of its values.

*Information*: with H the entropy (in nats) of the observed frequencies:

    mutual information        I(a, b) = H(a) + H(b) - H(a, b)
    symmetric uncertainty     2 I(a, b) / (H(a) + H(b)), from 0 for independent columns to 1 for the same
    conditional information   I(a, b | c) = H(a, c) + H(b, c) - H(c) - H(a, b, c)

These are estimates by counting: too high by about (levels of a - 1) (levels of b - 1) / 2n on average.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import min_max_axis

from fewer._kernels._arrays import read_only
from fewer._kernels._cuts import (
    Discretisation,
    for_mdl,
    frequency_cuts,
    intervals,
    range_cuts,
    weighted_frequency_cuts,
    width_cuts,
)
from fewer.select.information._kernels import (
    joint_codes,
    joint_sums,
    mdl_intervals,
    sparse_equal_frequency_cuts,
    sparse_intervals,
    sparse_joint_sums,
    sparse_mdl_intervals,
    sparse_weighted_joint_sums,
    weighted_joint_sums,
)

# Bins by default. The number must not follow from the number of rows: the lists that a method gives for all rows and
# for the rows of a fold would differ by the cuts alone. Five leave some rows in the cells of small tables (50 rows and
# two classes: five in each) and can tell a trend from a bulge.
N_BINS = 5
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


def discretise(
    X: Any,
    classes: np.ndarray | None = None,
    *,
    method: Discretisation = "equal_frequency",
    n_bins: int = N_BINS,
    weights: np.ndarray | None = None,
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
    n_bins : int, default=5
        Levels at most, for equal frequency and width.
    weights : ndarray of shape (n_rows,) or None, default=None
        Positive weights of the rows, for equal frequency: a row of weight 2 counts as two rows.

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
    return (_sparse_levels if sp.issparse(X) else _dense_levels)(X, classes, method, n_bins, weights)


def _dense_levels(
    X: np.ndarray, classes: np.ndarray | None, method: Discretisation, n_bins: int, weights: np.ndarray | None
) -> LevelTable:
    """Levels of a dense table, a block of columns at a time."""
    n_rows, n_columns = X.shape
    codes = np.empty((n_columns, n_rows), dtype=np.uint8)
    n_levels = np.ones(n_columns, dtype=np.int64)
    width = max(1, _BLOCK_CELLS // max(n_rows, 1))
    for start in range(0, n_columns, width):
        block = slice(start, min(start + width, n_columns))
        columns = np.ascontiguousarray(X[:, block].T)
        if method == "mdl":
            block_codes, n_levels[block] = _mdl_levels(columns, classes)
        else:
            if method == "equal_frequency" and weights is not None:
                cuts, n_cuts = weighted_frequency_cuts(columns, weights, n_bins)
            else:
                cuts, n_cuts = (frequency_cuts if method == "equal_frequency" else width_cuts)(columns, n_bins)
            block_codes = np.empty(columns.shape, dtype=_code_type(n_bins))
            intervals(columns, cuts, n_cuts, block_codes)
            n_levels[block] = n_cuts + 1
        if n_levels[block].max() > 256 and codes.dtype == np.uint8:
            codes = codes.astype(np.int32)
        codes[block] = block_codes
    return LevelTable(n_levels, n_rows, codes)


def _sparse_levels(
    X: Any, classes: np.ndarray | None, method: Discretisation, n_bins: int, weights: np.ndarray | None
) -> LevelTable:
    """Levels of the stored cells of a CSC matrix, and of zero in each column."""
    n_rows, n_columns = X.shape
    data = X.data.astype(np.float64, copy=False)  # one type, so that kernels are compiled once
    n_levels, zero_codes = np.ones(n_columns, dtype=np.int64), np.zeros(n_columns, dtype=np.int64)
    if method == "mdl":
        codes = np.empty(X.nnz, dtype=np.int32)
        sparse_mdl_intervals(X.indptr, X.indices, data, *for_mdl(classes, n_rows), codes, zero_codes, n_levels)
        if n_levels.max(initial=1) <= 256:
            codes = codes.astype(np.uint8)
    else:
        if method == "equal_frequency":
            cuts, n_cuts = np.empty((n_columns, n_bins - 1)), np.empty(n_columns, dtype=np.int64)
            if weights is None:
                sparse_equal_frequency_cuts(X.indptr, data, n_rows, n_bins, cuts, n_cuts)
            else:
                for column in range(n_columns):
                    values = X[:, [column]].toarray().astype(np.float64).T
                    cuts[[column]], n_cuts[[column]] = weighted_frequency_cuts(values, weights, n_bins)
        else:
            low, high = min_max_axis(X, axis=0)
            cuts, n_cuts = range_cuts(low, high, n_bins)
            cuts = cuts.astype(np.float64)
        codes = np.empty(X.nnz, dtype=_code_type(n_bins))
        sparse_intervals(X.indptr, data, cuts, n_cuts, codes, zero_codes)
        n_levels = n_cuts + 1
    return LevelTable(n_levels, n_rows, codes, X.indptr, X.indices, zero_codes)


def _code_type(n_bins: int) -> type:
    return np.uint8 if n_bins <= 256 else np.int32


def _mdl_levels(columns: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Levels of some columns (a row each), and the numbers of these."""
    codes = np.empty(columns.shape, dtype=np.int32)
    n_levels = np.empty(len(columns), dtype=np.int64)
    order = np.argsort(columns, axis=1)
    values = read_only(columns.astype(np.float64, copy=False))
    mdl_intervals(values, order, *for_mdl(classes, columns.shape[1]), codes, n_levels)
    return codes, n_levels


# Differences of entropies below this are rounding.
ROUNDING = 1e-12


def xlogx_table(n_rows: int) -> np.ndarray:
    """c log c for all counts c from 0 to the number of rows."""
    counts = np.arange(n_rows + 1, dtype=float)
    return counts * np.log(np.maximum(counts, 1))


def entropy(levels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Entropy of one column of levels, in nats; of rows with weights, where there are.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(entropy(np.array([0, 1, 2, 3]))).round(6))
    4.0
    """
    counts = np.bincount(levels, weights)
    counts, total = counts[counts > 0], len(levels) if weights is None else weights.sum()
    return float(max(np.log(total) - (counts * np.log(counts)).sum() / total, 0.0))


class Information:
    """Entropies and shared information of the columns of a table of levels.

    The table is read once for each target that its columns are compared with, in O(n p), or in O(non-zeros) if it is
    sparse.

    Parameters
    ----------
    table : LevelTable
        Columns of levels.
    weights : ndarray of shape (n_rows,) or None, default=None
        Positive weights of the rows.

    Attributes
    ----------
    entropies : ndarray of shape (n_columns,)
        Entropy of each column, in nats.
    """

    def __init__(self, table: LevelTable, weights: np.ndarray | None = None):
        self.table = table
        self.weights = weights
        self._xlogx = xlogx_table(table.n_rows) if weights is None else None
        self.entropies = self.joint_entropies(np.zeros(table.n_rows, dtype=np.int32))

    def joint_entropies(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Entropy of each of the columns (all by default) together with a target of levels 0, 1, ..."""
        table = self.table
        n_target = int(target.max()) + 1
        columns = np.arange(table.n_columns) if columns is None else columns
        target = target.astype(np.int32, copy=False)
        if self.weights is not None:
            return self._weighted_joint_entropies(target, n_target, columns, self.weights)
        if table.indptr is None:
            sums = joint_sums(table.codes, table.n_levels, columns, target, n_target, self._xlogx)
        else:
            counts = np.bincount(target, minlength=n_target)
            sums = sparse_joint_sums(
                table.indptr,
                table.indices,
                table.codes,
                table.zero_codes,
                table.n_levels,
                columns,
                target,
                n_target,
                counts,
                self._xlogx,
            )
        found = np.log(table.n_rows) - sums / table.n_rows
        return np.where(found > ROUNDING, found, 0.0)

    def _weighted_joint_entropies(
        self, target: np.ndarray, n_target: int, columns: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        table = self.table
        if table.indptr is None:
            sums = weighted_joint_sums(table.codes, table.n_levels, columns, target, n_target, weights)
        else:
            counts = np.bincount(target, weights, minlength=n_target)
            cells = table.indptr, table.indices, table.codes, table.zero_codes
            sums = sparse_weighted_joint_sums(*cells, table.n_levels, columns, target, n_target, counts, weights)
        found = np.log(weights.sum()) - sums / weights.sum()
        return np.where(found > ROUNDING, found, 0.0)

    def with_target(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Mutual information of the columns (all by default) with a target of levels 0, 1, ..."""
        joint = self.joint_entropies(target, columns)
        own = self.entropies if columns is None else self.entropies[columns]
        shared = own + entropy(target, self.weights) - joint
        return np.where(shared > ROUNDING, shared, 0.0)

    def with_column(self, column: int, columns: np.ndarray | None = None) -> np.ndarray:
        """Mutual information of the columns (all by default) with one of them."""
        return self.with_target(self.table.column(column), columns)

    def symmetric_uncertainty_with_target(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Symmetric uncertainty of the columns (all by default) with a target of levels; 0 with a constant."""
        own = self.entropies if columns is None else self.entropies[columns]
        total = own + entropy(target, self.weights)
        return 2 * self.with_target(target, columns) / np.where(total > 0, total, 1.0)

    def symmetric_uncertainty_with_column(self, column: int, columns: np.ndarray | None = None) -> np.ndarray:
        """Symmetric uncertainty of the columns (all by default) with one of them."""
        return self.symmetric_uncertainty_with_target(self.table.column(column), columns)


def joint_levels(columns: list[np.ndarray]) -> np.ndarray:
    """Levels of several columns together: rows that agree in all of them share one."""
    levels, n_levels = columns[0].astype(np.int32, copy=False), int(columns[0].max()) + 1
    for column in columns[1:]:
        levels, n_levels = joint_codes(levels, column.astype(np.int32, copy=False), n_levels, int(column.max()) + 1)
    return levels


def conditional_information(a: np.ndarray, b: np.ndarray, given: list[np.ndarray]) -> float:
    """Mutual information of a and b among rows that agree in the given columns, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> conditional_information(a, a ^ b, []), round(conditional_information(a, a ^ b, [b]), 6)
    (0.0, 0.693147)
    """
    condition = joint_levels(given) if given else np.zeros(len(a), dtype=np.int32)
    a_and_condition = joint_levels([condition, a])
    found = (
        entropy(a_and_condition)
        + entropy(joint_levels([condition, b]))
        - entropy(condition)
        - entropy(joint_levels([a_and_condition, b]))
    )
    return found if found > ROUNDING else 0.0
