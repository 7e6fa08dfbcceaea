"""Names of columns that a caller knows and an array does not hold, for messages of the fits inside.

A study prepares its table once and hands arrays on. What a fit then says about a column should still have the name that
the user knows it by.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_names: ContextVar[Sequence[str]] = ContextVar("names of columns", default=())


@contextmanager
def columns_known_as(names: Sequence[str]) -> Iterator[None]:
    """Inside, messages about a table of as many columns call them by these names."""
    before = _names.set(names)
    try:
        yield
    finally:
        _names.reset(before)


def known_column(place: int, n_columns: int) -> str | int:
    """What to call a column of an array with so many: its name where that is known, and its place otherwise.

    Part of a table has other columns at the same places, so names count for a table of their number only.
    """
    names = _names.get()
    return names[place] if len(names) == n_columns else int(place)
