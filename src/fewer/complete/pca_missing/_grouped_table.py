"""A table with equal patterns of holes put together, and the four sums over its entries that updates are made of.

With ``O_j`` what is observed of row j, an update of the scores needs ``sum_{i in O_j} S_i`` for matrices ``S_i`` of the
columns. Rows with the same ``O_j`` share that sum, and columns that are observed in the same rows enter it together; so
it is a product of the mask, with one row for each pattern of rows and one column for each pattern of columns, and of
totals over groups. A dense table leaves these products to BLAS; a sparse one walks over what is stored, in threads.
"""

from typing import NamedTuple

import numpy as np

from fewer._kernels._in_threads import in_threads
from fewer._kernels._packed_symmetric import add_outer_products
from fewer._kernels._stored_sums import multiply_stored, sum_stored
from fewer.complete._observed import Observed, Patterns


class Side(NamedTuple):
    """The rows, or the columns, and the groups with equal patterns that they form."""

    labels: np.ndarray
    members: np.ndarray
    indptr: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Members of each group."""
        return np.diff(self.indptr)

    def totals(self, vectors: np.ndarray) -> np.ndarray:
        """Sum of the members' vectors, for each group."""
        if len(self.indptr) - 1 == len(self.labels):  # each is a group of its own
            return vectors[self.members]
        return np.add.reduceat(vectors[self.members], self.indptr[:-1], axis=0)

    def second_moments(self, vectors: np.ndarray, covariances: np.ndarray | None) -> np.ndarray:
        """Sum of ``v v' + covariance`` over the members of each group, packed; covariances come one for each group."""
        size = vectors.shape[1]
        if covariances is None:
            totals = np.zeros((len(self.indptr) - 1, size * (size + 1) // 2))
        else:
            totals = covariances * self.counts[:, None]
        in_threads(add_outer_products, self.indptr, self.members, vectors, totals, cost=size * size)
        return totals


class GroupedTable:
    """Entries ``(x - centre) / scale`` of a table, zero in its holes."""

    def __init__(self, table: Observed, centre: np.ndarray, scale: float, *, group_columns: bool = True) -> None:
        self.shape = table.shape
        row_patterns = table.row_patterns
        column_patterns = table.column_patterns if group_columns else Patterns(*2 * (np.arange(table.shape[1]),))
        self.rows, self.columns = _side(row_patterns), _side(column_patterns)
        self.n_observed = table.n_observed
        if table.dense is None:
            stored = table.by_rows
            self._by_rows = stored.copy()
            self._by_rows.data = (stored.data.astype(np.float64) - centre[stored.indices]) / scale
            self._by_columns = self._by_rows.tocsc()
            mask = self._by_rows[row_patterns.examples][:, column_patterns.examples]
            self._mask_by_rows, self._mask_by_columns = mask, mask.tocsc()
            self._dense = None
        else:
            observed = table.mask
            self._dense = np.where(observed, (table.dense.astype(np.float64) - centre) / scale, 0.0)
            self._mask = observed[row_patterns.examples][:, column_patterns.examples].astype(np.float64)

    def over_columns(self, vectors: np.ndarray) -> np.ndarray:
        """For each group of rows, the sum of the vectors of the groups of columns that it observes."""
        if self._dense is not None:
            return self._mask @ vectors
        return _summed(self._mask_by_rows, vectors)

    def over_rows(self, vectors: np.ndarray) -> np.ndarray:
        """For each group of columns, the sum of the vectors of the groups of rows that observe it."""
        if self._dense is not None:
            return self._mask.T @ vectors
        return _summed(self._mask_by_columns, vectors)

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """The table times a vector for each column."""
        if self._dense is not None:
            return self._dense @ vectors
        return _multiplied(self._by_rows, vectors)

    def transposed_times(self, vectors: np.ndarray) -> np.ndarray:
        """The transposed table times a vector for each row."""
        if self._dense is not None:
            return self._dense.T @ vectors
        return _multiplied(self._by_columns, vectors)

    def column_counts(self) -> np.ndarray:
        """Observed entries of each column."""
        return self.over_rows(self.rows.counts[:, None].astype(np.float64))[self.columns.labels, 0]

    def column_sums(self) -> np.ndarray:
        """Sum of each column."""
        if self._dense is not None:
            return self._dense.sum(axis=0)
        return np.asarray(self._by_columns.sum(axis=0)).ravel()

    def column_squares(self) -> np.ndarray:
        """Sum of squares of each column."""
        if self._dense is not None:
            return np.einsum("ij,ij->j", self._dense, self._dense)
        return np.asarray(self._by_columns.power(2).sum(axis=0)).ravel()

    def row_squares(self) -> np.ndarray:
        """Sum of squares of each row."""
        if self._dense is not None:
            return np.einsum("ij,ij->i", self._dense, self._dense)
        return np.asarray(self._by_rows.power(2).sum(axis=1)).ravel()


def _side(patterns: Patterns) -> Side:
    counts = np.bincount(patterns.labels, minlength=len(patterns.examples))
    members = np.argsort(patterns.labels, kind="stable")
    return Side(patterns.labels, members, np.concatenate([[0], np.cumsum(counts)]))


def _summed(stored, vectors: np.ndarray) -> np.ndarray:
    sums = np.empty((len(stored.indptr) - 1, vectors.shape[1]))
    in_threads(sum_stored, stored.indptr, stored.indices, np.ascontiguousarray(vectors), sums, cost=vectors.shape[1])
    return sums


def _multiplied(stored, vectors: np.ndarray) -> np.ndarray:
    products = np.empty((len(stored.indptr) - 1, vectors.shape[1]))
    vectors = np.ascontiguousarray(vectors)
    in_threads(multiply_stored, stored.indptr, stored.indices, stored.data, vectors, products, cost=vectors.shape[1])
    return products
