"""``fewer describe``: a first look at a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, without_trailing_spaces, write_out


@app.command()
def describe(
    table: _reading.TablePath,
    target: _reading.Target = None,
    drop: _reading.Drop = None,
    missing_values: _reading.MissingValues = None,
    task: _reading.Task = "auto",
    separator: _reading.Separator = None,
    decimal: _reading.Decimal = None,
    encoding: _reading.Encoding = None,
    no_header: _reading.NoHeader = False,
    query: _reading.Query = None,
    from_table: _reading.FromTable = None,
    sheet: _reading.Sheet = None,
    format: _reading.Format = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file (.json for JSON).")
    ] = None,
) -> None:
    """Take a first look at a table: kinds, missing cells, duplicates, what gives the target away, what to do next."""
    given = _reading.how_to_read(
        separator=separator,
        decimal=decimal,
        encoding=encoding,
        no_header=no_header,
        query=query,
        from_table=from_table,
        sheet=sheet,
        format=format,
        missing_values=missing_values,
    )
    with told_plainly():
        from fewer.overview import describe as describe_dataset

        with warnings_as_notes():
            dataset = _reading.read(table, target, _reading.names_in(drop), task, given)
        description = describe_dataset(dataset)
        if as_json or (output is not None and output.suffix.lower() == ".json"):
            text = description.to_json() + "\n"
        else:
            text = _rendered(description, to_file=output is not None)
        if output is not None:
            output.write_text(text, encoding="utf-8")
        else:
            write_out(text)


def _rendered(description: Any, *, to_file: bool) -> str:
    """The description as it is to be shown: with colours for a terminal only, and plain for a file."""
    from rich.console import Console

    from fewer.report import print_description

    console = Console(highlight=False, no_color=True, force_terminal=False) if to_file else Console(highlight=False)
    with console.capture() as captured:
        print_description(description, console)
    return without_trailing_spaces(captured.get())
