"""Excel sheets, by fastexcel (extra ``fewer[excel]``) in a child process."""

import importlib.util
from pathlib import Path

import polars as pl

from fewer.io._confined import Reply, UnreadableError, read_confined
from fewer.io._errors import TableError, did_you_mean
from fewer.io._formats import Options
from fewer.io._memory import Table, default_names, header_names


def read_excel(path: Path, options: Options) -> Table:
    """The table in a sheet of a workbook; the first sheet when none is named."""
    if importlib.util.find_spec("fastexcel") is None:
        raise TableError(
            f"{path}: reading Excel files needs fastexcel. Install it by pip install 'fewer[excel]', or save the sheet "
            "as CSV."
        )
    try:
        sheets, frames = read_confined("excel", path, _received, {"sheet": options.sheet, "header": options.header})
    except UnreadableError as error:
        cure = "Was it written completely?"
        if error.cause == "memory":
            cure = "Is there a cell far to the right of the others, or far below? Delete it, or save the sheet as CSV."
        raise error.as_error(path, "an Excel", cure) from error
    sheet = _sheet_name(sheets, options.sheet, path)
    if len(frames) != 2:
        raise TableError(f"{path}: the sheet {sheet!r} cannot be read.")
    first_row, cells = frames
    if not first_row.width:
        raise TableError(f"{path}, sheet {sheet!r}: the sheet is empty.")
    source = f"{path}, sheet {sheet!r}" if len(sheets) > 1 else str(path)
    if not cells.height:
        raise TableError(f"{source}: there is a line of names, but no row below it.")
    cells.columns = _header(first_row, cells.width, source) if options.header else default_names(cells.width)
    return Table(cells, cells.columns, source)


def _received(reply: Reply) -> tuple[list[str], list[pl.DataFrame]]:
    return [str(name) for name in reply.about["sheets"]], [reply.frame() for _ in range(reply.about["frames"])]


def _sheet_name(names: list[str], asked: str | int | None, path: Path) -> str:
    if not names:
        raise TableError(f"{path}: the workbook has no sheets.")
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


def _header(first_row: pl.DataFrame, width: int, source: str) -> list[str]:
    """Names of the columns; those that the first row does not reach have none."""
    cells = ["" if cell is None else str(cell).strip() for cell in first_row.row(0)] if first_row.height else []
    return header_names([*cells, *[""] * width][:width], source)
