"""How the columns depend on one another."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph._edge_stability import edge_stability
    from fewer.graph.changing import NonStationaryDBN, independent_edge_proba, nsbde_score
    from fewer.graph.classifiers import BayesNetClassifier, ISMBClassifier, TANClassifier
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
    from fewer.graph.changing import EdgeCourse as EdgeCourse
    from fewer.graph.classifiers import MarkovBlanketStructure as MarkovBlanketStructure
    from fewer.graph.classifiers import RowExplanation as RowExplanation
    from fewer.graph.precision._newton import PrecisionSolution as PrecisionSolution
    from fewer.graph.precision._precision_path import PrecisionPath as PrecisionPath
    from fewer.graph.precision._symmetrization import Symmetrization as Symmetrization

if TYPE_CHECKING:  # the picture of any graph, for reports
    from fewer.graph._frame import graph_figure as graph_figure

__all__ = [
    "ARGraphicalLasso",
    "ARTopologySelector",
    "BayesNetClassifier",
    "ConstrainedAR",
    "ISMBClassifier",
    "NeighborhoodDantzigPrecision",
    "NeighborhoodSelectionMLE",
    "NonStationaryDBN",
    "SparsePrecision",
    "SparsePrecisionCV",
    "TANClassifier",
    "ar_covariance",
    "ar_kl",
    "edge_stability",
    "independent_edge_proba",
    "nearest_symmetric",
    "nsbde_score",
    "partial_coherence",
    "partial_correlations",
    "sparse_precision",
    "sparse_precision_path",
    "welch_partial_coherence",
]

__getattr__, __dir__ = lazy_names(__name__)
