"""How the columns depend on one another."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph._edge_stability import edge_stability
    from fewer.graph.precision._column_covariance import partial_correlations
    from fewer.graph.precision._neighborhood_mle import NeighborhoodSelectionMLE
    from fewer.graph.precision._neighborhoods import NeighborhoodDantzigPrecision
    from fewer.graph.precision._precision_path import sparse_precision, sparse_precision_path
    from fewer.graph.precision._sparse_precision import SparsePrecision, SparsePrecisionCV
    from fewer.graph.precision._symmetrization import nearest_symmetric
    from fewer.graph.series._ar_graphs import ARGraphicalLasso, ConstrainedAR
    from fewer.graph.series._ar_topology import ARTopologySelector
    from fewer.graph.series._spectra import ar_covariance, ar_kl, partial_coherence, welch_partial_coherence

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.graph._edge_stability import EdgeStability as EdgeStability
    from fewer.graph.precision._newton import PrecisionSolution as PrecisionSolution
    from fewer.graph.precision._precision_path import PrecisionPath as PrecisionPath
    from fewer.graph.precision._symmetrization import Symmetrization as Symmetrization

__all__ = [
    "ARGraphicalLasso",
    "ARTopologySelector",
    "ConstrainedAR",
    "NeighborhoodDantzigPrecision",
    "NeighborhoodSelectionMLE",
    "SparsePrecision",
    "SparsePrecisionCV",
    "ar_covariance",
    "ar_kl",
    "edge_stability",
    "nearest_symmetric",
    "partial_coherence",
    "partial_correlations",
    "sparse_precision",
    "sparse_precision_path",
    "welch_partial_coherence",
]

__getattr__, __dir__ = lazy_names(__name__)
