"""What becomes of each column of the table: left out, kept as it is, or made into features; and groups of columns.

What becomes of a column is one object, which the plan, the findings, the model, ``apply`` and the report share. The
features are known when the preparation has been fitted on all rows, once, after the folds.

Groups are those that the user names: genes of a pathway, intervals of a spectrum, the channels of a sensor. A file has
one of three forms: JSON or TOML, ``{"group": ["column", ...]}``; or CSV with a header and two columns, the column of
the table and its group. Columns that no group has are groups of their own.
"""

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewer._wording import argument, counted, did_you_mean
from fewer.study._errors import StudyError

if TYPE_CHECKING:
    from fewer.study.answers._scores import AllScores
    from fewer.study.plan._plan import Plan
    from fewer.study.work._work import Bench

COLUMNS = "columns"


@dataclass(frozen=True)
class TableColumn:
    """A column of the table in a study.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        Its kind, as a Dataset has it.
    left_out : str
        Why it is not learnt from; empty if it is.
    features : tuple of str
        What the preparation makes of it: itself, a column for each category, or nothing if it is constant.
    """

    name: str
    kind: str
    left_out: str = ""
    features: tuple[str, ...] = ()

    def to_list(self) -> list[Any]:
        """Plain data; None stands for a column that is its own and only feature."""
        features = None if self.features == (self.name,) else list(self.features)
        return [self.name, self.kind, self.left_out, features]

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> "TableColumn":
        """What ``to_list`` has written."""
        name, kind, left_out, features = data
        return cls(name, kind, left_out, (name,) if features is None else tuple(features))


def columns_from(data: Iterable[Sequence[Any]]) -> tuple[TableColumn, ...]:
    """The columns of a table from plain data."""
    return tuple(map(TableColumn.from_list, data))


def n_units(table: Iterable[TableColumn], plan: "Plan") -> int:
    """How many columns of the table, or groups of them, there are to choose from."""
    group_of = {column: name for name, columns in plan.column_groups.items() for column in columns}
    fixed = set(plan.always)
    return len({group_of.get(each.name, each.name) for each in table if each.features and each.name not in fixed})


def do_columns(bench: "Bench", scores: "AllScores | None" = None) -> dict[str, Any]:
    """The columns of the table with their features, and the rows in a fold over rows trained on."""
    features: dict[str, list[str]] = {}
    for column in bench.whole().columns:
        features.setdefault(column.source, []).append(column.name)
    ratios = [len(fold.test) / len(fold.train) for folds in bench.repeats for fold in folds]
    found = [
        TableColumn(each.name, each.kind, each.left_out, tuple(features.get(each.name, ())))
        for each in bench.data.columns
    ]
    return {"columns": [each.to_list() for each in found], "test_ratio": sum(ratios) / len(ratios)}


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
                near = did_you_mean(column, sorted(known), "columns")
                raise _error(f"the table has no column {column!r}, which the group {name!r} has", near)
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
    rows: list[list[str]] | None = None
    try:
        if suffix in (".csv", ".tsv", ".txt"):
            rows = list(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ","))
        else:
            found = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError, csv.Error) as error:
        raise _error(f"{path} is not a file of groups: {str(error).partition(chr(10))[0][:100]}") from None
    if rows is not None:
        return _from_rows(rows, path)
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
            has = f"{counted(len(cells), 'cell')} ({', '.join(cells)[:60]})"
            raise _error(f"line {number} of {path} has {has}; there must be two, a column and its group")
        groups.setdefault(cells[1], []).append(cells[0])
    return groups


def _error(reason: str, cure: str = "") -> StudyError:
    return StudyError(f"The groups of columns ({argument('column_groups')}) cannot be used: {reason}. {cure}".strip())
