"""Landmarks: rows drawn at random from all that have been seen, however they come.

Each row gets a random key, and those with the smallest keys are kept. So the sample does not depend on how rows are cut
into blocks, and the first landmarks of many are those of a smaller sample.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Landmarks(NamedTuple):
    """The rows kept, by increasing key, and which of all rows they are."""

    rows: Any
    numbers: np.ndarray
    keys: np.ndarray
    n_seen: int

    @classmethod
    def first(cls, block: Any, keys: np.ndarray, size: int) -> "Landmarks":
        """Of the first block."""
        order = np.argsort(keys)[:size]
        return cls(taken(block, order), order, keys[order], len(keys))

    def after(self, block: Any, keys: np.ndarray, size: int) -> "Landmarks":
        """After one more block."""
        n_kept = len(self.keys)
        order = np.argsort(np.concatenate([self.keys, keys]))[:size]
        is_new = order >= n_kept
        new = order[is_new] - n_kept
        place = np.where(is_new, n_kept + np.cumsum(is_new) - 1, order)
        numbers = np.concatenate([self.numbers, self.n_seen + new])[place]
        rows = taken(joined(self.rows, taken(block, new)), place)
        return Landmarks(rows, numbers, np.concatenate([self.keys, keys[new]])[place], self.n_seen + len(keys))


def taken(rows: Any, which: np.ndarray) -> Any:
    """Some rows of a table, or objects of a list."""
    return [rows[each] for each in which] if isinstance(rows, list) else rows[which]


def joined(first: Any, second: Any) -> Any:
    if isinstance(first, list):
        return first + second
    return sparse.vstack([first, second], format="csr") if sparse.issparse(first) else np.vstack([first, second])
