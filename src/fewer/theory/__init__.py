"""What can be certified or planned in advance: design certificates, sample sizes, bounds, the papers' experiments."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory._regret_curve import regret_curve
    from fewer.theory.design import (
        cone_invertibility,
        design_report,
        gaussian_norm_bound,
        gaussian_norm_slack,
        irrepresentability,
        lasso_recovery_density,
        lasso_recovery_penalty,
        lasso_sample_size,
        lasso_support_certificate,
        lq_error_bound,
        minimax_error,
        recovery_conditions,
        restricted_eigenvalue,
        restricted_eigenvalue_sample_size,
        restricted_nullspace,
        selection_certificate,
        support_recovery_curve,
    )
    from fewer.theory.experiments._bias_experiment import selection_bias_experiment
    from fewer.theory.experiments._overfit_curve import selection_overfit_curve
    from fewer.theory.experiments._split_criterion import RepeatedSplitCriterion, smoothed_error_rate
    from fewer.theory.planning._centre_advantage import centre_advantage
    from fewer.theory.planning._peaking import peaking_curve
    from fewer.theory.planning._permutation_power import (
        PermutationBattery,
        feature_permutation_power,
        label_permutation_power,
    )
    from fewer.theory.planning._size_plan import plan_n_features
    from fewer.theory.planning._two_gaussians import (
        expected_error,
        gaussian_plane_risk,
        linear_rule_error,
        min_risk_plane,
        optimal_n_features,
    )

if TYPE_CHECKING:  # classes of results: documented, but not in __all__
    from fewer.theory._regret_curve import RegretCurve as RegretCurve
    from fewer.theory.design import ConeInvertibility as ConeInvertibility
    from fewer.theory.design import DesignReport as DesignReport
    from fewer.theory.design import ErrorBound as ErrorBound
    from fewer.theory.design import GaussianNormSlack as GaussianNormSlack
    from fewer.theory.design import RecoveryConditions as RecoveryConditions
    from fewer.theory.design import RecoveryCurve as RecoveryCurve
    from fewer.theory.design import RestrictedEigenvalue as RestrictedEigenvalue
    from fewer.theory.design import RestrictedNullspace as RestrictedNullspace
    from fewer.theory.design import SelectionCertificate as SelectionCertificate
    from fewer.theory.design import SupportCertificate as SupportCertificate
    from fewer.theory.experiments._bias_experiment import BiasExperiment as BiasExperiment
    from fewer.theory.experiments._overfit_curve import OverfitCurve as OverfitCurve
    from fewer.theory.experiments._split_criterion import CriterionSurface as CriterionSurface
    from fewer.theory.planning._peaking import PeakingCurve as PeakingCurve
    from fewer.theory.planning._permutation_power import BatteryResult as BatteryResult
    from fewer.theory.planning._size_plan import SizePlan as SizePlan
    from fewer.theory.planning._two_gaussians import CostPlane as CostPlane
    from fewer.theory.planning._two_gaussians import OptimalSize as OptimalSize

__all__ = [
    "PermutationBattery",
    "RepeatedSplitCriterion",
    "centre_advantage",
    "cone_invertibility",
    "design_report",
    "expected_error",
    "feature_permutation_power",
    "gaussian_norm_bound",
    "gaussian_norm_slack",
    "gaussian_plane_risk",
    "irrepresentability",
    "label_permutation_power",
    "lasso_recovery_density",
    "lasso_recovery_penalty",
    "lasso_sample_size",
    "lasso_support_certificate",
    "linear_rule_error",
    "lq_error_bound",
    "min_risk_plane",
    "minimax_error",
    "optimal_n_features",
    "peaking_curve",
    "plan_n_features",
    "recovery_conditions",
    "regret_curve",
    "restricted_eigenvalue",
    "restricted_eigenvalue_sample_size",
    "restricted_nullspace",
    "selection_bias_experiment",
    "selection_certificate",
    "selection_overfit_curve",
    "smoothed_error_rate",
    "support_recovery_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
