"""The learners that the papers bring along: sparse linear, discriminants, boosting, Gaussian processes."""

from fewer.learn._kernel_ridge_loo import KernelRidgeClassifierLOO
from fewer.learn._naive_bayes_text import NaiveBayesText
from fewer.learn._ovr_committee import OVRLinearSVMCommittee
from fewer.learn._random_column_forest import RandomColumnForestClassifier
from fewer.learn.dantzig import (
    RecoveryConditions,
    RecoveryCurve,
    SupportCertificate,
    density_schedule,
    irrepresentability,
    lasso_sample_size,
    lasso_support_certificate,
    recovery_conditions,
    rho_schedule,
    support_recovery_curve,
)
from fewer.learn.online import RDAClassifier, RDARegressor, RegretCurve, regret_monitor
from fewer.learn.sparse import (
    L1History,
    L1LinearClassifier,
    L1LinearRegressor,
    L1Path,
    L1PathClassifierCV,
    L1PathRegressorCV,
    SolverComparison,
    compare_l1_solvers,
    l1_path,
)

__all__ = [
    "KernelRidgeClassifierLOO",
    "L1History",
    "L1LinearClassifier",
    "L1LinearRegressor",
    "L1Path",
    "L1PathClassifierCV",
    "L1PathRegressorCV",
    "NaiveBayesText",
    "OVRLinearSVMCommittee",
    "RDAClassifier",
    "RDARegressor",
    "RandomColumnForestClassifier",
    "RecoveryConditions",
    "RecoveryCurve",
    "RegretCurve",
    "SolverComparison",
    "SupportCertificate",
    "compare_l1_solvers",
    "density_schedule",
    "irrepresentability",
    "l1_path",
    "lasso_sample_size",
    "lasso_support_certificate",
    "recovery_conditions",
    "regret_monitor",
    "rho_schedule",
    "support_recovery_curve",
]
