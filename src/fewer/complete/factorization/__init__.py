"""Factorisation by EM: entries weighed by their noise, rows smooth in time, columns in one of several subspaces."""

from fewer.complete.factorization._metric_upgrade import MetricUpgrade, metric_upgrade
from fewer.complete.factorization._subspace_segmentation import SubspaceSegmentation
from fewer.complete.factorization._weighted_factorization import WeightedFactorization

__all__ = ["MetricUpgrade", "SubspaceSegmentation", "WeightedFactorization", "metric_upgrade"]
