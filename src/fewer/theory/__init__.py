"""What can be certified or planned in advance: design certificates, sample sizes, bounds, the papers' experiments."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory.experiments._bias_experiment import selection_bias_experiment
    from fewer.theory.experiments._overfit_curve import selection_overfit_curve
    from fewer.theory.experiments._split_criterion import RepeatedSplitCriterion, smoothed_error_rate
    from fewer.theory.planning._peaking import peaking_curve
    from fewer.theory.planning._permutation_power import (
        PermutationBattery,
        feature_permutation_power,
        label_permutation_power,
    )
    from fewer.theory.planning._size_plan import plan_n_features
    from fewer.theory.planning._two_gaussians import expected_error, linear_rule_error, optimal_n_features

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.theory.experiments._bias_experiment import BiasExperiment as BiasExperiment
    from fewer.theory.experiments._overfit_curve import OverfitCurve as OverfitCurve
    from fewer.theory.experiments._split_criterion import CriterionSurface as CriterionSurface
    from fewer.theory.planning._peaking import PeakingCurve as PeakingCurve
    from fewer.theory.planning._permutation_power import BatteryResult as BatteryResult
    from fewer.theory.planning._size_plan import SizePlan as SizePlan
    from fewer.theory.planning._two_gaussians import OptimalSize as OptimalSize

__all__ = [
    "PermutationBattery",
    "RepeatedSplitCriterion",
    "expected_error",
    "feature_permutation_power",
    "label_permutation_power",
    "linear_rule_error",
    "optimal_n_features",
    "peaking_curve",
    "plan_n_features",
    "selection_bias_experiment",
    "selection_overfit_curve",
    "smoothed_error_rate",
]

__getattr__, __dir__ = lazy_names(__name__)
