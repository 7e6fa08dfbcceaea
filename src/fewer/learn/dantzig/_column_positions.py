"""The columns of a support, however they are told: by position, by name or by a mask."""

from difflib import get_close_matches
from typing import Any

import numpy as np

from fewer._estimators import get_feature_names


def column_positions(columns: Any, X: Any, who: str) -> np.ndarray:
    """Positions of some columns of a table, in the order in which they are told.

    >>> column_positions([True, False, True], np.eye(3), "anyone")
    array([0, 2])
    """
    n_columns = np.shape(X)[1]
    told = np.atleast_1d(columns)
    if told.dtype == bool and told.shape == (n_columns,):
        positions = np.flatnonzero(told)
    elif told.dtype.kind in "OUT" and told.size > 0:
        positions = np.array([_position(name, get_feature_names(X), who) for name in told.tolist()])
    else:
        positions = told
    if not _are_positions(positions, n_columns):
        raise ValueError(
            f"{who} needs different columns, by their positions from 0 to {n_columns - 1}, by their names or by a mask "
            f"of length {n_columns}; got {columns}."
        )
    return positions.astype(int)


def sorted_positions(columns: Any, X: Any, who: str) -> np.ndarray:
    """Positions of some columns of a table, in the order of the table."""
    return np.sort(column_positions(columns, X, who))


def _are_positions(found: np.ndarray, n_columns: int) -> bool:
    whole = found.ndim == 1 and found.size > 0 and found.dtype.kind in "iuf" and bool(np.all(found == np.round(found)))
    return whole and found.min() >= 0 and found.max() < n_columns and np.unique(found).size == found.size


def _position(name: Any, names: np.ndarray | None, who: str) -> int:
    if names is None:
        raise ValueError(
            f"{who} was told of column {name!r}, and the table has no names; pass a data frame, or its position."
        )
    if name in names:
        return int(np.flatnonzero(names == name)[0])
    close = get_close_matches(str(name), list(names), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{who} was told of column {name!r}, which the table does not have.{hint}")
