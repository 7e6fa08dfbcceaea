"""How much it helped, honestly: bias-free estimates, permutation tests, stability."""

from fewer.evaluate._compare import MethodComparison, compare_methods
from fewer.evaluate._cross_index import CrossIndex, cross_index
from fewer.evaluate._optimal_size import OptimalSize, optimal_n_features
from fewer.evaluate._peaking import PeakingCurve, peaking_curve
from fewer.evaluate._plan import SizePlan, plan_n_features
from fewer.evaluate._selection_curve import SelectionCurve, selection_curve
from fewer.evaluate._stability import Stability, StabilityDifference, selection_stability, stability_difference
from fewer.evaluate._two_gaussians import expected_error, linear_rule_error

__all__ = [
    "CrossIndex",
    "MethodComparison",
    "OptimalSize",
    "PeakingCurve",
    "SelectionCurve",
    "SizePlan",
    "Stability",
    "StabilityDifference",
    "compare_methods",
    "cross_index",
    "expected_error",
    "linear_rule_error",
    "optimal_n_features",
    "peaking_curve",
    "plan_n_features",
    "selection_curve",
    "selection_stability",
    "stability_difference",
]
