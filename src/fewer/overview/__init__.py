"""A first look at a table: its content, its problems, and what to do next."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.overview._describe import describe
    from fewer.overview._description import Description

__all__ = ["Description", "describe"]

__getattr__, __dir__ = lazy_names(__name__)
