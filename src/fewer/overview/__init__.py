"""A first look at a table: what it holds, what is wrong with it, what to do next."""

from fewer.overview._describe import describe
from fewer.overview._description import Description

__all__ = ["Description", "describe"]
