"""A table in blocks of rows, so that what is computed from all rows needs no second copy of them."""

from collections.abc import Iterator

import numpy as np

_CELLS = 4_000_000


def row_blocks(table: np.ndarray) -> Iterator[slice]:
    """Rows of each block; a small table is one block."""
    step = max(1, _CELLS // max(1, table.shape[1]))
    return (slice(start, start + step) for start in range(0, len(table), step))
