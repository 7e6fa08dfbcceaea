"""Some of the rows of a table, drawn without replacement."""

from numbers import Integral
from typing import Any

import numpy as np


def sampled_rows(n_rows: int, wanted: int | float, y: np.ndarray, *, classes: bool, rng: Any) -> np.ndarray:
    """Rows drawn without replacement, with the classes in their shares."""
    from sklearn.model_selection import train_test_split

    n_wanted = min(wanted if isinstance(wanted, Integral) else max(1, round(wanted * n_rows)), n_rows)
    rows = np.arange(n_rows)
    if n_wanted == n_rows:
        return rows
    if classes:
        counts = np.unique(y, return_counts=True)[1]
        if min(n_wanted, n_rows - n_wanted) >= len(counts) and counts.min() >= 2:
            return np.sort(train_test_split(rows, train_size=int(n_wanted), stratify=y, random_state=rng)[0])
    return np.sort(rng.permutation(n_rows)[:n_wanted])
