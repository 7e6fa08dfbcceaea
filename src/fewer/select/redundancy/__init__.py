"""Filters that see when columns repeat each other, and the groups of columns that do."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.redundancy._cfs import CFS
    from fewer.select.redundancy._fcbf import FCBF
    from fewer.select.redundancy._groups import RedundancyGroup, RedundancyGroups, redundancy_groups
    from fewer.select.redundancy._koller_sahami import KollerSahami
    from fewer.select.redundancy._mrmr import MRMR

__all__ = ["CFS", "FCBF", "MRMR", "KollerSahami", "RedundancyGroup", "RedundancyGroups", "redundancy_groups"]

__getattr__, __dir__ = lazy_names(__name__)
