"""Entropies of columns of levels, and what two of them have in common.

With H the entropy (in nats) of the observed frequencies:

    mutual information        I(a, b) = H(a) + H(b) - H(a, b)
    symmetric uncertainty     2 I(a, b) / (H(a) + H(b)), from 0 for independent columns to 1 for the same
    conditional information   I(a, b | c) = H(a, c) + H(b, c) - H(c) - H(a, b, c)

These are estimates by counting: too high by about (levels of a - 1) (levels of b - 1) / 2n on average.
"""

import numpy as np

from fewer._kernels._contingency import joint_codes, joint_sums, sparse_joint_sums
from fewer.select._discretise import LevelTable

# Differences of entropies below this are rounding.
ROUNDING = 1e-12


def xlogx_table(n_rows: int) -> np.ndarray:
    """c log c for all counts c from 0 to the number of rows."""
    counts = np.arange(n_rows + 1, dtype=float)
    return counts * np.log(np.maximum(counts, 1))


def entropy(levels: np.ndarray) -> float:
    """Entropy of one column of levels, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(entropy(np.array([0, 1, 2, 3]))).round(6))
    4.0
    """
    counts = np.bincount(levels)
    counts = counts[counts > 0]
    return float(max(np.log(len(levels)) - (counts * np.log(counts)).sum() / len(levels), 0.0))


class Information:
    """Entropies and shared information of the columns of a table of levels.

    The table is read once for each target that its columns are compared with, in O(n p), or in O(non-zeros) if it is
    sparse.

    Parameters
    ----------
    table : LevelTable
        Columns of levels.

    Attributes
    ----------
    entropies : ndarray of shape (n_columns,)
        Entropy of each column, in nats.
    """

    def __init__(self, table: LevelTable):
        self.table = table
        self._xlogx = xlogx_table(table.n_rows)
        self.entropies = self.joint_entropies(np.zeros(table.n_rows, dtype=np.int32))

    def joint_entropies(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Entropy of each of the columns (all by default) together with a target of levels 0, 1, ..."""
        table = self.table
        n_target = int(target.max()) + 1
        columns = np.arange(table.n_columns) if columns is None else columns
        target = target.astype(np.int32, copy=False)
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

    def with_target(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Mutual information of the columns (all by default) with a target of levels 0, 1, ..."""
        joint = self.joint_entropies(target, columns)
        own = self.entropies if columns is None else self.entropies[columns]
        shared = own + entropy(target) - joint
        return np.where(shared > ROUNDING, shared, 0.0)

    def with_column(self, column: int, columns: np.ndarray | None = None) -> np.ndarray:
        """Mutual information of the columns (all by default) with one of them."""
        return self.with_target(self.table.column(column), columns)

    def symmetric_uncertainty_with_target(self, target: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Symmetric uncertainty of the columns (all by default) with a target of levels; 0 with a constant."""
        own = self.entropies if columns is None else self.entropies[columns]
        total = own + entropy(target)
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
