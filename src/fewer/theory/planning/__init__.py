"""Planning: how many features a sample can carry, and how likely a permutation test finds what is there."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory.planning._peaking import PeakingCurve, peaking_curve
    from fewer.theory.planning._permutation_power import (
        BatteryResult,
        PermutationBattery,
        feature_permutation_power,
        label_permutation_power,
    )
    from fewer.theory.planning._size_plan import SizePlan, plan_n_features
    from fewer.theory.planning._two_gaussians import OptimalSize, expected_error, linear_rule_error, optimal_n_features

__all__ = [
    "BatteryResult",
    "OptimalSize",
    "PeakingCurve",
    "PermutationBattery",
    "SizePlan",
    "expected_error",
    "feature_permutation_power",
    "label_permutation_power",
    "linear_rule_error",
    "optimal_n_features",
    "peaking_curve",
    "plan_n_features",
]

__getattr__, __dir__ = lazy_names(__name__)
