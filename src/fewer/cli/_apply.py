"""``fewer apply``: new rows through the model of a study."""

from pathlib import Path
from typing import Annotated

import typer

from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, write_out


@app.command()
@_reading.reads_a_table
def apply(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)],
    table: _reading.TablePath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to a file (.csv, .parquet, ...), and not CSV to the screen."
        ),
    ] = None,
    no_predictions: Annotated[
        bool, typer.Option("--no-predictions", help="Only the chosen columns, without predictions.")
    ] = False,
    *,
    options: _reading.ReadingOptions,
) -> None:
    """Reduce a new table to the chosen columns of a study, and predict its target."""
    with told_plainly():
        from fewer.io import write_table
        from fewer.study import StudyError, StudyFolder, StudyModel, apply_model

        where = StudyFolder(folder)
        if not where.model.exists():
            raise StudyError(f"There is no model in {folder}; is the study finished? See: fewer show {folder}")
        model = StudyModel.load(where.model)
        with warnings_as_notes():
            dataset = _reading.read(table, None, [], "auto", options.given())
            reduced = apply_model(model, dataset, predict=not no_predictions)
        if output is None:
            write_out(reduced.write_csv())
        else:
            write_table(reduced, output)
            write_out(f"{reduced.height:,} rows, {reduced.width:,} columns: {output}\n")
