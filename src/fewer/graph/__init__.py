"""How the columns depend on one another."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph._edge_stability import edge_stability
    from fewer.graph.changing import NonStationaryDBN, independent_edge_proba, nsbde_score
    from fewer.graph.classifiers import BayesNetClassifier, ISMBClassifier, TANClassifier

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.graph._edge_stability import EdgeStability as EdgeStability
    from fewer.graph.changing import EdgeCourse as EdgeCourse
    from fewer.graph.classifiers import MarkovBlanketStructure as MarkovBlanketStructure
    from fewer.graph.classifiers import RowExplanation as RowExplanation

__all__ = [
    "BayesNetClassifier",
    "ISMBClassifier",
    "NonStationaryDBN",
    "TANClassifier",
    "edge_stability",
    "independent_edge_proba",
    "nsbde_score",
]

__getattr__, __dir__ = lazy_names(__name__)
