"""The command line: ``fewer describe TABLE``, ``fewer methods``.

Each command imports what it needs itself, so that ``fewer --help`` answers at once. What goes wrong with the user's
data is told in one paragraph on the standard error, with exit code 2; a traceback is only for what is our fault.
"""

import csv
import difflib
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fewer.io import Dataset

BAD_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141  # as shells count a process that ends by SIGPIPE
_BY_NAME = "dataset:"
_PYTHON_ARGUMENT = re.compile(
    r"(?<![\w-])(?P<name>target|drop|missing_values|task|separator|decimal|encoding|header|query|table|sheet|format)="
    r"(?P<value>'[^']*'|\"[^\"]*\"|\[[^\]]*\]|False)?(?=[\s.,;:)]|$)"
)

app = typer.Typer(
    name="fewer",
    help="Fewer features, honestly chosen. Start with: fewer describe TABLE --target COLUMN",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from fewer import __version__

        typer.echo(f"fewer {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Fewer features, honestly chosen. Start with: fewer describe TABLE --target COLUMN"""


@app.command()
def describe(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A file (CSV, Parquet, ARFF, ...), a database URI, or dataset:NAME.",
            show_default=False,
        ),
    ],
    target: Annotated[str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="A,B", help="Columns to leave out; quote a name that holds a comma."),
    ] = None,
    missing_values: Annotated[
        list[str] | None,
        typer.Option("--missing-values", metavar="V,W", help="More markers of missing values, such as -999."),
    ] = None,
    task: Annotated[
        str, typer.Option("--task", help="auto, binary, multiclass, classification, regression or none.")
    ] = "auto",
    separator: Annotated[str | None, typer.Option("--separator", help="CSV: what parts the fields.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="CSV: the decimal mark.")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Text files: their encoding.")] = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="CSV, Excel: the first line is data.")] = False,
    query: Annotated[str | None, typer.Option("--query", metavar="SQL", help="Database: what to read.")] = None,
    from_table: Annotated[str | None, typer.Option("--table", metavar="NAME", help="Database: its table.")] = None,
    sheet: Annotated[str | None, typer.Option("--sheet", help="Excel: name or number of the sheet.")] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Format of the file, where its name does not tell: csv, arff, ...")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file (.json for JSON).")
    ] = None,
) -> None:
    """Take a first look at a table: kinds, missing cells, duplicates, what gives the target away, what to do next."""
    how_to_read: dict[str, Any] = {
        "separator": separator,
        "decimal": decimal,
        "encoding": encoding,
        "header": False if no_header else None,
        "query": query,
        "table": from_table,
        "format": format,
        "sheet": int(sheet) if sheet is not None and sheet.isdigit() else sheet,
        "missing_values": _names_in(missing_values) or None,
    }
    given = {name: value for name, value in how_to_read.items() if value is not None}
    with told_plainly():
        from fewer.overview import describe as describe_dataset

        with _warnings_as_notes():
            dataset = _read(table, target, _names_in(drop), task, given)
        description = describe_dataset(dataset)
        if as_json or (output is not None and output.suffix.lower() == ".json"):
            text = description.to_json() + "\n"
        else:
            text = _rendered(description, to_file=output is not None)
        if output is not None:
            output.write_text(text, encoding="utf-8")
        else:
            write_out(text)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show one method in full.")] = None,
    room: Annotated[str | None, typer.Option("--room", help="Only those of a room, such as select or extract.")] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", help="Only those for classification, regression, unsupervised or evaluation."),
    ] = None,
    handles: Annotated[
        list[str] | None,
        typer.Option("--handles", help="Only those that take such data as they are: missing, sparse, categorical."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """List the methods: what each does, when to use it, what it costs, whose it is."""
    with told_plainly():
        from fewer import catalogue

        with _warnings_as_notes():
            if name is not None:
                cards = [catalogue.find(name)]
            else:
                cards = catalogue.methods(room=room, task=task, handles=_names_in(handles))
        if as_json:
            import json

            write_out(json.dumps([card.to_dict() for card in cards], indent=2, ensure_ascii=False) + "\n")
        elif cards:
            write_out(_rendered_methods(cards, in_full=name is not None))
        else:
            write_out(_nearest_matches({"room": room, "task": task, "handles": _names_in(handles)}))


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn errors about the user's data into one paragraph and an exit code; end quietly when the user stops us."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes the standard output once more at its end; there must be something to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}." if error.filename else str(error))
        raise typer.Exit(BAD_INPUT) from None
    except Exception as error:
        # The package's own errors are written for its users; all others are faults that need their traceback.
        if not type(error).__module__.startswith("fewer."):
            raise
        _complain(str(error))
        raise typer.Exit(BAD_INPUT) from None


def write_out(text: str) -> None:
    """Write to the standard output, with a ? for what its encoding cannot show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, errors="replace").decode(encoding))
    sys.stdout.flush()


def _complain(message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True, highlight=False).print(Text(_with_options(message), style="red"))


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show warnings as plain notes on the standard error, without the line of code that raised them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for warning in caught:
        typer.secho(f"Note: {_with_options(str(warning.message))}", fg="yellow", err=True)


def _with_options(message: str) -> str:
    """The message with ``encoding='cp1252'`` as ``--encoding cp1252``: what is to be typed here, not in Python."""

    def option(found: re.Match[str]) -> str:
        name, value = found["name"].replace("_", "-"), found["value"] or ""
        if name == "header":
            return "--no-header"
        words = [first or second for first, second in re.findall(r"'([^']*)'|\"([^\"]*)\"", value)]
        return f"--{name} {shlex.quote(','.join(words))}" if words else f"--{name}"

    return _PYTHON_ARGUMENT.sub(option, message)


def _names_in(lists: list[str] | None) -> list[str]:
    """Names in options such as ``a,b``, as a line of CSV: quotes protect a comma."""
    fields = [name for line in csv.reader(lists or [], skipinitialspace=True) for name in line]
    return [name.strip() for name in fields if name.strip()]


def _read(table: str, target: str | None, drop: list[str], task: str, given: dict[str, Any]) -> "Dataset":
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


def _rendered(description: Any, *, to_file: bool) -> str:
    """The description as it is to be shown: with colours for a terminal only, and plain for a file."""
    from rich.console import Console

    from fewer.report import print_description

    console = Console(highlight=False, no_color=True, force_terminal=False) if to_file else Console(highlight=False)
    with console.capture() as captured:
        print_description(description, console)
    return _without_trailing_spaces(captured.get())


def _rendered_methods(cards: list[Any], *, in_full: bool) -> str:
    from rich.console import Console

    from fewer.report import print_method, print_methods

    console = Console(highlight=False)
    with console.capture() as captured:
        if in_full:
            print_method(cards[0], console)
        else:
            print_methods(cards, console)
    return _without_trailing_spaces(captured.get())


def _nearest_matches(asked: dict[str, Any]) -> str:
    """What there would be without one of the options."""
    from fewer import catalogue

    lines = ["No method matches all of this."]
    for option in [option for option, value in asked.items() if value]:
        names = [card.name for card in catalogue.methods(**(asked | {option: () if option == "handles" else None}))]
        lines += [f"Without --{option}: {', '.join(names)}."] if names else []
    return "\n".join(lines) + "\n"


def _without_trailing_spaces(text: str) -> str:
    """Cells of tables are padded to their width; spaces at the end of a line are no use to anyone."""
    return "\n".join(line.rstrip() for line in text.split("\n"))
