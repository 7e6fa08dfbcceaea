"""Hubs: rows that are the nearest neighbours of far too many others, and what they do to neighbours and clusters."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.hubs._hubness import HubnessAnalyzer
    from fewer.evaluate.hubs._occurrences import KOccurrences, k_occurrences, mle_intrinsic_dimension
    from fewer.evaluate.hubs._uses import (
        HubnessCurve,
        OutlierHubness,
        RelativeSilhouette,
        cluster_assumption_violation,
        hub_order,
        hubness_curve,
        hubness_sample_weight,
        outlier_hubness,
        relative_silhouette,
        secondary_distances,
    )

__all__ = [
    "HubnessAnalyzer",
    "HubnessCurve",
    "KOccurrences",
    "OutlierHubness",
    "RelativeSilhouette",
    "cluster_assumption_violation",
    "hub_order",
    "hubness_curve",
    "hubness_sample_weight",
    "k_occurrences",
    "mle_intrinsic_dimension",
    "outlier_hubness",
    "relative_silhouette",
    "secondary_distances",
]

__getattr__, __dir__ = lazy_names(__name__)
