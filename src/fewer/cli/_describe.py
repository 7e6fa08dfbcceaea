"""``fewer describe``: a first look at a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, without_trailing_spaces, write_out


@app.command()
@_reading.reads_a_table
def describe(
    table: _reading.TablePath,
    target: _reading.Target = None,
    drop: _reading.Drop = None,
    task: _reading.Task = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file (.json for JSON).")
    ] = None,
    *,
    options: _reading.ReadingOptions,
) -> None:
    """Take a first look at a table: kinds, missing cells, duplicates, what gives the target away, what to do next."""
    with told_plainly():
        from fewer.overview import describe as describe_dataset

        with warnings_as_notes():
            dataset = _reading.read(table, target, _reading.names_in(drop), task, options.given())
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
