"""Factorisation by EM: entries weighed by their noise, rows smooth in time, columns in one of several subspaces."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete.factorization._subspace_segmentation import SubspaceSegmentation
    from fewer.complete.factorization._weighted_factorization import (
        MetricUpgrade,
        WeightedFactorization,
        metric_upgrade,
    )

__all__ = ["MetricUpgrade", "SubspaceSegmentation", "WeightedFactorization", "metric_upgrade"]

__getattr__, __dir__ = lazy_names(__name__)
