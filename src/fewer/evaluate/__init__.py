"""How much a selection helped: unbiased estimates, permutation tests, stability, comparisons of methods."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate._calibration_error import calibration_error
    from fewer.evaluate._compare import compare_methods, critical_difference_figure
    from fewer.evaluate._cost_curve import cost_curve
    from fewer.evaluate._label_efficiency import label_efficiency
    from fewer.evaluate._stability import selection_stability, stability_difference
    from fewer.evaluate.clusterings import (
        ConsensusClusterNumber,
        adjusted_information_distance,
        adjusted_mutual_info,
        clustering_comparison,
        consensus_index,
        expected_mi_bounds,
        expected_mutual_info,
        information_distance,
        normalized_information_distance,
        normalized_variation_of_information,
        variation_of_information,
    )
    from fewer.evaluate.criteria import (
        bayes_loo,
        compare_models,
        dic,
        exact_loo,
        free_energy,
        functional_cumulants,
        metropolis_draws,
        singular_diagnostics,
        waic,
    )
    from fewer.evaluate.curves._component_curve import component_curve
    from fewer.evaluate.curves._cross_index import corrected_interval, cross_index
    from fewer.evaluate.curves._fold_scores import score_components, score_sizes
    from fewer.evaluate.curves._selection_curve import selection_curve
    from fewer.evaluate.curves._subset_path import subset_path
    from fewer.evaluate.curves._sustainable_error import nested_sustainable_error, overlap_rate, sustainable_error_curve
    from fewer.evaluate.hubs import (
        HubnessAnalyzer,
        cluster_assumption_violation,
        hub_order,
        hubness_curve,
        hubness_sample_weight,
        k_occurrences,
        mle_intrinsic_dimension,
        outlier_hubness,
        relative_silhouette,
        secondary_distances,
    )
    from fewer.evaluate.nested._nested_evaluation import NestedEvaluation
    from fewer.evaluate.nested._nested_selection import NestedSelectionCV
    from fewer.evaluate.nested._protocol_audit import protocol_audit
    from fewer.evaluate.permutation._permutation_test import interaction_test, permutation_test
    from fewer.evaluate.permutation._randomize import randomize
    from fewer.evaluate.permutation._result import benjamini_hochberg, permutation_verdict
    from fewer.evaluate.protocol._table import outer_folds

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.evaluate._compare import MethodComparison as MethodComparison
    from fewer.evaluate._cost_curve import CostCurve as CostCurve
    from fewer.evaluate._label_efficiency import LabelEfficiency as LabelEfficiency
    from fewer.evaluate._stability import Stability as Stability
    from fewer.evaluate._stability import StabilityDifference as StabilityDifference
    from fewer.evaluate.clusterings import ClusteringComparison as ClusteringComparison
    from fewer.evaluate.criteria import BayesLoo as BayesLoo
    from fewer.evaluate.criteria import Dic as Dic
    from fewer.evaluate.criteria import FreeEnergy as FreeEnergy
    from fewer.evaluate.criteria import FunctionalCumulants as FunctionalCumulants
    from fewer.evaluate.criteria import ModelComparison as ModelComparison
    from fewer.evaluate.criteria import PosteriorDraws as PosteriorDraws
    from fewer.evaluate.criteria import PredictiveLoss as PredictiveLoss
    from fewer.evaluate.criteria import SingularDiagnostics as SingularDiagnostics
    from fewer.evaluate.criteria import Waic as Waic
    from fewer.evaluate.curves._component_curve import ComponentCurve as ComponentCurve
    from fewer.evaluate.curves._cross_index import CrossIndex as CrossIndex
    from fewer.evaluate.curves._fold_scores import ComponentScores as ComponentScores
    from fewer.evaluate.curves._fold_scores import FoldScores as FoldScores
    from fewer.evaluate.curves._selection_curve import SelectionCurve as SelectionCurve
    from fewer.evaluate.curves._subset_path import SubsetPath as SubsetPath
    from fewer.evaluate.curves._sustainable_error import NestedSustainableError as NestedSustainableError
    from fewer.evaluate.curves._sustainable_error import SustainableErrorCurve as SustainableErrorCurve
    from fewer.evaluate.hubs import HubnessCurve as HubnessCurve
    from fewer.evaluate.hubs import KOccurrences as KOccurrences
    from fewer.evaluate.hubs import OutlierHubness as OutlierHubness
    from fewer.evaluate.hubs import RelativeSilhouette as RelativeSilhouette
    from fewer.evaluate.nested._nested_evaluation import NestedResult as NestedResult
    from fewer.evaluate.nested._nested_evaluation import Realisation as Realisation
    from fewer.evaluate.nested._protocol_audit import ProtocolAudit as ProtocolAudit
    from fewer.evaluate.nested._protocol_audit import ProtocolBias as ProtocolBias
    from fewer.evaluate.permutation._result import Discoveries as Discoveries
    from fewer.evaluate.permutation._result import PermutationResult as PermutationResult
    from fewer.evaluate.protocol._table import Fold as Fold

__all__ = [
    "ConsensusClusterNumber",
    "HubnessAnalyzer",
    "NestedEvaluation",
    "NestedSelectionCV",
    "adjusted_information_distance",
    "adjusted_mutual_info",
    "bayes_loo",
    "benjamini_hochberg",
    "calibration_error",
    "cluster_assumption_violation",
    "clustering_comparison",
    "compare_methods",
    "compare_models",
    "component_curve",
    "consensus_index",
    "corrected_interval",
    "cost_curve",
    "critical_difference_figure",
    "cross_index",
    "dic",
    "exact_loo",
    "expected_mi_bounds",
    "expected_mutual_info",
    "free_energy",
    "functional_cumulants",
    "hub_order",
    "hubness_curve",
    "hubness_sample_weight",
    "information_distance",
    "interaction_test",
    "k_occurrences",
    "label_efficiency",
    "metropolis_draws",
    "mle_intrinsic_dimension",
    "nested_sustainable_error",
    "normalized_information_distance",
    "normalized_variation_of_information",
    "outer_folds",
    "outlier_hubness",
    "overlap_rate",
    "permutation_test",
    "permutation_verdict",
    "protocol_audit",
    "randomize",
    "relative_silhouette",
    "score_components",
    "score_sizes",
    "secondary_distances",
    "selection_curve",
    "selection_stability",
    "singular_diagnostics",
    "stability_difference",
    "subset_path",
    "sustainable_error_curve",
    "variation_of_information",
    "waic",
]

__getattr__, __dir__ = lazy_names(__name__)
