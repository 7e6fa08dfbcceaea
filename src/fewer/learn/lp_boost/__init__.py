"""Boosting by linear programming, and the thresholds on single columns that it combines."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.lp_boost._lp_boost import LPBoost
    from fewer.learn.lp_boost._threshold_stump import ThresholdStump

__all__ = ["LPBoost", "ThresholdStump"]

__getattr__, __dir__ = lazy_names(__name__)
