"""Completion from few entries: trimmed singular vectors, then descent over pairs of subspaces."""

from fewer.complete.optspace._optspace import OptSpace
from fewer.complete.optspace._trimmed import estimate_rank, oracle_rmse

__all__ = ["OptSpace", "estimate_rank", "oracle_rmse"]
