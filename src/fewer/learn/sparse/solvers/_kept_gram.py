"""A matrix of products of columns, ``Q_ab = sum_i h_i x_ia x_ib``, that is kept while weights of rows change slowly.

It holds the columns asked for so far; new ones are added, at the weights that it was made with. What is given out is
brought to the present sum of weights. Whoever uses it says when it has become too old.
"""

import numpy as np

from fewer.learn.sparse._columns import DenseColumns, SparseColumns

LARGEST = 2000


class KeptGram:
    """The matrix, of up to ``largest`` columns, and what was spent on passes while there was none."""

    def __init__(self, table: DenseColumns | SparseColumns, n_columns: int, largest: int = LARGEST):
        self._table = table
        self.largest = min(n_columns, largest)
        self._matrix = np.empty((self.largest, self.largest))  # memory is taken as it fills
        self._held = np.empty(self.largest, dtype=np.int64)
        self._place = np.full(n_columns, -1)
        self._weights = np.empty(0)
        self._n_blocks = 0
        self.n_held = 0
        self.spent = 0

    @property
    def sampled(self) -> bool:
        """Whether the matrix rests on some of the rows only."""
        return self._n_blocks < self._table.n_blocks(self._table.n_rows)

    def forget(self) -> None:
        """Make the next matrix anew."""
        self._place[self._held[: self.n_held]] = -1
        self.n_held = 0

    def of(self, columns: np.ndarray, h: np.ndarray, n_blocks: int) -> np.ndarray:
        """The matrix of these columns, about that of the present weights ``h``, as an array of its own."""
        missing = columns[self._place[columns] < 0]
        if self.n_held + missing.size > self.largest:
            self.forget()
            missing = columns
        if self.n_held == 0:
            self._weights, self._n_blocks = h.copy(), n_blocks
        if missing.size:
            before, self.n_held = self.n_held, self.n_held + missing.size
            self._held[before : self.n_held] = missing
            self._place[missing] = np.arange(before, self.n_held)
            self._table.fill_gram(self._held[: self.n_held], before, self._weights, self._n_blocks, self._matrix)
        places = self._place[columns]
        return (h.sum() / self._weights.sum()) * self._matrix[np.ix_(places, places)]
