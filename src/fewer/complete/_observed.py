"""What is observed of a table: the one place that decides which entries count.

In a dense table (an array, a frame) NaN is a missing entry. In a sparse one *stored means observed*: an entry that is
not stored is missing, a stored zero is an observation, and a stored NaN is missing again. Either way there is one
structure for all methods of the room, and whatever costs time is computed only when it is asked for.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

_KEYS_SEED = 20100


class Patterns(NamedTuple):
    """Rows (or columns) with the same missing entries: a number for each, and one of each number as its example."""

    labels: np.ndarray
    examples: np.ndarray


class Observed:
    """The observed entries of a table.

    Parameters
    ----------
    X : ndarray with NaN, or sparse matrix or array, float32 or float64
        The table, without infinities. It is not copied, and not changed.

    Attributes
    ----------
    dense : ndarray or None
        The table with NaN for missing entries, if it was given so.
    shape : tuple of int
        Rows and columns.
    """

    def __init__(self, X: Any) -> None:
        self.dense: np.ndarray | None = None if sparse.issparse(X) else X
        self.shape: tuple[int, int] = X.shape
        self.dtype = X.dtype
        if self.dense is None:
            self.__dict__["by_rows"] = _stored_by_rows(X)

    @cached_property
    def by_rows(self) -> sparse.csr_array:
        """The observed entries row by row, columns in order; zeros are stored."""
        assert self.dense is not None
        mask = self.mask
        indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        columns = np.nonzero(mask)[1]
        index = np.int32 if max(len(columns), *self.shape) < 2**31 else np.int64
        return sparse.csr_array((self.dense[mask], columns.astype(index), indptr.astype(index)), shape=self.shape)

    @cached_property
    def by_columns(self) -> sparse.csc_array:
        """The observed entries column by column, rows in order; zeros are stored."""
        return self.by_rows.tocsc()

    @cached_property
    def mask(self) -> np.ndarray:
        """Where a dense table is observed; asking a sparse one is an error, since it must not be made dense."""
        if self.dense is None:
            raise TypeError("A sparse table has no dense mask; use by_rows.")
        return ~np.isnan(self.dense)

    @cached_property
    def row_counts(self) -> np.ndarray:
        """Number of observed entries of each row."""
        return np.diff(self.by_rows.indptr) if self.dense is None else self.mask.sum(axis=1)

    @cached_property
    def column_counts(self) -> np.ndarray:
        """Number of observed entries of each column."""
        if self.dense is None:
            return np.bincount(self.by_rows.indices, minlength=self.shape[1])
        return self.mask.sum(axis=0)

    @property
    def n_observed(self) -> int:
        """Number of observed entries."""
        return int(self.row_counts.sum())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return self.n_observed == self.shape[0] * self.shape[1]

    @cached_property
    def column_means(self) -> np.ndarray:
        """Mean of what is observed of each column, in float64; zero where there is nothing."""
        totals = np.bincount(
            self.by_rows.indices, weights=self.by_rows.data.astype(np.float64), minlength=self.shape[1]
        )
        return totals / np.maximum(self.column_counts, 1)

    @cached_property
    def column_deviations(self) -> np.ndarray:
        """Standard deviation of what is observed of each column, in float64; zero where it is constant."""
        stored = self.by_rows
        wrong = stored.data.astype(np.float64) - self.column_means[stored.indices]
        squares = np.bincount(stored.indices, weights=wrong**2, minlength=self.shape[1])
        deviations = np.sqrt(squares / np.maximum(self.column_counts, 1))
        # Rounding must not look like variation.
        return np.where(deviations > 1e-12 * np.abs(self.column_means), deviations, 0.0)

    @cached_property
    def row_patterns(self) -> Patterns:
        """Rows that are observed in the same columns."""
        if self.dense is not None:
            return equal_rows(self.mask)
        return _patterns(self.by_rows.indptr, self.by_rows.indices, self.shape[1])

    @cached_property
    def column_patterns(self) -> Patterns:
        """Columns that are observed in the same rows."""
        if self.dense is not None:
            return equal_rows(self.mask.T)
        return _patterns(self.by_columns.indptr, self.by_columns.indices, self.shape[0])

    def rows(self, chosen: np.ndarray | slice) -> "Observed":
        """Some rows of the table."""
        return Observed(self.by_rows[chosen] if self.dense is None else self.dense[chosen])

    def columns(self, chosen: np.ndarray) -> "Observed":
        """Some columns of the table."""
        return Observed(self.by_rows[:, chosen] if self.dense is None else self.dense[:, chosen])

    def without(self, columns: np.ndarray) -> "Observed":
        """The same table with nothing observed where the mask over columns is True."""
        if not columns.any():
            return self
        if self.dense is None:
            stored = self.by_rows.copy()
            stored.data[columns[stored.indices]] = np.nan
            return Observed(stored)
        return Observed(np.where(columns, np.asarray(np.nan, dtype=self.dtype), self.dense))

    def divided(self, scales: np.ndarray) -> "Observed":
        """The same table with each column divided by its scale."""
        if (scales == 1).all():
            return self
        if self.dense is not None:
            return Observed(self.dense / scales.astype(self.dtype))
        stored = self.by_rows.copy()
        stored.data /= scales[stored.indices].astype(self.dtype)
        return Observed(stored)

    def astype(self, dtype: Any) -> "Observed":
        """The same table in another precision."""
        if self.dtype == dtype:
            return self
        return Observed((self.by_rows if self.dense is None else self.dense).astype(dtype))

    def hidden(self, entries: np.ndarray) -> "Observed":
        """The same table with some observed entries made missing: their positions in ``by_rows.data``."""
        if self.dense is not None:
            dense = self.dense.copy()
            dense.flat[np.flatnonzero(self.mask)[entries]] = np.nan
            return Observed(dense)
        stored = self.by_rows.copy()
        stored.data[entries] = np.nan
        return Observed(stored)

    def with_nan(self) -> np.ndarray:
        """A dense copy with NaN for missing entries."""
        return _densified(self.by_rows) if self.dense is None else self.dense.copy()


def _stored_by_rows(X: Any) -> sparse.csr_array:
    """CSR with sorted columns, no entry twice, no NaN; the caller's table stays as it is."""
    stored = sparse.csr_array(X)
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    missing = np.isnan(stored.data)
    if not missing.any():
        return stored
    before = np.concatenate([[0], np.cumsum(~missing)])
    return sparse.csr_array(
        (stored.data[~missing], stored.indices[~missing], before[stored.indptr].astype(stored.indptr.dtype)),
        shape=stored.shape,
    )


