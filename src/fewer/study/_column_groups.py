"""Groups of columns that the user names: genes of a pathway, intervals of a spectrum, the channels of a sensor.

A file has one of three forms: JSON or TOML, ``{"group": ["column", ...]}``; or CSV with a header and two columns, the
column of the table and its group. Columns that no group has are groups of their own.
"""

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fewer._wording import argument
from fewer.study._errors import StudyError

_MOST_BYTES = 1 << 26


def column_groups_of(given: Any, columns: Iterable[str], usable: Iterable[str], always: Iterable[str] = ()) -> dict:
    """Columns of each group, from a file or a mapping.

    Parameters
    ----------
    given : str, Path, mapping of str to list of str, or None
        The file, or the groups themselves.
    columns : iterable of str
        All columns of the table.
    usable : iterable of str
        Those that are learnt from: others are left out of their groups.
    always : iterable of str
        Columns that are in every subset, which cannot be in a group as well.

    Returns
    -------
    groups : dict of str to list of str
        In the order in which they are given; empty without any.
    """
    if given is None:
        return {}
    groups = dict(given) if isinstance(given, Mapping) else _read(Path(given))
    known, used, fixed = set(columns), set(usable), set(always)
    group_of: dict[str, str] = {}
    for name, members in groups.items():
        for column in members:
            if column not in known:
                raise _error(f"the table has no column {column!r}, which the group {name!r} has")
            if column in group_of:
                raise _error(f"the column {column!r} is in two groups, {group_of[column]!r} and {name!r}")
            if column in fixed:
                raise _error(f"the column {column!r} of the group {name!r} is in {argument('always')} as well")
            group_of[column] = name
        if name in known and list(members) != [name]:
            raise _error(f"a group has the name of a column, {name!r}; give it another one")
    found = {str(name): [column for column in members if column in used] for name, members in groups.items()}
    return {name: members for name, members in found.items() if members}


def _read(path: Path) -> dict[str, list[str]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _error(f"{path} is larger than {_MOST_BYTES >> 20} MB")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _error(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _error(f"{path} is not a text file in UTF-8") from None
    suffix = path.suffix.lower()
    try:
        if suffix in (".csv", ".tsv", ".txt"):
            return _from_rows(list(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ",")), path)
        found = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _error(f"{path} is not a file of groups: {str(error).partition(chr(10))[0][:100]}") from None
    sound = isinstance(found, dict) and all(
        isinstance(members, list) and all(isinstance(column, str) for column in members) for members in found.values()
    )
    if not sound:
        raise _error(f"{path} must have a list of column names for each group")
    return found


def _from_rows(rows: list[list[str]], path: Path) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for number, row in enumerate(rows[1:], start=2):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != 2 or not all(cells):
            raise _error(f"line {number} of {path} has {len(cells)} cells; there must be two, a column and its group")
        groups.setdefault(cells[1], []).append(cells[0])
    return groups


def _error(reason: str) -> StudyError:
    return StudyError(f"The groups of columns ({argument('column_groups')}) cannot be used: {reason}.")
