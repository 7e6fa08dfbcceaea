"""`TableError`, the sentences that its messages share, and the checks for tables that are too large."""

import os
from collections.abc import Sequence

from fewer._wording import cut, did_you_mean, listed_values

# A dense table takes some KB for each column in each of several places.
MOST_COLUMNS = 1_000_000
_MOST_EMPTY = 1 << 20  # as many columns as hashed features commonly have


class TableError(ValueError):
    """A table cannot be read, written or used as asked; the message names the place, the reason and the cure.

    Examples
    --------
    >>> from fewer.io import read_table, TableError
    >>> try:
    ...     read_table({"height": [1.5, 1.7]}, target="hieght")
    ... except TableError as error:
    ...     print(error)
    dict of columns: there is no column 'hieght' (given by target=). Did you mean 'height'?
    """


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
    t.csv: there is no column 'hieght' (given by target=). Did you mean 'height'?
    """
    return TableError(
        f"{source}: there is no column {wanted!r} (given by {asked_by}). {did_you_mean(wanted, names, 'columns')}"
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
        f"{cut(name, 100)!r} is the name of columns {listed_values(where)}" for name, where in list(repeats.items())[:5]
    )
    more = f" (and {len(repeats) - 5} more repeated names)" if len(repeats) > 5 else ""
    raise TableError(
        f"{source}: column names must differ, but {shown}{more}. Rename the columns so that each is unique."
    )


def physical_memory() -> int:
    """Bytes of memory of this machine; 64 GiB where it cannot be asked for."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 64 << 30


def refuse_large(source: str, n_bytes: int) -> None:
    """Raise when this many bytes do not fit into the memory of this machine."""
    if n_bytes > physical_memory():
        raise TableError(
            f"{source}: this needs {n_bytes / 2**30:,.1f} GiB, but this machine has "
            f"{physical_memory() / 2**30:,.1f} GiB of memory. Read a part of it, or use a machine with more memory. "
            "If the size is unexpected, the file may be damaged."
        )


def refuse_empty(source: str, shape: Sequence[int], n_bytes: int) -> None:
    """Raise for rows or columns that are far more than what is stored in this many bytes, as in a sparse table."""
    if max(shape) > _MOST_EMPTY + n_bytes:
        raise TableError(
            f"{source}: a table of {' x '.join(f'{length:,}' for length in shape)} with {n_bytes:,} bytes of "
            "stored values is not read, because nearly all of it would be empty. Check its indices, or hash the "
            "features into fewer columns."
        )