def _densified(stored: sparse.csr_array) -> np.ndarray:
    dense = np.full(stored.shape, np.nan, dtype=stored.dtype)
    dense[np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr)), stored.indices] = stored.data
    return dense


def equal_rows(mask: np.ndarray) -> Patterns:
    """Rows of a mask that are equal."""
    packed = np.packbits(mask, axis=1)
    # As strings of one length, rows are sorted by their bits.
    bits = np.ascontiguousarray(packed).view(f"S{packed.shape[1]}")[:, 0]
    _, examples, labels = np.unique(bits, return_index=True, return_inverse=True)
    return Patterns(labels.reshape(-1), examples)


def _patterns(indptr: np.ndarray, indices: np.ndarray, n_places: int) -> Patterns:
    """Equal sets of places, identified by the sum of random 128-bit keys: two sets collide about once in 1e38 pairs."""
    keys = np.random.default_rng(_KEYS_SEED).integers(0, 2**64, size=(n_places, 2), dtype=np.uint64)
    # A running sum that wraps around still gives exact differences.
    running = np.zeros((len(indices) + 1, 2), dtype=np.uint64)
    np.cumsum(keys[indices], axis=0, out=running[1:])
    sums = running[indptr[1:]] - running[indptr[:-1]]
    pairs = np.ascontiguousarray(sums).view([("first", np.uint64), ("second", np.uint64)])[:, 0]
    _, examples, labels = np.unique(pairs, return_index=True, return_inverse=True)
    return Patterns(labels.reshape(-1), examples)
