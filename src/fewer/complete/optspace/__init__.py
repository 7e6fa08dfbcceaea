"""Completion from few entries: trimmed singular vectors, then descent over pairs of subspaces."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete.optspace._optspace import OptSpace
    from fewer.complete.optspace._trimmed import estimate_rank, oracle_rmse

__all__ = ["OptSpace", "estimate_rank", "oracle_rmse"]

__getattr__, __dir__ = lazy_names(__name__)
