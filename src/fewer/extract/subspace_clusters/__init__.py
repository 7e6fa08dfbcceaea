"""Clusters that are dense in a few columns each, and distances to them as new columns."""

from fewer.extract.subspace_clusters._cluster_coverage import cluster_coverage
from fewer.extract.subspace_clusters._fast_projective_clustering import FastProjectiveClustering
from fewer.extract.subspace_clusters._subspace_distance_features import SubspaceDistanceFeatures

__all__ = ["FastProjectiveClustering", "SubspaceDistanceFeatures", "cluster_coverage"]
