"""How commands read a table: the options that say how, and the reading itself."""

import csv
import difflib
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fewer.io import Dataset

_BY_NAME = "dataset:"

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A file (CSV, Parquet, ARFF, ...), a database URI, or dataset:NAME.",
        show_default=False,
    ),
]
Target = Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out; quote a name that holds a comma."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option("--missing-values", metavar="V,W", help="More markers of missing values, such as -999."),
]
Task = Annotated[str, typer.Option("--task", help="auto, binary, multiclass, classification, regression or none.")]
Separator = Annotated[str | None, typer.Option("--separator", help="CSV: what parts the fields.")]
Decimal = Annotated[str | None, typer.Option("--decimal", help="CSV: the decimal mark.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Text files: their encoding.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="CSV, Excel: the first line is data.")]
Query = Annotated[str | None, typer.Option("--query", metavar="SQL", help="Database: what to read.")]
FromTable = Annotated[str | None, typer.Option("--table", metavar="NAME", help="Database: its table.")]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Excel: name or number of the sheet.")]
Format = Annotated[
    str | None, typer.Option("--format", help="Format of the file, where its name does not tell: csv, arff, ...")
]


def how_to_read(
    *,
    separator: str | None,
    decimal: str | None,
    encoding: str | None,
    no_header: bool,
    query: str | None,
    from_table: str | None,
    sheet: str | None,
    format: str | None,
    missing_values: list[str] | None,
) -> dict[str, Any]:
    """The options that were given, as arguments of ``read_table``."""
    options = {
        "separator": separator,
        "decimal": decimal,
        "encoding": encoding,
        "header": False if no_header else None,
        "query": query,
        "table": from_table,
        "format": format,
        "sheet": int(sheet) if sheet is not None and sheet.isdigit() else sheet,
        "missing_values": names_in(missing_values) or None,
    }
    return {name: value for name, value in options.items() if value is not None}


def names_in(lists: list[str] | None) -> list[str]:
    """Names in options such as ``a,b``, as a line of CSV: quotes protect a comma."""
    fields = [name for line in csv.reader(lists or [], skipinitialspace=True) for name in line]
    return [name.strip() for name in fields if name.strip()]


def read(table: str, target: str | None, drop: list[str], task: str, given: dict[str, Any]) -> "Dataset":
    from fewer.io import DEFAULT_MISSING, read_table

    if table.startswith(_BY_NAME):
        return _read_by_name(table, target, drop, task, given)
    if "missing_values" in given:
        given = given | {"missing_values": (*DEFAULT_MISSING, *given["missing_values"])}
    return read_table(table, target=target, drop=drop, task=task, **given)


def _read_by_name(table: str, target: str | None, drop: list[str], task: str, given: dict[str, Any]) -> "Dataset":
    """A data set that carries its own target and needs no reading options."""
    from fewer.datasets import load
    from fewer.io import TableError

    if task != "auto":
        given = given | {"task": task}
    if given:
        option = "--" + next(iter(given)).replace("_", "-")
        raise TableError(f"{table}: the option {option} has no meaning for a data set by name. Leave it out.")
    dataset = load(table.removeprefix(_BY_NAME), **({} if target is None else {"target": target}))
    for name in drop:
        if name not in dataset.columns:
            near = difflib.get_close_matches(name, dataset.columns, n=3)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise TableError(f"{table}: there is no column {name!r} (asked for by --drop).{hint}")
    return dataset.keep([name for name in dataset.columns if name not in drop]) if drop else dataset
