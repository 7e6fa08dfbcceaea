"""What goes wrong with a table, told to a person."""

import difflib
from collections.abc import Iterable, Sequence

_LONGEST = 100


class TableError(ValueError):
    """A table cannot be read, written or used as asked; the message says where, why and what to do.

    Examples
    --------
    >>> from fewer.io import read_table, TableError
    >>> try:
    ...     read_table({"height": [1.5, 1.7]}, target="hieght")
    ... except TableError as error:
    ...     print(error)
    dict of columns: there is no column 'hieght' (asked for by target=). Did you mean 'height'?
    """


def shortened(items: Iterable[object], limit: int = 8) -> str:
    """The first few items, and how many more there are.

    >>> shortened(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    items = list(items)
    shown = ", ".join(repr(_cut(item)) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


def _cut(item: object) -> object:
    """The item; of a long text, how it begins."""
    return f"{item[:_LONGEST]}..." if isinstance(item, str) and len(item) > _LONGEST else item


def did_you_mean(wanted: str, names: Sequence[str]) -> str:
    """A sentence that offers the nearest names, or lists what there is."""
    by_lower = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(wanted.lower(), by_lower, n=3, cutoff=0.6)
    if near:
        return "Did you mean " + " or ".join(repr(by_lower[name]) for name in near) + "?"
    return f"There are: {shortened(names)}." if names else "There are none."


def unknown_column(source: str, wanted: str, names: Sequence[str], asked_by: str) -> TableError:
    """The error for a name that is no column of the table.

    Parameters
    ----------
    source : str
        What the table is called.
    wanted : str
        The name that was asked for.
    names : sequence of str
        Names that there are.
    asked_by : str
        The argument that holds the name.

    Returns
    -------
    error : TableError
        To be raised; it offers the nearest names.

    Examples
    --------
    >>> from fewer.io import unknown_column
    >>> print(unknown_column("t.csv", "hieght", ["height", "age"], "target="))
    t.csv: there is no column 'hieght' (asked for by target=). Did you mean 'height'?
    """
    return TableError(
        f"{source}: there is no column {wanted!r} (asked for by {asked_by}). {did_you_mean(wanted, names)}"
    )


def refuse_repeated_names(source: str, names: Sequence[str]) -> None:
    """Raise for names that occur more than once, with their positions."""
    if len(set(names)) == len(names):
        return
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names, start=1):
        positions.setdefault(name, []).append(position)
    repeats = {name: where for name, where in positions.items() if len(where) > 1}
    shown = "; ".join(
        f"{_cut(name)!r} is the name of columns {shortened(where)}" for name, where in list(repeats.items())[:5]
    )
    more = f" (and {len(repeats) - 5} more repeated names)" if len(repeats) > 5 else ""
    raise TableError(
        f"{source}: column names must differ, but {shown}{more}. Rename the columns so that each is unique."
    )
