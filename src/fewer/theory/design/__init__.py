"""Design certificates: what a table allows sparse regression to find, and how many rows exact recovery needs."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.theory.design._design_report import DesignReport, design_report
    from fewer.theory.design._error_bounds import (
        ConeInvertibility,
        ErrorBound,
        SelectionCertificate,
        cone_invertibility,
        lq_error_bound,
        minimax_error,
        selection_certificate,
    )
    from fewer.theory.design._recovery_plan import (
        GaussianNormSlack,
        RecoveryConditions,
        gaussian_norm_bound,
        gaussian_norm_slack,
        lasso_recovery_density,
        lasso_recovery_penalty,
        lasso_sample_size,
        recovery_conditions,
        restricted_eigenvalue_sample_size,
    )
    from fewer.theory.design._restricted_properties import (
        RestrictedEigenvalue,
        RestrictedNullspace,
        restricted_eigenvalue,
        restricted_nullspace,
    )
    from fewer.theory.design._support_recovery import (
        RecoveryCurve,
        SupportCertificate,
        irrepresentability,
        lasso_support_certificate,
        support_recovery_curve,
    )

__all__ = [
    "ConeInvertibility",
    "DesignReport",
    "ErrorBound",
    "GaussianNormSlack",
    "RecoveryConditions",
    "RecoveryCurve",
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
    "restricted_eigenvalue",
    "restricted_eigenvalue_sample_size",
    "restricted_nullspace",
    "selection_certificate",
    "support_recovery_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
