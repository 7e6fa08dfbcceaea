"""Is the clustering real: clusterings compared, corrected for chance, and the number of clusters by consensus."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.clusterings._comparison import (
        ClusteringComparison,
        adjusted_information_distance,
        adjusted_mutual_info,
        clustering_comparison,
        expected_mi_bounds,
        expected_mutual_info,
        information_distance,
        normalized_information_distance,
        normalized_variation_of_information,
        variation_of_information,
    )
    from fewer.evaluate.clusterings._consensus import ConsensusClusterNumber, consensus_index

__all__ = [
    "ClusteringComparison",
    "ConsensusClusterNumber",
    "adjusted_information_distance",
    "adjusted_mutual_info",
    "clustering_comparison",
    "consensus_index",
    "expected_mi_bounds",
    "expected_mutual_info",
    "information_distance",
    "normalized_information_distance",
    "normalized_variation_of_information",
    "variation_of_information",
]

__getattr__, __dir__ = lazy_names(__name__)
