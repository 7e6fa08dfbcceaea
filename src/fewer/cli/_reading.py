"""How commands read a table: the options that say how, and the reading itself.

Each option that is passed on to ``read_table`` is one field of ``ReadingOptions``, and nothing else: a command that
is decorated with ``reads_a_table`` has them all, and gets them as one argument.
"""

import csv
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
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
    typer.Option("--drop", metavar="A,B", help="Columns to leave out; quote a name that contains a comma."),
]
Task = Annotated[
    str, typer.Option("--task", metavar="NAME", help="auto, binary, multiclass, classification, regression or none.")
]


@dataclass(frozen=True)
class ReadingOptions:
    """What the user says about the file. Fields are named after the arguments of ``read_table``."""

    missing_values: Annotated[
        list[str] | None,
        typer.Option("--missing-values", metavar="V,W", help="More markers of missing values, such as -999."),
    ] = None
    separator: Annotated[
        str | None, typer.Option("--separator", metavar="CHAR", help="CSV: delimiter.", show_default="detected")
    ] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", metavar="CHAR", help="CSV: decimal mark, '.' or ','.", show_default=".")
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="Text files: encoding.", show_default="utf-8")
    ] = None
    header: Annotated[
        bool,
        typer.Option(
            " /--no-header",
            help="CSV, Excel: there is no header line; columns are named x0, x1, ...",
            show_default=False,
        ),
    ] = True
    query: Annotated[
        str | None, typer.Option("--query", metavar="SQL", help="Database: SQL query whose result is the table.")
    ] = None
    table: Annotated[str | None, typer.Option("--table", metavar="NAME", help="Database: name of the table.")] = None
    sheet: Annotated[
        str | None, typer.Option("--sheet", metavar="NAME", help="Excel: name or number of the sheet.")
    ] = None
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="File format, if the suffix does not show it: csv, arff, ..."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Those that were given, ready for ``read_table`` and for JSON."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        said = {name: value for name, value in said.items() if value not in (None, [], True)}
        if "missing_values" in said:
            said["missing_values"] = names_in(self.missing_values)
        if self.sheet is not None and self.sheet.isdigit():
            said["sheet"] = int(self.sheet)
        return said


def reads_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of ``ReadingOptions``; it gets them together, as ``options``."""
    # Prefixed, because the argument TABLE and the option --table are both called table.
    parameter_of = {each.name: f"read_{each.name}" for each in fields(ReadingOptions)}

    @functools.wraps(command)
    def with_options(**words: Any) -> None:
        said = {name: words.pop(parameter) for name, parameter in parameter_of.items()}
        command(**words, options=ReadingOptions(**said))

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
    added = [
        inspect.Parameter(
            parameter_of[each.name], inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type
        )
        for each in fields(ReadingOptions)
    ]
    with_options.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]  # read by typer
    with_options.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return with_options


def names_in(lists: list[str] | None) -> list[str]:
    """Names in options such as ``a,b``, as a line of CSV: quotes protect a comma."""
    fields_of_lines = [name for line in csv.reader(lists or [], skipinitialspace=True) for name in line]
    return [name.strip() for name in fields_of_lines if name.strip()]


def read(table: str, target: str | None, drop: list[str], task: str, given: dict[str, Any]) -> "Dataset":
    """The table, read as the options say."""
    from fewer.io import DEFAULT_MISSING, read_table

    if table.startswith(_BY_NAME):
        return _read_by_name(table, target, drop, task, given)
    if "missing_values" in given:
        given = given | {"missing_values": (*DEFAULT_MISSING, *given["missing_values"])}
    return read_table(table, target=target, drop=drop, task=task, **given)


def _read_by_name(table: str, target: str | None, drop: list[str], task: str, given: dict[str, Any]) -> "Dataset":
    """A data set that carries its own target and needs no reading options."""
    from fewer.io import TableError, unknown_column

    if task != "auto":
        given = given | {"task": task}
    if given:
        raise TableError(f"{table}: the option {next(iter(given))}= does not apply to dataset:NAME. Leave it out.")
    dataset = _loaded(table.removeprefix(_BY_NAME), target)
    for name in drop:
        if name not in dataset.columns:
            raise unknown_column(table, name, dataset.columns, "drop=")
    return dataset.keep([name for name in dataset.columns if name not in drop]) if drop else dataset


def _loaded(name: str, target: str | None) -> "Dataset":
    """A data set with its own target, or with one of its columns as the target."""
    from fewer.datasets import DatasetError, load
    from fewer.io import Dataset, unknown_column

    try:
        return load(name, **({} if target is None else {"target": target}))
    except DatasetError:
        dataset = load(name)
    if target == dataset.target:
        return dataset
    if target not in dataset.columns:
        raise unknown_column(f"{_BY_NAME}{name}", str(target), (*dataset.columns, str(dataset.target)), "target=")
    return replace(Dataset.from_frame(dataset.to_polars(dense=True), target=target), source=dataset.source)
