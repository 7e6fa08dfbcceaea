"""How much a selection helped: unbiased estimates, permutation tests, stability, comparisons of methods."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate._compare import compare_methods, critical_difference_figure
    from fewer.evaluate._label_efficiency import label_efficiency
    from fewer.evaluate._stability import selection_stability, stability_difference
    from fewer.evaluate.curves._component_curve import component_curve
    from fewer.evaluate.curves._cross_index import corrected_interval, cross_index
    from fewer.evaluate.curves._fold_scores import score_components, score_sizes
    from fewer.evaluate.curves._selection_curve import selection_curve
    from fewer.evaluate.curves._subset_path import subset_path
    from fewer.evaluate.curves._sustainable_error import nested_sustainable_error, overlap_rate, sustainable_error_curve
    from fewer.evaluate.nested._nested_evaluation import NestedEvaluation
    from fewer.evaluate.nested._nested_selection import NestedSelectionCV
    from fewer.evaluate.nested._protocol_audit import protocol_audit
    from fewer.evaluate.permutation._permutation_test import interaction_test, permutation_test
    from fewer.evaluate.permutation._randomize import randomize
    from fewer.evaluate.permutation._result import benjamini_hochberg, permutation_verdict
    from fewer.evaluate.protocol._table import outer_folds

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.evaluate._compare import MethodComparison as MethodComparison
    from fewer.evaluate._label_efficiency import LabelEfficiency as LabelEfficiency
    from fewer.evaluate._stability import Stability as Stability
    from fewer.evaluate._stability import StabilityDifference as StabilityDifference
    from fewer.evaluate.curves._component_curve import ComponentCurve as ComponentCurve
    from fewer.evaluate.curves._cross_index import CrossIndex as CrossIndex
    from fewer.evaluate.curves._fold_scores import ComponentScores as ComponentScores
    from fewer.evaluate.curves._fold_scores import FoldScores as FoldScores
    from fewer.evaluate.curves._selection_curve import SelectionCurve as SelectionCurve
    from fewer.evaluate.curves._subset_path import SubsetPath as SubsetPath
    from fewer.evaluate.curves._sustainable_error import NestedSustainableError as NestedSustainableError
    from fewer.evaluate.curves._sustainable_error import SustainableErrorCurve as SustainableErrorCurve
    from fewer.evaluate.nested._nested_evaluation import NestedResult as NestedResult
    from fewer.evaluate.nested._nested_evaluation import Realisation as Realisation
    from fewer.evaluate.nested._protocol_audit import ProtocolAudit as ProtocolAudit
    from fewer.evaluate.nested._protocol_audit import ProtocolBias as ProtocolBias
    from fewer.evaluate.permutation._result import Discoveries as Discoveries
    from fewer.evaluate.permutation._result import PermutationResult as PermutationResult
    from fewer.evaluate.protocol._table import Fold as Fold

__all__ = [
    "NestedEvaluation",
    "NestedSelectionCV",
    "benjamini_hochberg",
    "compare_methods",
    "component_curve",
    "corrected_interval",
    "critical_difference_figure",
    "cross_index",
    "interaction_test",
    "label_efficiency",
    "nested_sustainable_error",
    "outer_folds",
    "overlap_rate",
    "permutation_test",
    "permutation_verdict",
    "protocol_audit",
    "randomize",
    "score_components",
    "score_sizes",
    "selection_curve",
    "selection_stability",
    "stability_difference",
    "subset_path",
    "sustainable_error_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
