"""Excel sheets, by fastexcel (extra ``fewer[excel]``)."""

from pathlib import Path
from typing import Any

import polars as pl

from fewer.io._errors import TableError, did_you_mean
from fewer.io._formats import Options
from fewer.io._memory import Table, default_names, header_names


def read_excel(path: Path, options: Options) -> Table:
    """The table in a sheet of a workbook; the first sheet when none is named."""
    try:
        import fastexcel
    except ImportError as error:
        raise TableError(
            f"{path}: reading Excel files needs fastexcel. Install it by pip install 'fewer[excel]', or save the sheet "
            "as CSV."
        ) from error
    try:
        workbook = fastexcel.read_excel(path)
        sheet = _sheet_name(workbook.sheet_names, options.sheet, path)
        first_row = _cells(workbook, sheet, n_rows=1)
        if not first_row.width:
            raise TableError(f"{path}, sheet {sheet!r}: the sheet is empty.")
        cells = _cells(workbook, sheet, skip_rows=1) if options.header else _cells(workbook, sheet)
    except fastexcel.FastExcelError as error:
        reason = str(error).splitlines()[0]
        raise TableError(f"{path}: this cannot be read as an Excel file ({reason}).") from error
    source = f"{path}, sheet {sheet!r}" if len(workbook.sheet_names) > 1 else str(path)
    names = _header(first_row, source) if options.header else default_names(cells.width)
    if not cells.height:
        raise TableError(f"{source}: there is a line of names, but no row below it.")
    cells.columns = names[: cells.width]
    return Table(cells, cells.columns, source)


def _sheet_name(names: list[str], asked: str | int | None, path: Path) -> str:
    if asked is None:
        return names[0]
    if isinstance(asked, int):
        if not 1 <= asked <= len(names):
            raise TableError(
                f"{path}: there is no sheet number {asked}; the sheets are numbered from 1 to {len(names)}."
            )
        return names[asked - 1]
    if asked not in names:
        raise TableError(f"{path}: there is no sheet {asked!r}. {did_you_mean(asked, names)}")
    return asked


def _cells(workbook: Any, sheet: str, **rows: int) -> pl.DataFrame:
    return workbook.load_sheet(sheet, header_row=None, schema_sample_rows=None, **rows).to_polars()


def _header(first_row: pl.DataFrame, source: str) -> list[str]:
    return header_names(["" if cell is None else str(cell).strip() for cell in first_row.row(0)], source)
