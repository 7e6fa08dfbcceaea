"""Missing values: low-rank completion, PCA with missing values."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.complete._completion_score import CompletionScore, completion_score
    from fewer.complete._missing_pattern import MissingPattern, missing_pattern
    from fewer.complete._optspace import OptSpace, estimate_rank, oracle_rmse
    from fewer.complete._plot_missing import plot_missing
    from fewer.complete.factorization import (
        MetricUpgrade,
        SubspaceSegmentation,
        WeightedFactorization,
        metric_upgrade,
    )
    from fewer.complete.pca_missing import PCAMissing
    from fewer.complete.soft_impute import (
        MMMF,
        HardImpute,
        SoftImpute,
        SoftImputeCV,
        SpectralImpute,
        soft_threshold_svd,
    )

__all__ = [
    "MMMF",
    "CompletionScore",
    "HardImpute",
    "MetricUpgrade",
    "MissingPattern",
    "OptSpace",
    "PCAMissing",
    "SoftImpute",
    "SoftImputeCV",
    "SpectralImpute",
    "SubspaceSegmentation",
    "WeightedFactorization",
    "completion_score",
    "estimate_rank",
    "metric_upgrade",
    "missing_pattern",
    "oracle_rmse",
    "plot_missing",
    "soft_threshold_svd",
]

__getattr__, __dir__ = lazy_names(__name__)
