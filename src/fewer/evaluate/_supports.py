"""Selections of columns in any form, as one boolean matrix with a row for each selection."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def support_matrix(supports: Any, n_features: int | None, feature_names: Sequence[Any] | None) -> np.ndarray:
    """Boolean matrix (selections x columns) from masks, or from sets of column numbers or names."""
    names = None if feature_names is None else list(feature_names)
    if names is not None and n_features is not None and len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names and n_features is {n_features}; give one of them.")
    if names is not None and len(set(names)) != len(names):
        raise ValueError("feature_names has a name twice, so that a selection by name is not clear.")
    width = n_features if names is None else len(names)
    masks = _masks(supports)
    if masks is None:
        if width is None:
            raise ValueError(
                "Sets of columns do not tell how many there were to choose from; give n_features or feature_names."
            )
        masks = _masks_from_sets(list(supports), width, names)
    elif width is not None and masks.shape[1] != width:
        raise ValueError(f"supports has {masks.shape[1]} columns, not the {width} that were given.")
    if masks.shape[0] < 2:
        raise ValueError(
            f"There is {masks.shape[0]} selection; stability is about how selections agree, so give two or more, for "
            "example from bootstrap samples of the rows."
        )
    if masks.shape[1] < 1:
        raise ValueError("supports has no columns.")
    return masks


def _masks(supports: Any) -> np.ndarray | None:
    """The boolean matrix, when masks were given; None for sets of columns."""
    if hasattr(supports, "toarray"):
        supports = supports.toarray()
    if isinstance(supports, np.ndarray) and supports.ndim == 3:
        supports = supports.reshape(-1, supports.shape[2])
    is_table = hasattr(supports, "to_numpy") or (isinstance(supports, np.ndarray) and supports.ndim == 2)
    if not is_table:
        supports = list(supports)
        if not supports or not all(_is_mask(one) for one in supports):
            return None
        widths = {len(one) for one in supports}
        if len(widths) > 1:
            raise ValueError(f"The masks have different lengths ({', '.join(map(str, sorted(widths)))}).")
    matrix = np.asarray(supports)
    if matrix.ndim != 2 or (matrix.dtype != bool and not np.isin(matrix, (0, 1)).all()):
        raise ValueError(
            "A matrix of selections must have a row for each selection, with True or 1 for a column chosen."
        )
    return matrix.astype(bool)


def _is_mask(one: Any) -> bool:
    if hasattr(one, "dtype"):
        return one.dtype == bool
    return isinstance(one, (list, tuple)) and len(one) > 0 and all(isinstance(entry, bool) for entry in one)


def _masks_from_sets(sets: list[Any], width: int, names: list[Any] | None) -> np.ndarray:
    position = None if names is None else {name: number for number, name in enumerate(names)}
    masks = np.zeros((len(sets), width), dtype=bool)
    for row, chosen in enumerate(sets):
        if isinstance(chosen, str) or not hasattr(chosen, "__iter__"):
            raise ValueError(f"Selection {row} is {chosen!r}; each selection must be a mask or a set of columns.")
        if isinstance(chosen, list | tuple) and len(set(chosen)) < len(chosen):
            raise ValueError(
                f"Selection {row} names a column twice. If it is a mask of zeros and ones, pass all masks as one array."
            )
        for column in chosen:
            masks[row, _column_number(column, width, position, row)] = True
    return masks


def _column_number(column: Any, width: int, position: dict[Any, int] | None, row: int) -> int:
    if position is not None and column in position:
        return position[column]
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < width:
        return int(column)
    known = "feature_names" if position is not None else f"the columns 0 to {width - 1}"
    raise ValueError(f"Selection {row} has the column {column!r}, which is not among {known}.")
