"""What theory can certify: the Dantzig selector, penalties that theory fixes, and what a design is good for."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.learn.dantzig._basis_pursuit import BasisPursuit
    from fewer.learn.dantzig._cone_invertibility import ConeInvertibility, cone_invertibility
    from fewer.learn.dantzig._dantzig_path import DantzigPath, dantzig_path
    from fewer.learn.dantzig._dantzig_problem import DantzigSolution
    from fewer.learn.dantzig._dantzig_selector import DantzigSelector, solve_dantzig
    from fewer.learn.dantzig._design_report import DesignReport, design_report
    from fewer.learn.dantzig._error_bounds import (
        ErrorBound,
        SelectionCertificate,
        lq_error_bound,
        selection_certificate,
    )
    from fewer.learn.dantzig._gaussian_guarantee import (
        TheoremCheck,
        check_theorem1,
        re_sample_size,
        theorem1_lower_bound,
    )
    from fewer.learn.dantzig._penalty_level import minimax_lq, penalty_level
    from fewer.learn.dantzig._recovery_curve import RecoveryCurve, support_recovery_curve
    from fewer.learn.dantzig._recovery_plan import (
        RecoveryConditions,
        density_schedule,
        lasso_sample_size,
        recovery_conditions,
        rho_schedule,
    )
    from fewer.learn.dantzig._restricted_eigenvalue import RestrictedEigenvalue, restricted_eigenvalue
    from fewer.learn.dantzig._restricted_nullspace import RestrictedNullspace, restricted_nullspace
    from fewer.learn.dantzig._support_certificate import (
        SupportCertificate,
        irrepresentability,
        lasso_support_certificate,
    )

__all__ = [
    "BasisPursuit",
    "ConeInvertibility",
    "DantzigPath",
    "DantzigSelector",
    "DantzigSolution",
    "DesignReport",
    "ErrorBound",
    "RecoveryConditions",
    "RecoveryCurve",
    "RestrictedEigenvalue",
    "RestrictedNullspace",
    "SelectionCertificate",
    "SupportCertificate",
    "TheoremCheck",
    "check_theorem1",
    "cone_invertibility",
    "dantzig_path",
    "density_schedule",
    "design_report",
    "irrepresentability",
    "lasso_sample_size",
    "lasso_support_certificate",
    "lq_error_bound",
    "minimax_lq",
    "penalty_level",
    "re_sample_size",
    "recovery_conditions",
    "restricted_eigenvalue",
    "restricted_nullspace",
    "rho_schedule",
    "selection_certificate",
    "solve_dantzig",
    "support_recovery_curve",
    "theorem1_lower_bound",
]

__getattr__, __dir__ = lazy_names(__name__)
