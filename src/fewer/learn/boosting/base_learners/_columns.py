"""Columns of a table by number or by name, and their values."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy import sparse


def as_references(columns: Any) -> tuple[Any, ...]:
    """One reference or several as a tuple."""
    if isinstance(columns, (int, str, np.integer)):
        return (columns,)
    return tuple(columns)


def column_numbers(references: Sequence[Any], n_features: int, names: Sequence[str] | None) -> tuple[int, ...]:
    """The place of each column that is referred to.

    >>> column_numbers(("hip", 0), 2, ["age", "hip"])
    (1, 0)
    """
    return tuple(_number(reference, n_features, names) for reference in references)


def _number(reference: Any, n_features: int, names: Sequence[str] | None) -> int:
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        if 0 <= int(reference) < n_features:
            return int(reference)
        raise ValueError(f"A base-learner asks for column {reference}; the table has columns 0 to {n_features - 1}.")
    if names is None:
        raise ValueError(
            f"A base-learner asks for column {reference!r}, and the table has no names; pass a data frame, or refer "
            "to columns by number."
        )
    places = {name: place for place, name in enumerate(names)}
    if reference in places:
        return places[reference]
    close = get_close_matches(str(reference), list(names), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"A base-learner asks for column {reference!r}, which the table does not have.{hint}")


def column_values(X: Any, columns: Sequence[int]) -> np.ndarray:
    """These columns as a dense array."""
    chosen = X[:, list(columns)]
    return chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)
