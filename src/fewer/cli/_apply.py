"""``fewer apply``: new rows through the model of a study."""

from pathlib import Path
from typing import Annotated

import typer

from fewer.cli import _reading
from fewer.cli._app import app, told_plainly, warnings_as_notes, write_out


@app.command()
def apply(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.", show_default=False)],
    table: _reading.TablePath,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the result (.csv, .parquet, ...).")
    ],
    no_predictions: Annotated[
        bool, typer.Option("--no-predictions", help="Only the chosen columns, without predictions.")
    ] = False,
    missing_values: _reading.MissingValues = None,
    separator: _reading.Separator = None,
    decimal: _reading.Decimal = None,
    encoding: _reading.Encoding = None,
    no_header: _reading.NoHeader = False,
    query: _reading.Query = None,
    from_table: _reading.FromTable = None,
    sheet: _reading.Sheet = None,
    format: _reading.Format = None,
) -> None:
    """Reduce a new table to the chosen columns of a study, and predict its target."""
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
        from fewer.io import write_table
        from fewer.study import StudyError, StudyFolder, StudyModel, apply_model

        where = StudyFolder(folder)
        if not where.model.exists():
            raise StudyError(f"There is no model in {folder}; is the study finished? See: fewer show {folder}")
        model = StudyModel.load(where.model)
        with warnings_as_notes():
            dataset = _reading.read(table, None, [], "auto", given)
            reduced = apply_model(model, dataset, predict=not no_predictions)
        write_table(reduced, output)
        write_out(f"{reduced.height:,} rows, {reduced.width:,} columns: {output}\n")
