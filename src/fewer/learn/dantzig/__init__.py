"""What theory can certify: the Dantzig selector, penalties that theory fixes, and what a design is good for."""

from fewer.learn.dantzig._recovery_curve import RecoveryCurve, support_recovery_curve
from fewer.learn.dantzig._recovery_plan import (
    RecoveryConditions,
    density_schedule,
    lasso_sample_size,
    recovery_conditions,
    rho_schedule,
)
from fewer.learn.dantzig._support_certificate import (
    SupportCertificate,
    irrepresentability,
    lasso_support_certificate,
)

__all__ = [
    "RecoveryConditions",
    "RecoveryCurve",
    "SupportCertificate",
    "density_schedule",
    "irrepresentability",
    "lasso_sample_size",
    "lasso_support_certificate",
    "recovery_conditions",
    "rho_schedule",
    "support_recovery_curve",
]
