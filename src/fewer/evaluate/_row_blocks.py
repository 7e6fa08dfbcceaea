"""A table in blocks of rows, so that what is computed from all rows needs no second copy of them."""

from collections.abc import Iterator

import numpy as np
from sklearn.utils import gen_batches

_CELLS = 4_000_000


def row_blocks(table: np.ndarray) -> Iterator[slice]:
    """Rows of each block; a small table is one block."""
    return gen_batches(len(table), max(1, _CELLS // max(1, table.shape[1])))
