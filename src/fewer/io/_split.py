"""Rows to learn from and rows to test on."""

from typing import Any

import numpy as np

from fewer.io._errors import TableError, shortened
from fewer.io._target import missing_in


def split_rows(
    n_rows: int, test_size: float, labels: np.ndarray | None, groups: Any, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted row numbers of the training and of the test set."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    rows = np.arange(n_rows)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_rows,):
            raise TableError(
                f"groups= needs one value for each of the {n_rows} rows, but has the shape {groups.shape}."
            )
        if n_missing := int(missing_in(groups).sum()):
            raise TableError(
                f"groups= is missing in {n_missing} of {n_rows} rows, so it cannot tell where they belong. Fill it in, "
                "or leave these rows out with take()."
            )
        if groups.dtype == object:
            groups = np.array([str(group) for group in groups])
        splitter = GroupShuffleSplit(n_splits=1, test_size=test_size, random_state=random_state)
        train, test = _or_table_error(lambda: next(splitter.split(rows, groups=groups)))
        return np.sort(train), np.sort(test)
    if labels is not None:
        distinct, counts = np.unique(labels, return_counts=True)
        if lonely := distinct[counts < 2].tolist():
            raise TableError(
                f"These classes have one row each, so they cannot be in both parts of a split: {shortened(lonely)}. "
                "Leave these rows out, or split with stratify=False."
            )
    train, test = _or_table_error(
        lambda: train_test_split(rows, test_size=test_size, stratify=labels, random_state=random_state)
    )
    return np.sort(train), np.sort(test)


def _or_table_error(split: Any) -> Any:
    try:
        return split()
    except ValueError as error:
        raise TableError(f"The rows cannot be split so: {error}") from error
