"""Tables in and out."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.io._dataset import Dataset
    from fewer.io._errors import TableError, unknown_column
    from fewer.io._frame import DEFAULT_MISSING
    from fewer.io._kinds import KINDS
    from fewer.io._read import read_table
    from fewer.io._write import write_table

__all__ = ["DEFAULT_MISSING", "KINDS", "Dataset", "TableError", "read_table", "unknown_column", "write_table"]

__getattr__, __dir__ = lazy_names(__name__)
