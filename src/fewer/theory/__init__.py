"""What can be certified or planned in advance: design certificates, sample sizes, bounds, the papers' experiments."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory._regret_curve import RegretCurve, regret_curve
    from fewer.theory.design import (
        ConeInvertibility,
        DesignReport,
        ErrorBound,
        GaussianNormSlack,
        RecoveryConditions,
        RecoveryCurve,
        RestrictedEigenvalue,
        RestrictedNullspace,
        SelectionCertificate,
        SupportCertificate,
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

__all__ = [
    "ConeInvertibility",
    "DesignReport",
    "ErrorBound",
    "GaussianNormSlack",
    "RecoveryConditions",
    "RecoveryCurve",
    "RegretCurve",
    "RestrictedEigenvalue",
    "RestrictedNullspace",
    "SelectionCertificate",
    "SupportCertificate",
    "cone_invertibility",
    "design_report",
    "gaussian_norm_bound",
    "gaussian_norm_slack",
    "irrepresentability",
    "lasso_recovery_density",
    "lasso_recovery_penalty",
    "lasso_sample_size",
    "lasso_support_certificate",
    "lq_error_bound",
    "minimax_error",
    "recovery_conditions",
    "regret_curve",
    "restricted_eigenvalue",
    "restricted_eigenvalue_sample_size",
    "restricted_nullspace",
    "selection_certificate",
    "support_recovery_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
