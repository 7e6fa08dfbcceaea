"""Clusters that are dense in a few columns each, and distances to them as new columns."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.extract.subspace_clusters._fast_projective_clustering import FastProjectiveClustering, cluster_coverage
    from fewer.extract.subspace_clusters._subspace_distance_features import SubspaceDistanceFeatures

__all__ = ["FastProjectiveClustering", "SubspaceDistanceFeatures", "cluster_coverage"]

__getattr__, __dir__ = lazy_names(__name__)
