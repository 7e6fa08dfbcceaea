"""How much it helped, honestly: bias-free estimates, permutation tests, stability."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate._bias_experiment import BiasExperiment, selection_bias_experiment
    from fewer.evaluate._compare import MethodComparison, compare_methods
    from fewer.evaluate._compare_figure import critical_difference_figure
    from fewer.evaluate._component_curve import ComponentCurve, component_curve
    from fewer.evaluate._component_scores import ComponentScores, score_components
    from fewer.evaluate._cross_index import CrossIndex, corrected_interval, cross_index
    from fewer.evaluate._decision_errors import smoothed_error_rate
    from fewer.evaluate._fold_scores import FoldScores, score_sizes
    from fewer.evaluate._multiple_tests import Discoveries, benjamini_hochberg
    from fewer.evaluate._nested_evaluation import NestedEvaluation, NestedResult, Realisation
    from fewer.evaluate._nested_selection import NestedSelectionCV
    from fewer.evaluate._optimal_size import OptimalSize, optimal_n_features
    from fewer.evaluate._outer_folds import Fold, outer_folds
    from fewer.evaluate._overfit_curve import OverfitCurve, selection_overfit_curve
    from fewer.evaluate._peaking import PeakingCurve, peaking_curve
    from fewer.evaluate._permutation_battery import BatteryResult, PermutationBattery
    from fewer.evaluate._permutation_power import power_test1, power_test2
    from fewer.evaluate._permutation_result import PermutationResult, permutation_verdict
    from fewer.evaluate._permutation_test import interaction_test, permutation_test
    from fewer.evaluate._plan import SizePlan, plan_n_features
    from fewer.evaluate._protocol_audit import protocol_audit
    from fewer.evaluate._protocol_audit_result import ProtocolAudit, ProtocolBias
    from fewer.evaluate._randomize import randomize
    from fewer.evaluate._selection_curve import SelectionCurve, selection_curve
    from fewer.evaluate._split_criterion import CriterionSurface, RepeatedSplitCriterion
    from fewer.evaluate._stability import Stability, StabilityDifference, selection_stability, stability_difference
    from fewer.evaluate._subset_path import SubsetPath, subset_path
    from fewer.evaluate._sustainable_error import nested_sustainable_error, overlap_rate, sustainable_error_curve
    from fewer.evaluate._sustainable_result import NestedSustainableError, SustainableErrorCurve
    from fewer.evaluate._two_gaussians import expected_error, linear_rule_error

__all__ = [
    "BatteryResult",
    "BiasExperiment",
    "ComponentCurve",
    "ComponentScores",
    "CriterionSurface",
    "CrossIndex",
    "Discoveries",
    "Fold",
    "FoldScores",
    "MethodComparison",
    "NestedEvaluation",
    "NestedResult",
    "NestedSelectionCV",
    "NestedSustainableError",
    "OptimalSize",
    "OverfitCurve",
    "PeakingCurve",
    "PermutationBattery",
    "PermutationResult",
    "ProtocolAudit",
    "ProtocolBias",
    "Realisation",
    "RepeatedSplitCriterion",
    "SelectionCurve",
    "SizePlan",
    "Stability",
    "StabilityDifference",
    "SubsetPath",
    "SustainableErrorCurve",
    "benjamini_hochberg",
    "compare_methods",
    "component_curve",
    "corrected_interval",
    "critical_difference_figure",
    "cross_index",
    "expected_error",
    "interaction_test",
    "linear_rule_error",
    "nested_sustainable_error",
    "optimal_n_features",
    "outer_folds",
    "overlap_rate",
    "peaking_curve",
    "permutation_test",
    "permutation_verdict",
    "plan_n_features",
    "power_test1",
    "power_test2",
    "protocol_audit",
    "randomize",
    "score_components",
    "score_sizes",
    "selection_bias_experiment",
    "selection_curve",
    "selection_overfit_curve",
    "selection_stability",
    "smoothed_error_rate",
    "stability_difference",
    "subset_path",
    "sustainable_error_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
