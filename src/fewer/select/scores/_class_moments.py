"""What the scores of class means share: counts, means and sums of squares of each column in each class.

One pass over the table, dense or sparse, in double precision whatever the table's own. See the kernel for why no digits
are lost on columns with a large mean.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fewer._kernels._class_moments import add_rows, sparse_class_moments
from fewer._kernels._read_only import read_only

_ENTRIES_AT_ONCE = 1 << 18
"""Entries of a row block that is copied, where a table does not store its rows one after the other."""


class ClassMoments(NamedTuple):
    """Moments of each column in each class; ``means`` and ``squares`` are of shape (n_classes, n_features)."""

    counts: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    """Sums of squared deviations from the class means."""

    @property
    def mean(self) -> np.ndarray:
        """Mean of each column over all rows; exact for a column that is constant."""
        apart = self.means - self.means[0]
        return self.means[0] + self.counts @ apart / self.counts.sum()

    @property
    def between(self) -> np.ndarray:
        """Sum of squares of the class means about the mean, each class counted by its rows."""
        with np.errstate(over="ignore"):
            return self.counts @ (self.means - self.mean) ** 2

    @property
    def within(self) -> np.ndarray:
        """Sum of squares about the class means."""
        return self.squares.sum(axis=0)

    def against_rest(self, code: int) -> "ClassMoments":
        """Moments of all other classes together (row 0) and of this one (row 1)."""
        others = ClassMoments(*(np.delete(part, code, axis=0) for part in self))
        counts = np.array([others.counts.sum(), self.counts[code]])
        means = np.stack([others.mean, self.means[code]])
        return ClassMoments(counts, means, np.stack([others.within + others.between, self.squares[code]]))


def class_moments(X: Any, codes: np.ndarray) -> ClassMoments:
    """Moments of a dense table, or of a CSC matrix without making it dense; classes are 0, 1, ..."""
    counts = np.bincount(codes).astype(float)
    if sparse.issparse(X):
        X = without_duplicates(X)
        return ClassMoments(counts, *sparse_class_moments(X.data, X.indices, X.indptr, codes, counts))
    n_classes = len(counts)
    means, squares = np.zeros((n_classes, X.shape[1])), np.zeros((n_classes, X.shape[1]))
    seen = np.zeros(n_classes)
    for rows, block in row_blocks(X):
        add_rows(read_only(block), codes[rows], seen, means, squares)
    return ClassMoments(counts, means, squares)


def row_blocks(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """The table in blocks whose rows are stored one after the other; a single block if it already is so."""
    n_rows, n_columns = X.shape
    height = n_rows if X.flags.c_contiguous else max(16, _ENTRIES_AT_ONCE // n_columns)
    for start in range(0, n_rows, height):
        rows = slice(start, min(start + height, n_rows))
        yield rows, np.ascontiguousarray(X[rows])


def without_duplicates(X: Any) -> Any:
    """The matrix with each entry stored once, sorted by row; itself if it is so already."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """``above / below`` with 0 for 0 / 0 (a constant column) and infinity for what is split without any error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > 0, above / below, 0.0)
