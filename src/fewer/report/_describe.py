"""A description of a table in the terminal: sections only where there is something to say, long lists cut short."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fewer._wording import counted, cut, listed, printable, rounded_percent

if TYPE_CHECKING:
    from fewer.overview import Description

_ROWS_OF_A_LIST = 8
_NAMES_OF_A_LIST = 12
_LONGEST_NAME = 40
_BAR = 20

Section = tuple[str, list[RenderableType]]


def print_description(description: "Description", console: Console | None = None) -> None:
    """Print a description of a table for a person to read.

    Parameters
    ----------
    description : fewer.overview.Description
        What `fewer.overview.describe` found.
    console : rich.console.Console, optional
        Where to print; the standard output, in its width, without colours when it is not a terminal.

    Examples
    --------
    >>> from fewer.io import read_table
    >>> from fewer.overview import describe
    >>> from fewer.report import print_description
    >>> print_description(describe(read_table({"a": [1.5, 2.5, 4.5], "b": [7.0, 7.0, 7.0]})))
    dict of columns: 3 rows, 2 columns (48 bytes)
    <BLANKLINE>
    Columns
      1 numeric, 1 constant
    <BLANKLINE>
    Constant columns
      b: 7.0 in every row
    <BLANKLINE>
    What to do next
      1. Name the column to predict, if there is one: --target COLUMN.
      2. Leave out columns that add nothing (1 constant column): --drop b
      3. See which methods fit this table: fewer methods --task unsupervised
    """
    console = console or Console(file=sys.stdout, highlight=False)
    console.print(Text(_headline(description), style="bold"))
    bar = "#" if console.options.ascii_only else "█"
    for title, lines in _sections(description, bar):
        console.print()
        console.print(Text(title, style="bold cyan"))
        console.print(Padding(Group(*lines), (0, 0, 0, 2), expand=False))


def _headline(description: "Description") -> str:
    size = f"{counted(description.rows, 'row')}, {counted(description.columns, 'column')}"
    if description.stored_share is not None:
        size += f", sparse with {rounded_percent(description.stored_share)} of the cells stored"
    return f"{_shown(description.source, 200)}: {size} ({_bytes(description.memory_bytes)})"


def _sections(description: "Description", bar: str) -> Iterator[Section]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in description.kinds.items())
    yield "Columns", [Text(kinds or "none")]
    if description.target is not None:
        title, lines = _target(description.target, bar)
        reason = description.target.reason
        # Only where it could have been taken otherwise.
        yield title, [Text(f"{reason[0].upper()}{reason[1:]}."), *lines] if "--task" in reason else lines
    parts = (
        _groups,
        _time,
        _leaking_columns,
        _missing,
        _constants,
        _duplicates,
        _near_duplicates,
        _identifiers,
        _commas,
        _infinite,
        _rows,
        _neighbours,
    )
    for part in parts:
        section = part(description)
        if section is not None:
            yield section
    yield "What to do next", [_numbered(description.advice)]


def _target(target: Any, bar: str) -> Section:
    if target.distribution is not None:
        spread = target.distribution
        table = _table("minimum", "25%", "median", "75%", "maximum", "mean", "std", justify="right")
        quartiles = (spread.minimum, spread.lower_quartile, spread.median, spread.upper_quartile, spread.maximum)
        table.add_row(*(_number(value) for value in (*quartiles, spread.mean, spread.standard_deviation)))
        title = f"Target {_shown(target.name)}: regression, {counted(spread.distinct, 'different value')}"
        return title, [table]
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    for _ in range(2):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    largest = target.classes[0].count
    classes = target.classes if len(target.classes) <= _ROWS_OF_A_LIST + 1 else target.classes[:_ROWS_OF_A_LIST]
    for item in classes:
        drawn = Text(bar * max(1, round(_BAR * item.count / largest)), style="cyan")
        table.add_row(Text(_shown(item.label)), f"{item.count:,}", rounded_percent(item.share), drawn)
    lines: list[RenderableType] = [table]
    rest = target.classes[len(classes) :]
    if rest:
        fewest, most = rest[-1].count, rest[0].count
        counts = f"from {counted(fewest, 'row')} to {most:,}" if fewest < most else f"{counted(most, 'row')} each"
        lines.append(Text(f"and {len(rest):,} more classes, {counts}"))
    return f"Target {_shown(target.name)}: {target.task}, {len(target.classes):,} classes", lines


def _groups(description: "Description") -> Section | None:
    if not description.groups:
        return None
    table = _table("column", "groups", "rows in each", "nearest row in same group", "by chance", justify="right")
    for item in description.groups[:_ROWS_OF_A_LIST]:
        figures = (
            f"{item.values:,}",
            f"{item.rows_of_value:.1f}",
            rounded_percent(item.resemblance),
            rounded_percent(item.chance),
        )
        table.add_row(Text(_shown(item.column)), *figures)
    level = description.groups[0].level
    lines = [table, *_and_more(len(description.groups) - _ROWS_OF_A_LIST, "column")]
    return f"Columns that identify groups of rows ({level})", lines


def _time(description: "Description") -> Section | None:
    if not description.time:
        return None
    (item,) = description.time
    order = "the rows are sorted by it" if item.is_sorted else "the rows are not sorted by it"
    return f"Time order ({item.level})", [Text(f"{_shown(item.column)}: {order}")]


def _leaking_columns(description: "Description") -> Section | None:
    found = description.leaking_columns
    if not found:
        return None
    table = _table("column", found[0].measure, "from its", "known in")
    for item in found[:_ROWS_OF_A_LIST]:
        table.add_row(Text(_shown(item.column)), f"{item.score:.3f}", item.by, f"{rounded_percent(item.known)} of rows")
    return "Possible target leakage", [table, *_and_more(len(found) - _ROWS_OF_A_LIST, "column")]


def _missing(description: "Description") -> Section | None:
    missing = description.missing
    if not missing.cells:
        return None
    columns = missing.columns
    head = (
        f"{rounded_percent(missing.share)} of cells, in {len(columns):,} of {counted(description.columns, 'column')}; "
        f"{missing.complete_rows:,} of {counted(description.rows, 'row')} complete"
    )
    table = _table("column", "missing", "share", justify="right")
    for item in columns[:_ROWS_OF_A_LIST]:
        table.add_row(Text(_shown(item.column)), f"{item.count:,}", rounded_percent(item.share))
    rows = ", ".join(f"{item.row:,} ({item.count:,})" for item in missing.worst_rows[:5])
    worst = Text(f"Rows with the most missing values, counted from 1: {rows}")
    return "Missing values", [Text(head), table, *_and_more(len(columns) - _ROWS_OF_A_LIST, "column"), worst]


def _constants(description: "Description") -> Section | None:
    if not description.constants:
        return None
    lines = []
    for item in description.constants[:_ROWS_OF_A_LIST]:
        if item.value is None:
            what = "missing in every row"
        else:
            where = "in every row" if item.missing == 0 else f"where it is not missing ({counted(item.missing, 'row')})"
            what = f"{_shown(item.value)} {where}"
        lines.append(Text(f"{_shown(item.column)}: {what}"))
    return "Constant columns", [*lines, *_and_more(len(description.constants) - _ROWS_OF_A_LIST, "column")]


def _duplicates(description: "Description") -> Section | None:
    groups = description.duplicates
    if not groups:
        return None
    lines = [Text(_names(group, " = ")) for group in groups[:_ROWS_OF_A_LIST]]
    return "Duplicate columns", [*lines, *_and_more(len(groups) - _ROWS_OF_A_LIST, "group")]


def _near_duplicates(description: "Description") -> Section | None:
    groups = description.near_duplicates
    if not groups:
        return None
    lines = []
    for group in groups[:_ROWS_OF_A_LIST]:
        members = [
            f"{_shown(name)} ({value:.4f})"
            for name, value in zip(group.columns[1:], group.correlations[1:], strict=True)
        ]
        lines.append(Text(f"{_shown(group.columns[0])} and {_few(members)}"))
    title = "Nearly duplicate columns (with their correlation)"
    return title, [*lines, *_and_more(len(groups) - _ROWS_OF_A_LIST, "group")]


def _identifiers(description: "Description") -> Section | None:
    return ("Identifiers", [Text(_names(description.identifiers))]) if description.identifiers else None


def _commas(description: "Description") -> Section | None:
    return ("Numbers read as strings", [Text(_names(description.comma_numbers))]) if description.comma_numbers else None


def _infinite(description: "Description") -> Section | None:
    if not description.infinite:
        return None
    names = [f"{_shown(item.column)} ({counted(item.count, 'row')})" for item in description.infinite]
    return "Infinite values", [Text(_few(names))]


def _rows(description: "Description") -> Section | None:
    rows = description.duplicate_rows
    if not rows.repeats:
        return None
    head = f"{counted(rows.repeats, 'row repeats an earlier one', 'rows repeat an earlier one')}"
    if rows.contradicting:
        head += f"; {rows.contradicting:,} equal rows have different targets"
    sets = "; ".join(" = ".join(f"{row:,}" for row in group) for group in rows.examples)
    return "Duplicate rows", [Text(head), Text(f"For example, counted from 1: {sets}")]


def _neighbours(description: "Description") -> Section | None:
    found = description.hubness
    if found is None or found.level == "none":
        return None
    head = (
        f"{rounded_percent(found.never_listed)} of {counted(found.rows, 'row')} are never among the {found.neighbours} "
        f"nearest of another row; one row is among those of {found.most_listed:,} (skewness {found.skewness:.1f})"
    )
    title = f"Nearest neighbours ({found.level})"
    return title, [Text(head), Text(f"The intrinsic dimension of the rows is about {found.dimension:.0f}")]


def _table(*headers: str, justify: Any = "left") -> Table:
    """A plain table: no lines, the first column as text, all of it folded rather than cut off."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for position, header in enumerate(headers):
        first_of_names = position == 0 and header == "column"
        table.add_column(header, justify="left" if first_of_names else justify, overflow="fold")
    return table


def _numbered(sentences: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number, sentence in enumerate(sentences, start=1):
        table.add_row(f"{number}.", Text(printable(sentence)))
    return table


def _and_more(number: int, noun: str) -> list[RenderableType]:
    return [Text(f"and {number:,} more {noun}{'' if number == 1 else 's'}")] if number > 0 else []


def _names(names: Sequence[str], between: str = ", ") -> str:
    return _few([_shown(name) for name in names], between)


def _few(items: Sequence[str], between: str = ", ") -> str:
    return listed(items, _NAMES_OF_A_LIST, between=between, longest=_LONGEST_NAME + 30)


def _shown(value: object, longest: int = _LONGEST_NAME) -> str:
    """A name or value from the data, on one line and not too long."""
    return cut(printable(str(value)), longest, "...")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _bytes(number: int) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"
