"""Columns by sparse models: where they enter a path of penalties, and how often they come back on parts of the rows."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.sparse._sparse_path_selector import SparsePathSelector
    from fewer.select.sparse._stability_selection import StabilitySelection

__all__ = ["SparsePathSelector", "StabilitySelection"]

__getattr__, __dir__ = lazy_names(__name__)
